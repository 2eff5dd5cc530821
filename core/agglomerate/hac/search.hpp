// Searches for HacClusters: float32 products propose candidates, float64 means decide.
//
// The products <m_s, m_t> come from outside, in blocks (BLAS). A block is scanned for the best of every row (and of
// every column, when rows and columns are the same clusters, so that each pair is computed once). What is kept on a
// list is ordered by a lower bound of the distance, and so is the rest: the worst on a full list bounds everything off
// it.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <type_traits>
#include <vector>

#include "agglomerate/hac/clusters.hpp"
#include "agglomerate/hac/screen.hpp"
#include "common/team.hpp"
#include "data/topk.hpp"

namespace cladify {

// products[i, j] = <m32 of slot row_slot[i], m32 of slot column_slot[j]>
struct ProductBlock {
    const float* product;
    std::size_t rows, columns;
    const std::int32_t *row_slot, *column_slot;
    std::size_t first_row, first_column;  // the heap of row i is first_row + i, that of a column likewise
};

// Offers the columns of a block to its rows and, with `Both`, the rows to the columns. A pair scores
// (product + bias + bias) / (rate + rate), where without `Ward` the rates make 1; `reached` has for every heap a score
// that what it ends with will reach. Almost no pair reaches a threshold: `reaching` finds those that may, with all that
// is the same for a stretch of columns moved to the other side.
template <bool Ward, bool Both>
void scan_block(const HacClusters& clusters, TopK top, const float* reached, const ProductBlock& block) {
    const std::size_t columns = block.columns;
    const std::int32_t lowest_column = *std::min_element(block.column_slot, block.column_slot + columns);
    const std::int32_t lowest_row = *std::min_element(block.row_slot, block.row_slot + block.rows);
    const auto column_threshold = [&](std::size_t j) {
        const std::size_t heap = block.first_column + j;
        return std::max(reached[heap], top.threshold(static_cast<std::int32_t>(heap), lowest_row));
    };
    // The rounding error of the rearranged sums: they must not miss a pair.
    float largest = 0;
    std::vector<float> bias(columns), rate(columns);
    for (std::size_t j = 0; j < columns; ++j) {
        const std::int32_t slot = block.column_slot[j];
        bias[j] = clusters.bias()[slot];
        rate[j] = clusters.rate()[slot];
        if (clusters.is_alive(slot)) largest = std::max(largest, std::abs(bias[j]));
    }
    for (std::size_t i = 0; i < block.rows; ++i)
        largest = std::max(largest, std::abs(clusters.bias()[block.row_slot[i]]));
    const float margin = 0x1p-19f * largest;

    std::vector<float> above(Both ? columns : 0);  // thresholds of the columns
    std::vector<float> least(Both ? columns : 0);  // and what product + own bias must reach for that
    std::vector<float> shifted(Ward ? columns : 0);
    if constexpr (Both)
        for (std::size_t j = 0; j < columns; ++j) {
            above[j] = column_threshold(j);
            least[j] = above[j] - bias[j] - margin;
        }

    for (std::size_t i = 0; i < block.rows; ++i) {
        const float* product = block.product + i * columns;
        const std::int32_t slot = block.row_slot[i];
        const auto heap = static_cast<std::int32_t>(block.first_row + i);
        const float own_bias = clusters.bias()[slot], own_rate = clusters.rate()[slot];
        const auto row_threshold = [&] { return std::max(reached[heap], top.threshold(heap, lowest_column)); };
        float threshold = row_threshold();
        float enough = (Ward ? threshold * own_rate : threshold) - own_bias - margin;
        if constexpr (Ward) {
            const float now = threshold;
            for (std::size_t j = 0; j < columns; ++j) shifted[j] = bias[j] - now * rate[j];
            if constexpr (Both)
                for (std::size_t j = 0; j < columns; ++j) least[j] = above[j] * (own_rate + rate[j]) - bias[j] - margin;
        }

        auto look = [&](std::size_t j) {
            const std::int32_t other = block.column_slot[j];
            const auto column = static_cast<std::int32_t>(block.first_column + j);
            // A pair of a diagonal block is offered once, from its upper half.
            if ((Both && column < heap) || !clusters.are_apart(slot, other)) return;
            float value = product[j] + bias[j] + own_bias;
            if constexpr (Ward) value /= own_rate + rate[j];
            if (value >= threshold && top.offer(heap, make_key(value, other))) {
                threshold = row_threshold();
                if constexpr (!Ward) enough = threshold - own_bias - margin;
            }
            if constexpr (Both)
                if (value >= above[j] && top.offer(column, make_key(value, slot))) {
                    above[j] = column_threshold(j);
                    if constexpr (!Ward) least[j] = above[j] - bias[j] - margin;
                }
        };
        std::size_t j = 0;
        for (; j + kStretch <= columns; j += kStretch) {
            std::uint32_t hits = reaching(product + j, (Ward ? shifted : bias).data() + j, enough);
            if constexpr (Both) hits |= reaching(product + j, own_bias, least.data() + j);
            for (; hits; hits &= hits - 1) look(j + std::countr_zero(hits));
        }
        for (; j < columns; ++j) look(j);
    }
}

// One search of some clusters among all: `scan` blocks from any thread, then `settle` from one; the rows that it
// returns lie closer together than float32 resolves, and need `scan_again` over all columns, then `settle_again`.
class HacSearch {
public:
    explicit HacSearch(HacClusters& clusters) : clusters_(clusters) {}

