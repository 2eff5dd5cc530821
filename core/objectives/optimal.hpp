// The best binary tree of a few points, by dynamic programming over all subsets.
#pragma once
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "common/interrupt.hpp"

namespace cladify::objectives {

// For every set of points (a bit mask) one side of its best split, 0 for a single point. The value of a tree is the sum
// over its nodes of the weight that crosses the split times the node's size; `sign` -1 looks for the smallest. O(3^n).
inline std::vector<std::int32_t> best_splits(std::span<const double> w, std::span<const double> weight, double sign,
                                             Interrupt& interrupt) {
    const int n = static_cast<int>(weight.size());
    const std::uint32_t all = (1u << n) - 1;
    std::vector<double> inside(all + 1, 0.0), mass(all + 1, 0.0), best(all + 1, 0.0);
    std::vector<std::int32_t> split(all + 1, 0);
    for (std::uint32_t set = 1; set <= all; ++set) {
        const int i = std::countr_zero(set);
        const std::uint32_t rest = set & (set - 1);
        mass[set] = mass[rest] + weight[i];
        inside[set] = inside[rest];
        for (std::uint32_t left = rest; left != 0; left &= left - 1) {
            const int j = std::countr_zero(left);
            inside[set] += weight[i] * weight[j] * w[i * n + j];
        }
        if (rest == 0) continue;
        if ((set & 0xfff) == 0) interrupt();
        bool found = false;
        // Both sides give the same tree: take the one with the smallest point. The other one is any part of the rest.
        for (std::uint32_t other = rest; other != 0; other = (other - 1) & rest) {
            const std::uint32_t side = set ^ other;
            const double value =
                sign * mass[set] * (inside[set] - inside[side] - inside[other]) + best[side] + best[other];
            if (!found || value > best[set]) {
                best[set] = value;
                split[set] = static_cast<std::int32_t>(side);
                found = true;
            }
        }
    }
    return split;
}

}  // namespace cladify::objectives
