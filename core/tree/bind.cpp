// Bindings of the passes over trees and over graphs of clusters.
#include "common/bind.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "common/team.hpp"
#include "tree/cut.hpp"
#include "tree/cut_path.hpp"
#include "tree/dag.hpp"
#include "tree/leaf_order.hpp"
#include "tree/newick.hpp"
#include "tree/random_trees.hpp"
#include "tree/reading.hpp"
#include "tree/tree.hpp"

namespace cladify {
namespace {

using Int = In1<std::int64_t>;
using Real = In1<double>;

IdSpan ids(const Int& a) { return {a.data(), a.size()}; }
IdSpan parents(const Int& parent, std::int64_t n_leaves) {
    require_parents(ids(parent), n_leaves);
    return ids(parent);
}
void require_nodes(std::size_t count, const Int& parent) { require(count == parent.size(), "one value a node"); }
// Everything that a Tree promises, where a node without children would be a wrong access.
void require_tree(const Int& parent, std::int64_t n_leaves) {
    const BrokenRule broken = check_parents(ids(parent));
    require(broken.rule == 0 && broken.n_leaves == n_leaves, "the parents are no tree of so many leaves");
}
RealSpan reals(const Real& a) { return {a.data(), a.size()}; }

// The children of inner node n + i: child[start[i] .. start[i + 1]).
void require_children(const Int& parent, const Int& start, const Int& child, std::int64_t n_leaves) {
    const auto m = static_cast<std::int64_t>(parent.size());
    require(static_cast<std::int64_t>(start.size()) == m - n_leaves + 1, "one list of children an inner node");
    require_starts(ids(start), child.size(), "the children do not lie one after another");
    bool holds = child.size() + 1 == parent.size();
    for (std::size_t i = 0; i + 1 < start.size(); ++i)
        for (std::int64_t at = start.data()[i]; at < start.data()[i + 1]; ++at) {
            const std::int64_t c = child.data()[at], v = n_leaves + static_cast<std::int64_t>(i);
            holds &= c >= 0 && c < v && parent.data()[c] == v;
        }
    require(holds, "a child has another parent");
}

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
    Children out = released([&] { return children_of(parents(parent, n_leaves), n_leaves); });
    return nb::make_tuple(to_numpy(std::move(out.start)), to_numpy(std::move(out.child)));
}

nb::tuple layout(Int parent, Int size, std::int64_t n_leaves) {
    require_nodes(size.size(), parent);
    Layout out = released([&] { return lay_out(parents(parent, n_leaves), ids(size), n_leaves); });
    return nb::make_tuple(to_numpy(std::move(out.order)), to_numpy(std::move(out.first)),
                          to_numpy(std::move(out.last)));
}

nb::tuple cut(Int parent, Int size, Real largest_height, Int order, std::int64_t n_leaves, std::int64_t n_clusters,
              bool by_height, double height, std::int64_t min_size, std::int64_t max_size, bool by_halves) {
    require_nodes(size.size(), parent);
    require_nodes(largest_height.size(), parent);
    require_within(ids(order), n_leaves, static_cast<std::int64_t>(parent.size()),
                   "the order has a node that is no inner one");
    const CutRule rule{n_clusters, by_height, height, min_size, max_size, by_halves};
    Cut out = released([&] {
        return TreeCutter(parents(parent, n_leaves), ids(size), reals(largest_height), ids(order), n_leaves, rule)
            .cut();
    });
    return nb::make_tuple(to_numpy(std::move(out.label)), to_numpy(std::move(out.node)), out.count, out.oversized);
}

nb::tuple path_of_cuts(Int parent, Real cost, std::int64_t n_leaves) {
    require_nodes(cost.size(), parent);
    CutPath out = released([&] { return cut_path(parents(parent, n_leaves), reals(cost), n_leaves); });
    return nb::make_tuple(to_numpy(std::move(out.threshold)), to_numpy(std::move(out.price)),
                          to_numpy(std::move(out.saving)), to_numpy(std::move(out.count)));
}

Array1<std::int64_t> top_labels(Int parent, In1<std::uint8_t> marked, std::int64_t n_leaves) {
    require_nodes(marked.size(), parent);
    return to_numpy(
        released([&] { return label_by_top(parents(parent, n_leaves), {marked.data(), marked.size()}, n_leaves); }));
}

nb::tuple prune(Int parent, std::int64_t n_leaves, Int keep) {
    require_within(ids(keep), 0, n_leaves, "a leaf to keep is not there");
    return pair_of(released([&] { return prune_tree(parents(parent, n_leaves), n_leaves, ids(keep)); }));
}

nb::tuple binarize(Int parent, Int start, Int child, std::int64_t n_leaves, std::uint64_t seed) {
    require_tree(parent, n_leaves);
    require_children(parent, start, child, n_leaves);
    return pair_of(released([&] {
        const Children children{Ids(start.data(), start.data() + start.size()),
                                Ids(child.data(), child.data() + child.size())};
        return binarize_tree(ids(parent), children, n_leaves, seed);
    }));
}

nb::tuple order_any(Int parent, std::int64_t n_leaves) {
    require(n_leaves >= 1 && n_leaves <= static_cast<std::int64_t>(parent.size()), "a tree has at least one leaf");
    Ordered out = released([&] { return order_parents(ids(parent), n_leaves); });
    static constexpr const char* faults[] = {"", "range", "leaf_parent", "forest", "cycle"};
    return nb::make_tuple(to_numpy(std::move(out.tree.parent)), to_numpy(std::move(out.tree.source)),
                          faults[static_cast<int>(out.fault)], out.node);
}

nb::tuple canonical(Int parent, Real height, std::int64_t n_leaves) {
    require_nodes(height.size(), parent);
    return pair_of(released([&] {
        const Ids up = levels_up(parents(parent, n_leaves)), smallest = smallest_leaves(ids(parent), n_leaves);
        const std::vector<double> largest = largest_heights(ids(parent), reals(height), n_leaves);
        return renumber(ids(parent), canonical_order(up, largest, smallest, n_leaves), n_leaves);
    }));
}

Array1<std::int64_t> lca(const Lca& self, Int u, Int v, int threads) {
    const std::int64_t n = static_cast<std::int64_t>(u.size());
    require(v.size() == u.size(), "the lca of pairs: one second node a first");
    for (const Int& side : {u, v}) require_within(ids(side), 0, self.n_nodes(), "the lca of a node that is not there");
    Ids out(n);
    released([&] {
        Team(threads).split(n, 1 << 14, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) out[i] = self(u.data()[i], v.data()[i]);
        });
        return 0;
    });
    return to_numpy(std::move(out));
}

