// Shared by all bindings: array types, returning a vector as an array, and the interrupt that asks Python.
// Kernels live in headers that know nothing of Python; a bindings file only unpacks arrays, releases the GIL, calls.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "common/check.hpp"
#include "common/interrupt.hpp"

namespace cladify {
namespace nb = nanobind;

// Input arrays, read-only and C-contiguous; the caller converts beforehand, so a wrong dtype is an error, not a copy.
template <typename T>
using In1 = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using In2 = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Arrays that a kernel writes into.
template <typename T>
using Out1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Out2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Arrays that a kernel returns.
template <typename T>
using Array1 = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T>
std::span<const T> view(const In1<T>& array) {
    return {array.data(), array.size()};
}

template <typename T>
Array1<T> to_numpy(std::vector<T> values) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    const std::size_t n = owned->size();
    nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    owned.release();
    return Array1<T>(data, {n}, owner);
}

// True when a signal handler raised (Ctrl-C). Safe to call with the GIL released.
inline bool python_wants_stop() {
    nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

inline Interrupt python_interrupt() { return Interrupt(&python_wants_stop); }

// The bindings of each folder, which common/bind.cpp calls.
void bind_data(nb::module_& m);
void bind_divide(nb::module_& m);
void bind_hac(nb::module_& m);
void bind_hyperbolic(nb::module_& m);
void bind_layout(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_mutable(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_objectives(nb::module_& m);
void bind_online(nb::module_& m);
void bind_overlap(nb::module_& m);
void bind_refinement(nb::module_& m);
void bind_rounds(nb::module_& m);
void bind_tree(nb::module_& m);

}  // namespace cladify
