// The subdominant ultrametric of a matrix of distances and the sums over pairs of its loss functions (ultrametric
// fitting).
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "common/interrupt.hpp"

namespace cladify::hyperbolic {

struct SpanningTree {
    std::vector<std::int32_t> source, target;
    std::vector<double> value;
};

// Prim's algorithm on a symmetric n × n matrix; equal values go to the smaller point.
inline SpanningTree spanning_tree(const float* matrix, std::int64_t n, Interrupt& interrupt) {
    SpanningTree tree;
    std::vector<float> reach(n, std::numeric_limits<float>::infinity());
    std::vector<std::int32_t> source(n, 0);
    std::vector<std::uint8_t> inside(n, 0);
    std::int64_t newest = 0;
    for (std::int64_t step = 1; step < n; ++step) {
        inside[newest] = 1;
        const float* row = matrix + newest * n;
        float least = std::numeric_limits<float>::infinity();
        std::int64_t at = -1;
        for (std::int64_t i = 0; i < n; ++i) {
            if (inside[i]) continue;
            if (row[i] < reach[i]) reach[i] = row[i], source[i] = static_cast<std::int32_t>(newest);
            if (at < 0 || reach[i] < least) least = reach[i], at = i;
        }
        tree.source.push_back(source[at]);
        tree.target.push_back(static_cast<std::int32_t>(at));
        tree.value.push_back(least);
        newest = at;
        interrupt();
    }
    return tree;
}

// The sum of a matrix over the pairs of leaves that meet in each inner node. `order`, `first` and `last` are the tree's
// layout, left and right the children of each inner node.
inline std::vector<double> meeting_sums(const float* matrix, std::int64_t n, const std::int64_t* order,
                                        const std::int64_t* first, const std::int64_t* last, const std::int64_t* left,
                                        const std::int64_t* right, Interrupt& interrupt) {
    std::vector<double> sums(n - 1, 0.0);
    for (std::int64_t v = 0; v + 1 < n; ++v) {
        const bool few = last[left[v]] - first[left[v]] <= last[right[v]] - first[right[v]];
        const std::int64_t a = few ? left[v] : right[v], b = few ? right[v] : left[v];
        double sum = 0;
        for (std::int64_t i = first[a]; i < last[a]; ++i) {
            const float* row = matrix + order[i] * n;
            for (std::int64_t j = first[b]; j < last[b]; ++j) sum += row[order[j]];
            interrupt();
        }
        sums[v] = sum;
    }
    return sums;
}

}  // namespace cladify::hyperbolic
