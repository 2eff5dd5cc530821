// Projected gradient ascent over the box [-1, 1]^m cut by the plane where the coordinates sum to a given number
// (algorithm 1 of Naumov, Yaroslavtsev, Avdiukhin, AAAI 2021), for any weights.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "divide/box.hpp"
#include "divide/weights.hpp"

namespace cladify::divide {

struct AscentScratch {
    std::vector<double> y, breaks, open;
};

// Ascends q(x) = sign/2 xᵀWx + <linear, x> (no linear term if it is empty) over the points of a part, from x, which is
// first projected. Leaves in `y` the last step before its projection: like x, but it also orders the points on the
// borders of the box.
//
// Adding a number to all of the gradient changes nothing in the plane, so its mean is taken out. The iteration is a
// power method with bounds: |Wx| / |x| grows towards the norm of W in the plane, and its inverse is the scale of a step
// that needs no tuning. For an inner product any step goes up; otherwise the largest ratio seen keeps steps from
// turning round. Given `rates`, step i is rates[i] times the gradient instead, as printed (the last rate for all later
// steps).
template <typename Weights>
void box_ascent(const Weights& weights, const Range& part, double sign, std::span<const double> linear, double total,
                int iterations, std::span<const double> rates, std::vector<double>& x, AscentScratch& s,
                typename Weights::Scratch& scratch, Team& team) {
    constexpr double kPace = 2.0;  // steps of this many scales
    const std::int64_t m = part.size();
    s.y.assign(x.begin(), x.end());
    project_to_box(x, total, s.breaks, s.open);
    double largest = 0;
    for (int i = 0; i < iterations; ++i) {
        weights.spread(part, part, x, s.y, scratch, team);
        double mean = 0;
        for (std::int64_t p = 0; p < m; ++p) {
            s.y[p] = sign * s.y[p] + (linear.empty() ? 0.0 : linear[p]);
            mean += s.y[p];
        }
        mean /= static_cast<double>(m);
        double xx = 0, yy = 0;
        for (std::int64_t p = 0; p < m; ++p) {
            s.y[p] -= mean;
            xx += x[p] * x[p];
            yy += s.y[p] * s.y[p];
        }
        if (yy <= 0 || xx <= 0) return;
        const double ratio = std::sqrt(yy / xx);
        largest = Weights::kInnerProduct ? ratio : std::max(largest, ratio);
        const double rate = rates.empty() ? kPace / largest : rates[std::min<std::size_t>(i, rates.size() - 1)];
        for (std::int64_t p = 0; p < m; ++p) s.y[p] = x[p] + rate * s.y[p];
        x.assign(s.y.begin(), s.y.end());
        project_to_box(x, total, s.breaks, s.open);
    }
}

}  // namespace cladify::divide
