// From distances to the weights that pull points of a map together.
//
// As in UMAP, a row's own scale decides: its nearest neighbour has weight 1, and all its weights sum to log2(k).
// L. McInnes, J. Healy, J. Melville, UMAP, arXiv:1802.03426, algorithm 3.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/interrupt.hpp"
#include "common/team.hpp"

namespace cladify::maps {

// Weights of one row of `k` distances. An infinite distance has weight 0.
template <typename Value>
void row_weights(const Value* distance, std::int64_t k, double least_scale, float* weight) {
    double nearest = std::numeric_limits<double>::infinity(), sum = 0.0;
    std::int64_t finite = 0;
    for (std::int64_t e = 0; e < k; ++e) {
        if (!std::isfinite(distance[e])) continue;
        nearest = std::min(nearest, static_cast<double>(distance[e]));
        sum += static_cast<double>(distance[e]);
        ++finite;
    }
    if (finite == 0) {
        std::fill(weight, weight + k, 0.0F);
        return;
    }
    const double target = std::log2(static_cast<double>(std::max<std::int64_t>(finite, 2)));
    const double mean = sum / static_cast<double>(finite) - nearest;  // of what is beyond the nearest
    const auto total = [&](double scale) {
        double t = 0.0;
        for (std::int64_t e = 0; e < k; ++e)
            if (std::isfinite(distance[e])) t += std::exp(-(static_cast<double>(distance[e]) - nearest) / scale);
        return t;
    };
    double scale = std::max(mean, least_scale);
    if (mean > 0.0) {
        double low = 0.0, high = std::numeric_limits<double>::infinity();
        for (int round = 0; round < 40; ++round) {
            const double reached = total(scale);
            if (std::abs(reached - target) < 1e-4) break;
            (reached > target ? high : low) = scale;
            scale = std::isinf(high) ? 2.0 * scale : 0.5 * (low + high);
        }
        scale = std::max({scale, 1e-3 * mean, least_scale});
    }
    for (std::int64_t e = 0; e < k; ++e)
        weight[e] = std::isfinite(distance[e])
                        ? static_cast<float>(std::exp(-(static_cast<double>(distance[e]) - nearest) / scale))
                        : 0.0F;
}

template <typename Value>
void all_weights(const std::int64_t* indptr, const Value* distance, std::int64_t n, float* weight, int threads,
                 Interrupt& interrupt) {
    Team(threads).split(
        n, 1024,
        [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i)
                row_weights(distance + indptr[i], indptr[i + 1] - indptr[i], std::numeric_limits<double>::min(),
                            weight + indptr[i]);
        },
        &interrupt);
}

}  // namespace cladify::maps
