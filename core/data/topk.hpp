// The k best candidates of every row, fed from blocks of scores.
//
// A row keeps its candidates as a min-heap of 64-bit keys: the score's bits, mapped so that their order as an integer
// is the order of the floats, above the complement of the candidate's id. A larger key is a better candidate, ties go
// to the smaller id, and the order is total: which blocks come first, and on which thread, cannot change what is kept.
// Key 0 stands for an empty place.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "common/spin.hpp"

namespace cladify {

using Key = std::uint64_t;

inline Key make_key(float score, std::int32_t id) {
    const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);  // -0 becomes +0
    const std::uint32_t ordered = bits ^ ((bits >> 31) ? 0xFFFFFFFFu : 0x80000000u);
    return (static_cast<Key>(ordered) << 32) | ~static_cast<std::uint32_t>(id);
}

inline std::int32_t key_id(Key key) { return static_cast<std::int32_t>(~static_cast<std::uint32_t>(key)); }

inline float key_score(Key key) {
    const auto ordered = static_cast<std::uint32_t>(key >> 32);
    return std::bit_cast<float>(ordered ^ ((ordered >> 31) ? 0x80000000u : 0xFFFFFFFFu));
}

// The heaps of all rows, shared by the threads; `locks` holds one byte a row. With `unique`, a candidate may be offered
// to a row more than once and is kept once, with its best score.
struct TopK {
    Key* keys;
    std::uint8_t* locks;
    std::size_t capacity;
    bool unique = false;

    Key smallest(std::int32_t row) const {
        return std::atomic_ref<Key>(keys[row * capacity]).load(std::memory_order_relaxed);
    }

    // The lowest score that could still enter the row, when no offered id is below `lowest_id`.
    float threshold(std::int32_t row, std::int32_t lowest_id) const {
        const Key key = smallest(row);
        if (key == 0) return -std::numeric_limits<float>::infinity();
        const float score = key_score(key);
        return key_id(key) < lowest_id ? std::nextafter(score, std::numeric_limits<float>::infinity()) : score;
    }

    // True when the candidate went in.
    bool offer(std::int32_t row, Key key) {
        if (key <= smallest(row)) return false;
        std::atomic_ref<std::uint8_t> lock(locks[row]);
        for (int tries = 0; lock.exchange(1, std::memory_order_acquire); ++tries) spin_wait(tries);
        Key* heap = keys + row * capacity;
        std::size_t at = 0;
        if (unique) at = place_of(heap, key);
        const bool better = key > heap[at];
        if (better) put(heap, at, key);
        lock.store(0, std::memory_order_release);
        return better;
    }

private:
    // Where the heap has the candidate of this key already, or 0, the place of the one that it would drive out.
    std::size_t place_of(const Key* heap, Key key) const {
        for (std::size_t c = 1; c < capacity; ++c)
            if (static_cast<std::uint32_t>(heap[c]) == static_cast<std::uint32_t>(key) && heap[c] != 0) return c;
        return 0;
    }

    // Puts `key` at place `at` or, while an entry below is smaller, further down. Other threads read the first place.
    void put(Key* heap, std::size_t at, Key key) const {
        auto write = [&](Key value) { std::atomic_ref<Key>(heap[at]).store(value, std::memory_order_relaxed); };
        while (true) {
            std::size_t child = 2 * at + 1;
            if (child >= capacity) break;
            if (child + 1 < capacity && heap[child + 1] < heap[child]) ++child;
            if (heap[child] >= key) break;
            write(heap[child]);
            at = child;
        }
        write(key);
    }
};

// A row's k best candidates and their scores, best first; -1 and -infinity where there are fewer.
inline void best_of(const Key* heap, std::size_t capacity, std::size_t k, std::int32_t* id, float* score) {
    std::vector<Key> sorted(heap, heap + capacity);
    const std::size_t count = std::min(k, capacity);
    std::partial_sort(sorted.begin(), sorted.begin() + count, sorted.end(), std::greater<>());
    for (std::size_t c = 0; c < k; ++c) {
        const Key key = c < count ? sorted[c] : 0;
        id[c] = key ? key_id(key) : -1;
        score[c] = key ? key_score(key) : -std::numeric_limits<float>::infinity();
    }
}

// A block of scores between some rows and some columns of the data.
struct ScoreBlock {
    const float* score;  // rows x columns, row by row
    std::size_t rows, columns;
    const std::int32_t* row_id;     // whose heap, and the id under which a row is offered to columns
    const std::int32_t* column_id;  // likewise
    const std::int32_t* row_group;  // a row and a column of the same group are never offered to each other
    const std::int32_t* column_group;
    const float* row_bias;     // added to the scores that columns see
    const float* column_bias;  // added to the scores that rows see
};

