// Weights given pair by pair: W(S, u) from the pairs of the leaves of S.
//
// The rows of the leaves of S are added up, and what arrives at a leaf is passed on to the nodes above it: nothing has
// to be kept up to date when subtrees move, and on a sparse graph only the nodes above neighbours of S are touched.
// `Rows` says how the pairs are stored: every one (DenseRows), or those that are not 0 (SparseRows).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "refine_tree.hpp"
#include "refine_weights.hpp"

namespace ramify::refine {

// The pairs of a leaf, for all n leaves of a tree: n x n weights, the diagonal 0.
class DenseRows {
public:
    DenseRows(Node n, std::vector<double> weight) : n_(n), weight_(std::move(weight)) {}

    bool complete() const { return true; }
    template <typename F>
    void each(Node leaf, F&& use) const {
        const double* row = weight_.data() + static_cast<std::size_t>(leaf) * n_;
        for (Node j = 0; j < n_; ++j)
            if (j != leaf) use(j, row[j]);
    }

    // A sum of rows; `touched` are the leaves where it may not be 0.
    struct Sum {
        std::vector<Node> touched;
        std::vector<double> value;
        void add_row(const DenseRows& rows, Node leaf) {
            if (touched.empty()) {
                value.assign(rows.n_, 0.0);
                for (Node j = 0; j < rows.n_; ++j) touched.push_back(j);
            }
            const double* row = rows.weight_.data() + static_cast<std::size_t>(leaf) * rows.n_;
            double* out = value.data();
            for (Node j = 0; j < rows.n_; ++j) out[j] += row[j];
        }
        void clear() { touched.clear(); }
    };

private:
    Node n_;
    std::vector<double> weight_;
};

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
    void clear() {
        for (Node j : touched) value[j] = 0.0, seen_[j] = 0;
        touched.clear();
    }

private:
    std::vector<char> seen_;
};

class SparseRows {
public:
    // Pairs of leaf i: those in [start[i], start[i + 1]).
    SparseRows(std::vector<std::int64_t> start, std::vector<Node> to, std::vector<double> weight)
        : start_(std::move(start)), to_(std::move(to)), weight_(std::move(weight)) {}

    Node size() const { return static_cast<Node>(start_.size()) - 1; }
    bool complete() const { return std::ssize(to_) == static_cast<std::int64_t>(size()) * (size() - 1); }
    template <typename F>
    void each(Node leaf, F&& use) const {
        for (std::int64_t e = start_[leaf]; e < start_[leaf + 1]; ++e) use(to_[e], weight_[e]);
    }

    struct Sum : SparseSum {
        void add_row(const SparseRows& rows, Node leaf) {
            resize(rows.size());
            rows.each(leaf, [this](Node j, double w) { add(j, w); });
        }
    };

private:
    std::vector<std::int64_t> start_;
    std::vector<Node> to_;
    std::vector<double> weight_;
};

// Values put on some leaves, and their sums over all nodes above these.
template <typename Value>
class Lifted {
public:
    Value& leaf(Node v) {
        const bool is_new = slot_[v] == kNone;
        Value& value = value_[slot_of(v)];
        if (is_new) ++leaves_;
        return value;
    }
    void lift(const BinaryTree& tree) {
        for (std::size_t i = 0; i < leaves_; ++i)
            for (Node a = tree.parent[node_[i]]; a != kNone; a = tree.parent[a]) {
                const bool seen = slot_[a] != kNone;
                ++missing_[slot_of(a)];
                if (seen) break;
            }
        // A node passes its sum on when all that it waits for is there.
        for (std::size_t i = 0; i < leaves_; ++i)
            for (Node v = node_[i], a = tree.parent[v]; a != kNone; v = a, a = tree.parent[a]) {
                const Node to = slot_[a];
                add(value_[to], value_[slot_[v]]);
                if (--missing_[to] > 0) break;
            }
    }
    // nullptr: nothing below.
    const Value* at(Node v) const { return slot_[v] == kNone ? nullptr : &value_[slot_[v]]; }

