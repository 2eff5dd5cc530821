// From a spanning tree to the merges of single linkage.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/finite.hpp"
#include "common/union_find.hpp"

namespace cladify {

struct MergeList {
    std::vector<std::int32_t> left, right;
    std::vector<double> height;
};

// The edges in the given order, each as the merge of the clusters at its ends. Nodes below `first` are given, the
// merges make first, first + 1, ...
inline MergeList merge_in_order(const std::int32_t* a, const std::int32_t* b, const double* length,
                                std::span<const std::int32_t> order, std::int32_t first) {
    UnionFind<> sets(first + order.size());
    MergeList merges;
    for (const std::int32_t e : order) {
        const std::int32_t x = sets.find(a[e]), y = sets.find(b[e]);
        const std::int32_t made = first + static_cast<std::int32_t>(merges.height.size());
        sets.unite(x, made);
        sets.unite(y, made);
        merges.left.push_back(std::min(x, y));
        merges.right.push_back(std::max(x, y));
        merges.height.push_back(length[e]);
    }
    return merges;
}

// The edges from the shortest up, equal ones in the order of their ends.
inline MergeList merge_edges(const std::int32_t* a, const std::int32_t* b, const double* length, std::size_t edges,
                             std::int32_t first) {
    std::vector<std::int32_t> order(edges);
    std::iota(order.begin(), order.end(), 0);
    const auto ends = [&](std::int32_t e) { return std::minmax(a[e], b[e]); };
    const auto at = [&](std::int32_t e) { return not_above_largest(length[e]); };
    std::sort(order.begin(), order.end(),
              [&](std::int32_t e, std::int32_t f) { return at(e) != at(f) ? at(e) < at(f) : ends(e) < ends(f); });
    return merge_in_order(a, b, length, order, first);
}

}  // namespace cladify
