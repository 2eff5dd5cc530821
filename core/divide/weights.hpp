// Weights between points, in the three forms in which they come: inner products of features, a dense matrix, a sparse
// graph. Each keeps its points in an order that is rearranged in place, and answers what a splitter asks about a part,
// a range of that order. `Scratch` is the working memory of one thread; `kSparse` says that most weights are 0,
// `kInnerProduct` that W, or -W, is an inner product of points apart from what is the same in a whole row or column.
//
//   spread(part, from, x, y, ...)          y_p = sum over q in `from`, q not p, of w_pq x_q, for p in `part`, which
//                                          contains `from`
//   measure(part, group, groups, ...)      the splits into groups 0 .. t-1 and the rest, for every t: see Splits
//   pull(part, group, groups, t, a, b, …)  y_p = a W(p, first side) - b W(p, second side) for split t of the groups
//                                          that were measured last
//   behind(part, order, y, ...)            y_i = W(order_i, what is left of the part once order_0 .. order_i are
//                                          gone); the part must be the one that was measured last
//   triple(part, random)                   the three weights of a random triple: see Triple
//   pair(p, q), pairs(part, out)           w_pq; all of them, as a full float matrix
//   arrange(part, side, team)              puts side 0 first, returns where side 1 begins
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "divide/rows.hpp"

namespace cladify::divide {

// For every split t = 1 .. groups-1 (entry t): points and weight on the first side, weight on the second, and between.
struct Splits {
    std::vector<std::int64_t> count;
    std::vector<double> first, second, across;
    void resize(std::int64_t groups) {
        count.assign(groups, 0);
        first.assign(groups, 0.0);
        second.assign(groups, 0.0);
        across.assign(groups, 0.0);
    }
};

using Groups = std::span<const std::uint16_t>;

// Three weights, and how much they count in an average over all triples (0: nothing was drawn).
struct Triple {
    std::array<double, 3> weight{};
    double share = 0;
};

// A triple of points drawn uniformly.
template <typename Weights>
Triple uniform_triple(const Weights& weights, const Range& part, SplitMix& random) {
    const std::int64_t a = random.below(part.size()), b = random.below(part.size()), c = random.below(part.size());
    if (a == b || b == c || a == c) return {};
    const std::int64_t p = part.first + a, q = part.first + b, r = part.first + c;
    return {{weights.pair(p, q), weights.pair(p, r), weights.pair(q, r)}, 1.0};
}

// `pull` for weights that keep nothing from `measure`: a product with W like any other.
template <typename Weights>
void pull_by_spread(const Weights& weights, const Range& part, Groups group, std::int64_t t, double a, double b,
                    std::span<double> y, typename Weights::Scratch& s, Team& team) {
    s.x.resize(part.size());
    for (std::int64_t i = 0; i < part.size(); ++i) s.x[i] = group[i] < t ? a : -b;
    weights.spread(part, part, s.x, y, s, team);
}

// All splits from the weight between every two groups: `between` holds each pair of points once, at (smaller group,
// larger group).
inline void splits_of_groups(std::span<const double> between, Groups group, std::int64_t groups, Splits& splits) {
    splits.resize(groups);
    for (const std::uint16_t g : group)
        if (g + 1 < groups) ++splits.count[g + 1];
    for (std::int64_t t = 1; t < groups; ++t) splits.count[t] += splits.count[t - 1];
    std::vector<double> by_larger(groups, 0.0), by_smaller(groups, 0.0);
    double total = 0;
    for (std::int64_t g = 0; g < groups; ++g)
        for (std::int64_t h = g; h < groups; ++h) {
            const double w = between[g * groups + h];
            by_larger[h] += w;
            by_smaller[g] += w;
            total += w;
        }
    double first = 0, touched = 0;
    for (std::int64_t t = 1; t < groups; ++t) {
        first += by_larger[t - 1];
        touched += by_smaller[t - 1];
        splits.first[t] = first;
        splits.second[t] = total - touched;
        splits.across[t] = touched - first;
    }
}

}  // namespace cladify::divide
