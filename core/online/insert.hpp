// Points that arrive one at a time: beside their nearest neighbour, or higher up (rotations), and with subtrees fetched
// from elsewhere where both sides prefer each other to their siblings (grafts).
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "mutable/tree.hpp"
#include "online/linkage.hpp"

namespace cladify::online {

struct Steps {
    bool rotate = true, graft = true, restructure = true;
    std::int64_t cap = std::numeric_limits<std::int64_t>::max();  // nothing is rearranged more than this many steps up
    bool single_elimination = false;  // the first graft that both sides refuse ends the attempts
    bool search_each = false;         // every graft searches all leaves, not the neighbours of the point
};

struct Counts {
    std::int64_t rotations = 0, grafts = 0, swaps = 0;
};

// The tree is binary.
template <typename Linkage>
class Inserter {
public:
    Inserter(live::Tree& tree, Linkage linkage, Steps steps)
        : tree_(tree), linkage_(std::move(linkage)), steps_(steps) {}

    Counts counts;

    // Puts leaf `x`, which hangs nowhere, into the tree. `near`: leaves of the tree, its nearest neighbours among them.
    void insert(Node x, std::span<const Node> near) {
        if (tree_.root == x) return;
        Node v = nearest(x, near);
        if (v == kNone) v = tree_.root;
        if (steps_.rotate)
            for (std::int64_t step = 0; v != tree_.root && step < steps_.cap; ++step) {
                if (!(linkage_(tree_, v, x) < linkage_(tree_, v, tree_.sibling(v)))) break;
                v = tree_.parent[v];
                ++counts.rotations;
            }
        v = tree_.join(v, x);
        if (!steps_.graft) return;
        height_ = 1;
        while (v != kNone && v != tree_.root && height_ <= steps_.cap) v = graft(v, near);
    }

private:
    Node nearest(Node x, std::span<const Node> near) const {
        Node best = kNone;
        double most = -std::numeric_limits<double>::infinity();
        for (const Node leaf : near) {
            const double f = linkage_(tree_, leaf, x);
            if (best == kNone || f > most) best = leaf, most = f;
        }
        return best;
    }

    // Looks for a subtree that belongs beside `v`, and fetches it. Returns where to go on; kNone ends it.
    Node graft(Node v, std::span<const Node> near) {
        Node other = steps_.search_each ? outside_of_all(v) : outside(v, near);
        if (other == kNone) return kNone;
        const Node start = v, top = tree_.lca(v, other);
        std::int64_t climbed = 0;
        while (v != top && other != top && tree_.sibling(v) != other) {
            const double both = linkage_(tree_, v, other);
            const double mine = linkage_(tree_, v, tree_.sibling(v));
            const double its = linkage_(tree_, other, tree_.sibling(other));
            if (both > mine && both > its) {
                fetch(v, other);
                ++height_;
                return tree_.parent[v];
            }
            if (steps_.single_elimination && both <= mine && both <= its) return kNone;
            if (climbed++ > steps_.cap) return kNone;
            if (both <= its) other = tree_.parent[other];
            if (both <= mine) v = tree_.parent[v], ++height_;
        }
        ++height_;
        return v == start ? top : v;
    }

    // Moves `other` beside `v`; then the subtrees that `other` left behind look for better siblings.
    void fetch(Node v, Node other) {
        const Node left_behind = tree_.sibling(other);
        tree_.move(other, v);
        ++counts.grafts;
        if (steps_.restructure) restructure(left_behind, tree_.lca(left_behind, v));
    }

    // On the way from `z` up to `top`: a node and the best of the subtrees that hang off the way above it become
    // siblings, if they would rather have that.
    void restructure(Node z, Node top) {
        std::int64_t step = 0;
        for (; z != top && step < steps_.cap; z = tree_.parent[z], ++step) {
            Node best = kNone;
            double most = -std::numeric_limits<double>::infinity();
            std::int64_t above = 0;
            for (Node a = tree_.parent[z]; a != top && above < steps_.cap; a = tree_.parent[a], ++above) {
                const Node side = tree_.sibling(a);
                const double f = linkage_(tree_, z, side);
                if (best == kNone || f > most) best = side, most = f;
            }
            if (best == kNone) return;
            const Node sibling = tree_.sibling(z);
            if (linkage_(tree_, z, sibling) < most) {
                tree_.swap(sibling, best);
                ++counts.swaps;
            }
        }
    }

    // The leaf outside of `v` that is most similar to it, of the neighbours; how far they are is looked at before
    // where they are, as that takes walks up the tree.
    Node outside(Node v, std::span<const Node> near) {
        ranked_.clear();
        for (const Node leaf : near) ranked_.emplace_back(linkage_(tree_, leaf, v), leaf);
        std::stable_sort(ranked_.begin(), ranked_.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        for (const auto& [f, leaf] : ranked_)
            if (!tree_.holds(v, leaf)) return leaf;
        return kNone;
    }
    // The same of all leaves.
    Node outside_of_all(Node v) {
        inside_.assign(tree_.capacity(), 0);
        for (Node u = tree_.first_below(v); u != v; u = tree_.next_up(u)) inside_[u] = 1;
        inside_[v] = 1;
        Node best = kNone;
        double most = -std::numeric_limits<double>::infinity();
        for (Node leaf = 0; leaf < tree_.capacity(); ++leaf) {
            if (inside_[leaf] || !tree_.is_alive(leaf) || !tree_.is_leaf(leaf)) continue;
            // Leaves of the batch that have not come yet hang nowhere.
            if (tree_.parent[leaf] == kNone && leaf != tree_.root) continue;
            const double f = linkage_(tree_, leaf, v);
            if (best == kNone || f > most) best = leaf, most = f;
        }
        return best;
    }

    live::Tree& tree_;
    Linkage linkage_;
    Steps steps_;
    std::int64_t height_ = 0;  // of the node that looks for a graft, in steps above the new leaf
    std::vector<std::pair<double, Node>> ranked_;
    std::vector<char> inside_;
};

}  // namespace cladify::online
