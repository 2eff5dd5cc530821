// Trees drawn at random: by cutting a line at random points, and uniformly among all binary trees.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "random.hpp"

namespace ramify {

// out[i] = <row i, direction>, divided by the length of row i if `normalize` is set. Sums run in T over sixteen lanes,
// which are added up in double.
template <typename T>
void project_rows(const T* X, std::int64_t n, std::int64_t d, const T* direction, bool normalize, double* out) {
    constexpr int kLanes = 16;
    const auto sum = [](const T* lane) {
        double total = 0;
        for (int l = 0; l < kLanes; ++l) total += lane[l];
        return total;
    };
    for (std::int64_t i = 0; i < n; ++i) {
        const T* x = X + i * d;
        T dot[kLanes] = {}, square[kLanes] = {};
        std::int64_t j = 0;
        for (; j + kLanes <= d; j += kLanes)
            for (int l = 0; l < kLanes; ++l) dot[l] += x[j + l] * direction[j + l];
        for (int l = 0; j + l < d; ++l) dot[l] += x[j + l] * direction[j + l];
        out[i] = sum(dot);
        if (!normalize) continue;
        for (j = 0; j + kLanes <= d; j += kLanes)
            for (int l = 0; l < kLanes; ++l) square[l] += x[j + l] * x[j + l];
        for (int l = 0; j + l < d; ++l) square[l] += x[j + l] * x[j + l];
        out[i] /= std::sqrt(sum(square));
    }
}

// --- cuts of a line
// ---------------------------------------------------------------------------------------------------

// Sorting keys of positions: their leading bits, in order, over the index in the trailing ones. Plain integers sort
// several times faster than positions with their indices beside them.
inline int index_bits(std::int64_t n) { return n < 2 ? 1 : 64 - std::countl_zero(static_cast<std::uint64_t>(n - 1)); }

inline void line_keys(std::span<const double> position, std::span<std::uint64_t> key, int threads) {
    const std::int64_t n = std::ssize(position);
    const int bits = index_bits(n);
#pragma omp parallel for num_threads(threads)
    for (std::int64_t i = 0; i < n; ++i) {
        const std::uint64_t raw = std::bit_cast<std::uint64_t>(position[i] + 0.0);  // -0 becomes 0
        const std::uint64_t ordered = raw >> 63 ? ~raw : raw | (std::uint64_t{1} << 63);
        key[i] = (ordered >> bits << bits) | static_cast<std::uint64_t>(i);
    }
}

// Points in order of (position, index), from the sorted keys: only points with the same leading bits are left to sort.
struct Line {
    std::vector<std::int64_t> leaf;
    std::vector<double> position;
};

inline Line line_order(std::span<const double> position, std::span<const std::uint64_t> key, int threads) {
    const std::int64_t n = std::ssize(position);
    const std::uint64_t mask = (std::uint64_t{1} << index_bits(n)) - 1;
    Line line{std::vector<std::int64_t>(n), std::vector<double>(n)};
#pragma omp parallel for num_threads(threads)
    for (std::int64_t i = 0; i < n; ++i) line.leaf[i] = static_cast<std::int64_t>(key[i] & mask);
    for (std::int64_t first = 0; first < n;) {
        std::int64_t last = first + 1;
        while (last < n && (key[last] | mask) == (key[first] | mask)) ++last;
        if (last - first > 1)
            std::stable_sort(line.leaf.begin() + first, line.leaf.begin() + last,
                             [&](std::int64_t a, std::int64_t b) { return position[a] < position[b]; });
        first = last;
    }
#pragma omp parallel for num_threads(threads)
    for (std::int64_t i = 0; i < n; ++i) line.position[i] = position[line.leaf[i]];
    return line;
}

// The tree of cutting the line at a uniformly random point, then each part in the same way: parents and heights of the
// 2n - 1 nodes. Height: the extent of a node.
//
// Give every gap between neighbours an independent exponential clock with the gap's length as its rate. The clock that
// rings first lies in gap g with probability length(g) / extent, and, clocks being without memory, the same holds
// inside each part afterwards. So the tree is the Cartesian tree of the ringing times E / length: one pass, one stack.
// Gaps of length 0 never ring; their equal points are split at uniformly random places.
inline void random_cut_tree(const Line& line, std::uint64_t seed, int threads, std::int64_t* parent, double* height) {
    const std::int64_t n = std::ssize(line.leaf);
    const auto& position = line.position;
    std::vector<double> ring(n);
#pragma omp parallel for num_threads(threads)
    for (std::int64_t i = 0; i < n - 1; ++i)  // 0 / 0 cannot occur: the logarithm is of a number below 1
        ring[i] = -std::log(open_unit(random_bits(seed, i))) / (position[i + 1] - position[i]);
    ring[n - 1] = -1.0;  // after the last gap: closes every open node

    const auto later = [&](std::int64_t a, std::int64_t b) {
        if (ring[a] != ring[b]) return ring[a] > ring[b];
        return random_bits(~seed, a) > random_bits(~seed, b);
    };
    struct Open {
        std::int64_t gap, left;  // a node that waits for its right end: where it is cut, and its left child
    };
    std::vector<Open> open;
    std::int64_t next = n;
    for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t below = line.leaf[i];  // the largest finished node that ends at position i
        height[below] = 0.0;
        while (!open.empty() && later(open.back().gap, i)) {
            const std::int64_t left = open.back().left;
            open.pop_back();
            const std::int64_t first = open.empty() ? 0 : open.back().gap + 1;
            parent[left] = parent[below] = next;
            height[next] = position[i] - position[first];
            below = next++;
        }
        open.push_back({i, below});
    }
    parent[2 * n - 2] = -1;
}

// --- uniform trees
// ----------------------------------------------------------------------------------------------------

// Parents of a tree drawn uniformly from the (2n - 3)!! binary trees over n leaves, in no particular numbering of the
// inner nodes (n .. 2n - 2): leaf i is put beside one of the 2i - 1 nodes so far, each with the same probability.
inline std::vector<std::int64_t> uniform_binary_tree(std::int64_t n, std::uint64_t seed) {
    SplitMix random(seed);
    std::vector<std::int64_t> parent(2 * n - 1, -1);
    for (std::int64_t i = 1; i < n; ++i) {
        const std::int64_t pick = random.below(2 * i - 1);
        const std::int64_t beside = pick < i ? pick : n + pick - i, joined = n + i - 1;
        parent[joined] = parent[beside];
        parent[beside] = parent[i] = joined;
    }
    return parent;
}

}  // namespace ramify
