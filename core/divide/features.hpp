// Weights as inner products of features: whatever is asked follows from sums of rows.
#pragma once
#include "divide/weights.hpp"

namespace cladify::divide {

// w_pq = shift + offset_p + offset_q + scale <z_p, z_q>
class SplitFeatures {
public:
    static constexpr bool kSparse = false;
    static constexpr bool kInnerProduct = true;

    struct Scratch {
        std::vector<double> sums;  // of first sides: k coordinates, then offset, square and count
        std::vector<double> direction;
        std::vector<float> narrow;
    };

    SplitFeatures(Rows rows, std::vector<double> offset, double scale, double shift, Team& team)
        : rows_(std::move(rows)), offset_(std::move(offset)), square_(rows_.n), scale_(scale), shift_(shift) {
        for_blocks(0, rows_.n, team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
            for (std::int64_t p = a; p < b; ++p) square_[p] = dot(rows_.row(p), rows_.row(p), rows_.k);
        });
        rows_.beside = {&offset_, &square_};
    }
    SplitFeatures(const SplitFeatures&) = delete;

    std::int64_t size() const { return rows_.n; }
    const std::int64_t* index() const { return rows_.index; }
    std::int64_t row_cost() const { return rows_.k; }

    void spread(const Range& part, const Range& from, std::span<const double> x, std::span<double> y, Scratch& s,
                Team& team) const {
        const std::int64_t k = rows_.k, blocks = count_blocks(from.size());
        s.direction.assign(blocks * (k + 2), 0.0);
        for_blocks(from.first, from.last, team, [&](std::int64_t block, std::int64_t a, std::int64_t b) {
            double* sum = s.direction.data() + block * (k + 2);
            std::vector<float> run(k);
            while (a < b) {
                std::fill(run.begin(), run.end(), 0.0f);
                for (const std::int64_t end = std::min(b, a + kShortRun); a < end; ++a) {
                    const double factor = x[a - from.first];
                    add_scaled(run.data(), rows_.row(a), static_cast<float>(factor), k);
                    sum[k] += factor;
                    sum[k + 1] += factor * offset_[a];
                }
                add(sum, run.data(), k);
            }
        });
        for (std::int64_t b = 1; b < blocks; ++b)
            for (std::int64_t j = 0; j < k + 2; ++j) s.direction[j] += s.direction[b * (k + 2) + j];
        apply(part, s, s.direction[k], s.direction[k + 1], y, team);
        for (std::int64_t p = from.first; p < from.last; ++p) y[p - part.first] -= x[p - from.first] * self(p);
    }

    void measure(const Range& part, Groups group, std::int64_t groups, Scratch& s, Splits& splits, Team& team) const {
        const std::int64_t k = rows_.k, wide = k + 3;
        // A few chunks at most, because each has sums of all groups.
        const std::int64_t chunk = std::max(8 * kBlockRows, (part.size() / 16 / kBlockRows + 1) * kBlockRows);
        const std::int64_t chunks = (part.size() + chunk - 1) / chunk;
        std::vector<std::vector<double>> partial(chunks);
        s.sums.assign(groups * wide, 0.0);
        team.run(chunks, [&](std::int64_t c, int) {
            if (c > 0) partial[c].assign(groups * wide, 0.0);
            const std::int64_t end = std::min(part.last, part.first + (c + 1) * chunk);
            add_groups(part, group, groups, part.first + c * chunk, end, c > 0 ? partial[c] : s.sums);
        });
        for (std::int64_t c = 1; c < chunks; ++c)
            for (std::int64_t j = 0; j < groups * wide; ++j) s.sums[j] += partial[c][j];
        for (std::int64_t j = wide; j < groups * wide; ++j) s.sums[j] += s.sums[j - wide];

        const double* whole = s.sums.data() + (groups - 1) * wide;
        const double all = dot(whole, whole, k);
        splits.resize(groups);
        for (std::int64_t t = 1; t < groups; ++t) {
            const double* a = s.sums.data() + (t - 1) * wide;
            const double aa = dot(a, a, k), ab = dot(a, whole, k) - aa, bb = all - aa - 2.0 * ab;
            const double na = a[k + 2], nb = whole[k + 2] - na, oa = a[k], ob = whole[k] - oa;
            const double qa = a[k + 1], qb = whole[k + 1] - qa;
            splits.count[t] = static_cast<std::int64_t>(na);
            splits.first[t] = shift_ * na * (na - 1) / 2 + (na - 1) * oa + scale_ * (aa - qa) / 2;
            splits.second[t] = shift_ * nb * (nb - 1) / 2 + (nb - 1) * ob + scale_ * (bb - qb) / 2;
            splits.across[t] = shift_ * na * nb + nb * oa + na * ob + scale_ * ab;
        }
    }

