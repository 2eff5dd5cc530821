// When to stop: Ctrl-C, the end of the time budget, or an error on the way; and how far the work is.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>

namespace ramify::refine {

// One for all threads of a call. Only the thread that made it talks to the outside, at most ten times a second; what
// that throws is kept until the threads are back.
class Control {
public:
    // `report` gets the number of subtrees looked at so far; `seconds` below 0: no limit.
    Control(double seconds, std::function<void(std::int64_t)> report)
        : start_(Clock::now()), next_(start_ + kEvery), seconds_(seconds), report_(std::move(report)) {}

    // True when the work should end.
    bool stop(std::int64_t looked_at) {
        done_ += looked_at;
        if (std::this_thread::get_id() == owner_) look_around();
        return stopped_;
    }
    bool stopped() const { return stopped_; }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kEvery = std::chrono::milliseconds(100);

    void look_around() {
        const auto now = Clock::now();
        if (seconds_ >= 0 && std::chrono::duration<double>(now - start_).count() >= seconds_) stopped_ = true;
        if (now < next_) return;
        next_ = now + kEvery;
        try {
            report_(done_);
        } catch (...) {
            error_ = std::current_exception();
            stopped_ = true;
        }
    }

    std::thread::id owner_ = std::this_thread::get_id();
    Clock::time_point start_, next_;
    double seconds_;
    std::function<void(std::int64_t)> report_;
    std::atomic<std::int64_t> done_{0};
    std::atomic<bool> stopped_{false};
    std::exception_ptr error_;
};

}  // namespace ramify::refine