    // The slots that search, and those that may be found; the ends of blocks are places in these lists.
    void begin(std::vector<std::int32_t> rows, std::vector<std::int32_t> columns) {
        rows_ = std::move(rows);
        columns_ = std::move(columns);
        keys_.assign(rows_.size() * clusters_.list_size(), 0);
        locks_.assign(rows_.size(), 0);
        reached_.assign(rows_.size(), -std::numeric_limits<float>::infinity());
        copied_ = false;
    }
    std::size_t rows() const { return rows_.size(); }
    std::size_t columns() const { return columns_.size(); }

    void scan(const float* product, std::size_t first_row, std::size_t rows, std::size_t first_column,
              std::size_t columns) {
        dispatch<false>({product, rows, columns, &rows_[first_row], &columns_[first_column], first_row, first_column});
    }

    // For the search of all clusters among all, whose lists are the same: a block of the upper triangle.
    void scan_both(const float* product, std::size_t first_row, std::size_t rows, std::size_t first_column,
                   std::size_t columns) {
        dispatch<true>({product, rows, columns, &rows_[first_row], &columns_[first_column], first_row, first_column});
    }

#if defined(__x86_64__)
    // Instead of `scan` and `scan_both`: int8 products in place of those of a block (screen.hpp). First come `copy`,
    // `quantise` for all columns and `reach` for all rows.
    void copy() {
        copies_.begin(clusters_, columns_);
        copied_ = true;
    }
    bool copied() const { return copied_; }
    void quantise(std::size_t first, std::size_t last) { copies_.quantise(clusters_, columns_, first, last); }
    void reach(std::size_t first, std::size_t last) {
        reached_around(clusters_, copies_, columns_, &rows_[first], last - first, clusters_.list_size(),
                       &reached_[first]);
    }
    // Returns how many rows of the block are done; the others need `scan` or `scan_both`.
    std::size_t screen(std::size_t first_row, std::size_t rows, std::size_t first_column, std::size_t columns,
                       bool both) {
        const ClusterBlock block{&rows_[first_row], &columns_[first_column], first_row, rows, first_column, columns};
        const TopK top{keys_.data(), locks_.data(), clusters_.list_size()};
        const auto run = [&]<bool Ward>(std::bool_constant<Ward>) {
            return both ? ClusterScreen<Ward, true>(clusters_, copies_, top, reached_.data(), block).run()
                        : ClusterScreen<Ward, false>(clusters_, copies_, top, reached_.data(), block).run();
        };
        return clusters_.linkage() == Linkage::ward ? run(std::true_type{}) : run(std::false_type{});
    }
#endif

    // The whole search of a few clusters, for which a product of matrices is no faster than a pass over the means.
    void few(std::vector<std::int32_t> rows, Team& team, Interrupt& interrupt) {
        std::vector<std::int32_t> all(clusters_.slots());
        std::iota(all.begin(), all.end(), 0);
        begin(std::move(rows), std::move(all));
        for_columns(team, interrupt, [&](const float* product, std::size_t column, std::size_t columns) {
            scan(product, 0, rows_.size(), column, columns);
        });
        if (settle().empty()) return;
        Team alone(1);
        for_columns(alone, interrupt, [&](const float* product, std::size_t column, std::size_t columns) {
            scan_again(product, 0, rows_.size(), column, columns);
        });
        settle_again();
    }

    // Hands the lists found for all to the clusters as they are, lower bounds: it asks again where it must.
    void settle_all() {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const double bound = decode(i);
            clusters_.set_list(rows_[i], found_, bound);
        }
        clusters_.start();
    }

