// Bindings of the kernels on graphs and rows.
#include "common/bind.hpp"

#include "data/graph.hpp"
#include "data/norms.hpp"
#include "data/pairs.hpp"
#include "data/screen.hpp"
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

using Bytes2 = Out2<std::uint8_t>;
using Signed1 = Out1<std::int8_t>;

Quantised quantised(Bytes2& raised, Signed1& packed, Out1<float>& scale, Out1<std::int32_t>& shift, Out1<float>& rest,
                    Out1<float>& size) {
    const std::size_t width = raised.shape(1), padded = (raised.shape(0) + kPanel - 1) / kPanel * kPanel;
    require(width % kWord == 0 && width <= 16384, "rows of whole words, and short enough for sums of 32 bits");
    require(packed.size() == padded * width && scale.size() == padded && shift.size() == padded &&
                rest.size() == padded && size.size() == padded,
            "one entry a row of whole panels");
    return {raised.data(), packed.data(), scale.data(), shift.data(), rest.data(), size.data(), width};
}

void quantise(In2<float> z, std::int64_t first, std::int64_t last, Bytes2 raised, Signed1 packed, Out1<float> scale,
              Out1<std::int32_t> shift, Out1<float> rest, Out1<float> size) {
    const Quantised to = quantised(raised, packed, scale, shift, rest, size);
    require(raised.shape(0) == z.shape(0) && to.width >= z.shape(1), "one int8 row a row");
    require(0 <= first && first <= last && last <= static_cast<std::int64_t>(z.shape(0)), "no such rows");
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
        quantise_row(z.data() + i * z.shape(1), z.shape(1), i, to);
}

std::int64_t screen(Out2<std::uint64_t> keys, Out1<std::uint8_t> locks, In2<float> left_z, Bytes2 left_raised,
                    Signed1 left_packed, Out1<float> left_scale, Out1<std::int32_t> left_shift, Out1<float> left_rest,
                    Out1<float> left_size, In2<float> right_z, Bytes2 right_raised, Signed1 right_packed,
                    Out1<float> right_scale, Out1<std::int32_t> right_shift, Out1<float> right_rest,
                    Out1<float> right_size, std::int64_t first_row, std::int64_t first_column, In1<std::int32_t> row_id,
                    In1<std::int32_t> column_id, In1<std::int32_t> row_group, In1<std::int32_t> column_group,
                    In1<float> row_bias, In1<float> column_bias, In1<float> slack, bool both) {
    const std::size_t rows = row_group.size(), columns = column_group.size();
    require(supports_vnni(), "this processor has no int8 products");
    require(row_bias.size() == rows && slack.size() == rows && column_bias.size() == columns && row_id.size() == rows &&
                column_id.size() == columns,
            "one id, group and bias a row and a column of the block");
    const auto heaps = static_cast<std::int64_t>(keys.shape(0));
    require_within(view(row_id), 0, heaps, "a row has no heap");
    if (both) require_within(view(column_id), 0, heaps, "a column has no heap");
    require(left_z.shape(1) == right_z.shape(1), "rows of the same length");
    auto within = [](std::int64_t first, std::size_t count, std::size_t all) {
        return first >= 0 && static_cast<std::size_t>(first) <= all && count <= all - static_cast<std::size_t>(first);
    };
    require(within(first_row, rows, left_z.shape(0)) && within(first_column, columns, right_z.shape(0)) &&
                first_column % static_cast<std::int64_t>(kPanel) == 0,
            "no such block");
    require(left_raised.shape(0) == left_z.shape(0) && right_raised.shape(0) == right_z.shape(0) &&
                left_raised.shape(1) == right_raised.shape(1),
            "one int8 row a row");
    require(locks.size() == keys.shape(0), "one lock a heap");
#if defined(__x86_64__)
    const TopK top{keys.data(), locks.data(), keys.shape(1)};
    const PairBlock block{
        quantised(left_raised, left_packed, left_scale, left_shift, left_rest, left_size),
        quantised(right_raised, right_packed, right_scale, right_shift, right_rest, right_size),
        left_z.data(),
        right_z.data(),
        left_z.shape(1),
        static_cast<std::size_t>(first_row),
        rows,
        static_cast<std::size_t>(first_column),
        columns,
        row_id.data(),
        column_id.data(),
        row_group.data(),
        column_group.data(),
        row_bias.data(),
        column_bias.data(),
        slack.data(),
    };
    return static_cast<std::int64_t>(both ? BlockScreen<true>(top, block).run() : BlockScreen<false>(top, block).run());
#else
    return 0;
#endif
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
    m.def("can_screen", &supports_vnni);
    m.def("quantise", &quantise, nb::call_guard<nb::gil_scoped_release>(), nb::arg("z"), nb::arg("first"),
          nb::arg("last"), nb::arg("raised"), nb::arg("packed"), nb::arg("scale"), nb::arg("shift"), nb::arg("rest"),
          nb::arg("size"));
    m.def("screen", &screen, nb::call_guard<nb::gil_scoped_release>(), nb::arg("keys"), nb::arg("locks"),
          nb::arg("left_z"), nb::arg("left_raised"), nb::arg("left_packed"), nb::arg("left_scale"),
          nb::arg("left_shift"), nb::arg("left_rest"), nb::arg("left_size"), nb::arg("right_z"),
          nb::arg("right_raised"), nb::arg("right_packed"), nb::arg("right_scale"), nb::arg("right_shift"),
          nb::arg("right_rest"), nb::arg("right_size"), nb::arg("first_row"), nb::arg("first_column"),
          nb::arg("row_id"), nb::arg("column_id"), nb::arg("row_group"), nb::arg("column_group"), nb::arg("row_bias"),
          nb::arg("column_bias"), nb::arg("slack"), nb::arg("both"));
    m.def("best", &best, nb::call_guard<nb::gil_scoped_release>(), nb::arg("keys"), nb::arg("id"), nb::arg("score"));
}

}  // namespace cladify
