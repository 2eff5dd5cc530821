// Points that arrive one at a time, as in PERCH: beside their nearest neighbour; then a node that is surely closer to
// its aunt than to its sibling changes the two (masking), and so does one where that makes the tree more balanced and
// masks nobody (balance). Where only so many leaves may be kept apart, the two siblings nearest to each other become
// one whenever there are more (collapse).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "mutable/tree.hpp"
#include "online/linkage.hpp"

namespace cladify::online {

// The tree is binary but for collapsed nodes, whose children are leaves and which have a weight (`cross`) of 1; they
// and the leaves elsewhere are the ends of the tree. `Linkage` of two leaves is their similarity.
template <typename Linkage>
class Percher {
public:
    static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

    // `most`: ends that are kept apart.
    Percher(live::Tree& tree, Linkage linkage, bool balance, std::int64_t most)
        : tree_(tree), linkage_(linkage), balance_(balance), most_(most) {
        if (most_ == kAll || tree_.root == kNone) return;
        for (Node v = tree_.first_below(tree_.root);; v = tree_.next_up(v)) {
            ends_ += is_end(v) && (v == tree_.root || !is_end(tree_.parent[v]));
            offer(v);
            if (v == tree_.root) break;
        }
    }

    std::int64_t maskings = 0, balancings = 0, collapses = 0;

    // Puts leaf `x`, which hangs nowhere, beside `at`, or beside the root where that is none.
    void insert(Node x, Node at) {
        if (tree_.root == x) {
            ends_ = 1;
            return;
        }
        if (at == kNone) at = tree_.root;
        if (tree_.parent[at] != kNone && is_end(tree_.parent[at])) at = tree_.parent[at];
        offer(tree_.join(at, x));
        unmask(at);
        if (balance_) level(tree_.sibling(x));
        for (++ends_; ends_ > most_;) collapse();
    }

    // Nodes that could be collapsed, nearest first, and how near their children were when they were noted.
    using Pairs = std::priority_queue<std::pair<double, Node>>;  // of equally near ones that with the least id first
    const Pairs& pairs() const { return pairs_; }
    void restore(Pairs pairs) { pairs_ = std::move(pairs); }

    // The most similar of `near` to `x`.
    Node nearest(Node x, std::span<const Node> near) const {
        Node best = kNone;
        double most = -std::numeric_limits<double>::infinity();
        for (const Node leaf : near) {
            const double f = linkage_(tree_, leaf, x);
            if (best == kNone || f > most) best = leaf, most = f;
        }
        return best;
    }

private:
    static constexpr std::size_t kMost = 16;  // leaves of a node that are looked at

    void unmask(Node v) {
        while (v != tree_.root) {
            const Node p = tree_.parent[v];
            if (p != tree_.root && is_masked(v)) {
                rotate(v);
                ++maskings;
            } else if (!is_end(v)) {
                return;
            }
            v = tree_.parent[v];
        }
    }

    void level(Node v) {
        while (v != tree_.root && tree_.parent[v] != tree_.root) {
            Node small = v, large = tree_.sibling(v);
            if (tree_.size[large] < tree_.size[small]) std::swap(small, large);
            for (const Node u : {small, large})
                if (balances(u) && !would_mask(u)) {
                    rotate(u);
                    ++balancings;
                    v = u;
                    break;
                }
            v = tree_.parent[v];
        }
    }

    Node aunt(Node v) const { return tree_.sibling(tree_.parent[v]); }
    // The sibling and the aunt of `v` change places.
    void rotate(Node v) {
        tree_.swap(tree_.sibling(v), aunt(v));
        offer(tree_.parent[v]);
    }

    bool is_end(Node v) const { return tree_.is_leaf(v) || tree_.cross[v] != 0.0; }
    bool is_pair_of_ends(Node v) const {
        return tree_.is_alive(v) && !is_end(v) && is_end(tree_.left[v]) && is_end(tree_.right[v]);
    }
    double inside(Node v) const { return linkage_(tree_, tree_.left[v], tree_.right[v]); }
    // Notes a node that could be collapsed. What is noted may change before its turn comes, and is looked at again
    // then.
    void offer(Node v) {
        if (most_ != kAll && is_pair_of_ends(v)) pairs_.emplace(inside(v), -v);
    }
    // The two sibling ends that are nearest to each other become one.
    void collapse() {
        if (pairs_.empty()) throw std::domain_error("no two leaves can become one");
        const auto [f, negative] = pairs_.top();
        pairs_.pop();
        const Node v = -negative;
        if (!is_pair_of_ends(v)) return;
        if (inside(v) != f) return offer(v);
        const Node one = tree_.fuse(tree_.left[v], tree_.right[v]);
        tree_.cross[one] = 1.0;
        --ends_;
        ++collapses;
        if (one != tree_.root) offer(tree_.parent[one]);
    }

    // Whether all of the aunt is closer to `v` than anything of the sibling.
    bool is_masked(Node v) {
        leaves(v, mine_);
        leaves(tree_.sibling(v), theirs_);
        const double nearest = extreme(mine_, theirs_, std::numeric_limits<double>::infinity(), true);
        leaves(aunt(v), theirs_);
        return extreme(mine_, theirs_, nearest, false) > nearest;
    }
    // Whether all of the sibling is closer to `v` than anything of the aunt.
    bool would_mask(Node v) {
        leaves(v, mine_);
        leaves(aunt(v), theirs_);
        const double nearest = extreme(mine_, theirs_, std::numeric_limits<double>::infinity(), true);
        leaves(tree_.sibling(v), theirs_);
        return extreme(mine_, theirs_, nearest, false) > nearest;
    }
    bool balances(Node v) const {
        const double now = tree_.size[tree_.parent[v]] - tree_.size[aunt(v)];
        return std::abs(now - 2.0 * tree_.size[v]) < std::abs(now);
    }

    // The largest (or the least) similarity of a pair; the search ends when it goes beyond `enough`.
    double extreme(const std::vector<Node>& a, const std::vector<Node>& b, double enough, bool largest) const {
        const double sign = largest ? 1.0 : -1.0;
        double best = -std::numeric_limits<double>::infinity();
        for (const Node x : a)
            for (const Node y : b) {
                best = std::max(best, sign * linkage_(tree_, x, y));
                if (best >= sign * enough) return sign * best;
            }
        return sign * best;
    }

    void leaves(Node v, std::vector<Node>& out) const {
        out.clear();
        for (Node u = tree_.first_below(v);; u = tree_.next_up(u)) {
            if (tree_.is_leaf(u)) out.push_back(u);
            if (u == v || out.size() >= kMost) return;
        }
    }

    live::Tree& tree_;
    Linkage linkage_;
    bool balance_;
    std::int64_t most_, ends_ = 0;
    Pairs pairs_;
    std::vector<Node> mine_, theirs_;
};

}  // namespace cladify::online
