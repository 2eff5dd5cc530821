// Weights as a full symmetric matrix, of which only the blocks of the parts matter: they are rearranged in place.
#pragma once
#include "divide/weights.hpp"

namespace cladify::divide {

class SplitMatrix {
public:
    static constexpr bool kSparse = false;
    static constexpr bool kInnerProduct = false;

    struct Scratch {
        std::vector<double> x, between;
    };

    SplitMatrix(float* weight, std::int64_t* index, std::int64_t n) : weight_(weight), index_(index), n_(n) {}

    std::int64_t size() const { return n_; }
    const std::int64_t* index() const { return index_; }
    std::int64_t row_cost() const { return n_; }

    void spread(const Range& part, const Range& from, std::span<const double> x, std::span<double> y, Scratch&,
                Team& team) const {
        for_blocks(part.first, part.last, team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
            for (std::int64_t p = a; p < b; ++p) {
                const float* w = weight_ + p * n_ + from.first;
                double sum = 0;
#pragma omp simd reduction(+ : sum)
                for (std::int64_t q = 0; q < from.size(); ++q) sum += w[q] * x[q];
                if (p >= from.first && p < from.last) sum -= w[p - from.first] * x[p - from.first];
                y[p - part.first] = sum;
            }
        });
    }

    void measure(const Range& part, Groups group, std::int64_t groups, Scratch& s, Splits& splits, Team& team) const {
        const std::int64_t slices = std::min<std::int64_t>(8, count_blocks(part.size()));
        std::vector<std::vector<double>> partial(slices);
        team.run(slices, [&](std::int64_t b, int) {
            partial[b].assign(groups * groups, 0.0);
            for (std::int64_t i = b; i < part.size(); i += slices) {
                const float* w = weight_ + (part.first + i) * n_ + part.first;
                const std::int64_t g = group[i];
                for (std::int64_t j = 0; j < i; ++j) {
                    const std::int64_t h = group[j];
                    partial[b][std::min(g, h) * groups + std::max(g, h)] += w[j];
                }
            }
        });
        s.between = std::move(partial[0]);
        for (std::int64_t b = 1; b < slices; ++b)
            for (std::int64_t j = 0; j < groups * groups; ++j) s.between[j] += partial[b][j];
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
            const float* w = weight_ + order[i] * n_ + part.first;
            double sum = 0;
#pragma omp simd reduction(+ : sum)
            for (std::int64_t q = 0; q < part.size(); ++q) sum += w[q] * s.x[q];
            y[i] = sum;
        }
    }

    Triple triple(const Range& part, SplitMix& random) const { return uniform_triple(*this, part, random); }

    double pair(std::int64_t p, std::int64_t q) const { return weight_[p * n_ + q]; }

    void pairs(const Range& part, float* out) const {
        for (std::int64_t p = part.first; p < part.last; ++p)
            out = std::copy_n(weight_ + p * n_ + part.first, part.size(), out);
    }

    std::int64_t arrange(const Range& part, std::span<const std::uint8_t> side, Team& team) const {
        const Swaps swaps = swaps_for(part.first, part.last, side);
        for_blocks(0, std::ssize(swaps.left), team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
            for (std::int64_t i = a; i < b; ++i) {
                float* row = weight_ + swaps.left[i] * n_ + part.first;
                std::swap_ranges(row, row + part.size(), weight_ + swaps.right[i] * n_ + part.first);
                std::swap(index_[swaps.left[i]], index_[swaps.right[i]]);
            }
        });
        for_blocks(part.first, part.last, team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
            for (std::int64_t p = a; p < b; ++p)
                for (std::size_t i = 0; i < swaps.left.size(); ++i)
                    std::swap(weight_[p * n_ + swaps.left[i]], weight_[p * n_ + swaps.right[i]]);
        });
        return swaps.middle;
    }

private:
    float* weight_;
    std::int64_t* index_;
    std::int64_t n_;
};

}  // namespace cladify::divide