Array1<std::int64_t> near_order(Int parent, Int start, Int child, std::int64_t n_leaves, In2<float> rows, int width) {
    require_tree(parent, n_leaves);
    require_children(parent, start, child, n_leaves);
    require(static_cast<std::int64_t>(parent.size()) == 2 * n_leaves - 1, "the order of a binary tree");
    require(static_cast<std::int64_t>(rows.shape(0)) == n_leaves, "one row a leaf");
    require(width >= 1 && width <= 255, "between 1 and 255 pairs of ends");
    Interrupt interrupt = python_interrupt();
    Ids out;
    {
        nb::gil_scoped_release release;
        const Children children{Ids(start.data(), start.data() + start.size()),
                                Ids(child.data(), child.data() + child.size())};
        LeafOrder search(ids(parent), children, n_leaves, rows.data(), static_cast<std::int64_t>(rows.shape(1)), width);
        out = search.order(interrupt);
    }
    return to_numpy(std::move(out));
}

nb::tuple layout_of(Int parent, Int size, Int order) {
    Ids first, last;
    std::int64_t broken = -1;
    const auto n = static_cast<std::int64_t>(order.size());
    require_nodes(size.size(), parent);
    require_within(ids(order), 0, n, "the order has a leaf that is not there");
    {
        nb::gil_scoped_release release;
        broken = place_nodes(parents(parent, n), ids(size), ids(order), first, last);
    }
    return nb::make_tuple(broken, to_numpy(std::move(first)), to_numpy(std::move(last)));
}

Array1<std::int64_t> pair_order(Int pair, Int size, std::int64_t n_leaves) {
    const auto m = static_cast<std::int64_t>(size.size());
    require(n_leaves >= 1 && n_leaves <= m && static_cast<std::int64_t>(pair.size()) == 2 * (m - n_leaves),
            "one pair an inner node");
    require_within(ids(pair), 0, m, "a pair has a node that is not there");
    Ids out;
    {
        nb::gil_scoped_release release;
        out = order_of_pairs(ids(pair), ids(size), n_leaves);
    }
    return to_numpy(std::move(out));
}

