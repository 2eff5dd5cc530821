// Bindings of metrics.hpp and agreement.hpp.
#include "common/bind.hpp"

#include "metrics/agreement.hpp"
#include "metrics/metrics.hpp"

namespace cladify {
namespace {

using Int = In1<std::int64_t>;
using Real = In1<double>;

IdSpan ids(const Int& a) { return {a.data(), a.size()}; }
RealSpan reals(const Real& a) { return {a.data(), a.size()}; }
Children children_from(const Int& start, const Int& child) {
    return {Ids(start.data(), start.data() + start.size()), Ids(child.data(), child.data() + child.size())};
}

// The labels of a tree's leaves, ready for walking: made once, asked several times.
struct LabelledTree {
    LabelPlaces places;
};

Array1<double> purity(const LabelledTree& labels, const Lca& lca, Int size, int threads) {
    std::vector<double> out;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        out = purity_sums(labels.places, lca, ids(size), threads, interrupt);
    }
    return to_numpy(std::move(out));
}

Array1<std::int64_t> joined(const LabelledTree& labels, const Lca& lca, std::int64_t n_nodes, int threads) {
    Ids out;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        out = joined_pairs(labels.places, lca, n_nodes, threads, interrupt);
    }
    return to_numpy(std::move(out));
}

Array1<double> outside(const LabelledTree& labels, const Lca& lca, Int child_start, Int child, Int first, Int size,
                       std::int64_t n_leaves, int threads) {
    std::vector<double> out;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        out = outside_sums(labels.places, lca, children_from(child_start, child), ids(first), ids(size), n_leaves,
                           threads, interrupt);
    }
    return to_numpy(std::move(out));
}

Array1<double> best_nodes(const LabelledTree& labels, const Lca& lca, Int size, int threads) {
    std::vector<double> out;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        out = best_node_of_labels(labels.places, lca, ids(size), threads, interrupt);
    }
    return to_numpy(std::move(out));
}

Array1<double> best_labels(Int parent, Int size, Int order, Int first, Int last, Int start, Int label, Int label_size,
                           int threads) {
    std::vector<double> out;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        out = best_label_of_nodes(ids(parent), ids(size), ids(order), ids(first), ids(last), ids(start), ids(label),
                                  ids(label_size), threads, interrupt);
    }
    return to_numpy(std::move(out));
}

nb::tuple cut_for_ratio(Int parent, Int pairs, Int same, double ratio, std::int64_t n_leaves) {
    BestCut out;
    {
        nb::gil_scoped_release release;
        out = best_cut(ids(parent), ids(pairs), ids(same), ratio, n_leaves);
    }
    return nb::make_tuple(to_numpy(std::move(out.marked)), out.same, out.predicted);
}

// A tree's arrays, owned, for kernels that look at two trees.
struct ViewedTree {
    ViewedTree(Int parent, Int order, Int first, Int last, Int child_start, Int child, std::int64_t n_leaves)
        : parent_(parent),
          order_(order),
          first_(first),
          last_(last),
          children_(children_from(child_start, child)),
          view{ids(parent_), ids(order_), ids(first_), ids(last_), children_, n_leaves} {}
    Int parent_, order_, first_, last_;
    Children children_;
    LeafView view;
};

nb::tuple triples(const ViewedTree& a, const ViewedTree& b, int threads) {
    SameTriples same;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        same = same_triples(a.view, b.view, threads, interrupt);
    }
    return nb::make_tuple(same.resolved, same.unresolved);
}

double cophenetic(const ViewedTree& a, const ViewedTree& b, Real height_a, Real height_b, double shift_a,
                  double shift_b, int threads) {
    nb::gil_scoped_release release;
    Interrupt interrupt = python_interrupt();
    return cophenetic_product(a.view, b.view, reals(height_a), reals(height_b), shift_a, shift_b, threads, interrupt);
}

}  // namespace

void bind_metrics(nb::module_& m) {
    nb::class_<LabelledTree>(m, "LabelledTree")
        .def(
            "__init__",
            [](LabelledTree* self, Int order, Int start, Int label, std::int64_t n_labels) {
                nb::gil_scoped_release release;
                new (self) LabelledTree{places_by_label(ids(order), ids(start), ids(label), n_labels)};
            },
            nb::arg("order"), nb::arg("start"), nb::arg("label"), nb::arg("n_labels"))
        .def("purity_sums", &purity, nb::arg("lca"), nb::arg("size"), nb::arg("threads"))
        .def("joined_pairs", &joined, nb::arg("lca"), nb::arg("n_nodes"), nb::arg("threads"))
        .def("outside_sums", &outside, nb::arg("lca"), nb::arg("child_start"), nb::arg("child"), nb::arg("first"),
             nb::arg("size"), nb::arg("n_leaves"), nb::arg("threads"))
        .def("best_nodes", &best_nodes, nb::arg("lca"), nb::arg("size"), nb::arg("threads"));
    nb::class_<ViewedTree>(m, "ViewedTree")
        .def(nb::init<Int, Int, Int, Int, Int, Int, std::int64_t>(), nb::arg("parent"), nb::arg("order"),
             nb::arg("first"), nb::arg("last"), nb::arg("child_start"), nb::arg("child"), nb::arg("n_leaves"));
    m.def("best_cut", &cut_for_ratio, nb::arg("parent"), nb::arg("pairs"), nb::arg("same"), nb::arg("ratio"),
          nb::arg("n_leaves"));
    m.def("best_labels", &best_labels, nb::arg("parent"), nb::arg("size"), nb::arg("order"), nb::arg("first"),
          nb::arg("last"), nb::arg("start"), nb::arg("label"), nb::arg("label_size"), nb::arg("threads"));
    m.def("same_triples", &triples, nb::arg("a"), nb::arg("b"), nb::arg("threads"));
    m.def(
        "tree_sums", [](Int parent, Int values) { return to_numpy(subtree_sums(ids(parent), ids(values))); },
        nb::arg("parent"), nb::arg("values"));
    m.def("cophenetic_product", &cophenetic, nb::arg("a"), nb::arg("b"), nb::arg("height_a"), nb::arg("height_b"),
          nb::arg("shift_a"), nb::arg("shift_b"), nb::arg("threads"));
}

}  // namespace cladify