// Bit s is set where score[s] + bias[s] >= least[s], for 16 columns; a bias or a bound may also be one number for all.
constexpr std::size_t kStretch = 16;
#if defined(__AVX2__)
inline __m256 lanes(const float* values) { return _mm256_loadu_ps(values); }
inline __m256 lanes(float value) { return _mm256_set1_ps(value); }
inline const float* further(const float* values) { return values + 8; }
inline float further(float value) { return value; }

template <typename Bias, typename Least>
std::uint32_t reaching(const float* score, Bias bias, Least least) {
    auto eight = [](const float* s, auto b, auto l) {
        const __m256 sum = _mm256_add_ps(_mm256_loadu_ps(s), lanes(b));
        return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(sum, lanes(l), _CMP_GE_OQ)));
    };
    return eight(score, bias, least) | eight(score + 8, further(bias), further(least)) << 8;
}
#else
inline float lane(const float* values, std::size_t s) { return values[s]; }
inline float lane(float value, std::size_t) { return value; }

template <typename Bias, typename Least>
std::uint32_t reaching(const float* score, Bias bias, Least least) {
    std::uint32_t mask = 0;
    for (std::size_t s = 0; s < kStretch; ++s)
        mask |= static_cast<std::uint32_t>(score[s] + lane(bias, s) >= lane(least, s)) << s;
    return mask;
}
#endif

// A score that at least `count` of the columns reach, for a row that has nothing to compare with yet: the columns are
// dealt into groups, and of the groups' best scores the one at place `count` is taken. -infinity where columns are few.
inline float reached_by(std::size_t count, const ScoreBlock& block, std::size_t row, std::vector<float>& best) {
    const std::size_t groups = std::max<std::size_t>(4 * count, 64);
    constexpr float kNone = -std::numeric_limits<float>::infinity();
    if (block.columns < 2 * groups) return kNone;
    best.assign(groups, kNone);
    const std::int32_t own = block.row_group[row];
    for (std::size_t first = 0; first < block.columns; first += groups) {
        const std::size_t some = std::min(groups, block.columns - first);
        const float* score = block.score + row * block.columns + first;
        const float* bias = block.column_bias + first;
        const std::int32_t* group = block.column_group + first;
        float* __restrict top = best.data();
        for (std::size_t g = 0; g < some; ++g) {
            const float value = group[g] == own ? kNone : score[g] + bias[g];
            top[g] = value > top[g] ? value : top[g];
        }
    }
    std::nth_element(best.begin(), best.begin() + (count - 1), best.end(), std::greater<>());
    return best[count - 1];
}

// Offers every column to the rows' heaps and, with `Both`, every row to the columns' heaps. Almost no score gets past
// its threshold, so a stretch of columns is compared at once and only those that reach it are looked at.
template <bool Both>
void offer_block(TopK top, const ScoreBlock& block) {
    auto lowest = [](const std::int32_t* ids, std::size_t count) {
        return count ? *std::min_element(ids, ids + count) : 0;
    };
    const std::int32_t lowest_column = lowest(block.column_id, block.columns);
    const std::int32_t lowest_row = lowest(block.row_id, block.rows);
    std::vector<float> above(Both ? block.columns : 0), scratch;
    if constexpr (Both)
        for (std::size_t j = 0; j < block.columns; ++j) above[j] = top.threshold(block.column_id[j], lowest_row);

    for (std::size_t i = 0; i < block.rows; ++i) {
        const float* score = block.score + i * block.columns;
        const float* bias = block.column_bias;
        const float own = block.row_bias[i];
        const std::int32_t row = block.row_id[i];
        const std::int32_t group = block.row_group[i];
        const bool empty = top.smallest(row) == 0;
        float threshold = empty ? reached_by(top.capacity, block, i, scratch) : top.threshold(row, lowest_column);

        auto look = [&](std::size_t j) {
            if (block.column_group[j] == group) return;
            const std::int32_t column = block.column_id[j];
            if (score[j] + bias[j] >= threshold && top.offer(row, make_key(score[j] + bias[j], column)))
                threshold = std::max(threshold, top.threshold(row, lowest_column));
            if constexpr (Both)
                if (score[j] + own >= above[j] && top.offer(column, make_key(score[j] + own, row)))
                    above[j] = top.threshold(column, lowest_row);
        };
        std::size_t j = 0;
        for (; j + kStretch <= block.columns; j += kStretch) {
            std::uint32_t hits = reaching(score + j, bias + j, threshold);
            if constexpr (Both) hits |= reaching(score + j, own, above.data() + j);
            for (; hits; hits &= hits - 1) look(j + std::countr_zero(hits));
        }
        for (; j < block.columns; ++j) look(j);
    }
}

}  // namespace cladify
