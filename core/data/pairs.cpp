// Bindings of pairs.hpp.
#include "data/pairs.hpp"

#include "common/bind.hpp"

namespace cladify {

namespace {
using Factor = In1<double>;  // empty: every row counts as it is

const double* optional(const Factor& factor) { return factor.shape(0) ? factor.data() : nullptr; }

template <typename Rows>
void run(const Rows& queries, const Rows& base, In1<std::int32_t> query_id, In2<std::uint64_t> keys, bool distances,
         double unit, double error, double longest, In1<double> length, Out2<std::int32_t> best, Out2<double> value,
         Out1<std::uint8_t> sure) {
    const Scores scores{distances, unit, error, longest, length.data()};
    decide(queries, base, query_id.data(), query_id.shape(0), keys.data(), keys.shape(1), best.shape(1), scores,
           best.data(), value.data(), sure.data());
}

template <typename T>
void decide_dense(In2<T> queries, Factor query_factor, In2<T> base, Factor base_factor, In1<std::int32_t> query_id,
                  In2<std::uint64_t> keys, bool distances, double unit, double error, double longest,
                  In1<double> length, Out2<std::int32_t> best, Out2<double> value, Out1<std::uint8_t> sure) {
    const DenseRows<T> A{queries.data(), queries.shape(1), optional(query_factor)};
    const DenseRows<T> B{base.data(), base.shape(1), optional(base_factor)};
    run(A, B, query_id, keys, distances, unit, error, longest, length, best, value, sure);
}

template <typename T>
void decide_sparse(In1<T> query_data, In1<std::int32_t> query_columns, In1<std::int64_t> query_indptr,
                   Factor query_factor, In1<T> data, In1<std::int32_t> columns, In1<std::int64_t> indptr, Factor factor,
                   In1<std::int32_t> query_id, In2<std::uint64_t> keys, bool distances, double unit, double error,
                   double longest, In1<double> length, Out2<std::int32_t> best, Out2<double> value,
                   Out1<std::uint8_t> sure) {
    const SparseRows<T> A{query_data.data(), query_columns.data(), query_indptr.data(), optional(query_factor)};
    const SparseRows<T> B{data.data(), columns.data(), indptr.data(), optional(factor)};
    run(A, B, query_id, keys, distances, unit, error, longest, length, best, value, sure);
}

template <typename T>
void prepare_rows(In2<T> rows, Factor factor, Factor centre, double unit, In1<std::int32_t> id, Out2<float> out) {
    prepare(DenseRows<T>{rows.data(), rows.shape(1), optional(factor)}, optional(centre), unit, id.data(), id.shape(0),
            out.data());
}
}  // namespace

void bind_pairs(nb::module_& m) {
    m.def("prepare_rows", &prepare_rows<float>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("rows"),
          nb::arg("factor"), nb::arg("centre"), nb::arg("unit"), nb::arg("id"), nb::arg("out"));
    m.def("prepare_rows", &prepare_rows<double>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("rows"),
          nb::arg("factor"), nb::arg("centre"), nb::arg("unit"), nb::arg("id"), nb::arg("out"));
    m.def("decide_dense", &decide_dense<float>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("queries"),
          nb::arg("query_factor"), nb::arg("base"), nb::arg("base_factor"), nb::arg("query_id"), nb::arg("keys"),
          nb::arg("distances"), nb::arg("unit"), nb::arg("error"), nb::arg("longest"), nb::arg("length"),
          nb::arg("best"), nb::arg("value"), nb::arg("sure"));
    m.def("decide_dense", &decide_dense<double>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("queries"),
          nb::arg("query_factor"), nb::arg("base"), nb::arg("base_factor"), nb::arg("query_id"), nb::arg("keys"),
          nb::arg("distances"), nb::arg("unit"), nb::arg("error"), nb::arg("longest"), nb::arg("length"),
          nb::arg("best"), nb::arg("value"), nb::arg("sure"));
    m.def("decide_sparse", &decide_sparse<float>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("query_data"),
          nb::arg("query_columns"), nb::arg("query_indptr"), nb::arg("query_factor"), nb::arg("data"),
          nb::arg("columns"), nb::arg("indptr"), nb::arg("factor"), nb::arg("query_id"), nb::arg("keys"),
          nb::arg("distances"), nb::arg("unit"), nb::arg("error"), nb::arg("longest"), nb::arg("length"),
          nb::arg("best"), nb::arg("value"), nb::arg("sure"));
    m.def("decide_sparse", &decide_sparse<double>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("query_data"),
          nb::arg("query_columns"), nb::arg("query_indptr"), nb::arg("query_factor"), nb::arg("data"),
          nb::arg("columns"), nb::arg("indptr"), nb::arg("factor"), nb::arg("query_id"), nb::arg("keys"),
          nb::arg("distances"), nb::arg("unit"), nb::arg("error"), nb::arg("longest"), nb::arg("length"),
          nb::arg("best"), nb::arg("value"), nb::arg("sure"));
}

}  // namespace cladify
