// Sums over all triples of points of the largest and the smallest of their three weights: the bounds of the objectives.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/finite.hpp"
#include "common/interrupt.hpp"
#include "common/team.hpp"

namespace cladify::objectives {

// A triple counts with the product of its points' weights.
struct TripleSums {
    double largest = 0, smallest = 0;

    TripleSums& operator+=(const TripleSums& other) {
        largest += other.largest;
        smallest += other.smallest;
        return *this;
    }
};

// --- all triples, one by one
// ------------------------------------------------------------------------------------------

// Triples i < j < k with i in a tile of rows; columns go by in chunks that stay in the cache while all j and i pass.
inline TripleSums triples_of_tile(const double* w, std::int64_t n, std::span<const double> weight, std::int64_t begin,
                                  std::int64_t end) {
    constexpr std::int64_t kChunk = 512;
    TripleSums sums;
    for (std::int64_t from = begin + 2; from < n; from += kChunk) {
        const std::int64_t to = std::min(from + kChunk, n);
        for (std::int64_t j = begin + 1; j < to - 1; ++j) {
            const double* row_j = w + j * n;
            const std::int64_t k0 = std::max(from, j + 1);
            for (std::int64_t i = begin; i < std::min(end, j); ++i) {
                const double* row_i = w + i * n;
                const double own = row_i[j];
                double high = 0, low = 0;
#pragma omp simd reduction(+ : high, low)
                for (std::int64_t k = k0; k < to; ++k) {
                    const double a = row_i[k], b = row_j[k], m = weight[k];
                    const double up = a > b ? a : b, down = a < b ? a : b;
                    high += m * (up > own ? up : own);
                    low += m * (down < own ? down : own);
                }
                sums.largest += weight[i] * weight[j] * high;
                sums.smallest += weight[i] * weight[j] * low;
            }
        }
    }
    return sums;
}

// O(n^3) for any weights of the points; tiles depend on n alone, so the number of threads changes nothing.
inline TripleSums triple_sums(const double* w, std::int64_t n, std::span<const double> weight, int threads,
                              Interrupt& interrupt) {
    constexpr std::int64_t kTile = 16;
    const std::int64_t tiles = (n + kTile - 1) / kTile;
    std::vector<TripleSums> part(tiles);
    parallel_items(tiles, threads, interrupt, [&](std::int64_t t) {
        part[t] = triples_of_tile(w, n, weight, t * kTile, std::min(n, (t + 1) * kTile));
    });
    TripleSums all;
    for (const TripleSums& p : part) all += p;
    return all;
}

// --- all triples, 64 at a time
// ----------------------------------------------------------------------------------------

// Where no point weighs more than another it is enough to count: going through the pairs from the smallest weight up, a
// pair (i, j) is the largest of its triple with k when (i, k) and (j, k) came before, and the smallest when neither
// did. Sets of points as bits make that a count of common bits: n^3 / 128 steps and one sort of the pairs.
class CountedTriples {
public:
    CountedTriples(const double* w, std::int64_t n) : n_(n), pairs_(n * (n - 1) / 2) {
        // Pairs go straight into buckets of about equal size, each to be sorted on its own.
        std::vector<double> sample;
        const std::int64_t step = std::max<std::int64_t>(1, n * n / 4096);
        for (std::int64_t at = 1; at < n * n; at += step) sample.push_back(not_above_largest(w[at]));
        std::sort(sample.begin(), sample.end());
        std::array<double, kBuckets - 1> pivot;
        for (std::int64_t b = 0; b + 1 < kBuckets; ++b) pivot[b] = sample[(b + 1) * sample.size() / kBuckets];
        const auto bucket = [&](double value) {
            return std::upper_bound(pivot.begin(), pivot.end(), value) - pivot.begin();
        };
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = i + 1; j < n; ++j) ++start_[bucket(not_above_largest(w[i * n + j])) + 1];
        std::partial_sum(start_.begin(), start_.end(), start_.begin());
        std::array<std::int64_t, kBuckets> next;
        std::copy_n(start_.begin(), kBuckets, next.begin());
        for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = i + 1; j < n; ++j) {
                const double value = not_above_largest(w[i * n + j]);
                pairs_[next[bucket(value)]++] = {value, static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)};
            }
    }

    TripleSums run(int threads, Interrupt& interrupt) {
        parallel_items(kBuckets, threads, interrupt, [&](std::int64_t b) {
            std::sort(pairs_.begin() + start_[b], pairs_.begin() + start_[b + 1],
                      [](const Pair& x, const Pair& y) { return x.w < y.w; });
        });
        const std::int64_t words = (n_ + 63) / 64, slices = std::min(words, kSlices);
        std::vector<double> common(slices);
        parallel_items(slices, threads, interrupt, [&](std::int64_t s) {
            common[s] = count_common(s * words / slices, (s + 1) * words / slices, interrupt);
        });
        TripleSums sums;
        for (const double c : common) sums.largest += c;
        // Neither came before: all other points, less those of one side and of the other, plus those of both.
        std::vector<std::int64_t> before(n_, 0);
        sums.smallest = sums.largest;
        for (const Pair& p : pairs_) sums.smallest += p.w * static_cast<double>(n_ - 2 - before[p.i]++ - before[p.j]++);
        return sums;
    }

