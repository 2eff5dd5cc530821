// Distances and inner products of chosen pairs of rows in float64, and the choice of the k best among candidates.
//
// The rows may be float32 or float64; a factor a row (one over its length, for cosine) is applied in float64 as well.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/finite.hpp"
#include "common/vectors.hpp"
#include "data/topk.hpp"

namespace cladify {

// Dense rows; `factor` is null when every row counts as it is.
template <typename T>
struct DenseRows {
    const T* values;
    std::size_t width;
    const double* factor;
    double scale(std::int64_t i) const { return factor ? factor[i] : 1.0; }
};

// CSR rows with sorted columns.
template <typename T>
struct SparseRows {
    const T* values;
    const std::int32_t* columns;
    const std::int64_t* indptr;
    const double* factor;
    double scale(std::int64_t i) const { return factor ? factor[i] : 1.0; }
};

template <typename T>
double squared_distance(const DenseRows<T>& A, std::int64_t i, const DenseRows<T>& B, std::int64_t j) {
    const T* a = A.values + i * A.width;
    const T* b = B.values + j * B.width;
    if (!A.factor)
        return sum_of(A.width, [&](std::size_t c) {
            const double gap = static_cast<double>(a[c]) - static_cast<double>(b[c]);
            return gap * gap;
        });
    double p = A.scale(i), q = B.scale(j);
    if (b < a) {  // p a - q b may round otherwise than q b - p a: always the same one of the two
        std::swap(a, b);
        std::swap(p, q);
    }
    return sum_of(A.width, [&](std::size_t c) {
        const double gap = p * static_cast<double>(a[c]) - q * static_cast<double>(b[c]);
        return gap * gap;
    });
}

template <typename T>
double inner_product(const DenseRows<T>& A, std::int64_t i, const DenseRows<T>& B, std::int64_t j) {
    const T* a = A.values + i * A.width;
    const T* b = B.values + j * B.width;
    return A.scale(i) * B.scale(j) *
           sum_of(A.width, [&](std::size_t c) { return static_cast<double>(a[c]) * static_cast<double>(b[c]); });
}

// Asks for a row's memory ahead of its use: candidates lie all over the data.
template <typename T>
void prefetch(const DenseRows<T>& A, std::int64_t i) {
    const char* row = reinterpret_cast<const char*>(A.values + i * A.width);
    const std::size_t bytes = std::min<std::size_t>(A.width * sizeof(T), 1024);
    for (std::size_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(row + byte);
}

// Some rows as a search by float32 products takes them: times their factor, less the centre (null: 0), times the unit.
template <typename T>
void prepare(const DenseRows<T>& rows, const double* centre, double unit, const std::int32_t* id, std::size_t count,
             float* out) {
    for (std::size_t i = 0; i < count; ++i, out += rows.width) {
        if (i + 4 < count) prefetch(rows, id[i + 4]);
        const T* row = rows.values + id[i] * rows.width;
        const double scale = rows.scale(id[i]);
        if (centre)
            for (std::size_t c = 0; c < rows.width; ++c)
                out[c] = static_cast<float>((static_cast<double>(row[c]) * scale - centre[c]) * unit);
        else
            for (std::size_t c = 0; c < rows.width; ++c)
                out[c] = static_cast<float>(static_cast<double>(row[c]) * scale * unit);
    }
}

template <typename T>
void prefetch(const SparseRows<T>& A, std::int64_t i) {
    __builtin_prefetch(A.values + A.indptr[i]);
    __builtin_prefetch(A.columns + A.indptr[i]);
}

// Calls visit(a, b) for every column that one of the two rows has.
template <typename T, typename Visit>
void merge_rows(const SparseRows<T>& A, std::int64_t i, const SparseRows<T>& B, std::int64_t j, Visit visit) {
    std::int64_t p = A.indptr[i], q = B.indptr[j];
    const std::int64_t p_end = A.indptr[i + 1], q_end = B.indptr[j + 1];
    while (p < p_end || q < q_end) {
        const bool left = q == q_end || (p < p_end && A.columns[p] <= B.columns[q]);
        const bool right = p == p_end || (q < q_end && B.columns[q] <= A.columns[p]);
        visit(left ? static_cast<double>(A.values[p]) : 0.0, right ? static_cast<double>(B.values[q]) : 0.0);
        p += left;
        q += right;
    }
}

template <typename T>
double squared_distance(const SparseRows<T>& A, std::int64_t i, const SparseRows<T>& B, std::int64_t j) {
    const double f = A.scale(i), g = B.scale(j);
    double sum = 0;
    merge_rows(A, i, B, j, [&](double a, double b) { sum += (f * a - g * b) * (f * a - g * b); });
    return sum;
}

template <typename T>
double inner_product(const SparseRows<T>& A, std::int64_t i, const SparseRows<T>& B, std::int64_t j) {
    double sum = 0;
    merge_rows(A, i, B, j, [&](double a, double b) { sum += a * b; });
    return A.scale(i) * B.scale(j) * sum;
}

// The float32 scores of a search, from which a row's result is known to be exact or not.
struct Scores {
    bool distances;        // score = <z_i, z_j> - |z_j|^2/2 (nearest first), else <z_i, z_j> (largest first)
    double unit;           // z is the row times this (and centred)
    double error;          // relative rounding error of a score
    double longest;        // the largest |z_j|
    const double* length;  // |z_i| of every query
};

// The best k of each query's candidates by the float64 value, ties to the smaller id, best first. `sure[i]` says that
// no row outside the candidates can belong there: its score was at most the smallest kept one, up to rounding.
template <typename Rows>
void decide(const Rows& queries, const Rows& base, const std::int32_t* query_id, std::size_t count, const Key* keys,
            std::size_t capacity, std::size_t k, const Scores& scores, std::int32_t* best, double* value,
            std::uint8_t* sure) {
    std::vector<std::pair<double, std::int32_t>> candidates;
    for (std::size_t i = 0; i < count; ++i) {
        const Key* heap = keys + i * capacity;
        candidates.clear();
        for (std::size_t c = 0; c < capacity; ++c) {
            const std::size_t ahead = c + 4;
            if (ahead < capacity && heap[ahead] != 0) prefetch(base, key_id(heap[ahead]));
            if (heap[c] == 0) continue;
            const std::int32_t j = key_id(heap[c]);
            const double exact = scores.distances ? squared_distance(queries, query_id[i], base, j)
                                                  : -inner_product(queries, query_id[i], base, j);
            candidates.emplace_back(not_above_largest(exact), j);
        }
        std::sort(candidates.begin(), candidates.end());
        const std::size_t found = std::min(k, candidates.size());
        for (std::size_t c = 0; c < k; ++c) {
            best[i * k + c] = c < found ? candidates[c].second : -1;
            value[i * k + c] = c < found ? (scores.distances ? 1.0 : -1.0) * candidates[c].first : 0.0;
        }
        sure[i] = 1;
        if (heap[0] == 0 || found == 0) continue;  // every row was a candidate
        const double outside = key_score(heap[0]);
        const double length = scores.length[i];
        const double scale = scores.unit * scores.unit;
        const double last = candidates[found - 1].first * scale;
        if (scores.distances) {
            // A row nearer than the last one is no longer than |z_i| plus that distance.
            const double reach = std::min(scores.longest, length + std::sqrt(last));
            const double slack = scores.error * reach * (length + reach);
            sure[i] = last < length * length - 2 * (outside + slack);
        } else {
            sure[i] = -last > outside + scores.error * length * scores.longest;
        }
    }
}

}  // namespace cladify
