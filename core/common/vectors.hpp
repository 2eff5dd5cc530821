// Inner loops over float rows. Sums run over fixed lanes, so that the compiler can use vector instructions without
// being allowed to reorder additions: the result is the same on every run.
#pragma once
#include <cstddef>
#include <cstdint>

namespace cladify {

constexpr int kLanes = 32;

inline float sum_lanes(const float* lane) {
    float part[8];
    for (int l = 0; l < 8; ++l) part[l] = (lane[l] + lane[l + 8]) + (lane[l + 16] + lane[l + 24]);
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

inline float dot(const float* a, const float* b, std::int64_t k) {
    float lane[kLanes] = {};
    std::int64_t j = 0;
    for (; j + kLanes <= k; j += kLanes)
        for (int l = 0; l < kLanes; ++l) lane[l] += a[j + l] * b[j + l];
    for (int l = 0; j + l < k; ++l) lane[l] += a[j + l] * b[j + l];
    return sum_lanes(lane);
}

// The sum of term(c) over c < count, in double.
template <typename Term>
double sum_of(std::size_t count, Term term) {
    constexpr std::size_t kSums = 8;
    double lane[kSums] = {};
    std::size_t c = 0;
    for (; c + kSums <= count; c += kSums)
        for (std::size_t l = 0; l < kSums; ++l) lane[l] += term(c + l);
    for (std::size_t l = 0; c + l < count; ++l) lane[l] += term(c + l);
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

// to += factor * from
inline void add_scaled(float* __restrict to, const float* __restrict from, float factor, std::int64_t k) {
    for (std::int64_t j = 0; j < k; ++j) to[j] += factor * from[j];
}

inline void add(float* __restrict to, const float* __restrict from, std::int64_t k) {
    for (std::int64_t j = 0; j < k; ++j) to[j] += from[j];
}

inline void add(double* __restrict to, const float* __restrict from, std::int64_t k) {
    for (std::int64_t j = 0; j < k; ++j) to[j] += from[j];
}

inline double dot(const double* a, const double* b, std::int64_t k) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (std::int64_t j = 0; j < k; ++j) total += a[j] * b[j];
    return total;
}

}  // namespace cladify
