// Bindings of objectives.hpp and the kernels of its sums, of triples.hpp and of optimal.hpp.
#include "common/bind.hpp"

#include "objectives/dense_pairs.hpp"
#include "objectives/leaf_pairs.hpp"
#include "objectives/objectives.hpp"
#include "objectives/optimal.hpp"
#include "objectives/sparse_pairs.hpp"
#include "objectives/triples.hpp"

namespace cladify {
namespace {

using namespace objectives;

using Int = In1<std::int64_t>;
using Real = In1<double>;

TreeView tree_view(const Int& parent, const Int& size, const Int& child_start, const Int& child_ids,
                   std::int64_t n_leaves) {
    const auto m = static_cast<std::int64_t>(parent.size());
    require_parents(view(parent), n_leaves);
    require(size.size() == parent.size(), "one size a node");
    require(static_cast<std::int64_t>(child_start.size()) == m - n_leaves + 1 && child_ids.size() + 1 == parent.size(),
            "one list of children an inner node");
    require_starts(view(child_start), child_ids.size(), "the children do not lie one after another");
    require_within(view(child_ids), 0, m, "a child that is not there");
    return {view(parent), view(size), view(child_start), view(child_ids), n_leaves};
}

nb::tuple as_tuple(const PairSums& sums) { return nb::make_tuple(sums.total, sums.lca, sums.sides); }
nb::tuple as_tuple(const TripleSums& sums) { return nb::make_tuple(sums.largest, sums.smallest); }

// Sums below each node of values of the leaves, or of all nodes.
Array1<double> node_sums(Int parent, Real value) {
    require_parents(view(parent), 1);
    require(value.size() <= parent.size(), "at most one value a node");
    std::vector<double> sum(parent.size(), 0.0);
    {
        nb::gil_scoped_release release;
        std::copy(value.data(), value.data() + value.size(), sum.begin());
        for (std::size_t v = 0; v + 1 < sum.size(); ++v) sum[parent.data()[v]] += sum[v];
    }
    return to_numpy(std::move(sum));
}

// With `cross` of one value an inner node, that gets the weight between the children of each.
std::span<double> cross_span(const Out1<double>& cross) { return {cross.data(), cross.size()}; }

template <typename T>
nb::tuple dense(Int parent, Int size, Int child_start, Int child_ids, In2<T> rows, Real centre, Real factor, Real mass,
                Real offset, double scale, double shift, int threads, Out1<double> cross) {
    PairSums sums;
    {
        nb::gil_scoped_release release;
        const auto n = static_cast<std::int64_t>(rows.shape(0));
        const TreeView tree = tree_view(parent, size, child_start, child_ids, n);
        const DenseRows<T> data{rows.data(), static_cast<std::int64_t>(rows.shape(1)), view(centre), view(factor)};
        const Affine affine{scale, shift, view(mass), view(offset), cross_span(cross)};
        Interrupt interrupt = python_interrupt();
        sums = dense_pair_sums(tree, data, affine, threads, interrupt);
    }
    return as_tuple(sums);
}

template <typename T, typename Index>
nb::tuple sparse(Int parent, Int size, Int child_start, Int child_ids, Int order, Int first, In1<Index> indptr,
                 In1<Index> indices, In1<T> data, std::int64_t k, Real factor, Real mass, Real offset, double scale,
                 double shift, int threads, Out1<double> cross) {
    PairSums sums;
    {
        nb::gil_scoped_release release;
        const TreeView tree = tree_view(parent, size, child_start, child_ids, static_cast<std::int64_t>(order.size()));
        const std::size_t n = order.size();
        require(indptr.size() == n + 1 && first.size() == parent.size(), "one row a leaf, one place a node");
        require_within(view(order), 0, static_cast<std::int64_t>(n), "a leaf that is not there");
        require_starts(view(indptr), indices.size(), "indptr must rise from 0 to the number of entries");
        require_within(view(indices), 0, k, "a column that is not there");
        require(data.size() == indices.size(), "one value an entry");
        const SparseRows<T, Index> rows{indptr.data(), indices.data(), data.data(), k, view(factor)};
        const Affine affine{scale, shift, view(mass), view(offset), cross_span(cross)};
        Interrupt interrupt = python_interrupt();
        sums = sparse_pair_sums(tree, view(order), view(first), rows, affine, threads, interrupt);
    }
    return as_tuple(sums);
}

// Rows of weights in depth-first order: row r is the leaf at place p + r, column 0 the leaf at place p.
template <typename T>
nb::tuple add_rows(const Gaps& gaps, std::int64_t p, In2<T> values, Real weight) {
    PairSums sums;
    {
        nb::gil_scoped_release release;
        const auto columns = static_cast<std::int64_t>(values.shape(1)), n = std::ssize(gaps.node) + 1;
        require(p >= 0 && p + columns <= n && values.shape(0) <= values.shape(1), "rows of leaves that are not there");
        require(std::ssize(view(weight)) == n, "one weight a leaf");
        for (std::int64_t r = 0; r < static_cast<std::int64_t>(values.shape(0)); ++r) {
            const std::span<const T> row(values.data() + r * columns + r + 1, columns - r - 1);
            add_row(gaps, p + r, row, view(weight), sums);
        }
    }
    return as_tuple(sums);
}

template <typename T>
nb::tuple edges(Int parent, Int size, Int child_start, Int child_ids, Int first, Real mass, Int u, Int v, Int lca,
                In1<T> weight) {
    PairSums sums;
    {
        nb::gil_scoped_release release;
        const TreeView tree = tree_view(parent, size, child_start, child_ids,
                                        static_cast<std::int64_t>(parent.size() - child_start.size() + 1));
        const auto m = static_cast<std::int64_t>(parent.size());
        require(v.size() == u.size() && lca.size() == u.size() && weight.size() == u.size(), "two ends a weight");
        require(first.size() == parent.size() && mass.size() == parent.size(), "one value a node");
        for (const Int& nodes : {u, v}) require_within(view(nodes), 0, tree.n_leaves, "an edge leads to no leaf");
        require_within(view(lca), 0, m, "a node that is not there");
        sums = edge_sums(tree, view(first), view(mass), view(u), view(v), view(lca), view(weight));
    }
    return as_tuple(sums);
}

nb::tuple triples(In2<double> w, Real weight, int threads) {
    TripleSums sums;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require(w.shape(0) == w.shape(1) && weight.size() == w.shape(0), "a square matrix, one weight a row");
        sums = triple_sums(w.data(), static_cast<std::int64_t>(w.shape(0)), view(weight), threads, interrupt);
    }
    return as_tuple(sums);
}

nb::tuple counted_triples(In2<double> w, int threads) {
    TripleSums sums;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require(w.shape(0) == w.shape(1), "a square matrix");
        sums = CountedTriples(w.data(), static_cast<std::int64_t>(w.shape(0))).run(threads, interrupt);
    }
    return as_tuple(sums);
}

