// Lets a long native loop stop when the user presses Ctrl-C, without the loop knowing of Python.
#pragma once
#include <chrono>
#include <stdexcept>

namespace ramify {

struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

// Calls `stop` at most ten times a second. Loops call the object between pieces of work of well under a second, and
// only from the thread that entered the kernel: signals are delivered there.
class Interrupt {
public:
    using Stop = bool (*)();
    explicit Interrupt(Stop stop) : stop_(stop), next_(Clock::now() + kEvery) {}

    void operator()() {
        const auto now = Clock::now();
        if (now < next_) return;
        next_ = now + kEvery;
        if (stop_()) throw Interrupted{};
    }

private:
    using Clock = std::chrono::steady_clock;
    static constexpr auto kEvery = std::chrono::milliseconds(100);
    Stop stop_;
    Clock::time_point next_;
};

}  // namespace ramify
