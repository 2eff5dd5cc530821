// The module: its processor check, its allocations, and the bindings of all folders.
#include "common/bind.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "common/cpu.hpp"

namespace cladify {
namespace {

// Allocations until the one that fails, which it does too; 0: none fails. Tests of the core without memory set it.
std::atomic<std::int64_t> countdown{0};

// Makes the allocation number `count` from now fail, or none if `count` is 0; returns the rest of the last countdown.
std::int64_t fail_allocation(std::int64_t count) { return countdown.exchange(count); }

bool fails_now() {
    return countdown.load(std::memory_order_relaxed) > 0 && countdown.fetch_sub(1, std::memory_order_relaxed) == 1;
}

}  // namespace
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

NB_MODULE(CLADIFY_MODULE, m) {
    using namespace cladify;
    // python_wants_stop has set the Python error (KeyboardInterrupt) already, which is raised as it is.
    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const Interrupted&) {
            if (!PyErr_Occurred()) PyErr_SetNone(PyExc_KeyboardInterrupt);
        }
    });
    m.def("supports_v3", &supports_v3);
    m.def("fail_allocation", &fail_allocation, nb::arg("count"));
    bind_data(m);
    bind_tree(m);
    bind_neighbors(m);
    bind_metrics(m);
    bind_objectives(m);
    bind_refinement(m);
    bind_hac(m);
    bind_rounds(m);
    bind_divide(m);
    bind_overlap(m);
    bind_hyperbolic(m);
    bind_layout(m);
    bind_mutable(m);
    bind_online(m);
}
