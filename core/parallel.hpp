// Independent pieces of work over threads.
#pragma once
#include <omp.h>

#include <atomic>
#include <cstdint>
#include <exception>

#include "interrupt.hpp"

namespace ramify {

// Runs work(i) for every i in [0, count), in any order. The calling thread looks out for Ctrl-C between two pieces; an
// exception, from there or from a piece, stops the rest and is thrown again once all threads are back.
template <typename Work>
void parallel_items(std::int64_t count, int threads, Interrupt& interrupt, Work work) {
    if (threads == 1 || count < 2) {
        for (std::int64_t i = 0; i < count; ++i, interrupt()) work(i);
        return;
    }
    std::atomic<bool> stop{false};
    std::exception_ptr error;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (std::int64_t i = 0; i < count; ++i) {
        if (stop.load(std::memory_order_relaxed)) continue;
        try {
            work(i);
            if (omp_get_thread_num() == 0) interrupt();
        } catch (...) {
            if (!stop.exchange(true)) error = std::current_exception();
        }
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace ramify
