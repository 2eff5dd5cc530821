// Groups of points in falling order of their scores.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "common/radix_sort.hpp"

namespace cladify::divide {

class Grouping {
public:
    // Two groups: scores above 0, and the others.
    std::int64_t by_sign(std::span<const double> score, std::vector<std::uint16_t>& group) const {
        group.resize(score.size());
        for (std::size_t i = 0; i < score.size(); ++i) group[i] = score[i] <= 0;
        return 2;
    }

    // Two groups: the `count` largest scores (ties by position), and the others.
    std::int64_t by_count(std::span<const double> score, std::int64_t count, std::vector<std::uint16_t>& group) {
        values_.assign(score.begin(), score.end());
        std::nth_element(values_.begin(), values_.begin() + count - 1, values_.end(), std::greater<>());
        const double least = values_[count - 1];
        std::int64_t ties = count - std::count_if(score.begin(), score.end(), [&](double v) { return v > least; });
        group.resize(score.size());
        for (std::size_t i = 0; i < score.size(); ++i)
            group[i] = score[i] > least || (score[i] == least && ties-- > 0) ? 0 : 1;
        return 2;
    }

    // About `groups` groups of about equal size, divided at gaps, and smaller ones at both ends: 1, 2, 4, … points, so
    // that outliers stand alone. Few points get a group each (ties by position); otherwise equal scores share a group.
    std::int64_t by_rank(std::span<const double> score, std::int64_t groups, std::vector<std::uint16_t>& group) {
        const std::int64_t m = std::ssize(score);
        group.resize(m);
        if (m <= groups) {
            order_.resize(m);
            std::iota(order_.begin(), order_.end(), 0);
            std::stable_sort(order_.begin(), order_.end(),
                             [&](std::int64_t a, std::int64_t b) { return score[a] > score[b]; });
            for (std::int64_t i = 0; i < m; ++i) group[order_[i]] = static_cast<std::uint16_t>(i);
            return m;
        }
        const auto [low, high] = std::ranges::minmax(score);
        // Falling scores as rising numbers of 32 bits, below the largest one.
        const double top = high, unit = high > low ? (0x1p32 - 2.0) / (high - low) : 0.0;
        const auto key = [&](std::int64_t i) {
            const double at = (top - score[i]) * unit;
            return static_cast<std::uint32_t>(at > 0.0 ? std::min(at, 0x1p32 - 2.0) : 0.0);
        };
        sorted_.resize(m);
        for (std::int64_t i = 0; i < m; ++i) sorted_[i] = key(i);
        radix_sort(sorted_, spare_);
        find_breaks(groups);
        const std::int64_t count = std::ssize(breaks_), wide = std::bit_ceil(static_cast<std::uint64_t>(count + 1));
        breaks_.resize(wide, std::numeric_limits<std::uint32_t>::max());
        for (std::int64_t i = 0; i < m; ++i) {  // how many breaks are not above: a branchless binary search
            const std::uint32_t value = key(i);
            std::int64_t behind = 0;
            for (std::int64_t step = wide / 2; step > 0; step /= 2)
                behind += breaks_[behind + step - 1] <= value ? step : 0;
            group[i] = static_cast<std::uint16_t>(behind);
        }
        return count + 1;
    }

private:
    // The numbers at which groups begin, apart from the first one.
    void find_breaks(std::int64_t groups) {
        const std::int64_t m = std::ssize(sorted_), tail = m / groups;
        // Halfway, so that different numbers fall apart.
        const auto part = [&](std::int64_t a, std::int64_t b) {
            breaks_.push_back(sorted_[a] + (sorted_[b] - sorted_[a] + 1) / 2);
        };
        breaks_.clear();
        for (std::int64_t r = 1; r < tail; r *= 2) part(r - 1, r);
        const std::int64_t inner = m - 2 * tail - 1, take = std::min<std::int64_t>(inner, groups * 32);
        const auto rank = [&](std::int64_t i) { return tail + std::min(i, take - 1) * inner / take; };
        for (std::int64_t g = 0; g < groups; ++g) {  // the widest gap of the neighbourhood
            std::int64_t widest = g * take / groups;
            std::uint32_t width = 0;
            for (std::int64_t i = widest; i < (g + 1) * take / groups; ++i) {
                const std::uint32_t gap = sorted_[rank(i + 1)] - sorted_[rank(i)];
                if (gap > width) width = gap, widest = i;
            }
            part(rank(widest), rank(widest + 1));
        }
        const auto last = std::ssize(breaks_);
        for (std::int64_t r = 1; r < tail; r *= 2) part(m - r - 1, m - r);
        std::reverse(breaks_.begin() + last, breaks_.end());
        breaks_.erase(std::unique(breaks_.begin(), breaks_.end()), breaks_.end());
    }

    std::vector<double> values_;
    std::vector<std::uint32_t> sorted_, spare_, breaks_;
    std::vector<std::int64_t> order_;
};

}  // namespace cladify::divide
