// Kernels decide what to do next by comparing numbers. Every comparison with a NaN is false, and an infinity often
// stands for "nothing there": with either among the data, a loop might not end and a sort might leave its array. So
// numbers are made finite where they come in and where sums can overflow; results are then poor, but there are some.
#pragma once
#include <limits>

namespace cladify {

// The sum of a few of these is still finite.
template <typename T>
constexpr T kLargest = std::numeric_limits<T>::max() / 16;

// NaN and larger values become the largest.
template <typename T>
T not_above_largest(T x) {
    return x < kLargest<T> ? x : kLargest<T>;
}

// Between -limit and limit; 0 for NaN.
template <typename T>
T within(T x, T limit) {
    return x > limit ? limit : x < -limit ? -limit : x == x ? x : T{0};
}

}  // namespace cladify
