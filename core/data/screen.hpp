// Screening of pairs by int8 products: which of them could still be among the best of a row.
//
// A row z is rounded to s q, q of int8, with rest e = z - s q. For two rows
//     <z_i, z_j>  <=  s_i s_j <q_i, q_j> + |e_i| |z_j| + |s_i q_i| |e_j|,   |z_j| <= |s_j q_j| + |e_j|,
// and the product of integers is exact. A pair whose bound, widened by what float32 arithmetic could add, stays below
// the worst candidate of both rows cannot enter their heaps; the few others get their float32 score. So the heaps hold
// just what they would hold if every pair had been scored.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "common/cpu.hpp"
#include "common/vectors.hpp"
#include "data/topk.hpp"

namespace cladify {

constexpr std::size_t kPanel = 64;  // rows packed side by side: four vectors of 16 sums
constexpr std::size_t kWord = 4;    // products that one instruction adds up

// Int8 rows in both layouts of the product; `width` is a multiple of kWord. The arrays but `raised` go on to the end of
// the last panel.
struct Quantised {
    std::uint8_t* raised;  // q + 128, row by row: the left factor is unsigned
    std::int8_t* packed;   // panel by panel; in it word by word, of all rows
    float* scale;
    std::int32_t* shift;  // 128 times the sum of q, which the raised factor adds too much
    float* rest;          // |e|, rounded up
    float* size;          // |s q|, rounded up
    std::size_t width;
};

// Row i of `z`, which has `columns` values.
inline void quantise_row(const float* z, std::size_t columns, std::size_t i, const Quantised& to) {
    float largest = 0;
#pragma omp simd reduction(max : largest)
    for (std::size_t c = 0; c < columns; ++c) largest = std::max(largest, std::fabs(z[c]));
    // Below it the quotient could overflow; such a row is all rest.
    const float scale = largest > 1e-30f ? largest / 127.0f : 0.0f;
    const float factor = scale > 0 ? 127.0f / largest : 0.0f;
    constexpr float kWhole = 0x1.8p23f;  // a float of this size has no fraction: adding it rounds
    std::uint8_t* raised = to.raised + i * to.width;
    double rest = 0, size = 0;
    std::int32_t sum = 0;
#pragma omp simd reduction(+ : rest, size, sum)
    for (std::size_t c = 0; c < columns; ++c) {
        const float q = z[c] * factor + kWhole - kWhole;
        const double rounded = static_cast<double>(scale) * q;
        rest += (z[c] - rounded) * (z[c] - rounded);
        size += rounded * rounded;
        const auto whole = static_cast<std::int32_t>(q);
        sum += whole;
        raised[c] = static_cast<std::uint8_t>(whole + 128);
    }
    std::fill(raised + columns, raised + to.width, std::uint8_t{128});
    std::int8_t* panel = to.packed + i / kPanel * kPanel * to.width + i % kPanel * kWord;
    for (std::size_t c = 0; c < to.width; c += kWord, panel += kPanel * kWord) {
        std::uint32_t word;
        std::memcpy(&word, raised + c, kWord);
        word ^= 0x80808080u;  // 128 off each
        std::memcpy(panel, &word, kWord);
    }
    constexpr double kUp = 1 + 1e-6;
    to.scale[i] = scale;
    to.shift[i] = 128 * sum;
    to.rest[i] = static_cast<float>(std::sqrt(rest) * kUp);
    to.size[i] = static_cast<float>(std::sqrt(size) * kUp);
}

#if defined(__x86_64__)
#define CLADIFY_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

constexpr int kVectors = 4;  // of 16 sums, for the columns of a panel

// What the columns of a panel bring to the comparison.
struct PanelBounds {
    const std::int32_t* shift;
    const float *scale, *bias, *above;  // above: what a row must reach to enter the column's heap
};

// What a row brings: its scale, and what s_i s_j <q_i, q_j> must reach with the column's bias added (for the row's
// heap) or with the column's threshold taken off (for the column's).
struct RowBounds {
    float scale, least, least_of_column;
};

// The raised rows times those of one panel, kPanel sums a row. The sums stay in registers while the words of the rows
// pass, for which the compiler must see the loops over them unrolled and the sums used for nothing else.
template <int Count>
CLADIFY_VNNI void multiply_panel(const std::uint8_t* rows, std::size_t width, const std::int8_t* panel,
                                 std::int32_t* out) {
    __m512i sum[Count][kVectors];
#pragma GCC unroll 8
    for (int r = 0; r < Count; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_si512();
    for (std::size_t c = 0; c < width; c += kWord, panel += kPanel * kWord) {
        __m512i column[kVectors];
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) column[v] = _mm512_loadu_si512(panel + 64 * v);
#pragma GCC unroll 8
        for (int r = 0; r < Count; ++r) {
            std::int32_t word;
            std::memcpy(&word, rows + r * width + c, kWord);
            const __m512i row = _mm512_set1_epi32(word);
#pragma GCC unroll 8
            for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], row, column[v]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < Count; ++r)
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) _mm512_storeu_si512(out + r * kPanel + 16 * v, sum[r][v]);
}

