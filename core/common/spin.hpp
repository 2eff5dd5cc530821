// Waiting a moment for another thread.
#pragma once
#include <thread>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cladify {

// Call number `tries` of a loop that waits: at first it only hints the processor, then lets other threads run.
inline void spin_wait(int tries) {
    constexpr int kPauses = 32;
    if (tries >= kPauses) {
        std::this_thread::yield();
        return;
    }
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace cladify
