// Int8 screening of the search for near clusters: which pairs could still enter a list.
//
// As in data/screen.hpp, a product of rows rounded to int8 bounds the product <m_i, m_j> of means from both sides. A
// pair scores
//
//     (<m_i, m_j> + bias_i + bias_j) / (rate_i + rate_j)      (search.hpp; larger is nearer)
//
// and is worked out in float32 only where the bound lets it reach the worst candidate of one of its two heaps. A row
// has something to beat from the start: its products with some clusters around it, taken at their worst, say which
// score as many clusters reach as a list holds.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "agglomerate/hac/clusters.hpp"
#include "common/vectors.hpp"
#include "data/screen.hpp"
#include "data/topk.hpp"

namespace cladify {

// Int8 copies of the means of some clusters, in an order of their own: place p has that of the slot slots[p].
class ClusterCopies {
public:
    // Room for the clusters in these slots; `quantise` fills it.
    void begin(const HacClusters& clusters, const std::vector<std::int32_t>& slots) {
        width_ = (clusters.dimension() + kWord - 1) / kWord * kWord;
        const std::size_t padded = (slots.size() + kPanel - 1) / kPanel * kPanel;
        raised_.assign(padded * width_, 0);
        packed_.assign(padded * width_, 0);
        scale_.assign(padded, 0);
        shift_.assign(padded, 0);
        rest_.assign(padded, 0);
        size_.assign(padded, 0);
        place_.assign(clusters.slots(), 0);
        for (std::size_t p = 0; p < slots.size(); ++p) place_[slots[p]] = static_cast<std::int32_t>(p);
    }

    void quantise(const HacClusters& clusters, const std::vector<std::int32_t>& slots, std::size_t first,
                  std::size_t last) {
        const Quantised to = view();
        for (std::size_t p = first; p < last; ++p) quantise_row(clusters.mean32(slots[p]), clusters.dimension(), p, to);
    }

    Quantised view() {
        return {raised_.data(), packed_.data(), scale_.data(), shift_.data(), rest_.data(), size_.data(), width_};
    }
    std::size_t place(std::size_t slot) const { return static_cast<std::size_t>(place_[slot]); }

private:
    std::size_t width_ = 0;
    std::vector<std::uint8_t> raised_;
    std::vector<std::int8_t> packed_;
    std::vector<float> scale_, rest_, size_;
    std::vector<std::int32_t> shift_;
    std::vector<std::int32_t> place_;  // by slot
};

#if defined(__x86_64__)
constexpr std::size_t kTileRows = 6;  // with 4 vectors of sums each they fill the registers

#define CLADIFY_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

// What the clusters of a panel bring to the comparison. `least` is what the product and the row's bias must reach, less
// above * the row's rate.
struct ClusterPanel {
    const std::int32_t* shift;
    const float *scale, *bias, *rate, *above, *least;
};

// What a row brings: what the product and the column's bias must reach, with threshold * the column's rate added; and
// its own bias, with what the int8 product can hide, for the column's heap.
struct ClusterRow {
    float scale, rate, threshold, least, least_of_column;
};

CLADIFY_VNNI inline __m512 scaled_products(const std::int32_t* products, const ClusterPanel& columns, int v) {
    const __m512i sum = _mm512_loadu_si512(products + 16 * v), shift = _mm512_loadu_si512(columns.shift + 16 * v);
    return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(sum, shift)), _mm512_loadu_ps(columns.scale + 16 * v));
}

// Bit j is set where the pair of the row and column j of the panel may enter a heap.
template <bool Ward, bool Both>
CLADIFY_VNNI std::uint64_t screen_clusters(const std::int32_t* products, const ClusterPanel& columns,
                                           const ClusterRow& row) {
    const __m512 scale = _mm512_set1_ps(row.scale), least = _mm512_set1_ps(row.least);
    const __m512 threshold = _mm512_set1_ps(row.threshold), own_rate = _mm512_set1_ps(row.rate);
    const __m512 least_of_column = _mm512_set1_ps(row.least_of_column);
    std::uint64_t missed = 0;
    for (int v = 0; v < kVectors; ++v) {
        const __m512 product = scaled_products(products, columns, v);
        __m512 seen = _mm512_fmadd_ps(product, scale, _mm512_loadu_ps(columns.bias + 16 * v));
        if constexpr (Ward) seen = _mm512_fnmadd_ps(threshold, _mm512_loadu_ps(columns.rate + 16 * v), seen);
        __mmask16 miss = _mm512_cmp_ps_mask(seen, least, _CMP_NGE_UQ);
        if constexpr (Both) {
            __m512 beyond = _mm512_fmsub_ps(product, scale, _mm512_loadu_ps(columns.least + 16 * v));
            if constexpr (Ward) beyond = _mm512_fnmadd_ps(_mm512_loadu_ps(columns.above + 16 * v), own_rate, beyond);
            miss = _mm512_mask_cmp_ps_mask(miss, beyond, least_of_column, _CMP_NGE_UQ);
        }
        missed |= static_cast<std::uint64_t>(miss) << (16 * v);
    }
    return ~missed;
}

