// Points that arrive one at a time, as in OHAC: all that lies above the nearest neighbour of a new point is taken
// apart, and the pieces are put together again by agglomeration.
#pragma once
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "mutable/tree.hpp"
#include "online/linkage.hpp"

namespace cladify::online {

// Joins nodes that hang nowhere, the two most similar first, until one is left. Returns that one.
template <typename Linkage>
Node agglomerate(live::Tree& tree, const Linkage& linkage, std::vector<Node> nodes) {
    const std::size_t m = nodes.size();
    constexpr double kFar = -std::numeric_limits<double>::infinity();
    std::vector<double> table(m * m, kFar);
    std::vector<std::size_t> best(m, 0);
    const auto find_best = [&](std::size_t i) {
        best[i] = i;
        for (std::size_t j = 0; j < m; ++j)
            if (nodes[j] != kNone && j != i && (best[i] == i || table[i * m + j] > table[i * m + best[i]])) best[i] = j;
    };
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < i; ++j) table[i * m + j] = table[j * m + i] = linkage(tree, nodes[i], nodes[j]);
    for (std::size_t i = 0; i < m; ++i) find_best(i);
    std::size_t last = 0;
    for (std::size_t left = m; left > 1; --left) {
        std::size_t a = m;
        for (std::size_t i = 0; i < m; ++i)
            if (nodes[i] != kNone && (a == m || table[i * m + best[i]] > table[a * m + best[a]])) a = i;
        const std::size_t b = best[a];
        const Node p = tree.make_inner();
        tree.append(p, nodes[a]);
        tree.append(p, nodes[b]);
        nodes[a] = p;
        nodes[b] = kNone;
        last = a;
        for (std::size_t j = 0; j < m; ++j)
            if (nodes[j] != kNone && j != a) table[a * m + j] = table[j * m + a] = linkage(tree, p, nodes[j]);
        if (left == 2) break;
        find_best(a);
        for (std::size_t j = 0; j < m; ++j) {
            if (nodes[j] == kNone || j == a) continue;
            if (best[j] == a || best[j] == b)
                find_best(j);
            else if (table[j * m + a] > table[j * m + best[j]])
                best[j] = a;
        }
    }
    return nodes[last];
}

// The tree is binary. `x` hangs nowhere; `near` is a leaf of the tree.
template <typename Linkage>
void recluster(live::Tree& tree, const Linkage& linkage, Node x, Node near) {
    std::vector<Node> pieces{x, near}, above;
    for (Node v = near; tree.parent[v] != kNone; v = tree.parent[v]) {
        pieces.push_back(tree.sibling(v));
        above.push_back(tree.parent[v]);
    }
    for (const Node p : above)
        while (tree.left[p] != kNone) tree.unhang_below(tree.left[p]);
    for (const Node p : above) tree.drop(p);
    tree.root = agglomerate(tree, linkage, std::move(pieces));
}

}  // namespace cladify::online