std::int64_t min_size_for(Int parent, Int size, std::int64_t n_clusters, std::int64_t most) {
    nb::gil_scoped_release release;
    require_nodes(size.size(), parent);
    return largest_min_size(parents(parent, 1), ids(size), n_clusters, most);
}

std::int64_t part_count(Int parent, Int size, std::int64_t min_size) {
    nb::gil_scoped_release release;
    require_nodes(size.size(), parent);
    return count_parts(parents(parent, 1), ids(size), min_size);
}

nb::tuple condense(Int parent, Int size, Real priority, std::int64_t n_leaves, std::int64_t min_size,
                   std::int64_t max_children) {
    Derived out;
    {
        nb::gil_scoped_release release;
        require_nodes(size.size(), parent);
        require_nodes(priority.size(), parent);
        const RealSpan values{priority.data(), priority.size()};
        out = Condenser(parents(parent, n_leaves), ids(size), values, n_leaves, min_size, max_children).condense();
    }
    return nb::make_tuple(to_numpy(std::move(out.parent)), to_numpy(std::move(out.source)));
}

nb::tuple list_parts(Int parent, Int size, Real scale, std::int64_t n_leaves, std::int64_t min_size) {
    PartList out;
    {
        nb::gil_scoped_release release;
        require_nodes(size.size(), parent);
        require_nodes(scale.size(), parent);
        out = parts_of(parents(parent, n_leaves), ids(size), {scale.data(), scale.size()}, n_leaves, min_size);
    }
    return nb::make_tuple(to_numpy(std::move(out.node)), to_numpy(std::move(out.above)), to_numpy(std::move(out.end)),
                          to_numpy(std::move(out.lifetime)));
}

nb::dict read_newick(nb::bytes text) {
    const std::string_view view(text.c_str(), text.size());
    NewickNodes nodes;
    {
        nb::gil_scoped_release release;
        nodes = NewickReader(view).read();
        if (nodes.fault.empty() && (nodes.has_lengths || nodes.has_heights)) newick_heights(nodes);
    }
    nb::dict out;
    out["fault"] = nodes.fault;
    out["position"] = nodes.position;
    out["has_heights"] = nodes.has_lengths || nodes.has_heights;
    out["has_levels"] = nodes.has_levels;
    out["parent"] = to_numpy(std::move(nodes.parent));
    out["height"] = to_numpy(std::move(nodes.height));
    out["level"] = to_numpy(std::move(nodes.level));
    out["number"] = to_numpy(std::move(nodes.number));
    out["name_start"] = to_numpy(std::move(nodes.name_start));
    out["name_end"] = to_numpy(std::move(nodes.name_end));
    return out;
}

nb::bytes write_newick(In1<std::int64_t> parent, In1<std::int64_t> start, In1<std::int64_t> child, In1<double> height,
                       In1<std::int64_t> level, nb::bytes names, In1<std::int64_t> name_start, bool exact) {
    const std::string_view name_bytes(names.c_str(), names.size());
    const auto n = static_cast<std::int64_t>(parent.size()) - static_cast<std::int64_t>(start.size()) + 1;
    require_parents(ids(parent), n);
    require_children(parent, start, child, n);
    require_nodes(height.size(), parent);
    if (level.size() > 0) require_nodes(level.size(), parent);
    if (name_start.size() > 0) {
        require(static_cast<std::int64_t>(name_start.size()) == n + 1, "one name a leaf");
        require_starts(ids(name_start), names.size(), "the names do not lie one after another");
    }
    std::string out;
    {
        nb::gil_scoped_release release;
        const Children children{Ids(start.data(), start.data() + start.size()),
                                Ids(child.data(), child.data() + child.size())};
        out = NewickWriter({parent.data(), parent.size()}, children, {height.data(), height.size()},
                           {level.data(), level.size()}, {name_bytes, {name_start.data(), name_start.size()}}, exact)
                  .write();
    }
    return nb::bytes(out.data(), out.size());
}

template <typename T>
void project(In2<T> X, In1<T> direction, bool normalize, Out1<double> out) {
    require(direction.size() == X.shape(1) && out.size() == X.shape(0), "one direction a column, one place a row");
    project_rows(X.data(), static_cast<std::int64_t>(X.shape(0)), static_cast<std::int64_t>(X.shape(1)),
                 direction.data(), normalize, out.data());
}

