// Lets a long native loop stop when the user presses Ctrl-C, without the loop knowing of Python.
#pragma once
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace cladify {

struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

// Loops call the object between pieces of work of well under a second, from any thread. Signals are delivered to the
// thread that entered the kernel, so only that one asks `stop`, at most ten times a second; the others follow it.
class Interrupt {
public:
    using Stop = bool (*)();
    explicit Interrupt(Stop stop) : stop_(stop), next_(Clock::now() + kEvery) {}

    void operator()() {
        if (std::this_thread::get_id() == owner_) look();
        if (stopped_.load(std::memory_order_relaxed)) throw Interrupted{};
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kEvery = std::chrono::milliseconds(100);

    void look() {
        const auto now = Clock::now();
        if (now < next_) return;
        next_ = now + kEvery;
        if (stop_()) stopped_.store(true, std::memory_order_relaxed);
    }

    Stop stop_;
    std::thread::id owner_ = std::this_thread::get_id();
    Clock::time_point next_;
    std::atomic<bool> stopped_{false};
};

}  // namespace cladify
