// The minimum spanning forest of a sparse graph, by Borůvka's rounds.
//
// Every row is sorted once by value; a vertex then only remembers its first edge that leaves its component, and each
// edge is passed over at most once. Edges are in the total order (value, smaller end, larger end), so ties cannot make
// a circle and the forest does not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "interrupt.hpp"
#include "rounds.hpp"

namespace ramify {

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
    std::vector<std::int32_t> label(n), active(n);
    std::iota(label.begin(), label.end(), 0);
    std::iota(active.begin(), active.end(), 0);
    constexpr std::int64_t kBlock = 1 << 16;
    const auto count = static_cast<std::int64_t>(n);
    for (std::int64_t start = 0; start < count; start += kBlock) {
        const std::int64_t stop = std::min(count, start + kBlock);
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads) if (stop - start > 1024)
        for (std::int64_t i = start; i < stop; ++i) {
            for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e)
                half[static_cast<std::size_t>(e)] = {value[e], indices[e]};
            std::sort(half.begin() + indptr[i], half.begin() + indptr[i + 1], [](const Half& a, const Half& b) {
                return a.value != b.value ? a.value < b.value : a.end < b.end;
            });
        }
        interrupt();
    }

    std::vector<ForestEdge<Value>> forest;
    std::vector<ForestEdge<Value>> best(n);
    std::vector<std::int32_t> roots;
    const auto find = [&](std::int32_t i) {
        while (label[static_cast<std::size_t>(i)] != i) {
            std::int32_t& up = label[static_cast<std::size_t>(i)];
            up = label[static_cast<std::size_t>(up)];
            i = up;
        }
        return i;
    };
    for (;;) {
        // Labels are roots here, so threads may read them while nobody writes.
        const auto alive = static_cast<std::int64_t>(active.size());
#pragma omp parallel for schedule(static) num_threads(threads) if (alive > 4096)
        for (std::int64_t k = 0; k < alive; ++k) {
            const auto i = static_cast<std::size_t>(active[static_cast<std::size_t>(k)]);
            std::int64_t& e = next[i];
            while (e < indptr[i + 1] &&
                   label[static_cast<std::size_t>(half[static_cast<std::size_t>(e)].end)] == label[i])
                ++e;
        }
        interrupt();
        std::erase_if(active, [&](std::int32_t i) { return next[static_cast<std::size_t>(i)] == indptr[i + 1]; });
        if (active.empty()) break;
        roots.clear();
        for (const std::int32_t i : active) {
            const Half& edge = half[static_cast<std::size_t>(next[static_cast<std::size_t>(i)])];
            const ForestEdge<Value> candidate{edge.value, std::min(i, edge.end), std::max(i, edge.end)};
            const std::int32_t root = label[static_cast<std::size_t>(i)];
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
            const std::int32_t a = find(edge.low), b = find(edge.high);
            if (a != b) {
                label[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
                forest.push_back(edge);
            }
            edge = {};
        }
        for (std::size_t i = 0; i < n; ++i) label[i] = find(static_cast<std::int32_t>(i));
    }
    std::sort(forest.begin(), forest.end());
    return forest;
}

// The single-linkage merges of a sorted spanning forest; parts are joined at `floor`. The similarity of an edge is
// `sign` times its value.
template <typename Value>
Merges forest_merges(const std::vector<ForestEdge<Value>>& forest, std::size_t n, double sign, double floor) {
    Merges merges;
    std::vector<std::int32_t> label(n);
    std::iota(label.begin(), label.end(), 0);
    std::vector<double> size(n, 1.0);
    const auto find = [&](std::int32_t i) {
        while (label[static_cast<std::size_t>(i)] != i) {
            std::int32_t& up = label[static_cast<std::size_t>(i)];
            up = label[static_cast<std::size_t>(up)];
            i = up;
        }
        return i;
    };
    for (const ForestEdge<Value>& edge : forest) {
        const std::int32_t a = find(edge.low), b = find(edge.high);
        label[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
        size[static_cast<std::size_t>(std::min(a, b))] += size[static_cast<std::size_t>(std::max(a, b))];
        merges.add(a, b, sign * static_cast<double>(edge.value), 1);
    }
    std::vector<std::int32_t> roots;
    for (std::size_t i = 0; i < n; ++i)
        if (label[i] == static_cast<std::int32_t>(i)) roots.push_back(static_cast<std::int32_t>(i));
    join_rest(merges, roots, size, floor, 2);
    return merges;
}

}  // namespace ramify
