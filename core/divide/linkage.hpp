// Average linkage of a few hundred points with all their pairs at hand, by nearest-neighbour chains: O(m²).
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "divide/grow.hpp"

namespace cladify::divide {

struct SmallMerge {
    std::int32_t left, right;  // nodes: points 0 .. m-1, then merges in order
    float distance;
};

// `distance` is a full symmetric matrix between points of these sizes and is used up. Merges come in an order in which
// parts are made first.
inline std::vector<SmallMerge> average_linkage(std::vector<float> size, float* distance) {
    const std::int64_t m = std::ssize(size);
    std::vector<SmallMerge> merges;
    std::vector<std::int32_t> node(m);
    for (std::int64_t i = 0; i < m; ++i) {
        node[i] = static_cast<std::int32_t>(i);
        distance[i * m + i] = std::numeric_limits<float>::infinity();
    }
    std::vector<std::int64_t> chain;
    std::int64_t active = m;  // clusters live in rows 0 .. active-1
    const auto nearest = [&](std::int64_t a, std::int64_t favourite) {
        const float* row = distance + a * m;
        float least = favourite >= 0 ? row[favourite] : std::numeric_limits<float>::infinity();
        std::int64_t best = favourite;
        for (std::int64_t j = 0; j < active; ++j)
            if (row[j] < least) least = row[j], best = j;
        return best < 0 ? (a == 0 ? std::int64_t{1} : std::int64_t{0}) : best;
    };
    while (active > 1) {
        if (chain.empty()) chain.push_back(0);
        std::int64_t a = chain.back();
        std::int64_t b = nearest(a, chain.size() > 1 ? chain[chain.size() - 2] : -1);
        while (chain.size() < 2 || b != chain[chain.size() - 2]) {
            chain.push_back(b);
            b = nearest(b, a);
            a = chain.back();
        }
        chain.resize(chain.size() - 2);
        if (a > b) std::swap(a, b);
        merges.push_back({node[a], node[b], distance[a * m + b]});
        // The merged cluster takes row a; the last active one moves to row b.
        const float share = size[a] / (size[a] + size[b]);
        for (std::int64_t j = 0; j < active; ++j) {
            const float mean = share * distance[a * m + j] + (1.0f - share) * distance[b * m + j];
            distance[a * m + j] = distance[j * m + a] = mean;
        }
        distance[a * m + a] = std::numeric_limits<float>::infinity();
        size[a] += size[b];
        node[a] = static_cast<std::int32_t>(m + std::ssize(merges) - 1);
        const std::int64_t last = --active;
        if (b != last) {
            for (std::int64_t j = 0; j < active; ++j)
                distance[b * m + j] = distance[j * m + b] = distance[last * m + j];
            distance[b * m + b] = std::numeric_limits<float>::infinity();
            size[b] = size[last];
            node[b] = node[last];
            for (std::int64_t& c : chain)
                if (c == last) c = b;
        }
    }
    return merges;
}

// Adds the nodes of the merges of points at these positions, the topmost first, below node `up`.
inline void attach(std::span<const SmallMerge> merges, std::span<const double> height,
                   std::span<const std::int64_t> position, std::int64_t up, Nodes& nodes, std::int64_t* leaf_above) {
    const std::int64_t m = std::ssize(position);
    std::vector<std::int64_t> above(2 * m - 1, up);
    for (std::int64_t i = m - 2; i >= 0; --i)
        above[merges[i].left] = above[merges[i].right] = nodes.add(above[m + i], height[i]);
    for (std::int64_t i = 0; i < m; ++i) leaf_above[position[i]] = above[i];
}

}  // namespace cladify::divide
