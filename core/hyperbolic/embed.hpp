// Arcs of the boundary for the nodes of a tree (Sarkar's construction).
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace cladify::hyperbolic {

// The gap between the arcs of a node's children: `factor` times the widest of them, or 1 between leaves; infinite where
// it leaves the range of numbers. The arc of a node holds those of its children and the gaps between them.
inline std::vector<double> spread_gaps(std::span<const std::int64_t> parent, std::int64_t n, double factor) {
    const auto nodes = std::ssize(parent);
    std::vector<double> width(nodes, 0.0), widest(nodes, 0.0), gap(nodes - n);
    std::vector<std::int64_t> children(nodes, 0);
    for (std::int64_t v = 0; v < nodes; ++v) {  // children come before parents
        if (v >= n) {
            gap[v - n] = widest[v] > 0 ? factor * widest[v] : 1.0;
            width[v] += gap[v - n] * static_cast<double>(children[v] - 1);
        }
        const std::int64_t up = parent[v];
        if (up < 0) continue;
        ++children[up];
        width[up] += width[v];
        widest[up] = std::max(widest[up], width[v]);
    }
    return gap;
}

}  // namespace cladify::hyperbolic
