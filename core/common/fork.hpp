// How often this process was forked.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace cladify {

// The number of forks between the process that loaded the core and this one. Threads do not survive a fork: what holds
// some compares this number with the one it saw when it started them.
inline std::uint64_t fork_count() {
    static std::atomic<std::uint64_t> count{0};
    static const int registered = pthread_atfork(nullptr, nullptr, [] { count.fetch_add(1); });
    static_cast<void>(registered);
    return count.load(std::memory_order_relaxed);
}

}  // namespace cladify
