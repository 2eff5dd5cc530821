// The one permuted copy of the data that top-down methods work on, and passes over ranges of it. Passes run over fixed
// blocks whose results are combined in order, so sums do not depend on the number of threads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/random.hpp"
#include "common/team.hpp"
#include "common/vectors.hpp"
#include "divide/grow.hpp"

namespace cladify::divide {

constexpr std::int64_t kBlockRows = 2048;
constexpr std::int64_t kShortRun = 256;  // rows whose sum may stay in float

inline std::int64_t count_blocks(std::int64_t rows) { return (rows + kBlockRows - 1) / kBlockRows; }

// work(block, first, last) for the blocks of [first, last).
template <typename Work>
void for_blocks(std::int64_t first, std::int64_t last, Team& team, Work work) {
    team.run(count_blocks(last - first), [&](std::int64_t b, int) {
        work(b, first + b * kBlockRows, std::min(last, first + (b + 1) * kBlockRows));
    });
}

// Rows z[p], the point index[p] they belong to, and numbers that travel with them.
struct Rows {
    float* z;
    std::int64_t* index;
    std::int64_t n, k;
    std::vector<std::vector<double>*> beside;  // one number a row each

    const float* row(std::int64_t p) const { return z + p * k; }
    void swap(std::int64_t a, std::int64_t b) const {
        std::swap_ranges(z + a * k, z + (a + 1) * k, z + b * k);
        std::swap(index[a], index[b]);
        for (auto* values : beside) std::swap((*values)[a], (*values)[b]);
    }
};

// How to put the positions of [first, last) with side 0 first: what is on the wrong side changes places pair by pair,
// so that threads can share the work. The others begin at `middle`.
struct Swaps {
    std::int64_t middle;
    std::vector<std::int64_t> left, right;
};

inline Swaps swaps_for(std::int64_t first, std::int64_t last, std::span<const std::uint8_t> side) {
    Swaps swaps{first + std::count(side.begin(), side.end(), std::uint8_t{0}), {}, {}};
    for (std::int64_t p = first; p < last; ++p)
        if ((side[p - first] != 0) == (p < swaps.middle)) (p < swaps.middle ? swaps.left : swaps.right).push_back(p);
    return swaps;
}

inline void swap_rows(const Rows& rows, const Swaps& swaps, Team& team) {
    for_blocks(0, std::ssize(swaps.left), team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
        for (std::int64_t i = a; i < b; ++i) rows.swap(swaps.left[i], swaps.right[i]);
    });
}

// Random numbers of a part, the same whoever asks for them.
inline SplitMix part_random(std::uint64_t seed, const Range& part) {
    return SplitMix(mix(seed ^ mix(static_cast<std::uint64_t>(part.first) * 0x9e3779b97f4a7c15ULL +
                                   static_cast<std::uint64_t>(part.last))));
}

}  // namespace cladify::divide
