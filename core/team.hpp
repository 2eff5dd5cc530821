// A few threads kept ready for many short pieces of work.
//
// Between two pieces they sleep, where an OpenMP team would spin: on a machine that has other things to do, spinning
// threads take the processor from the one they wait for. Waking costs some ten microseconds.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace ramify {

class Team {
public:
    explicit Team(int threads) {
        for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { serve(i); });
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() {
        work_ = nullptr;
        call();
        for (auto& worker : workers_) worker.join();
    }

    int threads() const { return static_cast<int>(workers_.size()) + 1; }

    using Work = std::function<void(std::int64_t, int)>;

    // work(i, thread) for every i in [0, count), in any order; returns when all are done. `work` must not throw.
    void run(std::int64_t count, const Work& work) {
        if (workers_.empty() || count < 2) {
            for (std::int64_t i = 0; i < count; ++i) work(i, 0);
            return;
        }
        work_ = &work;
        count_ = count;
        next_ = 0;
        busy_ = static_cast<int>(workers_.size());
        call();
        take(0);
        for (int left = busy_; left != 0; left = busy_) busy_.wait(left);
    }

private:
    void call() {
        ++round_;
        round_.notify_all();
    }
    void take(int thread) {
        for (std::int64_t i = next_++; i < count_; i = next_++) (*work_)(i, thread);
    }
    void serve(int thread) {
        for (std::uint32_t seen = 0;;) {
            round_.wait(seen);
            seen = round_;
            if (work_ == nullptr) return;
            take(thread);
            if (--busy_ == 0) busy_.notify_one();
        }
    }

    std::vector<std::thread> workers_;
    const Work* work_ = nullptr;
    std::int64_t count_ = 0;
    std::atomic<std::int64_t> next_{0};
    std::atomic<int> busy_{0};
    std::atomic<std::uint32_t> round_{0};
};

}  // namespace ramify