// For a row's products with the columns of one panel: bit j is set where the pair may enter a heap.
template <bool Both>
CLADIFY_VNNI std::uint64_t screen_row(const std::int32_t* products, const PanelBounds& columns, const RowBounds& row) {
    const __m512 scale = _mm512_set1_ps(row.scale), least = _mm512_set1_ps(row.least);
    const __m512 least_of_column = _mm512_set1_ps(row.least_of_column);
    std::uint64_t missed = 0;
    for (int v = 0; v < kVectors; ++v) {
        const __m512i sum = _mm512_loadu_si512(products + 16 * v), shift = _mm512_loadu_si512(columns.shift + 16 * v);
        const __m512 value = _mm512_cvtepi32_ps(_mm512_sub_epi32(sum, shift));
        const __m512 product = _mm512_mul_ps(value, _mm512_loadu_ps(columns.scale + 16 * v));
        const __m512 seen = _mm512_fmadd_ps(product, scale, _mm512_loadu_ps(columns.bias + 16 * v));
        __mmask16 miss = _mm512_cmp_ps_mask(seen, least, _CMP_NGE_UQ);
        if constexpr (Both) {
            const __m512 beyond = _mm512_fmsub_ps(product, scale, _mm512_loadu_ps(columns.above + 16 * v));
            miss = _mm512_mask_cmp_ps_mask(miss, beyond, least_of_column, _CMP_NGE_UQ);
        }
        missed |= static_cast<std::uint64_t>(miss) << (16 * v);
    }
    return ~missed;
}

// A block of pairs: rows first_row ... of `left` and columns first_column ... of `right`, both with their float32 rows.
struct PairBlock {
    Quantised left, right;
    const float *left_z, *right_z;
    std::size_t columns_of_z;  // values of a row
    std::size_t first_row, rows, first_column, columns;
    const std::int32_t *row_id, *column_id;        // of the block: whose heaps, and under which ids rows are offered
    const std::int32_t *row_group, *column_group;  // of the block
    const float *row_bias, *column_bias;           // of the block
    const float* slack;                            // of the block's rows: what float32 arithmetic could add
};

// The search of one block, panel by panel: a panel stays in the nearest cache while rows pass by.
template <bool Both>
class BlockScreen {
public:
    BlockScreen(TopK top, const PairBlock& block)
        : top_(top),
          block_(block),
          lowest_row_(lowest(block.row_id, block.rows)),
          lowest_column_(lowest(block.column_id, block.columns)),
          least_(block.rows),
          bias_(panels() * kPanel, -kNever),
          above_(panels() * kPanel, kNever),
          longest_(panels(), 0.0f),
          roughest_(panels(), 0.0f) {
        for (std::size_t i = 0; i < block.rows; ++i) least_[i] = top.threshold(block.row_id[i], lowest_column_);
        for (std::size_t j = 0; j < block.columns; ++j) {
            const std::size_t column = block.first_column + j;
            const float rest = block.right.rest[column];
            if constexpr (Both) above_[j] = top.threshold(block.column_id[j], lowest_row_);
            bias_[j] = block.column_bias[j];
            longest_[j / kPanel] = std::max(longest_[j / kPanel], block.right.size[column] + rest);
            roughest_[j / kPanel] = std::max(roughest_[j / kPanel], rest);
        }
    }