// Raises best[j] to the score of the row and column j of the panel at its worst; `bias` is the row's own, less what can
// be hidden. Columns whose bit is not set in `use` are left out.
CLADIFY_VNNI inline void raise_best(const std::int32_t* products, const ClusterPanel& columns, const ClusterRow& row,
                                    float bias, std::uint64_t use, float* best) {
    const __m512 scale = _mm512_set1_ps(row.scale), own = _mm512_set1_ps(bias), rate = _mm512_set1_ps(row.rate);
    for (int v = 0; v < kVectors; ++v) {
        const __m512 product = scaled_products(products, columns, v);
        const __m512 sum = _mm512_add_ps(_mm512_fmadd_ps(product, scale, _mm512_loadu_ps(columns.bias + 16 * v)), own);
        const __m512 score = _mm512_div_ps(sum, _mm512_add_ps(rate, _mm512_loadu_ps(columns.rate + 16 * v)));
        const __m512 now = _mm512_loadu_ps(best + 16 * v);
        const auto mask = static_cast<__mmask16>(use >> (16 * v));
        _mm512_storeu_ps(best + 16 * v, _mm512_mask_max_ps(now, mask, now, score));
    }
}
#undef CLADIFY_VNNI

// The columns of a block, panel by panel, and what an int8 product can hide.
class ClusterPanels {
public:
    ClusterPanels(const HacClusters& clusters, const Quantised& copies, const std::int32_t* slots,
                  std::size_t first_column, std::size_t columns)
        : copies_(copies),
          first_(first_column),
          panels_((columns + kPanel - 1) / kPanel),
          above(panels_ * kPanel, kNever),
          least(panels_ * kPanel, kNever),
          bias(panels_ * kPanel, -kNever),
          rate(panels_ * kPanel, 0.0f),
          longest_(panels_, 0.0f),
          roughest_(panels_, 0.0f),
          deepest_(panels_, 0.0f) {
        // Of a product of floats, of the sum of int8 products, and of the biases beside them: in roundings of |bias|,
        // which is half a squared length at least.
        roundings_ = static_cast<float>(clusters.dimension() + 64) * 0x1p-24f * 1.25f;
        for (std::size_t j = 0; j < columns; ++j) {
            bias[j] = clusters.bias()[slots[j]];
            rate[j] = clusters.rate()[slots[j]];
            const float rest = copies.rest[first_ + j];
            float &longest = longest_[j / kPanel], &roughest = roughest_[j / kPanel], &deepest = deepest_[j / kPanel];
            longest = std::max(longest, copies.size[first_ + j] + rest);
            roughest = std::max(roughest, rest);
            deepest = std::max(deepest, std::abs(bias[j]));
        }
    }

    std::size_t count() const { return panels_; }
    const std::int8_t* packed(std::size_t p) const { return copies_.packed + (first_ + p * kPanel) * copies_.width; }
    ClusterPanel panel(std::size_t p) const {
        const std::size_t at = p * kPanel, place = first_ + at;
        return {copies_.shift + place, copies_.scale + place, bias.data() + at,
                rate.data() + at,      above.data() + at,     least.data() + at};
    }
    // By how much a product with the row at `place` may be above its int8 product, or below it.
    float hidden(std::size_t place, float own_bias, std::size_t p) const {
        return copies_.rest[place] * longest_[p] + copies_.size[place] * roughest_[p] +
               roundings_ * (std::abs(own_bias) + deepest_[p]) + 2e-30f;
    }

private:
    static constexpr float kNever = std::numeric_limits<float>::infinity();
    Quantised copies_;
    std::size_t first_, panels_;

public:
    std::vector<float> above, least, bias, rate;  // as in ClusterPanel

private:
    std::vector<float> longest_, roughest_, deepest_;  // of panels: the largest |m|, |e| and |bias|
    float roundings_;
};

