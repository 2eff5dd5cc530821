// The minimum spanning forest of a sparse graph, by Borůvka's rounds.
//
// Every row is sorted once by value; a vertex then only remembers its first edge that leaves its component, and each
// edge is passed over at most once. Edges are in the total order (value, smaller end, larger end), so ties cannot make
// a cycle and the forest does not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "agglomerate/rounds/rounds.hpp"
#include "common/finite.hpp"
#include "common/interrupt.hpp"
#include "common/team.hpp"
#include "common/union_find.hpp"

namespace cladify {

template <typename Value>
struct ForestEdge {
    Value value;
    std::int32_t low, high;
    bool operator<(const ForestEdge& other) const {
        if (value != other.value) return value < other.value;
        return low != other.low ? low < other.low : high < other.high;
    }
};

// The graph is symmetric; the result is sorted.
template <typename Value>
std::vector<ForestEdge<Value>> spanning_forest(const std::int64_t* indptr, const std::int32_t* indices,
                                               const Value* value, std::size_t n, int threads, Interrupt& interrupt) {
    struct Half {
        Value value;
        std::int32_t end;
    };
    std::vector<Half> half(static_cast<std::size_t>(indptr[n]));
    std::vector<std::int64_t> next(indptr, indptr + n);
    UnionFind<> sets(n);
    std::vector<std::int32_t> active(n);
    std::iota(active.begin(), active.end(), 0);
    Team team(threads);
    team.split(
        static_cast<std::int64_t>(n), 512,
        [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e)
                    half[static_cast<std::size_t>(e)] = {not_above_largest(value[e]), indices[e]};
                std::sort(half.begin() + indptr[i], half.begin() + indptr[i + 1], [](const Half& a, const Half& b) {
                    return a.value != b.value ? a.value < b.value : a.end < b.end;
                });
            }
        },
        &interrupt);

    std::vector<ForestEdge<Value>> forest;
    std::vector<ForestEdge<Value>> best(n);
    std::vector<std::int32_t> roots;
    for (;;) {
        // The root of every point is stored here, so threads may read them while nobody writes.
        team.split(
            static_cast<std::int64_t>(active.size()), 4096,
            [&](std::int64_t first, std::int64_t last) {
                for (std::int64_t k = first; k < last; ++k) {
                    const auto i = static_cast<std::size_t>(active[static_cast<std::size_t>(k)]);
                    std::int64_t& e = next[i];
                    const std::int32_t own = sets.stored(static_cast<std::int32_t>(i));
                    while (e < indptr[i + 1] && sets.stored(half[static_cast<std::size_t>(e)].end) == own) ++e;
                }
            },
            &interrupt);
        std::erase_if(active, [&](std::int32_t i) { return next[static_cast<std::size_t>(i)] == indptr[i + 1]; });
        if (active.empty()) break;
        roots.clear();
        for (const std::int32_t i : active) {
            const Half& edge = half[static_cast<std::size_t>(next[static_cast<std::size_t>(i)])];
            const ForestEdge<Value> candidate{edge.value, std::min(i, edge.end), std::max(i, edge.end)};
            const std::int32_t root = sets.stored(i);
            ForestEdge<Value>& found = best[static_cast<std::size_t>(root)];
            if (found.low == found.high) {  // none yet
                found = candidate;
                roots.push_back(root);
            } else if (candidate < found) {
                found = candidate;
            }
        }
        for (const std::int32_t root : roots) {
            ForestEdge<Value>& edge = best[static_cast<std::size_t>(root)];
            const std::int32_t a = sets.find(edge.low), b = sets.find(edge.high);
            if (a != b) {
                sets.unite_smaller(a, b);
                forest.push_back(edge);
            }
            edge = {};
        }
        sets.flatten();
    }
    std::sort(forest.begin(), forest.end());
    return forest;
}

// The single-linkage merges of a sorted spanning forest; parts are joined at `floor`. The similarity of an edge is
// `sign` times its value.
template <typename Value>
RoundMerges forest_merges(const std::vector<ForestEdge<Value>>& forest, std::size_t n, double sign, double floor) {
    RoundMerges merges;
    UnionFind<> sets(n);
    std::vector<double> size(n, 1.0);
    for (const ForestEdge<Value>& edge : forest) {
        const std::int32_t a = sets.find(edge.low), b = sets.find(edge.high);
        sets.unite_smaller(a, b);
        size[static_cast<std::size_t>(std::min(a, b))] += size[static_cast<std::size_t>(std::max(a, b))];
        merges.add(a, b, sign * static_cast<double>(edge.value), 1);
    }
    std::vector<std::int32_t> roots;
    for (std::size_t i = 0; i < n; ++i)
        if (sets.is_root(static_cast<std::int32_t>(i))) roots.push_back(static_cast<std::int32_t>(i));
    join_rest(merges, roots, size, floor, 2);
    return merges;
}

}  // namespace cladify
