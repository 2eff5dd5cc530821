// Weights as a sparse symmetric graph without loops; missing edges are 0. The rows stay where they are, and the
// edges inside a point's part come first in its row.
#pragma once
#include "divide/weights.hpp"

namespace cladify::divide {

class SplitGraph {
public:
    static constexpr bool kSparse = true;
    static constexpr bool kInnerProduct = false;

    struct Scratch {
        std::vector<double> x, between;
    };

    SplitGraph(const std::int64_t* indptr, std::int32_t* neighbour, float* weight, std::int64_t* index, std::int64_t n)
        : indptr_(indptr),
          end_(indptr + 1, indptr + 1 + n),
          neighbour_(neighbour),
          weight_(weight),
          index_(index),
          position_(n),
          n_(n) {
        for (std::int64_t p = 0; p < n; ++p) position_[index[p]] = p;
    }

    std::int64_t size() const { return n_; }
    const std::int64_t* index() const { return index_; }
    std::int64_t row_cost() const { return 1 + 4 * indptr_[n_] / n_; }

    void spread(const Range& part, const Range& from, std::span<const double> x, std::span<double> y, Scratch&,
                Team& team) const {
        for_blocks(part.first, part.last, team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
            for (std::int64_t p = a; p < b; ++p) {
                double sum = 0;
                for_edges(p, [&](std::int64_t q, double w) {
                    if (q >= from.first && q < from.last) sum += w * x[q - from.first];
                });
                y[p - part.first] = sum;
            }
        });
    }

    void measure(const Range& part, Groups group, std::int64_t groups, Scratch& s, Splits& splits, Team&) const {
        s.between.assign(groups * groups, 0.0);
        for (std::int64_t p = part.first; p < part.last; ++p) {
            const std::int64_t g = group[p - part.first];
            for_edges(p, [&](std::int64_t q, double w) {
                if (q > p) return;
                const std::int64_t h = group[q - part.first];
                s.between[std::min(g, h) * groups + std::max(g, h)] += w;
            });
        }
        splits_of_groups(s.between, group, groups, splits);
    }

    void pull(const Range& part, Groups group, std::int64_t, std::int64_t t, double a, double b, std::span<double> y,
              Scratch& s, Team& team) const {
        pull_by_spread(*this, part, group, t, a, b, y, s, team);
    }

    void behind(const Range& part, std::span<const std::int64_t> order, std::span<double> y, Scratch& s) const {
        s.x.assign(part.size(), 1.0);
        for (std::size_t i = 0; i < order.size(); ++i) {
            s.x[order[i] - part.first] = 0.0;
            y[i] = 0;
            for_edges(order[i], [&](std::int64_t q, double w) { y[i] += w * s.x[q - part.first]; });
        }
    }

    // An edge and a third point. Edges of points with many are drawn less often, and a triple once for each of its
    // edges.
    Triple triple(const Range& part, SplitMix& random) const {
        const std::int64_t p = part.first + random.below(part.size()), r = part.first + random.below(part.size());
        const std::int64_t begin = indptr_[index_[p]], degree = end_[index_[p]] - begin;
        if (degree == 0) return {};
        const std::int64_t q = position_[neighbour_[begin + random.below(degree)]];
        if (p == r || q == r) return {};
        const std::array<double, 3> w{pair(p, q), pair(p, r), pair(q, r)};
        const auto edges = static_cast<double>(std::ranges::count_if(w, [](double v) { return v != 0; }));
        return {w, edges > 0 ? static_cast<double>(degree) / edges : 0.0};
    }

    double pair(std::int64_t p, std::int64_t q) const {
        double found = 0;
        for_edges(p, [&](std::int64_t r, double w) {
            if (r == q) found = w;
        });
        return found;
    }

    void pairs(const Range& part, float* out) const {
        const std::int64_t m = part.size();
        std::fill_n(out, m * m, 0.0f);
        for (std::int64_t p = part.first; p < part.last; ++p)
            for_edges(p, [&](std::int64_t q, double w) {
                out[(p - part.first) * m + q - part.first] = static_cast<float>(w);
            });
    }

    std::int64_t arrange(const Range& part, std::span<const std::uint8_t> side, Team& team) {
        for_blocks(part.first, part.last, team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
            for (std::int64_t p = a; p < b; ++p) {
                const std::int64_t point = index_[p];
                for (std::int64_t e = indptr_[point]; e < end_[point];) {
                    const std::int64_t q = position_[neighbour_[e]];
                    if (side[q - part.first] == side[p - part.first]) {
                        ++e;
                        continue;
                    }
                    std::swap(neighbour_[e], neighbour_[--end_[point]]);
                    std::swap(weight_[e], weight_[end_[point]]);
                }
            }
        });
        const Swaps swaps = swaps_for(part.first, part.last, side);
        for (std::size_t i = 0; i < swaps.left.size(); ++i) {
            std::swap(index_[swaps.left[i]], index_[swaps.right[i]]);
            position_[index_[swaps.left[i]]] = swaps.left[i];
            position_[index_[swaps.right[i]]] = swaps.right[i];
        }
        return swaps.middle;
    }

private:
    // visit(position, weight) for the edges of position p inside its part.
    template <typename Visit>
    void for_edges(std::int64_t p, Visit visit) const {
        const std::int64_t point = index_[p];
        for (std::int64_t e = indptr_[point]; e < end_[point]; ++e)
            visit(position_[neighbour_[e]], static_cast<double>(weight_[e]));
    }

    const std::int64_t* indptr_;
    std::vector<std::int64_t> end_;  // of the edges inside the part
    std::int32_t* neighbour_;
    float* weight_;
    std::int64_t* index_;
    std::vector<std::int64_t> position_;  // of each point
    std::int64_t n_;
};

}  // namespace cladify::divide
