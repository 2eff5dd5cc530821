// Euclidean distances of blocks of rows, written into the half of a matrix that agglomeration works in.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>

namespace cladify {

// A block of products of rows, and their squared lengths.
struct DistanceBlock {
    const double* product;  // rows x columns
    std::size_t first_row, rows, first_column, columns;
    const double *row_square, *column_square;
    bool squared;  // the squares of the distances
};

// Those of pairs i < j, to the matrix of n rows, condensed as SciPy's.
template <typename T>
void write_distances(const DistanceBlock& block, std::size_t n, T* distance) {
    for (std::size_t r = 0; r < block.rows; ++r) {
        const std::size_t i = block.first_row + r, last = block.first_column + block.columns;
        const std::size_t first = std::max(block.first_column, i + 1);
        if (first >= last) return;
        const double* product = block.product + r * block.columns + (first - block.first_column);
        const double* square = block.column_square + (first - block.first_column);
        const double own = block.row_square[r];
        T* to = distance + i * (2 * n - i - 1) / 2 + (first - i - 1);
        const auto apart = [&](std::size_t j) { return std::max(0.0, -2.0 * product[j] + own + square[j]); };
        if (block.squared)
            for (std::size_t j = 0; j < last - first; ++j) to[j] = static_cast<T>(apart(j));
        else
            for (std::size_t j = 0; j < last - first; ++j) to[j] = static_cast<T>(std::sqrt(apart(j)));
    }
}

}  // namespace cladify