void keys(In1<double> position, Out1<std::uint64_t> key, int threads) {
    require(key.size() == position.size(), "one key a position");
    Team team(threads);
    line_keys({position.data(), position.size()}, {key.data(), key.size()}, team);
}

// Parents and heights in place of sorted keys and positions: see RandomCutTree.
void random_cut(std::uint64_t seed, int threads, Out1<std::int64_t> parent, Out1<double> height) {
    const auto n = static_cast<std::int64_t>(parent.size() + 1) / 2;
    require(parent.size() % 2 == 1 && height.size() == parent.size(), "one parent and one height a node");
    Team team(threads);
    line_order({height.data(), static_cast<std::size_t>(n)},
               {reinterpret_cast<std::uint64_t*>(parent.data()) + n - 1, static_cast<std::size_t>(n)}, team);
    RandomCutTree(n, seed, team, parent.data(), height.data());
}

Array1<std::int64_t> uniform_tree(std::int64_t n, std::uint64_t seed) {
    require(n >= 1, "a tree has at least one leaf");
    std::vector<std::int64_t> parent;
    {
        nb::gil_scoped_release release;
        parent = uniform_binary_tree(n, seed);
    }
    return to_numpy(std::move(parent));
}

namespace dag {

// Parents in rows of nodes.
void require_upward(const Int& start, const Int& parent) {
    require_starts(ids(start), parent.size(), "parent_start must rise from 0 to the number of parents");
    require_within(ids(parent), 0, static_cast<std::int64_t>(start.size()) - 1, "a parent that is not there");
}

// The children of inner node n + i come before it.
DagChildren children_of(const In1<std::int64_t>& start, const In1<std::int64_t>& child, std::int64_t n_leaves) {
    require(n_leaves >= 1, "a graph of clusters has at least one leaf");
    require_starts(ids(start), child.size(), "child_start must rise from 0 to the number of children");
    bool holds = true;
    for (std::size_t i = 0; i + 1 < start.size(); ++i)
        for (std::int64_t at = start.data()[i]; at < start.data()[i + 1]; ++at)
            holds &= (child.data()[at] >= 0) & (child.data()[at] < n_leaves + static_cast<std::int64_t>(i));
    require(holds, "a child comes before its parents");
    return {static_cast<std::size_t>(n_leaves), start.data(), child.data(), start.shape(0) - 1};
}

nb::tuple check(In1<std::int64_t> start, In1<std::int64_t> parent) {
    require_starts(ids(start), parent.size(), "parent_start must rise from 0 to the number of parents");
    const DagCheck found = check_dag(start.data(), parent.data(), start.shape(0) - 1);
    return nb::make_tuple(found.rule, found.node, found.n_leaves);
}

nb::tuple children(In1<std::int64_t> start, In1<std::int64_t> parent, std::int64_t n_leaves) {
    require_upward(start, parent);
    require(n_leaves >= 1 && n_leaves < static_cast<std::int64_t>(start.size()), "a graph has at least one leaf");
    require_within(ids(parent), n_leaves, static_cast<std::int64_t>(start.size()) - 1, "a parent is an inner node");
    auto [from, child] =
        dag_children(start.data(), parent.data(), start.shape(0) - 1, static_cast<std::size_t>(n_leaves));
    return nb::make_tuple(to_numpy(std::move(from)), to_numpy(std::move(child)));
}

Array1<std::int64_t> ancestors(In1<std::int64_t> start, In1<std::int64_t> parent, std::int64_t v) {
    require_upward(start, parent);
    require(v >= 0 && v + 1 < static_cast<std::int64_t>(start.size()), "the ancestors of a node that is not there");
    return to_numpy(dag_reach(static_cast<std::size_t>(v), start.shape(0) - 1, [&](std::size_t u, auto visit) {
        for (std::int64_t at = start.data()[u]; at < start.data()[u + 1]; ++at)
            visit(static_cast<std::size_t>(parent.data()[at]));
    }));
}

Array1<std::int64_t> descendants(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves,
                                 std::int64_t v) {
    const DagChildren dag = children_of(start, child, n_leaves);
    require(v >= 0 && v < static_cast<std::int64_t>(dag.n_nodes()), "the descendants of a node that is not there");
    return to_numpy(
        dag_reach(static_cast<std::size_t>(v), dag.n_nodes(), [&](std::size_t u, auto visit) { dag.each(u, visit); }));
}

Array1<std::int64_t> sizes(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves) {
    const DagChildren dag = children_of(start, child, n_leaves);
    std::vector<std::int64_t> size(dag.n_nodes());
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        visit_members(dag, interrupt, [&](std::size_t v, const std::int32_t*, std::size_t count) {
            size[v] = static_cast<std::int64_t>(count);
        });
    }
    return to_numpy(std::move(size));
}

