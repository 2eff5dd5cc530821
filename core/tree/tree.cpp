// Bindings of tree.hpp, cut_path.hpp and cut.hpp.
#include "tree/tree.hpp"

#include <nanobind/stl/pair.h>

#include "common/bind.hpp"
#include "common/team.hpp"
#include "tree/cut.hpp"
#include "tree/cut_path.hpp"

namespace cladify {
namespace {

using Int = In1<std::int64_t>;
using Real = In1<double>;

IdSpan ids(const Int& a) { return {a.data(), a.size()}; }
RealSpan reals(const Real& a) { return {a.data(), a.size()}; }

// Runs a kernel without the GIL.
template <typename F>
auto released(F&& kernel) {
    nb::gil_scoped_release release;
    return kernel();
}

nb::tuple pair_of(Derived tree) {
    return nb::make_tuple(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.source)));
}

nb::tuple check(Int parent) {
    const BrokenRule broken = released([&] { return check_parents(ids(parent)); });
    return nb::make_tuple(broken.rule, broken.node, broken.n_leaves);
}

nb::tuple children(Int parent, std::int64_t n_leaves) {
    Children out = released([&] { return children_of(ids(parent), n_leaves); });
    return nb::make_tuple(to_numpy(std::move(out.start)), to_numpy(std::move(out.child)));
}

nb::tuple layout(Int parent, Int size, std::int64_t n_leaves) {
    Layout out = released([&] { return lay_out(ids(parent), ids(size), n_leaves); });
    return nb::make_tuple(to_numpy(std::move(out.order)), to_numpy(std::move(out.first)),
                          to_numpy(std::move(out.last)));
}

nb::tuple cut(Int parent, Int size, Real largest_height, Int order, std::int64_t n_leaves, std::int64_t n_clusters,
              bool by_height, double height, std::int64_t min_size, std::int64_t max_size, bool by_halves) {
    const CutRule rule{n_clusters, by_height, height, min_size, max_size, by_halves};
    Cut out = released(
        [&] { return TreeCutter(ids(parent), ids(size), reals(largest_height), ids(order), n_leaves, rule).cut(); });
    return nb::make_tuple(to_numpy(std::move(out.label)), to_numpy(std::move(out.node)), out.count, out.oversized);
}

nb::tuple path_of_cuts(Int parent, Real cost, std::int64_t n_leaves) {
    CutPath out = released([&] { return cut_path(ids(parent), reals(cost), n_leaves); });
    return nb::make_tuple(to_numpy(std::move(out.threshold)), to_numpy(std::move(out.price)),
                          to_numpy(std::move(out.saving)), to_numpy(std::move(out.count)));
}

Array1<std::int64_t> top_labels(Int parent, In1<std::uint8_t> marked, std::int64_t n_leaves) {
    return to_numpy(released([&] { return label_by_top(ids(parent), {marked.data(), marked.size()}, n_leaves); }));
}

nb::tuple prune(Int parent, std::int64_t n_leaves, Int keep) {
    return pair_of(released([&] { return prune_tree(ids(parent), n_leaves, ids(keep)); }));
}

nb::tuple binarize(Int parent, Int start, Int child, std::int64_t n_leaves, std::uint64_t seed) {
    return pair_of(released([&] {
        const Children children{Ids(start.data(), start.data() + start.size()),
                                Ids(child.data(), child.data() + child.size())};
        return binarize_tree(ids(parent), children, n_leaves, seed);
    }));
}

nb::tuple order_any(Int parent, std::int64_t n_leaves) {
    Ordered out = released([&] { return order_parents(ids(parent), n_leaves); });
    static constexpr const char* faults[] = {"", "range", "leaf_parent", "forest", "cycle"};
    return nb::make_tuple(to_numpy(std::move(out.tree.parent)), to_numpy(std::move(out.tree.source)),
                          faults[static_cast<int>(out.fault)], out.node);
}