    std::vector<std::int32_t> settle() {
        std::vector<std::int32_t> again;
        limit_.clear();
        fallback_.clear();
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const std::size_t s = rows_[i];
            const double bound = decode(i);
            double best = kInfinity;
            for (Candidate& c : found_) {
                if (c.bound > best) break;
                measure(s, c);
                best = std::min(best, c.bound);
            }
            if (best <= bound) {
                clusters_.set_list(s, found_, bound);
                continue;
            }
            for (Candidate& c : found_) measure(s, c);
            const std::size_t rank = std::min(kRefined, found_.size()) - 1;
            std::nth_element(found_.begin(), found_.begin() + rank, found_.end());
            limit_.push_back(found_[rank].bound);
            again.push_back(rows_[i]);
            fallback_.push_back(*std::min_element(found_.begin(), found_.end()));
        }
        clusters_.searched(rows_);
        rows_ = again;
        exact_.assign(rows_.size(), {});
        return again;
    }

    void scan_again(const float* product, std::size_t first_row, std::size_t rows, std::size_t first_column,
                    std::size_t columns) {
        const bool ward = clusters_.linkage() == Linkage::ward;
        for (std::size_t i = 0; i < rows; ++i) {
            const std::size_t s = rows_[first_row + i];
            double& limit = limit_[first_row + i];
            std::vector<Candidate>& exact = exact_[first_row + i];
            const float own_bias = clusters_.bias()[s], own_rate = clusters_.rate()[s];
            for (std::size_t j = 0; j < columns; ++j) {
                const auto t = static_cast<std::size_t>(columns_[first_column + j]);
                const double value = -2.0 * (product[i * columns + j] + clusters_.bias()[t] + own_bias);
                const double scale = ward ? own_rate + clusters_.rate()[t] : 1.0;
                if (value > limit * scale * (1 + 1e-6)) continue;
                if (!clusters_.are_apart(s, t)) continue;
                const double distance = clusters_.distance(s, t);
                if (distance > limit) continue;
                exact.push_back({distance, static_cast<std::int32_t>(t), 1});
                if (exact.size() >= 4 * clusters_.list_size()) limit = cut(exact, limit);
            }
        }
    }

    void settle_again() {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            // The first pass found some; were rounding to hide them all from the second, no search would ever end.
            if (exact_[i].empty()) exact_[i].push_back(fallback_[i]);
            const double bound = cut(exact_[i], limit_[i]);
            clusters_.set_list(rows_[i], exact_[i], bound);
        }
        clusters_.searched(rows_);
    }

private:
    static constexpr std::size_t kRefined = 8;  // how many nearest ones a search in float64 is made for

    HacClusters& clusters_;
    std::vector<std::int32_t> rows_, columns_;
    std::vector<Key> keys_;
    std::vector<std::uint8_t> locks_;
    std::vector<float> reached_;  // by heap: a score that all it ends with reach
    ClusterCopies copies_;
    bool copied_ = false;
    std::vector<Candidate> found_;
    std::vector<double> limit_;
    std::vector<Candidate> fallback_;
    std::vector<std::vector<Candidate>> exact_;

    template <bool Both>
    void dispatch(const ProductBlock& block) {
        const TopK top{keys_.data(), locks_.data(), clusters_.list_size()};
        if (clusters_.linkage() == Linkage::ward)
            scan_block<true, Both>(clusters_, top, reached_.data(), block);
        else
            scan_block<false, Both>(clusters_, top, reached_.data(), block);
    }

    // Calls `use(product, first_column, columns)` for blocks of the products of all rows with all columns.
    template <class Use>
    void for_columns(Team& team, Interrupt& interrupt, const Use& use) {
        constexpr std::size_t kColumns = 512;
        const std::size_t columns = clusters_.slots(), dimension = clusters_.dimension();
        const bool small = rows_.size() * columns * dimension < (std::size_t{1} << 23);
        Team alone(1);
        const auto multiply = [&](std::int64_t block) {
            const std::size_t first = block * kColumns, count = std::min(kColumns, columns - first);
            std::vector<float> product(rows_.size() * count);
            for (std::size_t i = 0; i < rows_.size(); ++i) {
                const float* a = clusters_.mean32(rows_[i]);
                for (std::size_t j = 0; j < count; ++j) {
                    const float* b = clusters_.mean32(first + j);
                    float sum = 0;
#pragma omp simd reduction(+ : sum)
                    for (std::size_t k = 0; k < dimension; ++k) sum += a[k] * b[k];
                    product[i * count + j] = sum;
                }
            }
            use(product.data(), first, count);
        };
        (small ? alone : team).run((columns + kColumns - 1) / kColumns, multiply, &interrupt);
    }

    // Fills `found_` with the candidates of row i, nearest first; returns the bound of everything else.
    double decode(std::size_t i) {
        const std::size_t size = clusters_.list_size();
        Key* keys = &keys_[i * size];
        std::sort(keys, keys + size, std::greater<>());
        found_.clear();
        for (std::size_t e = 0; e < size && keys[e] != 0; ++e)
            found_.push_back({std::max(0.0, -2.0 * key_score(keys[e])), key_id(keys[e]), 0});
        if (found_.size() == size) return found_.back().bound * (1 - 1e-7);
        return reached_[i] == -std::numeric_limits<float>::infinity() ? kInfinity : std::max(0.0, -2.0 * reached_[i]);
    }

    void measure(std::size_t s, Candidate& c) const {
        if (!c.exact) c = {clusters_.distance(s, c.id), c.id, 1};
    }

    double cut(std::vector<Candidate>& exact, double limit) const {
        std::sort(exact.begin(), exact.end());
        if (exact.size() <= clusters_.list_size()) return limit;
        exact.resize(clusters_.list_size());
        return exact.back().bound;
    }
};

}  // namespace cladify