// Points of the nodes that `wanted` marks, node after node, ascending.
Array1<std::int32_t> memberships(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves,
                                 In1<std::uint8_t> wanted, std::int64_t total) {
    std::vector<std::int32_t> points;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        const DagChildren dag = children_of(start, child, n_leaves);
        require(wanted.size() == dag.n_nodes() && total >= 0, "one mark a node");
        points.reserve(static_cast<std::size_t>(total));
        visit_members(dag, interrupt, [&](std::size_t v, const std::int32_t* mine, std::size_t count) {
            if (!wanted.data()[v]) return;
            points.insert(points.end(), mine, mine + count);
            std::sort(points.end() - static_cast<std::ptrdiff_t>(count), points.end());
        });
    }
    return to_numpy(std::move(points));
}

nb::tuple jaccard(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves,
                  In1<std::int64_t> label_start, In1<std::int64_t> label, In1<std::int64_t> label_size,
                  In1<std::int32_t> group, std::int64_t n_groups) {
    DagJaccard best;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        const DagChildren dag = children_of(start, child, n_leaves);
        require(static_cast<std::int64_t>(label_start.size()) == n_leaves + 1, "the labels of each leaf");
        require_starts(ids(label_start), label.size(), "the labels do not lie one after another");
        require_within(ids(label), 0, static_cast<std::int64_t>(label_size.size()), "a label that is not there");
        require(n_groups >= 0 && group.size() == dag.n_nodes(), "one group a node");
        require_within(view(group), -1, n_groups, "a group that is not there");
        best = dag_jaccard(dag, label_start.data(), label.data(), label_size.data(), label_size.shape(0), group.data(),
                           static_cast<std::size_t>(n_groups), interrupt);
    }
    return nb::make_tuple(to_numpy(std::move(best.node)), to_numpy(std::move(best.label)));
}

Array1<std::int64_t> equal_sets(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves) {
    std::vector<std::int64_t> first;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        first = dag_equal_sets(children_of(start, child, n_leaves), interrupt);
    }
    return to_numpy(std::move(first));
}

Array1<std::uint8_t> direct_edges(In1<std::int64_t> start, In1<std::int64_t> parent) {
    std::vector<std::uint8_t> direct;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require_upward(start, parent);
        direct = dag_direct_edges(start.data(), parent.data(), start.shape(0) - 1, interrupt);
    }
    return to_numpy(std::move(direct));
}

// Heights that never fall towards the root: each at least that of every child.
void raise(In1<std::int64_t> start, In1<std::int64_t> parent, Out1<double> height) {
    require_upward(start, parent);
    const std::size_t m = start.shape(0) - 1;
    require(height.size() == m, "one height a node");
    for (std::size_t v = 0; v < m; ++v)
        for (std::int64_t at = start.data()[v]; at < start.data()[v + 1]; ++at) {
            double& above = height.data()[parent.data()[at]];
            above = std::max(above, height.data()[v]);
        }
}

}  // namespace dag

}  // namespace

