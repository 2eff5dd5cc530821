// Weights given pair by pair: W(S, u) from the weights of S with every leaf, passed on to all nodes above.
#pragma once
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "refinement/rows.hpp"
#include "refinement/tree.hpp"
#include "refinement/weights.hpp"

namespace cladify::refine {

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

class PairWeights {
public:
    PairWeights(const BinaryTree& tree, DenseRows rows) : rows_(std::move(rows)), mean_(tree, rows_) {}

    void refresh(BinaryTree& tree, Control& control) { rows_.refresh(tree, control); }
    double magnitude() const { return mean_.magnitude; }

    class Batch {
    public:
        void load(const PairWeights& weights, const BinaryTree& tree, const Subtrees& subtrees) {
            least_ = weights.mean_.least;
            lifted_.clear(tree);
            for (int l = 0; l < kLanes; ++l) {
                if (l > 0 && subtrees[l] == subtrees[l - 1]) continue;  // an unused lane
                weights.rows_.each_with(tree, subtrees[l], scratch_, [&](Node j, double w) { lifted_.leaf(j)[l] = w; });
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
        DenseRows::Scratch scratch_;
    };

    void focus(const BinaryTree& tree, Node subtree) {
        lifted_.clear(tree);
        rows_.each_with(tree, subtree, scratch_, [&](Node j, double w) { lifted_.leaf(j) = w; });
        lifted_.lift(tree);
    }
    double with(Node u) const {
        const double* found = lifted_.at(u);
        return found ? *found : 0.0;
    }

    void gain(Node v, Node subtree) { rows_.gain(v, subtree); }
    void lose(Node v, Node subtree) { rows_.lose(v, subtree); }
    void join(Node v, Node a, Node b) { rows_.join(v, a, b); }

private:
    DenseRows rows_;
    MeanWeights mean_;
    Lifted<double> lifted_;  // of the subtree in focus
    DenseRows::Scratch scratch_;
};

}  // namespace cladify::refine