    void pull(const Range& part, Groups group, std::int64_t groups, std::int64_t t, double a, double b,
              std::span<double> y, Scratch& s, Team& team) const {
        const std::int64_t k = rows_.k, wide = k + 3;
        const double* first = s.sums.data() + (t - 1) * wide;
        const double* whole = s.sums.data() + (groups - 1) * wide;
        s.direction.resize(wide);
        for (std::int64_t j = 0; j < wide; ++j) s.direction[j] = a * first[j] - b * (whole[j] - first[j]);
        apply(part, s, s.direction[k + 2], s.direction[k], y, team);
        for (std::int64_t p = part.first; p < part.last; ++p)
            y[p - part.first] -= (group[p - part.first] < t ? a : -b) * self(p);
    }

    void behind(const Range& part, std::span<const std::int64_t> order, std::span<double> y, Scratch& s) const {
        const std::int64_t k = rows_.k;
        s.direction.assign(s.sums.end() - (k + 3), s.sums.end());
        double offsets = s.direction[k], left = static_cast<double>(part.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            const float* z = rows_.row(order[i]);
            double product = 0;
#pragma omp simd reduction(+ : product)
            for (std::int64_t j = 0; j < k; ++j) {
                s.direction[j] -= z[j];
                product += s.direction[j] * z[j];
            }
            offsets -= offset_[order[i]];
            left -= 1.0;
            y[i] = scale_ * product + (shift_ + offset_[order[i]]) * left + offsets;
        }
    }

    Triple triple(const Range& part, SplitMix& random) const { return uniform_triple(*this, part, random); }

    double pair(std::int64_t p, std::int64_t q) const {
        return shift_ + offset_[p] + offset_[q] + scale_ * dot(rows_.row(p), rows_.row(q), rows_.k);
    }

    void pairs(const Range& part, float* out) const {
        const std::int64_t m = part.size();
        for (std::int64_t i = 0; i < m; ++i) {
            out[i * m + i] = 0.0f;
            for (std::int64_t j = 0; j < i; ++j)
                out[i * m + j] = out[j * m + i] = static_cast<float>(pair(part.first + i, part.first + j));
        }
    }

    std::int64_t arrange(const Range& part, std::span<const std::uint8_t> side, Team& team) const {
        const Swaps swaps = swaps_for(part.first, part.last, side);
        swap_rows(rows_, swaps, team);
        return swaps.middle;
    }

    void shuffle(const Range& part, SplitMix& random) const {
        for (std::int64_t p = part.last - 1; p > part.first; --p)
            rows_.swap(p, part.first + random.below(p - part.first + 1));
    }

private:
    double self(std::int64_t p) const { return shift_ + 2.0 * offset_[p] + scale_ * square_[p]; }

    // Sums of the rows of each group; runs that put few rows in a group are added up in float.
    void add_groups(const Range& part, Groups group, std::int64_t groups, std::int64_t first, std::int64_t last,
                    std::vector<double>& sums) const {
        const std::int64_t k = rows_.k, wide = k + 3;
        std::vector<float> run(groups * k, 0.0f);
        while (first < last) {
            for (const std::int64_t end = std::min(last, first + 64 * groups); first < end; ++first) {
                const std::int64_t g = group[first - part.first];
                add(run.data() + g * k, rows_.row(first), k);
                double* rest = sums.data() + g * wide + k;
                rest[0] += offset_[first];
                rest[1] += square_[first];
                rest[2] += 1.0;
            }
            for (std::int64_t g = 0; g < groups; ++g) add(sums.data() + g * wide, run.data() + g * k, k);
            if (first < last) std::fill(run.begin(), run.end(), 0.0f);
        }
    }

    // y_p = (shift + offset_p)·count + offsets + scale <z_p, direction>
    void apply(const Range& part, Scratch& s, double count, double offsets, std::span<double> y, Team& team) const {
        s.narrow.assign(s.direction.begin(), s.direction.begin() + rows_.k);
        for_blocks(part.first, part.last, team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
            for (std::int64_t p = a; p < b; ++p)
                y[p - part.first] =
                    scale_ * dot(rows_.row(p), s.narrow.data(), rows_.k) + (shift_ + offset_[p]) * count + offsets;
        });
    }

    Rows rows_;
    std::vector<double> offset_, square_;
    double scale_, shift_;
};

}  // namespace cladify::divide