void bind_tree(nb::module_& m) {
    m.def("tree_check", &check, nb::arg("parent"));
    m.def(
        "tree_sizes",
        [](Int parent, std::int64_t n) {
            return to_numpy(released([&] { return leaf_counts(parents(parent, n), n); }));
        },
        nb::arg("parent"), nb::arg("n"));
    m.def(
        "tree_levels_up", [](Int parent) { return to_numpy(released([&] { return levels_up(parents(parent, 1)); })); },
        nb::arg("parent"));
    m.def(
        "tree_levels_down",
        [](Int parent) { return to_numpy(released([&] { return levels_down(parents(parent, 1)); })); },
        nb::arg("parent"));
    m.def(
        "tree_largest_heights",
        [](Int parent, Real height, std::int64_t n) {
            require_nodes(height.size(), parent);
            return to_numpy(released([&] { return largest_heights(parents(parent, n), reals(height), n); }));
        },
        nb::arg("parent"), nb::arg("height"), nb::arg("n"));
    m.def("tree_children", &children, nb::arg("parent"), nb::arg("n_leaves"));
    m.def("tree_layout", &layout, nb::arg("parent"), nb::arg("size"), nb::arg("n_leaves"));
    m.def(
        "tree_ancestors",
        [](Int parent, std::int64_t v) {
            require(v >= 0 && v < static_cast<std::int64_t>(parent.size()),
                    "the ancestors of a node that is not there");
            return to_numpy(released([&] { return ancestors_of(ids(parent), v); }));
        },
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
                require_nodes(first.size(), parent);
                require_nodes(last.size(), parent);
                require_within(ids(first), 0, n, "a node begins at no leaf");
                require_within(ids(last), 1, n + 1, "a node ends at no leaf");
                new (self) Lca(parents(parent, n), ids(first), ids(last), n);
            },
            nb::arg("parent"), nb::arg("first"), nb::arg("last"), nb::arg("n"))
        .def("__call__", &lca, nb::arg("u"), nb::arg("v"), nb::arg("threads"));
    m.def("tree_near_order", &near_order, nb::arg("parent"), nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"),
          nb::arg("rows"), nb::arg("width"));
    m.def("tree_layout_of", &layout_of, nb::arg("parent"), nb::arg("size"), nb::arg("order"));
    m.def("tree_pair_order", &pair_order, nb::arg("pair"), nb::arg("size"), nb::arg("n_leaves"));
    m.def("tree_min_size_for", &min_size_for, nb::arg("parent"), nb::arg("size"), nb::arg("n_clusters"),
          nb::arg("most"));
    m.def("tree_condense", &condense, nb::arg("parent"), nb::arg("size"), nb::arg("priority"), nb::arg("n_leaves"),
          nb::arg("min_size"), nb::arg("max_children"));
    m.def("tree_part_count", &part_count, nb::arg("parent"), nb::arg("size"), nb::arg("min_size"));
    m.def("tree_parts", &list_parts, nb::arg("parent"), nb::arg("size"), nb::arg("scale"), nb::arg("n_leaves"),
          nb::arg("min_size"));
    m.def("newick_read", &read_newick, nb::arg("text"));
    m.def("newick_write", &write_newick, nb::arg("parent"), nb::arg("start"), nb::arg("child"), nb::arg("height"),
          nb::arg("level"), nb::arg("names"), nb::arg("name_start"), nb::arg("exact"));
    m.def("project_rows", &project<float>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("X"), nb::arg("direction"),
          nb::arg("normalize"), nb::arg("out"));
    m.def("project_rows", &project<double>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("X"),
          nb::arg("direction"), nb::arg("normalize"), nb::arg("out"));
    m.def("line_keys", &keys, nb::call_guard<nb::gil_scoped_release>(), nb::arg("position"), nb::arg("key"),
          nb::arg("threads"));
    m.def("random_cut", &random_cut, nb::call_guard<nb::gil_scoped_release>(), nb::arg("seed"), nb::arg("threads"),
          nb::arg("parent"), nb::arg("height"));
    m.def("uniform_tree", &uniform_tree, nb::arg("n"), nb::arg("seed"));
    m.def("dag_check", &dag::check, nb::arg("start"), nb::arg("parent"));
    m.def("dag_children", &dag::children, nb::arg("start"), nb::arg("parent"), nb::arg("n_leaves"));
    m.def("dag_ancestors", &dag::ancestors, nb::arg("start"), nb::arg("parent"), nb::arg("node"));
    m.def("dag_descendants", &dag::descendants, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"),
          nb::arg("node"));
    m.def("dag_sizes", &dag::sizes, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"));
    m.def("dag_memberships", &dag::memberships, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"),
          nb::arg("wanted"), nb::arg("total"));
    m.def("dag_jaccard", &dag::jaccard, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"), nb::arg("label_start"),
          nb::arg("label"), nb::arg("label_size"), nb::arg("group"), nb::arg("n_groups"));
    m.def("dag_equal_sets", &dag::equal_sets, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"));
    m.def("dag_direct_edges", &dag::direct_edges, nb::arg("start"), nb::arg("parent"));
    m.def("dag_raise", &dag::raise, nb::arg("start"), nb::arg("parent"), nb::arg("height"));
}

}  // namespace cladify
