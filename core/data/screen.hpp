// Screening of pairs by int8 products: which of them could still be among the best of a row.
//
// A row z is rounded to s q, q of int8, with rest e = z - s q. For two rows
//     <z_i, z_j>  <=  s_i s_j <q_i, q_j> + |e_i| |z_j| + |s_i q_i| |e_j|,   |z_j| <= |s_j q_j| + |e_j|,
// and the product of integers is exact. A pair whose bound, widened by what float32 arithmetic could add, stays below
// the worst candidate of both rows cannot enter their heaps; the few others get their float32 score. So the heaps hold
// just what they would hold if every pair had been scored.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
    for (std::size_t c = 0; c < columns; ++c) largest = std::max(largest, std::fabs(z[c]));
    // Below it the quotient could overflow; such a row is all rest.
    const float scale = largest > 1e-30f ? largest / 127.0f : 0.0f;
    const float factor = scale > 0 ? 127.0f / largest : 0.0f;
    std::int8_t* panel = to.packed + i / kPanel * kPanel * to.width + i % kPanel * kWord;
    double rest = 0, size = 0;
    std::int32_t sum = 0;
    for (std::size_t c = 0; c < to.width; ++c) {
        const float value = c < columns ? z[c] : 0.0f;
        const auto q = static_cast<std::int32_t>(std::lrintf(value * factor));
        const double rounded = static_cast<double>(scale) * q;
        rest += (value - rounded) * (value - rounded);
        size += rounded * rounded;
        sum += q;
        to.raised[i * to.width + c] = static_cast<std::uint8_t>(q + 128);
        panel[c / kWord * kPanel * kWord + c % kWord] = static_cast<std::int8_t>(q);
    }
    constexpr double kUp = 1 + 1e-6;
    to.scale[i] = scale;
    to.shift[i] = 128 * sum;
    to.rest[i] = static_cast<float>(std::sqrt(rest) * kUp);
    to.size[i] = static_cast<float>(std::sqrt(size) * kUp);
}

inline bool can_screen() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

#if defined(__x86_64__)
#define CLADIFY_VNNI __attribute__((target("avx512f,avx512bw,avx512vnni")))

// What the columns of a panel bring to the comparison.
struct PanelBounds {
    const std::int32_t* shift;
    const float *scale, *bias, *above;  // above: what a row must reach to enter the column's heap
};

// What a row brings: with `own` and `error` added, its bounds are those that columns see.
struct RowBounds {
    float scale, error, own, least;  // least: what a column must reach to enter the row's heap
};

// For Count rows and the columns of one panel: bit j of hits[r] is set where the pair may enter a heap.
template <int Count, bool Both>
CLADIFY_VNNI void screen_panel(const std::uint8_t* rows, std::size_t width, const std::int8_t* panel,
                               const PanelBounds& columns, const RowBounds* row, std::uint64_t* hits) {
    __m512i sum[Count][4];
    for (int r = 0; r < Count; ++r)
        for (int v = 0; v < 4; ++v) sum[r][v] = _mm512_setzero_si512();
    for (std::size_t c = 0; c < width; c += kWord, panel += kPanel * kWord) {
        const __m512i b0 = _mm512_loadu_si512(panel), b1 = _mm512_loadu_si512(panel + 64);
        const __m512i b2 = _mm512_loadu_si512(panel + 128), b3 = _mm512_loadu_si512(panel + 192);
        for (int r = 0; r < Count; ++r) {
            std::int32_t word;
            std::memcpy(&word, rows + r * width + c, kWord);
            const __m512i a = _mm512_set1_epi32(word);
            sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], a, b0);
            sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], a, b1);
            sum[r][2] = _mm512_dpbusd_epi32(sum[r][2], a, b2);
            sum[r][3] = _mm512_dpbusd_epi32(sum[r][3], a, b3);
        }
    }
    for (int r = 0; r < Count; ++r) hits[r] = 0;
    for (int v = 0; v < 4; ++v) {
        const __m512i shift = _mm512_loadu_si512(columns.shift + 16 * v);
        const __m512 scale = _mm512_loadu_ps(columns.scale + 16 * v), bias = _mm512_loadu_ps(columns.bias + 16 * v);
        const __m512 above = _mm512_loadu_ps(columns.above + 16 * v);
        for (int r = 0; r < Count; ++r) {
            const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(sum[r][v], shift)), scale);
            const __m512 bound = _mm512_fmadd_ps(product, _mm512_set1_ps(row[r].scale), _mm512_set1_ps(row[r].error));
            std::uint32_t hit =
                _mm512_cmp_ps_mask(_mm512_add_ps(bound, bias), _mm512_set1_ps(row[r].least), _CMP_GE_OQ);
            if constexpr (Both)
                hit |= _mm512_cmp_ps_mask(_mm512_add_ps(bound, _mm512_set1_ps(row[r].own)), above, _CMP_GE_OQ);
            hits[r] |= static_cast<std::uint64_t>(hit) << (16 * v);
        }
    }
}

