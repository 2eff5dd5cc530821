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
IdSpan parents(const Int& parent, std::int64_t n_leaves) {
    require_parents(ids(parent), n_leaves);
    return ids(parent);
}
Children children_from(const Int& start, const Int& child) {
    require_starts(ids(start), child.size(), "the children do not lie one after another");
    const auto m = static_cast<std::int64_t>(child.size()) + 1;
    require_within(ids(child), 0, m, "a child that is not there");
    return {Ids(start.data(), start.data() + start.size()), Ids(child.data(), child.data() + child.size())};
}

// The labels of a tree's leaves, ready for walking: made once, asked several times.
struct LabelledTree {
    LabelPlaces places;
    std::int64_t n_leaves;
};

void require_fits(const LabelledTree& labels, const Lca& lca, const Int& size) {
    require(labels.n_leaves == lca.n_leaves() && static_cast<std::int64_t>(size.size()) == lca.n_nodes(),
            "labels, lca and sizes of different trees");
}

// The labels of leaf i are label[start[i] .. start[i + 1]).
void require_labels(const Int& start, const Int& label, std::int64_t n_leaves, std::int64_t n_labels) {
    require(static_cast<std::int64_t>(start.size()) == n_leaves + 1, "the labels of each leaf");
    require_starts(ids(start), label.size(), "the labels do not lie one after another");
    require_within(ids(label), 0, n_labels, "a label that is not there");
}

Array1<double> purity(const LabelledTree& labels, const Lca& lca, Int size, int threads) {
    std::vector<double> out;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require_fits(labels, lca, size);
        out = purity_sums(labels.places, lca, ids(size), threads, interrupt);
    }
    return to_numpy(std::move(out));
}

Array1<std::int64_t> joined(const LabelledTree& labels, const Lca& lca, std::int64_t n_nodes, int threads) {
    Ids out;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require(lca.n_nodes() == n_nodes && labels.n_leaves == lca.n_leaves(), "labels and lca of another tree");
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
        require_fits(labels, lca, size);
        require(first.size() == size.size() && child.size() + 1 == size.size() && n_leaves == lca.n_leaves() &&
                    child_start.size() + static_cast<std::size_t>(n_leaves) == size.size() + 1,
                "arrays of another tree");
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
        require_fits(labels, lca, size);
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
        const auto n = static_cast<std::int64_t>(order.size());
        require(size.size() == parent.size() && first.size() == parent.size() && last.size() == parent.size(),
                "one value a node");
        require_within(ids(order), 0, n, "a leaf that is not there");
        require_within(ids(first), 0, n + 1, "a node begins at no leaf");
        require_within(ids(last), 0, n + 1, "a node ends at no leaf");
        require_labels(start, label, n, static_cast<std::int64_t>(label_size.size()));
        out = best_label_of_nodes(parents(parent, n), ids(size), ids(order), ids(first), ids(last), ids(start),
                                  ids(label), ids(label_size), threads, interrupt);
    }
    return to_numpy(std::move(out));
}

nb::tuple cut_for_ratio(Int parent, Int pairs, Int same, double ratio, std::int64_t n_leaves) {
    BestCut out;
    {
        nb::gil_scoped_release release;
        require(pairs.size() == parent.size() && same.size() == parent.size(), "one count a node");
        out = best_cut(parents(parent, n_leaves), ids(pairs), ids(same), ratio, n_leaves);
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
          view{parents(parent_, n_leaves), ids(order_), ids(first_), ids(last_), children_, n_leaves} {
        const std::size_t m = parent_.size(), n = static_cast<std::size_t>(n_leaves);
        require(order_.size() == n && first_.size() == m && last_.size() == m && child.size() + 1 == m &&
                    child_start.size() == m - n + 1,
                "the arrays of a tree have other lengths");
        require_within(ids(order_), 0, n_leaves, "a leaf that is not there");
        require_within(ids(first_), 0, n_leaves, "a node begins at no leaf");
        require_within(ids(last_), 1, n_leaves + 1, "a node ends at no leaf");
    }
    Int parent_, order_, first_, last_;
    Children children_;
    LeafView view;
};

nb::tuple triples(const ViewedTree& a, const ViewedTree& b, int threads) {
    SameTriples same;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require(a.view.n_leaves == b.view.n_leaves, "two trees of the same leaves");
        same = same_triples(a.view, b.view, threads, interrupt);
    }
    return nb::make_tuple(same.resolved, same.unresolved);
}

double cophenetic(const ViewedTree& a, const ViewedTree& b, Real height_a, Real height_b, double shift_a,
                  double shift_b, int threads) {
    nb::gil_scoped_release release;
    require(a.view.n_leaves == b.view.n_leaves, "two trees of the same leaves");
    require(height_a.size() == a.view.parent.size() && height_b.size() == b.view.parent.size(), "one height a node");
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
                const auto n = static_cast<std::int64_t>(order.size());
                require_within(ids(order), 0, n, "a leaf that is not there");
                require_labels(start, label, n, n_labels);
                new (self) LabelledTree{places_by_label(ids(order), ids(start), ids(label), n_labels), n};
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
        "tree_sums",
        [](Int parent, Int values) {
            require(values.size() == parent.size(), "one value a node");
            return to_numpy(subtree_sums(parents(parent, 1), ids(values)));
        },
        nb::arg("parent"), nb::arg("values"));
    m.def("cophenetic_product", &cophenetic, nb::arg("a"), nb::arg("b"), nb::arg("height_a"), nb::arg("height_b"),
          nb::arg("shift_a"), nb::arg("shift_b"), nb::arg("threads"));
}

}  // namespace cladify
