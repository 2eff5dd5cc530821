// Bindings of norms.hpp.
#include "data/norms.hpp"

#include "common/bind.hpp"

namespace cladify {
namespace {

template <typename T>
void norms(In2<T> rows, In1<double> centre, Out1<double> out, int threads) {
    squared_norms(rows.data(), static_cast<std::int64_t>(rows.shape(1)), {centre.data(), centre.size()},
                  {out.data(), out.size()}, threads);
}

}  // namespace

void bind_norms(nb::module_& m) {
    m.def("squared_norms", &norms<float>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("rows"), nb::arg("centre"),
          nb::arg("out"), nb::arg("threads"));
    m.def("squared_norms", &norms<double>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("rows"), nb::arg("centre"),
          nb::arg("out"), nb::arg("threads"));
}

}  // namespace cladify
