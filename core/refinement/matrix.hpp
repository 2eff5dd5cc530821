// Weights from a matrix of all pairs: the source of PairWeights for every part of a tree.
#pragma once
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "refinement/control.hpp"
#include "refinement/pairs.hpp"
#include "refinement/parts.hpp"

namespace cladify::refine {

// n x n, symmetric; the diagonal is not read. A leaf counts `weight` times; `sign` is that of all weights.
template <typename T>
struct Matrix {
    const T* value;
    std::size_t n;
    std::span<const double> weight;
    double sign;
};

template <typename T>
class MatrixSource {
public:
    explicit MatrixSource(const Matrix<T>& matrix) : matrix_(matrix) {}

    void cut(const BinaryTree& tree, const std::vector<Part>&, Control&) { order_ = LeafOrder(tree); }

    PairWeights weights(const Part& part, const BinaryTree& local, Control& control) const {
        const std::size_t m = part.members.size();
        std::vector<double> pairs(m * m, 0.0);
        for (std::size_t i = 0; i + 1 < m && !control.failed(); ++i) {
            const Node v = part.members[i];
            for (Node p = order_.first[v]; p < order_.first[v] + order_.count[v]; ++p)
                add_row(part, i, order_.leaf[p], pairs.data() + i * m);
            for (std::size_t j = i + 1; j < m; ++j) pairs[j * m + i] = pairs[i * m + j];
        }
        return PairWeights(local, DenseRows(static_cast<Node>(m), std::move(pairs)));
    }

private:
    // The pairs of leaf a, in member i, with the members after it.
    void add_row(const Part& part, std::size_t i, Node a, double* out) const {
        const T* row = matrix_.value + static_cast<std::size_t>(a) * matrix_.n;
        const double own = matrix_.sign * matrix_.weight[a];
        for (std::size_t j = i + 1; j < part.members.size(); ++j) {
            const Node v = part.members[j];
            double sum = 0.0;
            for (Node p = order_.first[v]; p < order_.first[v] + order_.count[v]; ++p) {
                const Node b = order_.leaf[p];
                sum += matrix_.weight[b] * static_cast<double>(row[b]);
            }
            out[j] += own * sum;
        }
    }

    Matrix<T> matrix_;
    LeafOrder order_;
};

}  // namespace cladify::refine
