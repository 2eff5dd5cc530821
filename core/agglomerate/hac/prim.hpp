// Prim's algorithm on a sparse graph.
//
// A graph with equal edges has many minimum spanning trees. This one grows from point 0, takes the nearest point and of
// several the smallest, and reaches it from the point that was first to be so near.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "common/finite.hpp"
#include "common/interrupt.hpp"

namespace cladify {

struct TreeEdges {
    std::vector<std::int32_t> source, target;
    std::vector<double> value;
};

// The graph is given by its edges, each in one direction or in both, and connected; an edge with an end below 0 is
// none.
inline TreeEdges prim_edges(std::span<const std::int32_t> a, std::span<const std::int32_t> b,
                            std::span<const double> value, std::size_t n, Interrupt& interrupt) {
    struct Half {
        std::int32_t end;
        double value;
    };
    std::vector<std::size_t> start(n + 1, 0);
    for (std::size_t e = 0; e < a.size(); ++e) {
        if (a[e] < 0 || b[e] < 0) continue;
        ++start[a[e] + 1];
        ++start[b[e] + 1];
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<Half> half(2 * a.size());
    std::vector<std::size_t> fill(start.begin(), start.end() - 1);
    for (std::size_t e = 0; e < a.size(); ++e) {
        if (a[e] < 0 || b[e] < 0) continue;
        half[fill[a[e]]++] = {b[e], not_above_largest(value[e])};
        half[fill[b[e]]++] = {a[e], not_above_largest(value[e])};
    }

    TreeEdges tree;
    using Place = std::pair<double, std::int32_t>;
    std::priority_queue<Place, std::vector<Place>, std::greater<>> queue;
    std::vector<double> reach(n, std::numeric_limits<double>::infinity());
    std::vector<std::int32_t> source(n, -1);
    std::vector<std::uint8_t> inside(n, 0);
    std::int32_t newest = 0;
    for (std::size_t step = 1; step < n; ++step) {
        if (step % 65536 == 0) interrupt();
        inside[newest] = 1;
        for (std::size_t e = start[newest]; e < start[newest + 1]; ++e) {
            const Half& edge = half[e];
            if (inside[edge.end] || edge.value >= reach[edge.end]) continue;
            reach[edge.end] = edge.value;
            source[edge.end] = newest;
            queue.push({edge.value, edge.end});
        }
        while (!queue.empty() && inside[queue.top().second]) queue.pop();
        if (queue.empty()) throw std::invalid_argument("the graph is not connected");
        newest = queue.top().second;
        queue.pop();
        tree.source.push_back(source[newest]);
        tree.target.push_back(newest);
        tree.value.push_back(reach[newest]);
    }
    return tree;
}

}  // namespace cladify