// For each row of a block: a score that at least `count` of the clusters around it reach.
inline void reached_around(const HacClusters& clusters, ClusterCopies& copies, const std::vector<std::int32_t>& slots,
                           const std::int32_t* row_slot, std::size_t rows, std::size_t count, float* reached) {
    constexpr std::size_t kAround = 16, kStep = 4;  // panels to look at, and those whose rows look at the same
    constexpr float kNever = std::numeric_limits<float>::infinity();
    if (count > kPanel) return;
    const Quantised view = copies.view();
    const std::size_t all = (slots.size() + kPanel - 1) / kPanel, some = std::min(kAround, all);
    const auto start_of = [&](std::size_t place) {
        const std::size_t middle = place / kPanel / kStep * kStep;
        return std::min(middle > some / 2 ? middle - some / 2 : 0, all - some);
    };
    std::optional<ClusterPanels> panels;
    std::size_t first = 0;
    std::vector<std::uint8_t> raised(kTileRows * view.width);
    std::size_t place[kTileRows] = {};
    float best[kTileRows * kPanel];
    std::int32_t products[kTileRows * kPanel];
    const auto look_around = [&]<std::size_t Count>(std::size_t i, std::integral_constant<std::size_t, Count>) {
        for (std::size_t r = 0; r < Count; ++r)
            std::memcpy(&raised[r * view.width], view.raised + place[r] * view.width, view.width);
        std::fill_n(best, Count * kPanel, -kNever);
        for (std::size_t p = 0; p < panels->count(); ++p) {
            multiply_panel<Count>(raised.data(), view.width, panels->packed(p), products);
            for (std::size_t r = 0; r < Count; ++r) {
                const auto slot = static_cast<std::size_t>(row_slot[i + r]);
                const float bias = clusters.bias()[slot];
                const ClusterRow row{view.scale[place[r]], clusters.rate()[slot], 0, 0, 0};
                const bool own = first + p == place[r] / kPanel;
                const std::uint64_t use = own ? ~(std::uint64_t{1} << (place[r] % kPanel)) : ~std::uint64_t{0};
                const float at_worst = bias - panels->hidden(place[r], bias, p);
                raise_best(products + r * kPanel, panels->panel(p), row, at_worst, use, best + r * kPanel);
            }
        }
        for (std::size_t r = 0; r < Count; ++r) {
            float* scores = best + r * kPanel;
            std::nth_element(scores, scores + (count - 1), scores + kPanel, std::greater<>());
            reached[i + r] = scores[count - 1];
        }
    };
    for (std::size_t i = 0; i < rows;) {
        std::size_t together = 0;  // rows that look at the same panels
        for (; together < kTileRows && i + together < rows; ++together) {
            place[together] = copies.place(static_cast<std::size_t>(row_slot[i + together]));
            if (start_of(place[together]) != start_of(place[0])) break;
        }
        if (!panels || start_of(place[0]) != first) {
            first = start_of(place[0]);
            const std::size_t columns = std::min(some * kPanel, slots.size() - first * kPanel);
            panels.emplace(clusters, view, slots.data() + first * kPanel, first * kPanel, columns);
        }
        if (together == kTileRows)
            look_around(i, std::integral_constant<std::size_t, kTileRows>{});
        else
            look_around(i, std::integral_constant<std::size_t, 1>{});
        i += together == kTileRows ? kTileRows : 1;
    }
}

// A block of pairs: some of the clusters that search, and clusters to find, at the places from first_column on (a
// multiple of kPanel). The heap of row i is first_row + i; with `Both`, that of a column is its place.
struct ClusterBlock {
    const std::int32_t *row_slot, *column_slot;  // of the block
    std::size_t first_row, rows, first_column, columns;
};

// The search of one block, panel by panel: a panel stays in the nearest cache while rows pass by. `reached` has for
// every heap a score that what it ends with will reach.
template <bool Ward, bool Both>
class ClusterScreen {
public:
    ClusterScreen(const HacClusters& clusters, ClusterCopies& copies, TopK top, const float* reached,
                  const ClusterBlock& block)
        : clusters_(clusters),
          top_(top),
          reached_(reached),
          block_(block),
          view_(copies.view()),
          panels_(clusters, view_, block.column_slot, block.first_column, block.columns),
          lowest_row_(lowest(block.row_slot, block.rows)),
          lowest_column_(lowest(block.column_slot, block.columns)),
          raised_(block.rows * view_.width),
          place_(block.rows),
          threshold_(block.rows) {
        for (std::size_t i = 0; i < block.rows; ++i) {
            place_[i] = copies.place(static_cast<std::size_t>(block.row_slot[i]));
            std::memcpy(&raised_[i * view_.width], view_.raised + place_[i] * view_.width, view_.width);
            set_row(i);
        }
        if constexpr (Both)
            for (std::size_t j = 0; j < block.columns; ++j) set_column(j);
    }

