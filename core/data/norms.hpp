// Squared lengths of rows in double precision, without a copy of the rows.
#pragma once
#include <cstdint>
#include <span>

#include "common/team.hpp"
#include "common/vectors.hpp"

namespace cladify {

// out[i] = |row i - centre|^2. Each row is summed by one thread, so the number of threads changes nothing.
template <typename T>
void squared_norms(const T* rows, std::int64_t d, std::span<const double> centre, std::span<double> out, int threads) {
    const double* c = centre.data();
    Team(threads).split(std::ssize(out), (1 << 16) / (d + 1) + 1, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) {
            const T* row = rows + i * d;
            out[i] = sum_of(static_cast<std::size_t>(d), [&](std::size_t j) {
                const double x = static_cast<double>(row[j]) - c[j];
                return x * x;
            });
        }
    });
}

}  // namespace cladify
