// The condensed tree of HDBSCAN: a tree in which a cluster lives on while it only loses pieces of fewer than `min_size`
// points, and splits where two or more larger ones part.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tree/tree.hpp"

namespace cladify {

// Row i: `child` (a point, or a cluster n, n + 1, ...) leaves cluster `parent` at density `lambda`, 1 / height.
struct CondensedRows {
    Ids parent, child;
    std::vector<double> lambda, size;
};

// Sizes are sums of weights. A node of height 0 holds equal points, which leave together.
inline CondensedRows condense_tree(IdSpan parent, RealSpan size, RealSpan height, std::int64_t n_leaves,
                                   double min_size) {
    const std::int64_t m = std::ssize(parent);
    CondensedRows rows;
    const auto add = [&](std::int64_t cluster, std::int64_t child, double lambda, double weight) {
        rows.parent.push_back(cluster);
        rows.child.push_back(child);
        rows.lambda.push_back(lambda);
        rows.size.push_back(weight);
    };
    std::vector<std::int32_t> n_big(m, 0);
    for (std::int64_t v = 0; v + 1 < m; ++v) n_big[parent[v]] += size[v] >= min_size;
    const auto density = [&](std::int64_t v) {
        return height[v] > 0 ? 1.0 / height[v] : std::numeric_limits<double>::infinity();
    };
    Ids cluster(m);
    std::vector<double> left(m, -1.0);  // the density at which the points below left their cluster; -1: not yet
    std::int64_t next = n_leaves;
    cluster[m - 1] = next++;
    for (std::int64_t v = m - 1; v >= 0; --v) {
        if (v != m - 1) {
            const std::int64_t p = parent[v];
            cluster[v] = cluster[p];
            left[v] = left[p];
            if (left[p] < 0) {
                const bool splits = n_big[p] >= 2 && height[p] > 0;
                if (splits && size[v] >= min_size) {
                    cluster[v] = next++;
                    add(cluster[p], cluster[v], density(p), size[v]);
                } else if (height[p] > 0 ? size[v] < min_size : true) {
                    left[v] = density(p);
                }
            }
        }
        if (v < n_leaves && m > 1) add(cluster[v], v, left[v] < 0 ? density(parent[v]) : left[v], size[v]);
    }
    return rows;
}

}  // namespace cladify