    void clear(const BinaryTree& tree) {
        slot_.resize(tree.nodes(), kNone);
        for (Node v : node_) slot_[v] = kNone;
        node_.clear();
        value_.clear();
        missing_.clear();
        leaves_ = 0;
    }

private:
    static void add(double& sum, double x) { sum += x; }
    static void add(Lanes& sum, const Lanes& x) {
        for (int l = 0; l < kLanes; ++l) sum[l] += x[l];
    }
    Node slot_of(Node v) {
        if (slot_[v] == kNone) {
            slot_[v] = static_cast<Node>(node_.size());
            node_.push_back(v);
            value_.push_back(Value{});
            missing_.push_back(0);
        }
        return slot_[v];
    }

    std::vector<Node> slot_;  // of a node: its place in the lists below, which hold the leaves first
    std::vector<Node> node_;
    std::vector<Value> value_;
    std::vector<Node> missing_;  // children of the node that have not passed on their sums
    std::size_t leaves_ = 0;
};

template <typename Rows>
class PairWeights {
public:
    PairWeights(const BinaryTree& tree, Rows rows) : rows_(std::move(rows)) {
        double low = std::numeric_limits<double>::infinity();
        for (Node i = 0; i < tree.leaves; ++i)
            rows_.each(i, [&](Node j, double w) {
                const double mean = w / (tree.size[i] * tree.size[j]);
                low = std::min(low, mean);
                magnitude_ = std::max(magnitude_, std::abs(mean));
            });
        least_ = rows_.complete() && tree.leaves > 1 ? low : std::min(low, 0.0);
    }

    // Every pair counts for the node where it meets, found from the smaller side.
    void refresh(BinaryTree& tree) {
        const LeafOrder order(tree);
        for (Node v = tree.leaves; v < tree.nodes(); ++v) {
            Node small = tree.left[v], large = tree.right[v];
            if (order.count[small] > order.count[large]) std::swap(small, large);
            double sum = 0.0;
            for (Node p = order.first[small]; p < order.first[small] + order.count[small]; ++p)
                rows_.each(order.leaf[p], [&](Node j, double w) {
                    if (order.holds(large, j)) sum += w;
                });
            tree.cross[v] = sum;
        }
    }
    double magnitude() const { return magnitude_; }

    class Batch {
    public:
        void load(const PairWeights& weights, const BinaryTree& tree, const Subtrees& subtrees) {
            least_ = weights.least_;
            lifted_.clear(tree);
            for (int l = 0; l < kLanes; ++l) {
                if (l > 0 && subtrees[l] == subtrees[l - 1]) continue;  // an unused lane
                weights.gather(tree, subtrees[l], sum_, stack_);
                for (Node j : sum_.touched) lifted_.leaf(j)[l] = sum_.value[j];
                sum_.clear();
            }
            lifted_.lift(tree);
        }
        void with(Node u, Lanes& out) const {
            const Lanes* found = lifted_.at(u);
            out = found ? *found : Lanes{};
        }
        double with(Node u, int lane) const {
            const Lanes* found = lifted_.at(u);
            return found ? (*found)[lane] : 0.0;
        }
        void floor(Node, Lanes& out) const { out.fill(least_); }

    private:
        double least_ = 0.0;
        Lifted<Lanes> lifted_;
        typename Rows::Sum sum_;
        std::vector<Node> stack_;
    };

    void focus(const BinaryTree& tree, Node subtree) {
        lifted_.clear(tree);
        gather(tree, subtree, sum_, stack_);
        for (Node j : sum_.touched) lifted_.leaf(j) = sum_.value[j];
        sum_.clear();
        lifted_.lift(tree);
    }
    double with(Node u) const {
        const double* found = lifted_.at(u);
        return found ? *found : 0.0;
    }

    void gain(Node, Node) {}
    void lose(Node, Node) {}
    void join(Node, Node, Node) {}

private:
    void gather(const BinaryTree& tree, Node subtree, typename Rows::Sum& sum, std::vector<Node>& stack) const {
        stack.assign(1, subtree);
        while (!stack.empty()) {
            const Node v = stack.back();
            stack.pop_back();
            if (tree.is_leaf(v)) {
                sum.add_row(rows_, v);
            } else {
                stack.push_back(tree.left[v]);
                stack.push_back(tree.right[v]);
            }
        }
    }

    Rows rows_;
    double least_ = 0.0, magnitude_ = 0.0;
    Lifted<double> lifted_;  // of the subtree in focus
    typename Rows::Sum sum_;
    std::vector<Node> stack_;
};

}  // namespace ramify::refine
