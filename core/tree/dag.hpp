// Passes over a directed acyclic graph of clusters: node v has the parents parent[parent_start[v] .. ), all above v;
// the leaves are the first nodes, the root is the last. The children of inner node n + i are child[child_start[i] .. ).
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "tree/cover.hpp"

namespace cladify {

struct DagChildren {
    std::size_t n_leaves;
    const std::int64_t* start;  // one entry more than there are inner nodes
    const std::int64_t* child;
    std::size_t n_inner;

    std::size_t n_nodes() const { return n_leaves + n_inner; }

    template <typename Visit>
    void each(std::size_t v, Visit visit) const {
        if (v < n_leaves) return;
        for (std::int64_t at = start[v - n_leaves]; at < start[v - n_leaves + 1]; ++at)
            visit(static_cast<std::size_t>(child[at]));
    }
};

struct DagCheck {
    std::int64_t rule = 0, node = -1, n_leaves = 0;  // rule 0: none is broken
};

// The rules that ClusterDag lists, in their order; the arrays have the right lengths.
inline DagCheck check_dag(const std::int64_t* start, const std::int64_t* parent, std::size_t m) {
    std::vector<std::int64_t> n_children(m, 0);
    const auto count = static_cast<std::int64_t>(m);
    for (std::size_t v = 0; v < m; ++v) {
        const auto id = static_cast<std::int64_t>(v);
        if ((start[v + 1] == start[v]) != (v + 1 == m)) return {2, id, 0};
        for (std::int64_t at = start[v]; at < start[v + 1]; ++at) {
            if (parent[at] <= id || parent[at] >= count) return {3, id, 0};
            if (at > start[v] && parent[at] <= parent[at - 1]) return {4, id, 0};
            ++n_children[static_cast<std::size_t>(parent[at])];
        }
    }
    std::size_t n = 0;
    while (n < m && n_children[n] == 0) ++n;
    for (std::size_t v = n; v < m; ++v)
        if (n_children[v] < 2)
            return {n_children[v] == 0 ? 5 : 6, static_cast<std::int64_t>(v), static_cast<std::int64_t>(n)};
    return {0, -1, static_cast<std::int64_t>(n)};
}

// Children of the inner nodes from the parents of all nodes, ascending.
inline std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> dag_children(const std::int64_t* start,
                                                                                    const std::int64_t* parent,
                                                                                    std::size_t m, std::size_t n) {
    std::vector<std::int64_t> from(m - n + 1, 0), child(static_cast<std::size_t>(start[m]));
    for (std::int64_t at = 0; at < start[m]; ++at) ++from[static_cast<std::size_t>(parent[at]) - n + 1];
    for (std::size_t i = 0; i + 1 < from.size(); ++i) from[i + 1] += from[i];
    std::vector<std::int64_t> next(from.begin(), from.end() - 1);
    for (std::size_t v = 0; v < m; ++v)
        for (std::int64_t at = start[v]; at < start[v + 1]; ++at)
            child[static_cast<std::size_t>(next[static_cast<std::size_t>(parent[at]) - n]++)] =
                static_cast<std::int64_t>(v);
    return {std::move(from), std::move(child)};
}

// Nodes that one can reach from v, without v, ascending; `next(u, visit)` visits the neighbours of u.
template <typename Next>
std::vector<std::int64_t> dag_reach(std::size_t v, std::size_t m, Next next) {
    std::vector<char> met(m, 0);
    std::vector<std::int64_t> found;
    std::vector<std::size_t> stack{v};
    while (!stack.empty()) {
        const std::size_t u = stack.back();
        stack.pop_back();
        next(u, [&](std::size_t w) {
            if (met[w]) return;
            met[w] = 1;
            found.push_back(static_cast<std::int64_t>(w));
            stack.push_back(w);
        });
    }
    std::sort(found.begin(), found.end());
    return found;
}

// visit(v, points, count) for every node, children first. A node's points are kept only until its last parent is done.
template <typename Visit>
void visit_members(const DagChildren& dag, Interrupt& interrupt, Visit visit) {
    const std::size_t m = dag.n_nodes(), n = dag.n_leaves;
    std::vector<std::int32_t> waiting(m, 0);  // parents still to come
    for (std::int64_t at = 0; at < dag.start[dag.n_inner]; ++at) ++waiting[static_cast<std::size_t>(dag.child[at])];
    std::vector<std::vector<std::int32_t>> kept(m);
    std::vector<std::int32_t> points;
    Marks marks;
    for (std::size_t v = 0; v < m; ++v) {
        if (v < n) {
            const auto point = static_cast<std::int32_t>(v);
            visit(v, &point, std::size_t{1});
            continue;
        }
        points.clear();
        marks.start(n);
        dag.each(v, [&](std::size_t child) {
            const auto add = [&](std::int32_t point) {
                if (marks.set(point)) points.push_back(point);
            };
            if (child < n)
                add(static_cast<std::int32_t>(child));
            else
                for (const std::int32_t point : kept[child]) add(point);
            if (--waiting[child] == 0) kept[child] = {};
        });
        if (waiting[v] > 0) kept[v] = points;
        visit(v, points.data(), points.size());
        if (v % 64 == 0) interrupt();
    }
}

// How the nodes and the labels of points fit: Jaccard similarities over the points that have a label.
struct DagJaccard {
    std::vector<double> node;   // the best with a label; -1 for a node without labelled points
    std::vector<double> label;  // the best with a node of each group, group by group
};

// Labels of point i: label[label_start[i] .. ). Node v belongs to group[v]; -1: to none.
inline DagJaccard dag_jaccard(const DagChildren& dag, const std::int64_t* label_start, const std::int64_t* label,
                              const std::int64_t* label_size, std::size_t n_labels, const std::int32_t* group,
                              std::size_t n_groups, Interrupt& interrupt) {
    DagJaccard best{std::vector<double>(dag.n_nodes(), -1.0), std::vector<double>(n_groups * n_labels, 0.0)};
    std::vector<std::int32_t> shared(n_labels, 0);
    std::vector<std::int32_t> met;
    visit_members(dag, interrupt, [&](std::size_t v, const std::int32_t* points, std::size_t count) {
        std::int64_t size = 0;
        met.clear();
        for (std::size_t i = 0; i < count; ++i) {
            const auto point = static_cast<std::size_t>(points[i]);
            size += label_start[point + 1] > label_start[point];
            for (std::int64_t at = label_start[point]; at < label_start[point + 1]; ++at)
                if (shared[static_cast<std::size_t>(label[at])]++ == 0)
                    met.push_back(static_cast<std::int32_t>(label[at]));
        }
        if (size == 0) return;
        double* found = group[v] < 0 ? nullptr : best.label.data() + static_cast<std::size_t>(group[v]) * n_labels;
        for (const std::int32_t l : met) {
            const auto at = static_cast<std::size_t>(l);
            const auto both = static_cast<double>(std::exchange(shared[at], 0));
            const double value = both / (static_cast<double>(size + label_size[at]) - both);
            best.node[v] = std::max(best.node[v], value);
            if (found != nullptr) found[at] = std::max(found[at], value);
        }
    });
    return best;
}

// For each node: the first node with the same points (itself, mostly).
inline std::vector<std::int64_t> dag_equal_sets(const DagChildren& dag, Interrupt& interrupt) {
    std::vector<std::int64_t> first(dag.n_nodes()), known;
    SetTable sets(dag.n_nodes());
    visit_members(dag, interrupt, [&](std::size_t v, const std::int32_t* points, std::size_t count) {
        SetHash hash;
        for (std::size_t i = 0; i < count; ++i) hash.add(static_cast<std::uint64_t>(points[i]));
        const auto number = static_cast<std::size_t>(sets.number(hash));
        if (number == known.size()) known.push_back(static_cast<std::int64_t>(v));
        first[v] = known[number];
    });
    return first;
}

// Which edges, in the order of `parent`, are no shortcut: no longer way leads from the child to that parent.
inline std::vector<std::uint8_t> dag_direct_edges(const std::int64_t* start, const std::int64_t* parent, std::size_t m,
                                                  Interrupt& interrupt) {
    std::vector<std::uint8_t> direct(static_cast<std::size_t>(start[m]), 1);
    Marks met;
    std::vector<std::int64_t> stack;
    for (std::size_t v = 0; v < m; ++v) {
        if (start[v + 1] - start[v] < 2) continue;
        const std::int64_t highest = parent[start[v + 1] - 1];
        met.start(m);
        stack.assign(parent + start[v], parent + start[v + 1]);
        while (!stack.empty()) {
            const auto u = static_cast<std::size_t>(stack.back());
            stack.pop_back();
            for (std::int64_t at = start[u]; at < start[u + 1] && parent[at] <= highest; ++at)
                if (met.set(static_cast<std::int32_t>(parent[at]))) stack.push_back(parent[at]);
        }
        for (std::int64_t at = start[v]; at < start[v + 1]; ++at)
            direct[static_cast<std::size_t>(at)] = met.set(static_cast<std::int32_t>(parent[at]));
        interrupt();
    }
    return direct;
}

}  // namespace cladify
