// Weights of a sparse graph, for moves of subtrees whose ends are known from a scan.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "refinement/control.hpp"
#include "refinement/pairs.hpp"
#include "refinement/rows.hpp"
#include "refinement/snapshot.hpp"
#include "refinement/tree.hpp"

namespace cladify::refine {

// A leaf outside of a subtree that the subtree has edges to.
struct End {
    Node rank;  // from left to right
    double weight;
};

// The ends of a subtree, from left to right: those below any node are a run of them, and the sum of their weights is
// the difference of two running sums.
class EndSums {
public:
    void set(std::span<const End> ends) {
        ends_ = ends;
        before_.resize(ends.size() + 1);
        before_[0] = 0.0;
        for (std::size_t i = 0; i < ends.size(); ++i) before_[i + 1] = before_[i] + ends[i].weight;
    }
    Node count() const { return static_cast<Node>(ends_.size()); }
    Node rank(Node i) const { return ends_[i].rank; }
    double between(Node low, Node high) const { return before_[high] - before_[low]; }
    // The first of the ends in [low, high) whose rank is not below the given one.
    Node at(Node rank, Node low, Node high) const {
        return static_cast<Node>(
            std::partition_point(ends_.begin() + low, ends_.begin() + high, [&](End e) { return e.rank < rank; }) -
            ends_.begin());
    }

private:
    std::span<const End> ends_;
    std::vector<double> before_;
};

class GraphWeights {
public:
    GraphWeights(const BinaryTree& tree, SparseRows rows) : rows_(std::move(rows)), mean_(tree, rows_) {}

    void refresh(BinaryTree& tree, Control& control) { rows_.refresh(tree, control); }
    double magnitude() const { return mean_.magnitude; }
    double least() const { return mean_.least; }
    SparseRows& rows() { return rows_; }

    // Subtrees that were scanned on this view of the tree are going to move.
    void start(Snapshot& view) {
        view_ = &view;
        ++round_;
        changed_.resize(view.place.size(), 0);
        moved_.assign(view.leaf.size(), 0);
    }

    // Ends that have not moved since the scan are below the nodes that they were below then: only the others are looked
    // for in the tree as it is now. Of a subtree that has changed itself, these are all.
    void focus(const BinaryTree& tree, Node subtree, std::span<const End> ends) {
        lifted_.clear(tree);
        own_.clear();
        resting_.clear();
        if (changed_[subtree] == round_) {
            rows_.each_with(tree, subtree, scratch_, [&](Node j, double w) { lifted_.leaf(j) = w; });
            add_leaves(tree, subtree);
        } else {
            const Snapshot::Spot& spot = view_->spot[view_->place[subtree]];
            own_.assign(view_->leaf.begin() + spot.first, view_->leaf.begin() + spot.first + spot.leaves);
            for (const End& e : ends)
                if (moved_[e.rank])
                    lifted_.leaf(view_->leaf[e.rank]) = e.weight;
                else
                    resting_.push_back(e);
        }
        lifted_.lift(tree);
        sums_.set(resting_);
    }
    double with(Node u) const {
        const double* found = lifted_.at(u);
        const Snapshot::Spot& spot = view_->spot[view_->place[u]];
        const Node low = sums_.at(spot.first, 0, sums_.count());
        return sums_.between(low, sums_.at(spot.first + spot.leaves, low, sums_.count())) + (found ? *found : 0.0);
    }

    void gain(Node v, Node) { changed_[v] = round_; }
    void lose(Node v, Node) { changed_[v] = round_; }
    // The subtree in focus comes to stand beside u: of what has not moved, their parent v holds what u does.
    void join(Node v, Node u, Node) {
        changed_[v] = round_;
        view_->place[v] = view_->place[u];
        for (Node leaf : own_) moved_[view_->rank[leaf]] = 1;
    }

private:
    void add_leaves(const BinaryTree& tree, Node subtree) {
        for (Node v = tree.first_below(subtree); v != subtree; v = tree.next_up(v))
            if (tree.is_leaf(v)) own_.push_back(v);
        if (tree.is_leaf(subtree)) own_.push_back(subtree);
    }

    SparseRows rows_;
    MeanWeights mean_;
    Snapshot* view_ = nullptr;
    std::int64_t round_ = 0;
    std::vector<std::int64_t> changed_;  // of a node: the last round in which leaves came in or went out below it
    std::vector<char> moved_;            // of a leaf, by its rank: it has moved in this round
    // Of the subtree in focus: its leaves, the ends that rest where they were, and the others.
    std::vector<Node> own_;
    std::vector<End> resting_;
    EndSums sums_;
    Lifted<double> lifted_;
    SparseRows::Scratch scratch_;
};

}  // namespace cladify::refine
