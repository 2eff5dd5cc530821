// The executor of every parallel loop: a few threads, kept for as long as there is work for them.
//
// Between two loops the threads wait for some microseconds and then sleep, where an OpenMP team would spin: on a
// machine that has other things to do, spinning threads take the processor from the one they wait for. Waking costs
// some ten microseconds.
//
// An exception of a piece of work (std::bad_alloc, Interrupted) ends the loop and comes out of `run` in the thread that
// called it, once all threads are back. In a process forked while a team existed its threads are gone: it starts new
// ones there.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/fork.hpp"
#include "common/interrupt.hpp"
#include "common/spin.hpp"

namespace cladify {

class Team {
public:
    explicit Team(int threads) : threads_(threads < 1 ? 1 : threads) {}
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() { leave_lost_crew(); }

    int threads() const { return threads_; }

    // work(i, thread), or work(i), for every i in [0, count), in any order; returns when all are done. The calling
    // thread is number 0; between two pieces, and while it waits for the others, it looks out for Ctrl-C.
    template <class Work>
    void run(std::int64_t count, Work&& work, Interrupt* interrupt = nullptr) {
        const auto call = [&work](std::int64_t i, int thread) {
            if constexpr (std::is_invocable_v<Work&, std::int64_t, int>)
                work(i, thread);
            else
                work(i);
        };
        if (threads_ == 1 || count < 2) {
            for (std::int64_t i = 0; i < count; ++i) {
                call(i, 0);
                if (interrupt) (*interrupt)();
            }
            return;
        }
        leave_lost_crew();
        if (!crew_) crew_ = std::make_unique<Crew>();
        crew_->grow(count < threads_ ? static_cast<int>(count) : threads_);
        using Call = decltype(call);
        crew_->run(
            {[](const void* context, std::int64_t i, int thread) { (*static_cast<const Call*>(context))(i, thread); },
             &call, count},
            interrupt);
    }

    // work(first, last, thread), or work(first, last), for stretches of `grain` that cover [0, count).
    template <class Work>
    void split(std::int64_t count, std::int64_t grain, Work&& work, Interrupt* interrupt = nullptr) {
        run((count + grain - 1) / grain,
            [&](std::int64_t piece, int thread) {
                const std::int64_t first = piece * grain, last = count - first < grain ? count : first + grain;
                if constexpr (std::is_invocable_v<Work&, std::int64_t, std::int64_t, int>)
                    work(first, last, thread);
                else
                    work(first, last);
            },
            interrupt);
    }

private:
    struct Loop {
        void (*call)(const void*, std::int64_t, int) = nullptr;
        const void* context = nullptr;
        std::int64_t count = 0;
    };

    // All that the threads share.
    class Crew {
    public:
        ~Crew() {
            loop_ = {};
            ring();
            for (auto& worker : workers_) worker.join();
        }

        // Starts threads until there are `threads` with the calling one, or as many as the system grants.
        void grow(int threads) {
            while (static_cast<int>(workers_.size()) + 1 < threads) {
                const int number = static_cast<int>(workers_.size()) + 1;
                const std::uint32_t seen = round_.load(std::memory_order_relaxed);
                workers_.reserve(workers_.size() + 1);
                try {
                    workers_.emplace_back([this, number, seen] { serve(number, seen); });
                } catch (const std::system_error&) {
                    return;
                }
            }
        }

        void run(const Loop& loop, Interrupt* interrupt) {
            loop_ = loop;
            next_.store(0, std::memory_order_relaxed);
            stop_.store(false, std::memory_order_relaxed);
            busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
            ring();
            take(0, interrupt);
            wait(interrupt);
            if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
        }

    private:
        void ring() {
            round_.fetch_add(1, std::memory_order_release);
            round_.notify_all();
        }

        void take(int thread, Interrupt* interrupt) {
            try {
                while (!stop_.load(std::memory_order_relaxed)) {
                    const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
                    if (i >= loop_.count) return;
                    loop_.call(loop_.context, i, thread);
                    if (interrupt) (*interrupt)();
                }
            } catch (...) {
                fail();
            }
        }

        // Keeps the first exception, and ends the loop.
        void fail() {
            const std::lock_guard lock(mutex_);
            if (!error_) error_ = std::current_exception();
            stop_.store(true, std::memory_order_relaxed);
        }

        void wait(Interrupt* interrupt) {
            const auto done = [this] { return busy_.load(std::memory_order_acquire) == 0; };
            if (soon(done)) return;
            while (!done()) {
                {
                    std::unique_lock lock(mutex_);
                    if (finished_.wait_for(lock, kLook, done)) return;
                }
                try {
                    if (interrupt) (*interrupt)();
                } catch (...) {
                    fail();
                }
            }
        }

        // Waits as long as it takes to wake a thread, which a short break between two loops does not exceed.
        template <class Done>
        static bool soon(const Done& done) {
            const auto end = std::chrono::steady_clock::now() + kSoon;
            do {
                for (int i = 0; i < kSpins; ++i) {
                    if (done()) return true;
                    spin_wait(i);
                }
            } while (std::chrono::steady_clock::now() < end);
            return false;
        }

        void serve(int thread, std::uint32_t seen) {
            for (;;) {
                if (!soon([&] { return round_.load(std::memory_order_acquire) != seen; }))
                    round_.wait(seen, std::memory_order_acquire);
                seen = round_.load(std::memory_order_acquire);
                if (loop_.call == nullptr) return;
                take(thread, nullptr);
                if (busy_.fetch_sub(1, std::memory_order_acq_rel) != 1) continue;
                const std::lock_guard lock(mutex_);
                finished_.notify_one();
            }
        }

        static constexpr int kSpins = 16;
        static constexpr auto kSoon = std::chrono::microseconds(30);
        static constexpr auto kLook = std::chrono::milliseconds(50);

        std::vector<std::thread> workers_;
        Loop loop_;
        std::atomic<std::int64_t> next_{0};
        std::atomic<int> busy_{0};
        std::atomic<bool> stop_{false};
        std::atomic<std::uint32_t> round_{0};
        std::mutex mutex_;
        std::condition_variable finished_;
        std::exception_ptr error_;
    };

    // After a fork the crew's memory is here but its threads are not: nobody can join them, so it is left behind.
    void leave_lost_crew() {
        if (born_ == fork_count()) return;
        static_cast<void>(crew_.release());
        born_ = fork_count();
    }

    int threads_;
    std::uint64_t born_ = fork_count();
    std::unique_ptr<Crew> crew_;
};

// A loop of its own: the threads start here and end with it.
template <class Work>
void parallel_items(std::int64_t count, int threads, Interrupt& interrupt, Work&& work) {
    Team(threads).run(count, work, &interrupt);
}

}  // namespace cladify
