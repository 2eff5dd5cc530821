// The core's allocations, one of which can be made to fail: how its behaviour without memory is tested. Next to what an
// allocation costs, looking at one number is nothing.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "common/bind.hpp"

namespace cladify {
namespace {

std::atomic<std::int64_t> countdown{0};  // allocations up to and including the one that fails; 0: none does

// Makes the allocation number `count` from now fail, or with 0 none; returns what was left of the last countdown.
std::int64_t fail_allocation(std::int64_t count) { return countdown.exchange(count); }

bool fails_now() {
    return countdown.load(std::memory_order_relaxed) > 0 && countdown.fetch_sub(1, std::memory_order_relaxed) == 1;
}

}  // namespace

void bind_alloc(nb::module_& m) { m.def("fail_allocation", &fail_allocation, nb::arg("count")); }

}  // namespace cladify

// All other forms of new and delete, apart from those for overaligned types, come down to these.
void* operator new(std::size_t size) {
    if (cladify::fails_now()) throw std::bad_alloc();
    for (;;) {
        if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
        const std::new_handler handler = std::get_new_handler();
        if (handler == nullptr) throw std::bad_alloc();
        handler();
    }
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