    // Stops early where so many pairs pass that a float32 product of all would cost less; returns how many rows are
    // done.
    std::size_t run() {
        constexpr std::size_t kTrial = 8 * kRows;   // rows after which the share of survivors is looked at
        constexpr std::size_t kStrip = 40 * kRows;  // and then again
        constexpr std::size_t kShare = 24;          // one pair in so many may pass
        for (std::size_t i = 0; i < block_.rows;) {
            if (passed_ * kShare > i * block_.columns) return i;
            const std::size_t end = std::min(block_.rows, i + (i == 0 ? kTrial : kStrip));
            for (std::size_t p = 0; p < panels(); ++p) {
                std::size_t at = i;
                for (; at + kRows <= end; at += kRows) tile<kRows>(at, p);
                for (; at < end; ++at) tile<1>(at, p);
            }
            i = end;
        }
        return block_.rows;
    }

private:
    static constexpr std::size_t kRows = 6;  // with 4 vectors of sums each they fill the registers
    static constexpr float kNever = std::numeric_limits<float>::infinity();

    static std::int32_t lowest(const std::int32_t* ids, std::size_t count) {
        return count ? *std::min_element(ids, ids + count) : 0;
    }
    std::size_t panels() const { return (block_.columns + kPanel - 1) / kPanel; }

    // Count rows from the i-th on and panel p.
    template <std::size_t Count>
    void tile(std::size_t i, std::size_t p) {
        const Quantised &left = block_.left, &right = block_.right;
        const std::size_t first = block_.first_row + i, start = block_.first_column + p * kPanel;
        const PanelBounds columns{right.shift + start, right.scale + start, bias_.data() + p * kPanel,
                                  above_.data() + p * kPanel};
        std::int32_t products[Count * kPanel];
        multiply_panel<Count>(left.raised + first * left.width, left.width, right.packed + start * right.width,
                              products);
        for (std::size_t r = 0; r < Count; ++r) {
            const std::size_t at = first + r;
            const float error = left.rest[at] * longest_[p] + left.size[at] * roughest_[p] + block_.slack[i + r];
            const RowBounds row{left.scale[at], least_[i + r] - error, -(block_.row_bias[i + r] + error)};
            std::uint64_t hits = screen_row<Both>(products + r * kPanel, columns, row);
            for (; hits; hits &= hits - 1) {
                const std::size_t j = p * kPanel + static_cast<std::size_t>(std::countr_zero(hits));
                if (j >= block_.columns) break;
                look(i + r, j);
            }
        }
    }

    // Scores row i of the block and its column j, and offers them to each other.
    void look(std::size_t i, std::size_t j) {
        ++passed_;
        if (block_.column_group[j] == block_.row_group[i]) return;
        const std::int32_t row = block_.row_id[i], column = block_.column_id[j];
        const float* z = block_.left_z + (block_.first_row + i) * block_.columns_of_z;
        const float* other = block_.right_z + (block_.first_column + j) * block_.columns_of_z;
        const float score = dot(z, other, static_cast<std::int64_t>(block_.columns_of_z));
        const float of_row = score + bias_[j], of_column = score + block_.row_bias[i];
        if (of_row >= least_[i] && top_.offer(row, make_key(of_row, column)))
            least_[i] = top_.threshold(row, lowest_column_);
        if constexpr (Both)
            if (of_column >= above_[j] && top_.offer(column, make_key(of_column, row)))
                above_[j] = top_.threshold(column, lowest_row_);
    }

    TopK top_;
    const PairBlock& block_;
    std::int32_t lowest_row_, lowest_column_;
    std::vector<float> least_, bias_, above_;  // of rows, and of the columns of whole panels
    std::vector<float> longest_, roughest_;    // of panels: the largest |z| and |e|
    std::size_t passed_ = 0;
};
#undef CLADIFY_VNNI
#endif

}  // namespace cladify
