// Trees drawn at random: by cutting a line at random points, and uniformly among all binary trees.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "random.hpp"

namespace ramify {

// out[i] = <row i, direction>, divided by the length of row i if `normalize` is set.
template <typename T>
void project_rows(const T* X, std::int64_t n, std::int64_t d, const double* direction, bool normalize, double* out) {
    for (std::int64_t i = 0; i < n; ++i) {
        const T* x = X + i * d;
        double dot = 0, square = 0;
        if (normalize) {
#pragma omp simd reduction(+ : dot, square)
            for (std::int64_t j = 0; j < d; ++j) {
                const double v = x[j];
                dot += v * direction[j];
                square += v * v;
            }
            out[i] = dot / std::sqrt(square);
        } else {
#pragma omp simd reduction(+ : dot)
            for (std::int64_t j = 0; j < d; ++j) dot += static_cast<double>(x[j]) * direction[j];
            out[i] = dot;
        }
    }
}

struct RandomTreeArrays {
    std::vector<std::int64_t> parent;
    std::vector<double> height;
};

// The tree of cutting the line at a uniformly random point, then each part in the same way. `position` is sorted,
// `leaf[i]` is the leaf at position[i]. Height: the extent of a node.
//
// Give every gap between neighbours an independent exponential clock with the gap's length as its rate. The clock that
// rings first lies in gap g with probability length(g) / extent, and, clocks being without memory, the same holds
// inside each part afterwards. So the tree is the Cartesian tree of the ringing times E / length: one pass, one stack.
// Gaps of length 0 never ring; their equal points are split at uniformly random places.
inline RandomTreeArrays random_cut_tree(std::span<const double> position, std::span<const std::int64_t> leaf,
                                        std::uint64_t seed, int threads) {
    const std::int64_t n = std::ssize(position);
    std::vector<double> ring(n);
    [[maybe_unused]] const int team = n < 100'000 ? 1 : threads;
#pragma omp parallel for num_threads(team)
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
    RandomTreeArrays out{std::vector<std::int64_t>(2 * n - 1, -1), std::vector<double>(2 * n - 1, 0.0)};
    std::vector<Open> open;
    std::int64_t next = n;
    for (std::int64_t i = 0; i < n; ++i) {
        std::int64_t below = leaf[i];  // the largest finished node that ends at position i
        while (!open.empty() && later(open.back().gap, i)) {
            const std::int64_t left = open.back().left;
            open.pop_back();
            const std::int64_t first = open.empty() ? 0 : open.back().gap + 1;
            out.parent[left] = out.parent[below] = next;
            out.height[next] = position[i] - position[first];
            below = next++;
        }
        open.push_back({i, below});
    }
    return out;
}

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