private:
    struct Pair {
        double w;
        std::int32_t i, j;
    };
    static constexpr std::int64_t kBuckets = 32, kSlices = 8;

    // Sum over the pairs of w times the number of points, within some words of the bit sets, joined to both before.
    double count_common(std::int64_t from, std::int64_t to, Interrupt& interrupt) const {
        const std::int64_t words = to - from;
        std::vector<std::uint64_t> bits(n_ * words, 0);
        const auto add = [&](std::int64_t row, std::int64_t point) {
            const std::int64_t word = point / 64 - from;
            if (word >= 0 && word < words) bits[row * words + word] |= std::uint64_t{1} << (point % 64);
        };
        double sum = 0;
        for (std::size_t e = 0; e < pairs_.size(); ++e) {
            if (e % 65536 == 0) interrupt();
            const Pair& p = pairs_[e];
            const std::uint64_t *a = bits.data() + p.i * words, *b = bits.data() + p.j * words;
            std::int64_t count = 0;
            for (std::int64_t x = 0; x < words; ++x) count += std::popcount(a[x] & b[x]);
            sum += p.w * static_cast<double>(count);
            add(p.i, p.j);
            add(p.j, p.i);
        }
        return sum;
    }

    std::int64_t n_;
    std::vector<Pair> pairs_;
    std::array<std::int64_t, kBuckets + 1> start_{};
};

// --- sparse graphs
// ----------------------------------------------------------------------------------------------------

// On a sparse symmetric graph with weights above 0 and 0 elsewhere (columns of a row sorted, no diagonal), exactly:
// what the three weights of all triples add up to, less all but the largest. In a triple with the edges a <= b <= c
// that is a
// + b with three edges, the smaller one with two, nothing with one: the smaller weight of each two edges that meet,
// less the smallest of each triangle, which that counts once too often.
//   sum of largest  = sum of edges * (M - m_i - m_j)  -  meeting  +  triangles,      sum of smallest = triangles.
template <typename Index>
TripleSums graph_triple_sums(std::span<const Index> indptr, std::span<const Index> indices, std::span<const double> w,
                             std::span<const double> weight, int threads, Interrupt& interrupt) {
    constexpr std::int64_t kBlock = 1024;
    const std::int64_t n = std::ssize(weight), blocks = (n + kBlock - 1) / kBlock;
    double mass = 0;
    for (const double m : weight) mass += m;
    struct Sums {
        double pairs = 0, meeting = 0, triangles = 0;
    };
    std::vector<Sums> part(blocks);
    parallel_items(blocks, threads, interrupt, [&](std::int64_t block) {
        Sums& sums = part[block];
        std::vector<std::pair<double, double>> edges;
        for (std::int64_t i = block * kBlock; i < std::min(n, (block + 1) * kBlock); ++i) {
            const Index begin = indptr[i], end = indptr[i + 1];
            edges.clear();
            for (Index p = begin; p < end; ++p) edges.emplace_back(not_above_largest(w[p]), weight[indices[p]]);
            // From the heaviest edge down, every edge is the smaller one of those with all edges before it.
            std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
            double before = 0, meeting = 0;
            for (const auto& [value, m] : edges) {
                meeting += value * m * before;
                before += m;
            }
            sums.meeting += weight[i] * meeting;
            for (Index p = begin; p < end; ++p) {
                const std::int64_t j = indices[p];
                if (j <= i) continue;
                const double own = w[p], both = weight[i] * weight[j];
                sums.pairs += both * own * (mass - weight[i] - weight[j]);
                Index a = p + 1, b = indptr[j];
                while (b < indptr[j + 1] && indices[b] <= j) ++b;
                double smallest = 0;
                while (a < end && b < indptr[j + 1]) {
                    if (indices[a] < indices[b]) {
                        ++a;
                    } else if (indices[a] > indices[b]) {
                        ++b;
                    } else {
                        smallest += weight[indices[a]] * std::min(own, std::min(w[a], w[b]));
                        ++a;
                        ++b;
                    }
                }
                sums.triangles += both * smallest;
            }
        }
    });
    Sums all;
    for (const Sums& p : part) {
        all.pairs += p.pairs;
        all.meeting += p.meeting;
        all.triangles += p.triangles;
    }
    return {all.pairs - all.meeting + all.triangles, all.triangles};
}

}  // namespace cladify::objectives
