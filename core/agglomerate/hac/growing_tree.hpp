// A minimum spanning tree that grows from point to point.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace cladify {

// Prim's algorithm, fed with one row of distances at a time: memory is linear, and every distance is looked at once.
class GrowingTree {
public:
    explicit GrowingTree(std::size_t n) : rest_(n - 1), nearest_(n - 1, kFar), from_(n - 1, 0) {
        std::iota(rest_.begin(), rest_.end(), 1);
    }

    std::vector<std::int32_t> a, b;  // ends of the edges so far
    std::vector<double> length;

    // `row` holds the distances of point `at`, which came last (0 at first), to all points; returns who comes next. Of
    // equal distances, the one with the smaller ends is taken.
    template <typename T>
    std::int32_t add(std::int32_t at, const T* row) {
        std::size_t best = 0;
        for (std::size_t k = 0; k < rest_.size(); ++k) {
            const double distance = row[rest_[k]];
            if (distance < nearest_[k]) {
                nearest_[k] = distance;
                from_[k] = at;
            }
            if (nearest_[k] < nearest_[best] || (nearest_[k] == nearest_[best] && ends(k) < ends(best))) best = k;
        }
        const std::int32_t next = rest_[best];
        a.push_back(from_[best]);
        b.push_back(next);
        length.push_back(nearest_[best]);
        rest_[best] = rest_.back();
        nearest_[best] = nearest_.back();
        from_[best] = from_.back();
        rest_.pop_back();
        nearest_.pop_back();
        from_.pop_back();
        return next;
    }

private:
    static constexpr double kFar = std::numeric_limits<double>::infinity();
    std::vector<std::int32_t> rest_;  // who is not in the tree yet
    std::vector<double> nearest_;
    std::vector<std::int32_t> from_;

    std::pair<std::int32_t, std::int32_t> ends(std::size_t k) const {
        return {std::min(rest_[k], from_[k]), std::max(rest_[k], from_[k])};
    }
};

}  // namespace cladify