template <typename Index>
nb::tuple graph_triples(In1<Index> indptr, In1<Index> indices, Real w, Real weight, int threads) {
    TripleSums sums;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require_graph(view(indptr), view(indices), w.size());
        require(weight.size() + 1 == indptr.size(), "one weight a node");
        sums = graph_triple_sums(view(indptr), view(indices), view(w), view(weight), threads, interrupt);
    }
    return as_tuple(sums);
}

Array1<std::int32_t> splits(In2<double> w, Real weight, double sign) {
    std::vector<std::int32_t> out;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require(w.shape(0) == w.shape(1) && weight.size() == w.shape(0), "a square matrix, one weight a row");
        out = best_splits({w.data(), w.size()}, view(weight), sign, interrupt);
    }
    return to_numpy(std::move(out));
}

}  // namespace

void bind_objectives(nb::module_& m) {
    m.def("node_sums", &node_sums, nb::arg("parent"), nb::arg("value"));
    m.def("dense_pair_sums", &dense<float>, nb::arg("parent"), nb::arg("size"), nb::arg("child_start"),
          nb::arg("child_ids"), nb::arg("rows"), nb::arg("centre"), nb::arg("factor"), nb::arg("mass"),
          nb::arg("offset"), nb::arg("scale"), nb::arg("shift"), nb::arg("threads"), nb::arg("cross"));
    m.def("dense_pair_sums", &dense<double>, nb::arg("parent"), nb::arg("size"), nb::arg("child_start"),
          nb::arg("child_ids"), nb::arg("rows"), nb::arg("centre"), nb::arg("factor"), nb::arg("mass"),
          nb::arg("offset"), nb::arg("scale"), nb::arg("shift"), nb::arg("threads"), nb::arg("cross"));
    m.def("sparse_pair_sums", &sparse<float, std::int32_t>, nb::arg("parent"), nb::arg("size"), nb::arg("child_start"),
          nb::arg("child_ids"), nb::arg("order"), nb::arg("first"), nb::arg("indptr"), nb::arg("indices"),
          nb::arg("data"), nb::arg("k"), nb::arg("factor"), nb::arg("mass"), nb::arg("offset"), nb::arg("scale"),
          nb::arg("shift"), nb::arg("threads"), nb::arg("cross"));
    m.def("sparse_pair_sums", &sparse<double, std::int32_t>, nb::arg("parent"), nb::arg("size"), nb::arg("child_start"),
          nb::arg("child_ids"), nb::arg("order"), nb::arg("first"), nb::arg("indptr"), nb::arg("indices"),
          nb::arg("data"), nb::arg("k"), nb::arg("factor"), nb::arg("mass"), nb::arg("offset"), nb::arg("scale"),
          nb::arg("shift"), nb::arg("threads"), nb::arg("cross"));
    m.def("sparse_pair_sums", &sparse<float, std::int64_t>, nb::arg("parent"), nb::arg("size"), nb::arg("child_start"),
          nb::arg("child_ids"), nb::arg("order"), nb::arg("first"), nb::arg("indptr"), nb::arg("indices"),
          nb::arg("data"), nb::arg("k"), nb::arg("factor"), nb::arg("mass"), nb::arg("offset"), nb::arg("scale"),
          nb::arg("shift"), nb::arg("threads"), nb::arg("cross"));
    m.def("sparse_pair_sums", &sparse<double, std::int64_t>, nb::arg("parent"), nb::arg("size"), nb::arg("child_start"),
          nb::arg("child_ids"), nb::arg("order"), nb::arg("first"), nb::arg("indptr"), nb::arg("indices"),
          nb::arg("data"), nb::arg("k"), nb::arg("factor"), nb::arg("mass"), nb::arg("offset"), nb::arg("scale"),
          nb::arg("shift"), nb::arg("threads"), nb::arg("cross"));
    nb::class_<Gaps>(m, "Gaps")
        .def(
            "__init__",
            [](Gaps* self, Int parent, Int size, Int child_start, Int child_ids, Int first, Real mass) {
                const auto n = static_cast<std::int64_t>(parent.size() - child_start.size() + 1);
                require(first.size() == parent.size() && mass.size() == parent.size(), "one value a node");
                require_within(view(first), 0, n, "a node begins at no leaf");
                new (self) Gaps(gaps_of(tree_view(parent, size, child_start, child_ids, n), view(first), view(mass)));
            },
            nb::arg("parent"), nb::arg("size"), nb::arg("child_start"), nb::arg("child_ids"), nb::arg("first"),
            nb::arg("mass"))
        .def("add_rows", &add_rows<float>, nb::arg("p"), nb::arg("values"), nb::arg("weight"))
        .def("add_rows", &add_rows<double>, nb::arg("p"), nb::arg("values"), nb::arg("weight"));
    m.def("edge_pair_sums", &edges<float>, nb::arg("parent"), nb::arg("size"), nb::arg("child_start"),
          nb::arg("child_ids"), nb::arg("first"), nb::arg("mass"), nb::arg("u"), nb::arg("v"), nb::arg("lca"),
          nb::arg("weight"));
    m.def("edge_pair_sums", &edges<double>, nb::arg("parent"), nb::arg("size"), nb::arg("child_start"),
          nb::arg("child_ids"), nb::arg("first"), nb::arg("mass"), nb::arg("u"), nb::arg("v"), nb::arg("lca"),
          nb::arg("weight"));
    m.def("triple_sums", &triples, nb::arg("w"), nb::arg("weight"), nb::arg("threads"));
    m.def("counted_triple_sums", &counted_triples, nb::arg("w"), nb::arg("threads"));
    m.def("graph_triple_sums", &graph_triples<std::int32_t>, nb::arg("indptr"), nb::arg("indices"), nb::arg("w"),
          nb::arg("weight"), nb::arg("threads"));
    m.def("graph_triple_sums", &graph_triples<std::int64_t>, nb::arg("indptr"), nb::arg("indices"), nb::arg("w"),
          nb::arg("weight"), nb::arg("threads"));
    m.def("best_splits", &splits, nb::arg("w"), nb::arg("weight"), nb::arg("sign"));
}

}  // namespace cladify