// A block of pairs: rows first_row ... of `left` and columns first_column ... of `right`, both with their float32 rows.
struct PairBlock {
    Quantised left, right;
    const float *left_z, *right_z;
    std::size_t columns_of_z;  // values of a row
    std::size_t first_row, rows, first_column, columns;
    const std::int32_t *row_group, *column_group;  // of the block; ids are numbers of rows
    const float *row_bias, *column_bias;           // of the block
    const float* slack;                            // of the block's rows: what float32 arithmetic could add
};

// Offers the pairs that pass to the heaps of rows and, with Both, of columns. Stops early where so many pass that a
// float32 product of all would cost less; returns how many rows are done.
template <bool Both>
std::size_t screen_block(TopK top, const PairBlock& block) {
    constexpr std::size_t kRows = 6;           // with 4 vectors of sums each they fill the registers
    constexpr std::size_t kTrial = 8 * kRows;  // rows after which the share of survivors is looked at
    constexpr std::size_t kShare = 24;         // one pair in so many may pass
    const Quantised &left = block.left, &right = block.right;
    const std::size_t panels = (block.columns + kPanel - 1) / kPanel;
    constexpr float kNever = std::numeric_limits<float>::infinity();
    std::vector<float> above(panels * kPanel, kNever), bias(panels * kPanel, -kNever);
    std::vector<float> longest(panels, 0.0f), roughest(panels, 0.0f);
    const auto first_row = static_cast<std::int32_t>(block.first_row);
    const auto first_column = static_cast<std::int32_t>(block.first_column);
    for (std::size_t j = 0; j < block.columns; ++j) {
        const std::size_t column = block.first_column + j;
        if constexpr (Both) above[j] = top.threshold(static_cast<std::int32_t>(column), first_row);
        bias[j] = block.column_bias[j];
        longest[j / kPanel] = std::max(longest[j / kPanel], right.size[column] + right.rest[column]);
        roughest[j / kPanel] = std::max(roughest[j / kPanel], right.rest[column]);
    }
    std::vector<std::uint64_t> hits(kRows * panels);
    std::size_t passed = 0;

    for (std::size_t i = 0; i < block.rows;) {
        const std::size_t count = i + kRows <= block.rows ? kRows : 1;
        if (i >= kTrial && passed * kShare > i * block.columns) return i;
        RowBounds row[kRows];
        for (std::size_t r = 0; r < count; ++r)
            row[r] = {left.scale[block.first_row + i + r], 0.0f, block.row_bias[i + r],
                      top.threshold(first_row + static_cast<std::int32_t>(i + r), first_column)};
        const std::uint8_t* rows = left.raised + (block.first_row + i) * left.width;
        for (std::size_t p = 0; p < panels; ++p) {
            for (std::size_t r = 0; r < count; ++r) {
                const std::size_t at = block.first_row + i + r;
                row[r].error = left.rest[at] * longest[p] + left.size[at] * roughest[p] + block.slack[i + r];
            }
            const std::size_t start = block.first_column + p * kPanel;
            const PanelBounds columns{right.shift + start, right.scale + start, bias.data() + p * kPanel,
                                      above.data() + p * kPanel};
            const std::int8_t* panel = right.packed + start * right.width;
            std::uint64_t* hit = hits.data() + p * kRows;
            if (count == kRows)
                screen_panel<kRows, Both>(rows, left.width, panel, columns, row, hit);
            else
                screen_panel<1, Both>(rows, left.width, panel, columns, row, hit);
        }
        for (std::size_t r = 0; r < count; ++r) {
            const std::int32_t id = first_row + static_cast<std::int32_t>(i + r);
            const float* z = block.left_z + (block.first_row + i + r) * block.columns_of_z;
            float least = row[r].least;
            for (std::size_t p = 0; p < panels; ++p)
                for (std::uint64_t hit = hits[p * kRows + r]; hit; hit &= hit - 1) {
                    const std::size_t j = p * kPanel + std::countr_zero(hit);
                    if (j >= block.columns) break;
                    ++passed;
                    if (block.column_group[j] == block.row_group[i + r]) continue;
                    const std::int32_t column = first_column + static_cast<std::int32_t>(j);
                    const float* other = block.right_z + (block.first_column + j) * block.columns_of_z;
                    const float score = dot(z, other, static_cast<std::int64_t>(block.columns_of_z));
                    if (score + bias[j] >= least && top.offer(id, make_key(score + bias[j], column)))
                        least = top.threshold(id, first_column);
                    if constexpr (Both)
                        if (score + row[r].own >= above[j] && top.offer(column, make_key(score + row[r].own, id)))
                            above[j] = top.threshold(column, first_row);
                }
        }
        i += count;
    }
    return block.rows;
}
#undef CLADIFY_VNNI
#endif

}  // namespace cladify
