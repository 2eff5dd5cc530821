// Products of sparse rows as dense blocks.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cladify {

// out[i, j] = <row i of A, row j of B> with A given by rows (CSR) and B by columns (CSC of B, that is CSR of its
// transpose). The work is one step for every pair of entries that share a column, which for sparse rows is far less
// than a dense product.
inline void sparse_block(const float* a_data, const std::int32_t* a_columns, const std::int64_t* a_indptr,
                         std::size_t rows, const float* b_data, const std::int32_t* b_rows,
                         const std::int64_t* b_indptr, std::size_t columns, float* out) {
    std::fill(out, out + rows * columns, 0.0f);
    for (std::size_t i = 0; i < rows; ++i) {
        float* row = out + i * columns;
        for (std::int64_t p = a_indptr[i]; p < a_indptr[i + 1]; ++p) {
            const float value = a_data[p];
            const std::int32_t c = a_columns[p];
            for (std::int64_t q = b_indptr[c]; q < b_indptr[c + 1]; ++q) row[b_rows[q]] += value * b_data[q];
        }
    }
}

}  // namespace cladify