    // Stops early where so many pairs pass that a float32 product of all would cost less; returns how many rows are
    // done.
    std::size_t run() {
        constexpr std::size_t kTrial = 8 * kTileRows;   // rows after which the share of survivors is looked at
        constexpr std::size_t kStrip = 40 * kTileRows;  // and then again
        constexpr std::size_t kShare = 10;              // one pair in so many may pass
        for (std::size_t i = 0; i < block_.rows;) {
            if (passed_ * kShare > i * block_.columns) return i;
            const std::size_t end = std::min(block_.rows, i + (i == 0 ? kTrial : kStrip));
            for (std::size_t p = 0; p < panels_.count(); ++p) {
                if (Both && block_.first_column + (p + 1) * kPanel <= block_.first_row + i)
                    continue;  // done from there
                std::size_t at = i;
                for (; at + kTileRows <= end; at += kTileRows) tile<kTileRows>(at, p);
                for (; at < end; ++at) tile<1>(at, p);
            }
            i = end;
        }
        return block_.rows;
    }

private:
    static std::int32_t lowest(const std::int32_t* slots, std::size_t count) {
        return count ? *std::min_element(slots, slots + count) : 0;
    }

    void set_row(std::size_t i) {
        const std::size_t heap = block_.first_row + i;
        threshold_[i] = std::max(reached_[heap], top_.threshold(static_cast<std::int32_t>(heap), lowest_column_));
    }
    void set_column(std::size_t j) {
        const std::size_t heap = block_.first_column + j;
        panels_.above[j] = std::max(reached_[heap], top_.threshold(static_cast<std::int32_t>(heap), lowest_row_));
        panels_.least[j] = panels_.above[j] * (Ward ? panels_.rate[j] : 1.0f) - panels_.bias[j];
    }

    // Count rows from the i-th on and panel p.
    template <std::size_t Count>
    void tile(std::size_t i, std::size_t p) {
        const ClusterPanel columns = panels_.panel(p);
        std::int32_t products[Count * kPanel];
        multiply_panel<Count>(&raised_[i * view_.width], view_.width, panels_.packed(p), products);
        for (std::size_t r = i; r < i + Count; ++r) {
            const std::int32_t slot = block_.row_slot[r];
            const float bias = clusters_.bias()[slot], rate = clusters_.rate()[slot], threshold = threshold_[r];
            const float hidden = panels_.hidden(place_[r], bias, p);
            const float least = threshold * (Ward ? rate : 1.0f) - bias - hidden;
            const ClusterRow row{view_.scale[place_[r]], rate, threshold, least, -(bias + hidden)};
            std::uint64_t hits = screen_clusters<Ward, Both>(products + (r - i) * kPanel, columns, row);
            for (; hits; hits &= hits - 1) {
                const std::size_t j = p * kPanel + static_cast<std::size_t>(std::countr_zero(hits));
                if (j >= block_.columns) break;
                look(r, j);
            }
        }
    }

    // Scores row i of the block and its column j, and offers them to each other.
    void look(std::size_t i, std::size_t j) {
        ++passed_;
        const std::size_t row = block_.first_row + i, column = block_.first_column + j;
        // A pair of a diagonal block is offered once, from its upper half.
        if (Both && column <= row) return;
        const std::int32_t slot = block_.row_slot[i], other = block_.column_slot[j];
        if (!clusters_.are_apart(slot, other)) return;
        const float* mean = clusters_.mean32(slot);
        float value = dot(mean, clusters_.mean32(other), static_cast<std::int64_t>(clusters_.dimension())) +
                      panels_.bias[j] + clusters_.bias()[slot];
        if constexpr (Ward) value /= clusters_.rate()[slot] + panels_.rate[j];
        if (value >= threshold_[i] && top_.offer(static_cast<std::int32_t>(row), make_key(value, other))) set_row(i);
        if constexpr (Both)
            if (value >= panels_.above[j] && top_.offer(static_cast<std::int32_t>(column), make_key(value, slot)))
                set_column(j);
    }

    const HacClusters& clusters_;
    TopK top_;
    const float* reached_;
    const ClusterBlock& block_;
    Quantised view_;
    ClusterPanels panels_;
    std::int32_t lowest_row_, lowest_column_;
    std::vector<std::uint8_t> raised_;
    std::vector<std::size_t> place_;  // of the rows
    std::vector<float> threshold_;
    std::size_t passed_ = 0;
};
#endif

}  // namespace cladify
