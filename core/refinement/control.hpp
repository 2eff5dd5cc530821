// When to stop: Ctrl-C, the end of the time budget, or an error on the way; and how far the work is.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace cladify::refine {

// One for all threads of a call. Only the thread that made it talks to the outside, at most ten times a second; what
// that throws is kept until the threads are back.
class Control {
public:
    // Subtrees looked at so far, and those to look at that are known of.
    using Report = std::function<void(std::int64_t, std::int64_t)>;

    // `seconds` below 0: no limit.
    Control(double seconds, Report report)
        : start_(Clock::now()), next_(start_ + kEvery), seconds_(seconds), report_(std::move(report)) {}

    void expect(std::int64_t subtrees) { total_ += subtrees; }
    // True when the search should end.
    bool stop(std::int64_t looked_at) {
        done_ += looked_at;
        if (std::this_thread::get_id() == owner_) look_around();
        return stopped_;
    }
    // True when nothing is worth finishing.
    bool failed() {
        stop(0);
        return failed_;
    }
    // Called when all threads are back.
    void finish() {
        if (error_) std::rethrow_exception(error_);
        report_(done_, total_);
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kEvery = std::chrono::milliseconds(100);

    void look_around() {
        const auto now = Clock::now();
        if (seconds_ >= 0 && std::chrono::duration<double>(now - start_).count() >= seconds_) stopped_ = true;
        if (now < next_ || failed_) return;
        next_ = now + kEvery;
        try {
            report_(done_, total_);
        } catch (...) {
            error_ = std::current_exception();
            stopped_ = failed_ = true;
        }
    }

    std::thread::id owner_ = std::this_thread::get_id();
    Clock::time_point start_, next_;
    double seconds_;
    Report report_;
    std::atomic<std::int64_t> done_{0}, total_{0};
    std::atomic<bool> stopped_{false}, failed_{false};
    std::exception_ptr error_;
};

}  // namespace cladify::refine
