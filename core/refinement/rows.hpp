// How the pairs of leaves are stored, and W(S, j) of a subtree S with every leaf j.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "refinement/control.hpp"
#include "refinement/tree.hpp"

namespace cladify::refine {

// Every pair. All nodes have a row, the sum of those of their leaves, which moves keep up to date.
class DenseRows {
public:
    struct Scratch {};

    // `rows`: n x n weights, the diagonal 0.
    DenseRows(Node n, std::vector<double> rows) : n_(n), rows_(std::move(rows)) {
        rows_.resize(static_cast<std::size_t>(2 * n_ - 1) * n_);
    }

    template <typename F>
    void each(Node leaf, F&& use) const {
        for (Node j = 0; j < n_; ++j)
            if (j != leaf) use(j, row(leaf)[j]);
    }
    template <typename F>
    void each_with(const BinaryTree&, Node subtree, Scratch&, F&& use) const {
        const double* w = row(subtree);
        for (Node j = 0; j < n_; ++j) use(j, w[j]);
    }

    void refresh(BinaryTree& tree, Control& control) {
        const LeafOrder order(tree);
        for (Node v : tree.postorder()) {
            if (tree.is_leaf(v)) continue;
            if (control.failed()) return;
            Node small = tree.left[v], large = tree.right[v];
            if (order.count[small] > order.count[large]) std::swap(small, large);
            join(v, small, large);
            double sum = 0.0;
            for (Node p = order.first[small]; p < order.first[small] + order.count[small]; ++p)
                sum += row(large)[order.leaf[p]];
            tree.cross[v] = sum;
        }
    }
    void gain(Node v, Node subtree) { add(v, subtree, 1.0); }
    void lose(Node v, Node subtree) { add(v, subtree, -1.0); }
    void join(Node v, Node a, Node b) {
        double* out = row(v);
        const double *x = row(a), *y = row(b);
        for (Node j = 0; j < n_; ++j) out[j] = x[j] + y[j];
    }

private:
    void add(Node v, Node subtree, double sign) {
        double* out = row(v);
        const double* x = row(subtree);
        for (Node j = 0; j < n_; ++j) out[j] += sign * x[j];
    }
    const double* row(Node v) const { return rows_.data() + static_cast<std::size_t>(v) * n_; }
    double* row(Node v) { return rows_.data() + static_cast<std::size_t>(v) * n_; }

    Node n_;
    std::vector<double> rows_;
};

// A row being added up that is mostly 0.
struct SparseSum {
    std::vector<Node> touched;
    std::vector<double> value;

    void resize(Node n) {
        value.resize(n, 0.0);
        seen_.resize(n, 0);
    }
    void add(Node j, double w) {
        if (!seen_[j]) {
            seen_[j] = 1;
            touched.push_back(j);
        }
        value[j] += w;
    }
    template <typename F>
    void in_order(F&& use) {
        if (touched.size() * kSparse > value.size()) {
            for (Node j = 0; j < static_cast<Node>(value.size()); ++j)
                if (seen_[j]) use(j, value[j]);
            return;
        }
        std::sort(touched.begin(), touched.end());
        for (Node j : touched) use(j, value[j]);
    }
    void clear() {
        for (Node j : touched) value[j] = 0.0, seen_[j] = 0;
        touched.clear();
    }

private:
    static constexpr std::size_t kSparse = 16;  // one in so many: looking at all takes about as long as sorting
    std::vector<char> seen_;
};

// The pairs that are not 0. Only leaves have rows: moves change nothing, and a subtree adds up those of its leaves.
class SparseRows {
public:
    struct Scratch {
        SparseSum sum;
        std::vector<Node> stack;
    };

    // Pairs of leaf i: those in [start[i], start[i + 1]).
    SparseRows(std::vector<std::int64_t> start, std::vector<Node> to, std::vector<double> weight)
        : start_(std::move(start)), to_(std::move(to)), weight_(std::move(weight)) {}

    template <typename F>
    void each(Node leaf, F&& use) const {
        for (std::int64_t e = start_[leaf]; e < start_[leaf + 1]; ++e) use(to_[e], weight_[e]);
    }
    // The pairs of a leaf in another order.
    template <typename F>
    void put(Node leaf, F&& pair) {
        for (std::int64_t e = start_[leaf]; e < start_[leaf + 1]; ++e)
            std::tie(to_[e], weight_[e]) = pair(static_cast<std::size_t>(e - start_[leaf]));
    }
    template <typename F>
    void each_with(const BinaryTree& tree, Node subtree, Scratch& scratch, F&& use) const {
        auto& [sum, stack] = scratch;
        sum.resize(tree.leaves);
        stack.assign(1, subtree);
        while (!stack.empty()) {
            const Node v = stack.back();
            stack.pop_back();
            if (tree.is_leaf(v)) {
                each(v, [&](Node j, double w) { sum.add(j, w); });
            } else {
                stack.push_back(tree.left[v]);
                stack.push_back(tree.right[v]);
            }
        }
        for (Node j : sum.touched) use(j, sum.value[j]);
        sum.clear();
    }

    // Every pair counts for the node where it meets.
    void refresh(BinaryTree& tree, Control& control) {
        const Meets meets(tree);
        std::fill(tree.cross.begin(), tree.cross.end(), 0.0);
        for (Node rank = 0; rank < tree.leaves; ++rank) {
            if (rank % 4096 == 0 && control.failed()) return;
            each(meets.leaf(rank), [&](Node j, double w) {
                if (meets.rank(j) > rank) tree.cross[meets.at(rank, meets.rank(j))] += w;
            });
        }
    }

private:
    std::vector<std::int64_t> start_;
    std::vector<Node> to_;
    std::vector<double> weight_;
};

// Bounds of the mean weights of two leaves; those of pairs not given are 0.
struct MeanWeights {
    double least = 0.0, magnitude = 0.0;

    template <typename Rows>
    MeanWeights(const BinaryTree& tree, const Rows& rows) {
        for (Node i = 0; i < tree.leaves; ++i)
            rows.each(i, [&](Node j, double w) {
                const double mean = w / (tree.size[i] * tree.size[j]);
                least = std::min(least, mean);
                magnitude = std::max(magnitude, std::abs(mean));
            });
    }
};

}  // namespace cladify::refine
