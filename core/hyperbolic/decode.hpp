// From points of the disk back to a tree (HypHC, algorithm 1 and section 5).
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "common/interrupt.hpp"
#include "hyperbolic/lca.hpp"

namespace cladify::hyperbolic {

struct AngleTree {
    std::vector<std::int64_t> parent;  // the inner node n + g is the gap after the g-th leaf of the order
    std::vector<double> gap;           // of each inner node
    std::vector<std::int64_t> order;   // leaves along the circle, from the largest gap on
};

// Splits the circle at its largest gap, and each part at its largest one again and again. That is the Cartesian tree
// of the gaps, which one pass with a stack builds. Points that share a radius have their deepest common ancestors
// across the smallest gaps, so this is also the tree of algorithm 1.
inline AngleTree split_largest_gaps(const double* angle, std::int64_t n) {
    constexpr double circle = 6.283185307179586;
    AngleTree tree;
    tree.order.resize(n);
    std::iota(tree.order.begin(), tree.order.end(), 0);
    std::sort(tree.order.begin(), tree.order.end(),
              [&](std::int64_t i, std::int64_t j) { return angle[i] != angle[j] ? angle[i] < angle[j] : i < j; });
    std::vector<double> gap(n);
    for (std::int64_t p = 0; p + 1 < n; ++p) gap[p] = angle[tree.order[p + 1]] - angle[tree.order[p]];
    gap[n - 1] = angle[tree.order[0]] + circle - angle[tree.order[n - 1]];
    const auto widest = std::max_element(gap.begin(), gap.end()) - gap.begin();
    std::rotate(tree.order.begin(), tree.order.begin() + (widest + 1) % n, tree.order.end());
    std::rotate(gap.begin(), gap.begin() + (widest + 1) % n, gap.end());
    gap.pop_back();  // the widest, between the ends

    tree.parent.assign(2 * n - 1, -1);
    std::vector<std::int64_t> stack;  // inner nodes that may still get a right child, gaps falling
    for (std::int64_t g = 0; g + 1 < n; ++g) {
        std::int64_t below = tree.order[g];
        while (!stack.empty() && gap[stack.back()] <= gap[g]) {
            tree.parent[below] = n + stack.back();
            below = n + stack.back();
            stack.pop_back();
        }
        tree.parent[below] = n + g;
        stack.push_back(g);
    }
    std::int64_t below = tree.order[n - 1];
    while (!stack.empty()) {
        tree.parent[below] = n + stack.back();
        below = n + stack.back();
        stack.pop_back();
    }
    tree.gap = std::move(gap);
    return tree;
}

struct DeepestEdges {
    std::vector<std::int32_t> source, target;
    std::vector<double> depth;
};

// The spanning tree of deepest common ancestors, by Prim's algorithm: n² depths, linear memory.
inline DeepestEdges deepest_tree(const double* z, std::int64_t n, Interrupt& interrupt) {
    std::vector<double> x(n), y(n), best(n, -1.0);
    std::vector<std::int32_t> id(n), source(n, 0);
    for (std::int64_t i = 0; i < n; ++i) x[i] = z[2 * i], y[i] = z[2 * i + 1], id[i] = static_cast<std::int32_t>(i);
    DeepestEdges edges;
    const auto drop = [&](std::int64_t at) {  // the last one takes its place
        const std::int64_t last = std::ssize(x) - 1;
        x[at] = x[last], y[at] = y[last], best[at] = best[last], id[at] = id[last], source[at] = source[last];
        x.pop_back(), y.pop_back(), best.pop_back(), id.pop_back(), source.pop_back();
    };
    double px = x[0], py = y[0];
    std::int32_t newest = 0;
    drop(0);
    std::vector<double> depth(n);
    while (!x.empty()) {
        const std::int64_t left = std::ssize(x);
        for (std::int64_t i = 0; i < left; ++i) depth[i] = lca(px, py, x[i], y[i]).sinh_depth;
        std::int64_t at = 0;
        for (std::int64_t i = 0; i < left; ++i) {
            if (depth[i] > best[i]) best[i] = depth[i], source[i] = newest;
            if (best[i] > best[at] || (best[i] == best[at] && id[i] < id[at])) at = i;
        }
        edges.source.push_back(source[at]);
        edges.target.push_back(id[at]);
        edges.depth.push_back(depth_of(best[at]));
        px = x[at], py = y[at], newest = id[at];
        drop(at);
        interrupt();
    }
    return edges;
}

}  // namespace cladify::hyperbolic