nb::tuple canonical(Int parent, Real height, std::int64_t n_leaves) {
    return pair_of(released([&] {
        const Ids up = levels_up(ids(parent)), smallest = smallest_leaves(ids(parent), n_leaves);
        const std::vector<double> largest = largest_heights(ids(parent), reals(height), n_leaves);
        return renumber(ids(parent), canonical_order(up, largest, smallest, n_leaves), n_leaves);
    }));
}

Array1<std::int64_t> lca(const Lca& self, Int u, Int v, int threads) {
    const std::int64_t n = static_cast<std::int64_t>(u.size());
    Ids out(n);
    released([&] {
        Team(threads).split(n, 1 << 14, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) out[i] = self(u.data()[i], v.data()[i]);
        });
        return 0;
    });
    return to_numpy(std::move(out));
}

}  // namespace

void bind_tree(nb::module_& m) {
    m.def("tree_check", &check, nb::arg("parent"));
    m.def(
        "tree_sizes",
        [](Int parent, std::int64_t n) { return to_numpy(released([&] { return leaf_counts(ids(parent), n); })); },
        nb::arg("parent"), nb::arg("n"));
    m.def(
        "tree_levels_up", [](Int parent) { return to_numpy(released([&] { return levels_up(ids(parent)); })); },
        nb::arg("parent"));
    m.def(
        "tree_levels_down", [](Int parent) { return to_numpy(released([&] { return levels_down(ids(parent)); })); },
        nb::arg("parent"));
    m.def(
        "tree_smallest_leaves",
        [](Int parent, std::int64_t n) { return to_numpy(released([&] { return smallest_leaves(ids(parent), n); })); },
        nb::arg("parent"), nb::arg("n"));
    m.def(
        "tree_largest_heights",
        [](Int parent, Real height, std::int64_t n) {
            return to_numpy(released([&] { return largest_heights(ids(parent), reals(height), n); }));
        },
        nb::arg("parent"), nb::arg("height"), nb::arg("n"));
    m.def("tree_children", &children, nb::arg("parent"), nb::arg("n_leaves"));
    m.def("tree_layout", &layout, nb::arg("parent"), nb::arg("size"), nb::arg("n_leaves"));
    m.def(
        "tree_ancestors",
        [](Int parent, std::int64_t v) { return to_numpy(released([&] { return ancestors_of(ids(parent), v); })); },
        nb::arg("parent"), nb::arg("v"));
    m.def("tree_cut", &cut, nb::arg("parent"), nb::arg("size"), nb::arg("largest_height"), nb::arg("order"),
          nb::arg("n_leaves"), nb::arg("n_clusters"), nb::arg("by_height"), nb::arg("height"), nb::arg("min_size"),
          nb::arg("max_size"), nb::arg("by_halves"));
    m.def("tree_cut_path", &path_of_cuts, nb::arg("parent"), nb::arg("cost"), nb::arg("n_leaves"));
    m.def("tree_top_labels", &top_labels, nb::arg("parent"), nb::arg("marked"), nb::arg("n_leaves"));
    m.def("tree_prune", &prune, nb::arg("parent"), nb::arg("n_leaves"), nb::arg("keep"));
    m.def("tree_binarize", &binarize, nb::arg("parent"), nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"),
          nb::arg("seed"));
    m.def("tree_order", &order_any, nb::arg("parent"), nb::arg("n_leaves"));
    m.def("tree_canonical", &canonical, nb::arg("parent"), nb::arg("height"), nb::arg("n_leaves"));
    nb::class_<Lca>(m, "Lca")
        .def(
            "__init__",
            [](Lca* self, Int parent, Int first, Int last, std::int64_t n) {
                new (self) Lca(ids(parent), ids(first), ids(last), n);
            },
            nb::arg("parent"), nb::arg("first"), nb::arg("last"), nb::arg("n"))
        .def("__call__", &lca, nb::arg("u"), nb::arg("v"), nb::arg("threads"));
}

}  // namespace cladify
