// Sources of the weights between subtrees, and their common interface.
//
// W(A, B) is the sum of w over the pairs of A x B. A source gives W(S, u) for a batch of subtrees S at once (`Batch`,
// for the way down the tree) and for one S (`focus`, then `with`), and is notified when a node gains or loses a
// subtree. `refresh` works out what the source keeps, and the cross weights of the tree, free of what many moves have
// left behind. W(S, S) counts every pair twice, with whatever the source takes for w_ii: it is only ever taken off
// again. `Batch::floor` makes the search quick: a lower bound of the mean weight both between S and the leaves
// below u and among those leaves. `magnitude` bounds |w| and the terms it is summed from, to separate gains from
// rounding.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "refinement/control.hpp"
#include "refinement/tree.hpp"

namespace cladify::refine {

// Subtrees scanned together: a whole number of vector registers, and enough to reuse each loaded row.
constexpr int kLanes = 16;
using Lanes = std::array<double, kLanes>;
using Subtrees = std::array<Node, kLanes>;

// w_ij = shift + offset_i + offset_j + scale <z_i, z_j>. A node's row is [sum z, size, sum offset], so that W(S, u) is
// the dot product of the row of u with [scale sum z, shift size + sum offset, size] of S.
class FeatureWeights {
public:
    // `rows`: one row a leaf.
    FeatureWeights(const BinaryTree& tree, std::size_t width, double scale, double shift, std::vector<double> rows)
        : width_(width),
          scale_(scale),
          shift_(shift),
          rows_(std::move(rows)),
          reach_(tree.nodes()),
          low_(tree.nodes()) {
        rows_.resize(static_cast<std::size_t>(tree.nodes()) * width_);
        double offset = 0.0, norm = 0.0;
        for (Node v = 0; v < tree.leaves; ++v) {
            reach_[v] = mean_norm(v);
            low_[v] = mean_offset(v);
            offset = std::max(offset, std::abs(low_[v]));
            norm = std::max(norm, reach_[v]);
        }
        magnitude_ = std::abs(shift_) + 2.0 * offset + std::abs(scale_) * norm * norm;
    }

    void refresh(BinaryTree& tree, Control&) {
        for (Node v : tree.postorder())
            if (!tree.is_leaf(v)) {
                join(v, tree.left[v], tree.right[v]);
                tree.cross[v] = between(tree.left[v], tree.right[v]);
            }
    }
    double magnitude() const { return magnitude_; }

    class Batch {
    public:
        void load(const FeatureWeights& weights, const BinaryTree&, const Subtrees& subtrees) {
            weights_ = &weights;
            subtrees_ = subtrees;
            const std::size_t k = weights.width_ - 2;
            query_.resize(weights.width_);
            for (int l = 0; l < kLanes; ++l) {
                const double* row = weights.row(subtrees[l]);
                for (std::size_t j = 0; j < k; ++j) query_[j][l] = weights.scale_ * row[j];
                query_[k][l] = weights.shift_ * row[k] + row[k + 1];
                query_[k + 1][l] = row[k];
                norm_[l] = std::abs(weights.scale_) * weights.mean_norm(subtrees[l]);
                offset_[l] = weights.mean_offset(subtrees[l]);
            }
        }
        void with(Node u, Lanes& out) const {
            const double* row = weights_->row(u);
            const std::size_t width = weights_->width_;
            // Two sums a lane: one chain of multiply-adds would wait for itself.
            Lanes even{}, odd{};
            std::size_t j = 0;
            for (; j + 1 < width; j += 2) {
                const double a = row[j], b = row[j + 1];
                for (int l = 0; l < kLanes; ++l) even[l] += a * query_[j][l];
                for (int l = 0; l < kLanes; ++l) odd[l] += b * query_[j + 1][l];
            }
            if (j < width)
                for (int l = 0; l < kLanes; ++l) even[l] += row[j] * query_[j][l];
            for (int l = 0; l < kLanes; ++l) out[l] = even[l] + odd[l];
        }
        double with(Node u, int lane) const { return weights_->between(subtrees_[lane], u); }
        void floor(Node u, Lanes& out) const {
            const double reach = weights_->reach_[u], low = weights_->shift_ + weights_->low_[u];
            const double inside = low + weights_->low_[u] - std::abs(weights_->scale_) * reach * reach;
            for (int l = 0; l < kLanes; ++l) out[l] = std::min(inside, low + offset_[l] - norm_[l] * reach);
        }

    private:
        const FeatureWeights* weights_ = nullptr;
        Subtrees subtrees_{};
        Lanes norm_{}, offset_{};
        std::vector<Lanes> query_;
    };

    void focus(const BinaryTree&, Node subtree) { focus_ = subtree; }
    double with(Node u) const { return between(focus_, u); }

    void gain(Node v, Node subtree) {
        add(v, subtree, 1.0);
        widen(v, subtree);
    }
    void lose(Node v, Node subtree) { add(v, subtree, -1.0); }  // the bounds stay true, if no longer the best
    void join(Node v, Node a, Node b) {
        double* out = row(v);
        const double *x = row(a), *y = row(b);
        for (std::size_t j = 0; j < width_; ++j) out[j] = x[j] + y[j];
        reach_[v] = reach_[a];
        low_[v] = low_[a];
        widen(v, b);
    }

private:
    double between(Node a, Node b) const {
        const double *x = row(a), *y = row(b);
        const std::size_t k = width_ - 2;
        // Eight sums, so that the compiler may use vectors without reordering anything itself.
        double part[8] = {};
        std::size_t j = 0;
        for (; j + 7 < k; j += 8)
            for (int i = 0; i < 8; ++i) part[i] += x[j + i] * y[j + i];
        double sum = 0.0;
        for (; j < k; ++j) sum += x[j] * y[j];
        for (double p : part) sum += p;
        return scale_ * sum + (shift_ * x[k] + x[k + 1]) * y[k] + x[k] * y[k + 1];
    }
    void add(Node v, Node subtree, double sign) {
        double* out = row(v);
        const double* x = row(subtree);
        for (std::size_t j = 0; j < width_; ++j) out[j] += sign * x[j];
    }
    void widen(Node v, Node subtree) {
        reach_[v] = std::max(reach_[v], reach_[subtree]);
        low_[v] = std::min(low_[v], low_[subtree]);
    }
    double mean_norm(Node v) const {
        const double* r = row(v);
        double sum = 0.0;
        for (std::size_t j = 0; j + 2 < width_; ++j) sum += r[j] * r[j];
        return std::sqrt(sum) / r[width_ - 2];
    }
    double mean_offset(Node v) const { return row(v)[width_ - 1] / row(v)[width_ - 2]; }
    const double* row(Node v) const { return rows_.data() + static_cast<std::size_t>(v) * width_; }
    double* row(Node v) { return rows_.data() + static_cast<std::size_t>(v) * width_; }

    std::size_t width_;
    double scale_, shift_, magnitude_ = 0.0;
    std::vector<double> rows_;
    std::vector<double> reach_, low_;  // the longest mean z and the smallest mean offset of the leaves below
    Node focus_ = kNone;
};

}  // namespace cladify::refine
