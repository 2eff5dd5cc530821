// Groups of points in falling order of their scores.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace ramify::divide {

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
        find_breaks(score, groups);
        for (std::int64_t i = 0; i < m; ++i) {
            const auto at =
                std::partition_point(breaks_.begin(), breaks_.end(), [&](double b) { return b > score[i]; });
            group[i] = static_cast<std::uint16_t>(at - breaks_.begin());
        }
        return std::ssize(breaks_) + 1;
    }

private:
    // Falling scores between the groups: a score goes behind the breaks above it.
    void find_breaks(std::span<const double> score, std::int64_t groups) {
        const std::int64_t m = std::ssize(score), tail = m / groups;
        values_.assign(score.begin(), score.end());
        const auto middle = values_.begin() + tail, end = values_.end() - tail - 1;
        std::nth_element(values_.begin(), middle, values_.end(), std::greater<>());
        std::sort(values_.begin(), middle, std::greater<>());
        std::nth_element(middle, end, values_.end(), std::greater<>());
        std::sort(end, values_.end(), std::greater<>());
        breaks_.clear();
        // Halfway between neighbours, so that rank r and r+1 fall apart.
        const auto between = [&](std::int64_t r) { breaks_.push_back(0.5 * (values_[r - 1] + values_[r])); };
        for (std::int64_t r = 1; r < tail; r *= 2) between(r);
        const std::int64_t take = std::min<std::int64_t>(m - 2 * tail - 1, groups * 32);
        sample_.resize(take);
        for (std::int64_t i = 0; i < take; ++i) sample_[i] = values_[tail + i * (m - 2 * tail - 1) / take];
        std::sort(sample_.begin(), sample_.end(), std::greater<>());
        for (std::int64_t g = 0; g < groups; ++g) {  // the widest gap of the neighbourhood
            std::int64_t widest = g * take / groups;
            for (std::int64_t i = widest; i < (g + 1) * take / groups && i + 1 < take; ++i)
                if (sample_[i] - sample_[i + 1] > sample_[widest] - sample_[std::min(widest + 1, take - 1)]) widest = i;
            breaks_.push_back(0.5 * (sample_[widest] + sample_[std::min(widest + 1, take - 1)]));
        }
        const auto last = std::ssize(breaks_);
        for (std::int64_t r = 1; r < tail; r *= 2) between(m - r);
        std::reverse(breaks_.begin() + last, breaks_.end());
        breaks_.erase(std::unique(breaks_.begin(), breaks_.end()), breaks_.end());
    }

    std::vector<double> values_, sample_, breaks_;
    std::vector<std::int64_t> order_;
};

}  // namespace ramify::divide
