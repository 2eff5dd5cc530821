// Bindings of the kernels on graphs and rows.
#include "common/bind.hpp"

#include "data/graph.hpp"
#include "data/norms.hpp"
#include "data/pairs.hpp"
#include "data/sparse.hpp"
#include "data/symmetrize.hpp"
#include "data/topk.hpp"

namespace cladify {
namespace {

template <typename T>
Array1<T> hand_over(Raw<T> values) {
    T* data = values.data.release();
    return Array1<T>(data, {values.size}, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}

template <typename Value>
nb::tuple both_directions(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<Value> value, int how, int threads) {
    Edges<Value> edges;
    {
        nb::gil_scoped_release release;
        require_graph(view(indptr), view(indices), value.size());
        require(how >= 0 && how <= static_cast<int>(Combine::either_holds), "no such way to combine two directions");
        Interrupt interrupt = python_interrupt();
        edges = Symmetrize<Value>(indptr.data(), indices.data(), value.data(), indptr.shape(0) - 1,
                                  static_cast<Combine>(how), threads)
                    .run(interrupt);
    }
    return nb::make_tuple(hand_over(std::move(edges.indptr)), hand_over(std::move(edges.indices)),
                          hand_over(std::move(edges.value)));
}

Array1<std::int32_t> component_labels(In1<std::int64_t> indptr, In1<std::int32_t> indices) {
    std::vector<std::int32_t> label;
    {
        nb::gil_scoped_release release;
        require_graph(view(indptr), view(indices), indices.size());
        Interrupt interrupt = python_interrupt();
        label = components(indptr.data(), indices.data(), indptr.shape(0) - 1, interrupt);
    }
    return to_numpy(std::move(label));
}

template <typename Value>
void sort(Out2<std::int32_t> indices, Out2<Value> value) {
    require(value.shape(0) == indices.shape(0) && value.shape(1) == indices.shape(1), "one value an index");
    sort_rows(indices.data(), value.data(), indices.shape(0), indices.shape(1));
}

template <typename T>
void norms(In2<T> rows, In1<double> centre, Out1<double> out, int threads) {
    require(centre.size() == rows.shape(1), "the centre has one value a column");
    require(out.size() == rows.shape(0), "one norm a row");
    squared_norms(rows.data(), static_cast<std::int64_t>(rows.shape(1)), {centre.data(), centre.size()},
                  {out.data(), out.size()}, threads);
}

using Factor = In1<double>;  // empty: every row counts as it is

const double* optional(const Factor& factor) { return factor.shape(0) ? factor.data() : nullptr; }

template <typename Rows>
void run(const Rows& queries, const Rows& base, In1<std::int32_t> query_id, In2<std::uint64_t> keys, bool distances,
         double unit, double error, double longest, In1<double> length, Out2<std::int32_t> best, Out2<double> value,
         Out1<std::uint8_t> sure) {
    const std::size_t count = query_id.size();
    require(keys.shape(0) == count && length.size() == count && sure.size() == count && best.shape(0) == count &&
                value.shape(0) == count && value.shape(1) == best.shape(1),
            "one row of each array a query");
    const Scores scores{distances, unit, error, longest, length.data()};
    decide(queries, base, query_id.data(), count, keys.data(), keys.shape(1), best.shape(1), scores, best.data(),
           value.data(), sure.data());
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
    require(out.shape(0) == id.size() && out.shape(1) == rows.shape(1), "one prepared row an id");
    require_within(view(id), 0, static_cast<std::int64_t>(rows.shape(0)), "an id is no row");
    require(factor.size() == 0 || factor.size() == rows.shape(0), "one factor a row");
    require(centre.size() == 0 || centre.size() == rows.shape(1), "the centre has one value a column");
    prepare(DenseRows<T>{rows.data(), rows.shape(1), optional(factor)}, optional(centre), unit, id.data(), id.shape(0),
            out.data());
}

void block(In1<float> a_data, In1<std::int32_t> a_columns, In1<std::int64_t> a_indptr, In1<float> b_data,
           In1<std::int32_t> b_rows, In1<std::int64_t> b_indptr, Out2<float> out) {
    require(a_indptr.size() == out.shape(0) + 1 && b_indptr.size() > 0, "one list a row");
    sparse_block(a_data.data(), a_columns.data(), a_indptr.data(), out.shape(0), b_data.data(), b_rows.data(),
                 b_indptr.data(), out.shape(1), out.data());
}

void offer(Out2<std::uint64_t> keys, Out1<std::uint8_t> locks, In2<float> score, In1<std::int32_t> row_id,
           In1<std::int32_t> column_id, In1<std::int32_t> row_group, In1<std::int32_t> column_group,
           In1<float> row_bias, In1<float> column_bias, bool both, bool unique) {
    const std::size_t rows = score.shape(0), columns = score.shape(1);
    require(row_id.size() == rows && row_group.size() == rows && row_bias.size() == rows &&
                column_id.size() == columns && column_group.size() == columns && column_bias.size() == columns,
            "one id, group and bias a row and a column of the scores");
    const auto heaps = static_cast<std::int64_t>(keys.shape(0));
    require(locks.size() == keys.shape(0), "one lock a heap");
    require_within(view(row_id), 0, heaps, "a row has no heap");
    if (both) require_within(view(column_id), 0, heaps, "a column has no heap");
    const TopK top{keys.data(), locks.data(), keys.shape(1), unique};
    const ScoreBlock block{score.data(),
                           rows,
                           columns,
                           row_id.data(),
                           column_id.data(),
                           row_group.data(),
                           column_group.data(),
                           row_bias.data(),
                           column_bias.data()};
    both ? offer_block<true>(top, block) : offer_block<false>(top, block);
}

void best(In2<std::uint64_t> keys, Out2<std::int32_t> id, Out2<float> score) {
    const std::size_t capacity = keys.shape(1), k = id.shape(1);
    require(id.shape(0) == keys.shape(0) && score.shape(0) == keys.shape(0) && score.shape(1) == k, "one row a heap");
    for (std::size_t i = 0; i < keys.shape(0); ++i)
        best_of(keys.data() + i * capacity, capacity, k, id.data() + i * k, score.data() + i * k);
}

}  // namespace

void bind_data(nb::module_& m) {
    m.def("symmetrize", &both_directions<float>, nb::arg("indptr"), nb::arg("indices"), nb::arg("value"),
          nb::arg("how"), nb::arg("threads"));
    m.def("symmetrize", &both_directions<double>, nb::arg("indptr"), nb::arg("indices"), nb::arg("value"),
          nb::arg("how"), nb::arg("threads"));
    m.def("components", &component_labels, nb::arg("indptr"), nb::arg("indices"));
    m.def("sort_rows", &sort<float>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("indices"), nb::arg("value"));
    m.def("sort_rows", &sort<double>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("indices"), nb::arg("value"));
    m.def("squared_norms", &norms<float>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("rows"), nb::arg("centre"),
          nb::arg("out"), nb::arg("threads"));
    m.def("squared_norms", &norms<double>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("rows"), nb::arg("centre"),
          nb::arg("out"), nb::arg("threads"));
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
    m.def("sparse_block", &block, nb::call_guard<nb::gil_scoped_release>(), nb::arg("a_data"), nb::arg("a_columns"),
          nb::arg("a_indptr"), nb::arg("b_data"), nb::arg("b_rows"), nb::arg("b_indptr"), nb::arg("out"));
    m.def("offer", &offer, nb::call_guard<nb::gil_scoped_release>(), nb::arg("keys"), nb::arg("locks"),
          nb::arg("score"), nb::arg("row_id"), nb::arg("column_id"), nb::arg("row_group"), nb::arg("column_group"),
          nb::arg("row_bias"), nb::arg("column_bias"), nb::arg("both"), nb::arg("unique"));
    m.def("best", &best, nb::call_guard<nb::gil_scoped_release>(), nb::arg("keys"), nb::arg("id"), nb::arg("score"));
}

}  // namespace cladify
