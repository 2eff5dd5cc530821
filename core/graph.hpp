// Passes over a graph in CSR form: sorted rows, both directions, components.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "interrupt.hpp"

namespace ramify {

struct Edges {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<float> value;
};

// What to do with an edge: keep it when either direction is there, with the larger or the smaller value or the mean
// (a missing direction counts as 0), or only when both are, with the smaller or larger value.
enum class Combine { either_larger, either_smaller, mean, both_larger, both_smaller };

// The graph with both directions of every edge. Rows must be sorted by column; so are the rows of the result. Linear.
inline Edges symmetrize(const std::int64_t* indptr, const std::int32_t* indices, const float* value, std::size_t n,
                        Combine how, Interrupt& interrupt) {
    // Transpose by counting; walking the rows in order leaves each transposed row sorted.
    const std::size_t edges = indptr[n];
    std::vector<std::int64_t> start(n + 1, 0);
    for (std::size_t e = 0; e < edges; ++e) ++start[indices[e] + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    std::vector<std::int32_t> source(edges);
    std::vector<float> weight(edges);
    {
        std::vector<std::int64_t> next(start.begin(), start.end() - 1);
        for (std::size_t i = 0; i < n; ++i) {
            if (i % 65536 == 0) interrupt();
            for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
                const std::int64_t place = next[indices[e]]++;
                source[place] = static_cast<std::int32_t>(i);
                weight[place] = value[e];
            }
        }
    }
    const bool both_needed = how == Combine::both_larger || how == Combine::both_smaller;
    const bool larger = how == Combine::either_larger || how == Combine::both_larger;
    auto merge = [&](auto emit) {
        for (std::size_t i = 0; i < n; ++i) {
            if (i % 65536 == 0) interrupt();
            std::int64_t p = indptr[i], q = start[i];
            while (p < indptr[i + 1] || q < start[i + 1]) {
                const bool out = q == start[i + 1] || (p < indptr[i + 1] && indices[p] <= source[q]);
                const bool in = p == indptr[i + 1] || (q < start[i + 1] && source[q] <= indices[p]);
                const std::int32_t j = out ? indices[p] : source[q];
                if (out && in) {
                    const float a = value[p], b = weight[q];
                    emit(i, j, how == Combine::mean ? 0.5f * (a + b) : larger ? std::max(a, b) : std::min(a, b));
                } else if (!both_needed) {
                    emit(i, j, (out ? value[p] : weight[q]) * (how == Combine::mean ? 0.5f : 1.0f));
                }
                p += out;
                q += in;
            }
        }
    };
    Edges result;
    result.indptr.assign(n + 1, 0);
    merge([&](std::size_t i, std::int32_t, float) { ++result.indptr[i + 1]; });
    std::partial_sum(result.indptr.begin(), result.indptr.end(), result.indptr.begin());
    result.indices.resize(result.indptr[n]);
    result.value.resize(result.indptr[n]);
    std::size_t place = 0;
    merge([&](std::size_t, std::int32_t j, float v) {
        result.indices[place] = j;
        result.value[place++] = v;
    });
    return result;
}

// Component of every node, numbered by their smallest node; directions are ignored.
inline std::vector<std::int32_t> components(const std::int64_t* indptr, const std::int32_t* indices, std::size_t n,
                                            Interrupt& interrupt) {
    std::vector<std::int32_t> label(n);
    std::iota(label.begin(), label.end(), 0);
    auto find = [&](std::int32_t i) {
        while (label[i] != i) i = label[i] = label[label[i]];
        return i;
    };
    for (std::size_t i = 0; i < n; ++i) {
        if (i % 65536 == 0) interrupt();
        for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
            const std::int32_t a = find(static_cast<std::int32_t>(i)), b = find(indices[e]);
            if (a < b) label[b] = a;
            if (b < a) label[a] = b;
        }
    }
    // A root is the smallest node of its component, so it is met, and numbered, first.
    std::int32_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::int32_t parent = label[i];
        label[i] = parent == static_cast<std::int32_t>(i) ? count++ : label[parent];
    }
    return label;
}

// Sorts every row of a matrix of k neighbours a row by column, with its values.
inline void sort_rows(std::int32_t* indices, float* value, std::size_t n, std::size_t k) {
    std::vector<std::pair<std::int32_t, float>> row(k);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t c = 0; c < k; ++c) row[c] = {indices[i * k + c], value[i * k + c]};
        std::sort(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (std::size_t c = 0; c < k; ++c) std::tie(indices[i * k + c], value[i * k + c]) = row[c];
    }
}

}  // namespace ramify
