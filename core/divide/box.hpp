// Projection on the box [-1, 1]^n cut by the plane where the coordinates sum to a given number.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace cladify::divide {

// Replaces y by the nearest x with -1 <= x_i <= 1 and sum x = total (|total| <= n): x_i = clip(y_i - level, -1, 1).
// The sum falls with the level, linearly between the 2n breakpoints y_i ± 1. Newton's steps nearly always end on the
// right piece after a few passes. If not, each round looks at the median of the breakpoints that are still possible and
// drops half of them, and with them the coordinates whose piece is settled: O(n) in any case.
inline void project_to_box(std::span<double> y, double total, std::vector<double>& breaks, std::vector<double>& open) {
    constexpr int kSteps = 10;
    const auto n = static_cast<double>(y.size());
    double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
    double level = (std::accumulate(y.begin(), y.end(), 0.0) - total) / n;
    const auto clip = [&] {
        for (double& v : y) v = std::clamp(v - level, -1.0, 1.0);
    };
    for (int step = 0; step < kSteps; ++step) {
        double sum = 0, inside = 0;
#pragma omp simd reduction(+ : sum, inside)
        for (std::size_t i = 0; i < y.size(); ++i) {
            sum += std::clamp(y[i] - level, -1.0, 1.0);
            inside += std::abs(y[i] - level) < 1.0 ? 1.0 : 0.0;
        }
        if (std::abs(sum - total) <= 1e-13 * n) return clip();
        (sum > total ? low : high) = level;  // the level sought is above where the sum is too large
        const double next = level + (sum - total) / inside;
        if (!(next > low && next < high)) break;
        level = next;
    }

    breaks.clear();
    open.assign(y.begin(), y.end());
    for (const double v : y)
        for (const double b : {v - 1.0, v + 1.0})
            if (b > low && b < high) breaks.push_back(b);
    double settled = 0;                     // sum of the coordinates known to be at -1 or 1
    double slope_sum = 0, slope_count = 0;  // those known to be strictly inside: sum of y, and how many
    const auto settle = [&] {
        std::erase_if(open, [&](double v) {
            if (v - 1.0 >= high)
                settled += 1.0;
            else if (v + 1.0 <= low)
                settled -= 1.0;
            else if (v - 1.0 <= low && v + 1.0 >= high)
                slope_sum += v, slope_count += 1.0;
            else
                return false;
            return true;
        });
    };
    settle();
    while (!breaks.empty()) {
        auto middle = breaks.begin() + static_cast<std::ptrdiff_t>(breaks.size() / 2);
        std::nth_element(breaks.begin(), middle, breaks.end());
        level = *middle;
        double sum = settled + slope_sum - slope_count * level;
        for (const double v : open) sum += std::clamp(v - level, -1.0, 1.0);
        (sum > total ? low : high) = level;
        std::erase_if(breaks, [&](double b) { return b <= low || b >= high; });
        settle();
    }
    level = slope_count > 0 ? (settled + slope_sum - total) / slope_count : (std::isfinite(low) ? low : high);
    level = std::clamp(level, low, high);
    clip();
}

}  // namespace cladify::divide
