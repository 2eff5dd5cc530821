// Bindings of sparse.hpp.
#include "data/sparse.hpp"

#include "common/bind.hpp"

namespace cladify {

namespace {
void block(In1<float> a_data, In1<std::int32_t> a_columns, In1<std::int64_t> a_indptr, In1<float> b_data,
           In1<std::int32_t> b_rows, In1<std::int64_t> b_indptr, Out2<float> out) {
    sparse_block(a_data.data(), a_columns.data(), a_indptr.data(), out.shape(0), b_data.data(), b_rows.data(),
                 b_indptr.data(), out.shape(1), out.data());
}
}  // namespace

void bind_sparse(nb::module_& m) {
    m.def("sparse_block", &block, nb::call_guard<nb::gil_scoped_release>(), nb::arg("a_data"), nb::arg("a_columns"),
          nb::arg("a_indptr"), nb::arg("b_data"), nb::arg("b_rows"), nb::arg("b_indptr"), nb::arg("out"));
}

}  // namespace cladify
