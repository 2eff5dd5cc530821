// The sums of objectives.hpp for weights that are given pair by pair: blocks of rows in depth-first order, or edges.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "objectives/objectives.hpp"
#include "tree/heavy.hpp"

namespace cladify::objectives {

// The gaps between leaves that are neighbours in depth-first order. The lowest common ancestor of the leaves at places
// p < q is the largest node that separates neighbours between them, because ids grow upwards; so along a row of weights
// the ancestor changes only where a larger separator comes up, and the two children that hold p and q end and begin
// there.
struct Gaps {
    std::vector<std::int64_t> node;         // that separates places g and g + 1
    std::vector<double> size, left, right;  // its size, and that of its children which end and begin at the gap
};

inline Gaps gaps_of(const TreeView& tree, std::span<const std::int64_t> first, std::span<const double> mass) {
    const std::int64_t gaps = tree.n_leaves - 1;
    Gaps out{std::vector<std::int64_t>(gaps), std::vector<double>(gaps), std::vector<double>(gaps),
             std::vector<double>(gaps)};
    for (std::int64_t v = 0; v < tree.root(); ++v) {
        const std::int64_t p = tree.parent[v], end = first[v] + tree.size[v];
        if (first[v] != first[p]) {
            const std::int64_t g = first[v] - 1;
            out.node[g] = p;
            out.size[g] = mass[p];
            out.right[g] = mass[v];
        }
        if (end != first[p] + tree.size[p]) out.left[end - 1] = mass[v];
    }
    return out;
}

// Pairs of the leaf at place p with all leaves after it: values[q - p - 1] is the weight of p with the leaf at q.
template <typename T>
void add_row(const Gaps& gaps, std::int64_t p, std::span<const T> values, std::span<const double> weight,
             PairSums& sums) {
    std::int64_t at = -1;
    double size = 0, left = 0, right = 0, run = 0;
    const double own = weight[p];
    const auto flush = [&] {
        sums.total += own * run;
        sums.lca += own * run * size;
        sums.sides += own * run * (left + right);
        run = 0;
    };
    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
        const std::int64_t g = p + i;
        if (gaps.node[g] >= at) {
            flush();
            if (gaps.node[g] > at) {
                at = gaps.node[g];
                size = gaps.size[g];
                left = gaps.left[g];
            }
            right = gaps.right[g];
        }
        run += static_cast<double>(values[i]) * weight[g + 1];
    }
    flush();
}

// The child of `node` that holds the leaf at place p.
inline std::int64_t child_at(const TreeView& tree, std::span<const std::int64_t> first, std::int64_t node,
                             std::int64_t p) {
    const auto children = tree.children(node);
    const auto after = std::upper_bound(children.begin(), children.end(), p,
                                        [&](std::int64_t place, std::int64_t child) { return place < first[child]; });
    return *(after - 1);
}

// Edges between leaves u[e] and v[e], whose lowest common ancestors are known.
template <typename T>
PairSums edge_sums(const TreeView& tree, std::span<const std::int64_t> first, std::span<const double> mass,
                   std::span<const std::int64_t> u, std::span<const std::int64_t> v, std::span<const std::int64_t> lca,
                   std::span<const T> weight) {
    PairSums sums;
    const bool binary = tree.n_nodes() == 2 * tree.n_leaves - 1;
    for (std::int64_t e = 0; e < std::ssize(u); ++e) {
        const std::int64_t a = lca[e];
        const double w = mass[u[e]] * mass[v[e]] * static_cast<double>(weight[e]);
        const double parts =
            binary ? mass[a]
                   : mass[child_at(tree, first, a, first[u[e]])] + mass[child_at(tree, first, a, first[v[e]])];
        sums.total += w;
        sums.lca += w * mass[a];
        sums.sides += w * parts;
    }
    return sums;
}

}  // namespace cladify::objectives
