// Passes over a graph in CSR form: sorted rows, components.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "common/union_find.hpp"

namespace cladify {

// Component of every node, numbered by their smallest node; directions are ignored.
inline std::vector<std::int32_t> components(const std::int64_t* indptr, const std::int32_t* indices, std::size_t n,
                                            Interrupt& interrupt) {
    UnionFind<> sets(n);
    for (std::size_t i = 0; i < n; ++i) {
        if (i % 65536 == 0) interrupt();
        for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
            const std::int32_t a = sets.find(static_cast<std::int32_t>(i)), b = sets.find(indices[e]);
            if (a != b) sets.unite_smaller(a, b);
        }
    }
    // A root is the smallest node of its component, so it is met, and numbered, first.
    std::int32_t count = 0;
    std::vector<std::int32_t> label(n);
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t root = sets.find(static_cast<std::int32_t>(i));
        label[i] = root == static_cast<std::int32_t>(i) ? count++ : label[root];
    }
    return label;
}

// Sorts every row of a matrix of k neighbours a row by column, with its values.
template <typename Value>
void sort_rows(std::int32_t* indices, Value* value, std::size_t n, std::size_t k) {
    std::vector<std::pair<std::int32_t, Value>> row(k);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t c = 0; c < k; ++c) row[c] = {indices[i * k + c], value[i * k + c]};
        std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t c = 0; c < k; ++c) std::tie(indices[i * k + c], value[i * k + c]) = row[c];
    }
}

}  // namespace cladify
