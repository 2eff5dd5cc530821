// The tree that changes: nodes keep their ids while leaves come and go and subtrees move.
//
// Every node has the weight of the leaves below it (`size`), a weight of its own (`cross`, for those who keep an
// objective) and, where asked for, the sum of the feature rows of its leaves. A change costs the way from the place of
// the change to the lowest node above all of it. Freed ids wait in a queue and are used again as late as possible.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mutable/changes.hpp"
#include "mutable/links.hpp"

namespace cladify::live {

class Tree : public Links {
public:
    explicit Tree(std::size_t width = 0, std::size_t log_limit = kLogLimit) : width_(width), log_(log_limit) {}

    std::vector<double> size, cross;

    std::size_t width() const { return width_; }
    Node leaves() const { return leaves_; }
    Node nodes() const { return nodes_; }                               // alive
    Node capacity() const { return static_cast<Node>(parent.size()); }  // ids are below
    bool is_alive(Node v) const { return v >= 0 && v < capacity() && state_[v] != State::kFree; }
    bool is_leaf(Node v) const { return state_[v] == State::kLeaf; }
    double* sums(Node v) { return sums_.data() + static_cast<std::size_t>(v) * width_; }
    const double* sums(Node v) const { return sums_.data() + static_cast<std::size_t>(v) * width_; }
    ChangeLog& log() { return log_; }
    const ChangeLog& log() const { return log_; }

    // --- changes
    // ------------------------------------------------------------------------------------------------------

    // A leaf that hangs nowhere yet; the first one is the tree. `row` has `width` numbers, its share of all sums.
    template <typename T>
    Node make_leaf(double weight, const T* row) {
        const Node v = make(State::kLeaf);
        size[v] = weight;
        for (std::size_t j = 0; j < width_; ++j) sums(v)[j] = row[j];
        if (root == kNone) root = v;
        return v;
    }

    // Fills an empty tree: parents as in the arrays of a finished tree, leaves first. Leaf i gets id i, without a row.
    void build(std::span<const std::int64_t> above, std::span<const double> weight) {
        for (std::size_t i = 0; i < above.size(); ++i) {
            const Node v = make(i < weight.size() ? State::kLeaf : State::kInner);
            if (i < weight.size()) size[v] = weight[i];
        }
        for (std::size_t i = 0; i < above.size(); ++i) {
            if (above[i] < 0) {
                root = static_cast<Node>(i);
                continue;
            }
            Links::append(static_cast<Node>(above[i]), static_cast<Node>(i));
            size[above[i]] += size[i];
        }
    }

    // `v`, which hangs nowhere, gets a common parent with `u`, in u's place. Returns that parent.
    Node join(Node u, Node v) { return join_below(u, v, kNone); }

    // `v`, which hangs nowhere, becomes the last child of inner node `p`.
    void append(Node p, Node v) {
        Links::append(p, v);
        log_.add(Kind::kMoved, v, kNone);
        shift(p, kNone, v, 1.0);
    }

    // Takes the subtree `v` out. Its parent, left with one child, gives its place to that child and is gone.
    void detach(Node v) {
        const Node p = parent[v];
        if (p == kNone) {
            if (v == root) root = kNone;
            return;
        }
        shift(p, kNone, v, -1.0);
        cut_off(v);
    }

    // For trees that are regrouped many nodes at a time: an inner node without children that hangs nowhere, `v` taken
    // out of its parent, which may be left with one child or none, and a node without children that goes.
    Node make_inner() { return make(State::kInner); }
    void unhang(Node v) {
        const Node p = parent[v];
        shift(p, kNone, v, -1.0);
        unhook(v);
        log_.add(Kind::kMoved, v, p);
    }
    void drop(Node v) { release(v, kNone); }
    // The same where all nodes above are about to go, whose sizes and sums do not matter any more.
    void unhang_below(Node v) {
        const Node p = parent[v];
        unhook(v);
        log_.add(Kind::kMoved, v, p);
    }

    // Takes the subtree `v` out for good.
    void remove(Node v) {
        const Node above = parent[v];
        detach(v);
        std::vector<Node> gone;
        for (Node u = first_below(v);; u = next_up(u)) {
            gone.push_back(u);
            if (u == v) break;
        }
        for (const Node u : gone) release(u, u == v ? above : parent[u]);
    }

    // Takes `v` from where it is and joins it with `u`, which is not below `v`. Returns their parent.
    Node move(Node v, Node u) {
        const Node p = parent[v];
        if (has_two_children(p) && (u == p || u == sibling(v))) return p;
        const Node top = lca(v, u);
        // Nothing changes above `top`; where `top` is the parent about to vanish, nothing above its place.
        const bool vanishes = top == p && has_two_children(p);
        const Node stop = top == u || vanishes ? parent[top] : top;
        shift(p, vanishes ? p : stop, v, -1.0);
        cut_off(v);
        return join_below(u, v, top == u ? kNone : stop, top == u);
    }

    // `a` and `b`, neither below the other, change places.
    void swap(Node a, Node b) {
        const Node top = lca(a, b), p = parent[a], q = parent[b];
        if (p == q) return;
        for (Node v = p; v != top; v = parent[v]) add(v, b, a);
        for (Node v = q; v != top; v = parent[v]) add(v, a, b);
        // A place holder keeps the list of a's parent whole while `b` is put there.
        const Node a_before = before[a], a_after = after[a];
        replace(b, a);
        parent[b] = p;
        before[b] = a_before;
        after[b] = a_after;
        (a_before == kNone ? left[p] : after[a_before]) = b;
        (a_after == kNone ? right[p] : before[a_after]) = b;
        log_.add(Kind::kMoved, a, p);
        log_.add(Kind::kMoved, b, q);
    }

    // These children of one node, at least two and not all of them, get a common parent below it. Returns that parent.
    Node group(std::span<const Node> children) {
        const Node p = parent[children[0]];
        const Node v = make(State::kInner);
        for (const Node c : children) {
            unhook(c);
            Links::append(v, c);
            log_.add(Kind::kMoved, c, p);
            add(v, c, 1.0);
        }
        Links::append(p, v);
        return v;
    }

    // Siblings `a` and `b`, leaves or nodes with leaves only and the two children of their parent, become one node with
    // leaves only. The larger one takes in the other, so that many such steps stay cheap. Returns that node.
    Node fuse(Node a, Node b) {
        const Node p = parent[a];
        if (is_leaf(a) && is_leaf(b)) return p;
        if (is_leaf(a) || (!is_leaf(b) && size[a] < size[b])) std::swap(a, b);
        cut_off(b);
        add(a, b, 1.0);
        if (is_leaf(b)) {
            Links::append(a, b);
            return a;
        }
        while (left[b] != kNone) {
            const Node c = left[b];
            unhook(c);
            Links::append(a, c);
            log_.add(Kind::kMoved, c, b);
        }
        release(b, a);
        return a;
    }

    // Rebuilds the tree above these nodes, which hold every leaf once: `above` has the parents of a tree over them,
    // root last.
    void replace_top(std::span<const Node> bottom, std::span<const std::int64_t> above) {
        if (bottom.size() < 2) return;
        std::vector<Node> old;
        if (mark_.size() < parent.size()) mark_.resize(parent.size(), 0);
        ++stamp_;
        for (const Node v : bottom)
            for (Node a = parent[v]; a != kNone && mark_[a] != stamp_; a = parent[a]) {
                mark_[a] = stamp_;
                old.push_back(a);
            }
        for (const Node v : bottom) {
            log_.add(Kind::kMoved, v, parent[v]);
            parent[v] = before[v] = after[v] = kNone;
        }
        for (const Node v : old) release(v, parent[v]);
        std::vector<Node> name(bottom.begin(), bottom.end());
        while (name.size() < above.size()) name.push_back(make(State::kInner));
        for (std::size_t i = 0; i + 1 < above.size(); ++i) {
            Links::append(name[above[i]], name[i]);
            add(name[above[i]], name[i], 1.0);
        }
        root = name.back();
    }

    // Adds up sizes and sums again, without the rounding errors of many additions and subtractions.
    void refresh() {
        if (root == kNone) return;
        for (Node v = first_below(root);; v = next_up(v)) {
            if (!is_leaf(v)) {
                size[v] = 0.0;
                std::fill_n(sums(v), width_, 0.0);
                for (Node c = left[v]; c != kNone; c = after[c]) add(v, c, 1.0);
            }
            if (v == root) return;
        }
    }

    // --- questions
    // ----------------------------------------------------------------------------------------------------

    // The lowest node that holds both; a node holds itself. The two ways up are walked in turn.
    Node lca(Node a, Node b) {
        if (mark_.size() < parent.size()) mark_.resize(parent.size(), 0);
        ++stamp_;
        while (a != kNone || b != kNone) {
            for (Node* v : {&a, &b})
                if (*v != kNone) {
                    if (mark_[*v] == stamp_) return *v;
                    mark_[*v] = stamp_;
                    *v = parent[*v];
                }
        }
        return kNone;
    }
    // True when `v` lies below `top` or is `top`.
    bool holds(Node top, Node v) const {
        while (v != kNone && v != top) v = parent[v];
        return v == top;
    }

    // Parents of a tree whose leaves are the given ones, in that order, with inner nodes after their children and the
    // root last, and the node that each of them is here.
    struct Frozen {
        std::vector<std::int64_t> parent;
        std::vector<Node> node;
    };
    Frozen freeze(std::span<const Node> order) const {
        Frozen out;
        out.node.assign(order.begin(), order.end());
        std::vector<std::int64_t> place(parent.size(), -1);
        for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int64_t>(i);
        if (root != kNone)
            for (Node v = first_below(root);; v = next_up(v)) {
                if (!is_leaf(v)) {
                    place[v] = std::ssize(out.node);
                    out.node.push_back(v);
                }
                if (v == root) break;
            }
        out.parent.resize(out.node.size());
        for (std::size_t i = 0; i < out.node.size(); ++i) {
            const Node p = parent[out.node[i]];
            out.parent[i] = p == kNone ? -1 : place[p];
        }
        return out;
    }
    std::vector<Node> leaf_ids() const {
        std::vector<Node> out;
        for (Node v = 0; v < capacity(); ++v)
            if (state_[v] == State::kLeaf) out.push_back(v);
        return out;
    }

    // The first rule found broken, or an empty string. `tolerance` is that of sizes and sums, in the whole's own scale.
    std::string broken_rule(double tolerance) const;

    // State of each id: free, a leaf or an inner node.
    std::vector<std::int8_t> states() const {
        std::vector<std::int8_t> out(state_.size());
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int8_t>(state_[i]);
        return out;
    }
    // Free ids, the next to be used first.
    std::vector<Node> free_ids() const {
        std::vector<Node> out;
        for (Node v = free_head_; v != kNone; v = after[v]) out.push_back(v);
        return out;
    }
    // The first rule of the links that arrays from a file break, or an empty string. Every walk over the tree ends
    // where these rules hold. Links lead to ids below the number of states.
    static std::string broken_links(const Links& links, std::span<const std::int8_t> states,
                                    std::span<const Node> free_ids) {
        const std::size_t n = states.size();
        std::size_t alive = 0;
        for (const std::int8_t s : states) {
            if (s < 0 || s > static_cast<std::int8_t>(State::kInner)) return "an id has no known state";
            alive += s != static_cast<std::int8_t>(State::kFree);
        }
        std::vector<char> seen(n, 0);
        for (const Node v : free_ids)
            if (states[v] != 0 || std::exchange(seen[v], 1)) return "a free id is in use or is free twice";
        if (free_ids.size() + alive != n) return "an unused id is not free";
        if (links.root == kNone) return alive == 0 ? "" : "there are nodes without a root";
        if (states[links.root] == 0 || links.parent[links.root] != kNone) return "the root is no root";
        std::vector<Node> next{links.root};
        seen[links.root] = 1;
        for (std::size_t i = 0; i < next.size(); ++i) {
            const Node v = next[i];
            const bool is_leaf = states[v] == static_cast<std::int8_t>(State::kLeaf);
            if (is_leaf != (links.left[v] == kNone) || (is_leaf && links.right[v] != kNone))
                return "a leaf has children or an inner node has none";
            if (!is_leaf && links.left[v] == links.right[v]) return "an inner node has one child";
            Node last = kNone;
            for (Node c = links.left[v]; c != kNone; last = c, c = links.after[c]) {
                if (states[c] == 0 || links.parent[c] != v || links.before[c] != last || std::exchange(seen[c], 1))
                    return "a child is linked elsewhere";
                next.push_back(c);
            }
            if (links.right[v] != last) return "a node has another last child";
        }
        return next.size() == alive ? "" : "a node cannot be reached";
    }
    bool is_binary() const {
        for (Node v = 0; v < capacity(); ++v)
            if (state_[v] == State::kInner && !has_two_children(v)) return false;
        return true;
    }
    // A tree as it was kept: links and states of all ids, the queue of free ids, sizes and sums of the leaves.
    static Tree restore(std::size_t width, std::size_t log_limit, Links links, std::span<const std::int8_t> states,
                        std::span<const Node> free_ids, std::vector<double> size, std::vector<double> cross,
                        std::vector<double> sums, std::int64_t version) {
        Tree tree(width, log_limit);
        static_cast<Links&>(tree) = std::move(links);
        tree.size = std::move(size);
        tree.cross = std::move(cross);
        tree.sums_ = std::move(sums);
        for (const std::int8_t s : states) {
            tree.state_.push_back(static_cast<State>(s));
            tree.leaves_ += tree.state_.back() == State::kLeaf;
            tree.nodes_ += tree.state_.back() != State::kFree;
        }
        for (const Node v : free_ids) {
            // Links of a free id are those of the node that takes it next, so a file may not set them.
            tree.parent[v] = tree.left[v] = tree.right[v] = tree.before[v] = kNone;
            tree.queue_free(v);
        }
        tree.log_.restart(version);
        return tree;
    }

private:
    enum class State : std::int8_t { kFree, kLeaf, kInner };

    Node make(State state) {
        Node v = free_head_;
        if (v == kNone) {
            v = capacity();
            const auto n = static_cast<std::size_t>(v) + 1;
            resize(n);
            size.resize(n, 0.0);
            cross.resize(n, 0.0);
            sums_.resize(n * width_, 0.0);
            state_.resize(n, State::kFree);
        } else {
            free_head_ = after[v];
            if (free_head_ == kNone) free_tail_ = kNone;
            after[v] = kNone;
            size[v] = cross[v] = 0.0;
            std::fill_n(sums(v), width_, 0.0);
        }
        state_[v] = state;
        ++nodes_;
        leaves_ += state == State::kLeaf;
        log_.add(Kind::kMade, v, kNone);
        return v;
    }

    void release(Node v, Node above) {
        leaves_ -= state_[v] == State::kLeaf;
        --nodes_;
        state_[v] = State::kFree;
        parent[v] = left[v] = right[v] = before[v] = kNone;
        queue_free(v);
        log_.add(Kind::kRemoved, v, above);
    }
    void queue_free(Node v) {
        after[v] = kNone;
        (free_tail_ == kNone ? free_head_ : after[free_tail_]) = v;
        free_tail_ = v;
    }

    // Nodes from `from` up to, not including, `stop` gain or lose the size and sums of `v`.
    void shift(Node from, Node stop, Node v, double sign) {
        for (Node a = from; a != stop; a = parent[a]) add(a, v, sign);
    }
    void add(Node to, Node v, double sign) {
        size[to] += sign * size[v];
        double* __restrict out = sums(to);
        const double* __restrict x = sums(v);
        for (std::size_t j = 0; j < width_; ++j) out[j] += sign * x[j];
    }
    void add(Node to, Node plus, Node minus) {
        size[to] += size[plus] - size[minus];
        double* out = sums(to);
        const double *x = sums(plus), *y = sums(minus);
        for (std::size_t j = 0; j < width_; ++j) out[j] += x[j] - y[j];
    }

    // Unhooks `v`; a parent with one child left vanishes.
    void cut_off(Node v) {
        const Node p = parent[v];
        unhook(v);
        log_.add(Kind::kMoved, v, p);
        const Node rest = left[p];
        if (rest != right[p]) return;
        const Node above = parent[p];
        replace(p, rest);
        log_.add(Kind::kMoved, rest, p);
        release(p, above);
    }

    Node join_below(Node u, Node v, Node stop, bool above_unchanged = false) {
        const Node p = make(State::kInner), above = parent[u];
        replace(u, p);
        link(p, u, v);
        log_.add(Kind::kMoved, u, above);
        log_.add(Kind::kMoved, v, kNone);
        add(p, u, 1.0);
        add(p, v, 1.0);
        if (!above_unchanged) shift(above, stop, v, 1.0);
        return p;
    }

    std::size_t width_;
    std::vector<double> sums_;  // a row a node
    std::vector<State> state_;
    Node leaves_ = 0, nodes_ = 0;
    Node free_head_ = kNone, free_tail_ = kNone;  // chained by `after`
    ChangeLog log_;
    std::vector<std::uint64_t> mark_;
    std::uint64_t stamp_ = 0;
};

inline std::string Tree::broken_rule(double tolerance) const {
    Node alive = 0, ends = 0, reached = 0;
    for (Node v = 0; v < capacity(); ++v) {
        alive += state_[v] != State::kFree;
        ends += state_[v] == State::kLeaf;
    }
    if (alive != nodes_ || ends != leaves_) return "the counts of nodes are wrong";
    if (std::ssize(free_ids()) != capacity() - nodes_) return "the queue of free ids does not hold all of them";
    if (root == kNone) return nodes_ == 0 ? "" : "nodes without a root";
    if (parent[root] != kNone) return "the root has a parent";
    const double scale = 1.0 + size[root];
    std::vector<double> most(width_, scale);  // the largest sum of each column: rounding is relative to that
    for (Node v = 0; v < capacity(); ++v)
        if (state_[v] != State::kFree)
            for (std::size_t j = 0; j < width_; ++j) most[j] = std::max(most[j], std::abs(sums(v)[j]));
    for (Node v = first_below(root);; v = next_up(v)) {
        if (++reached > nodes_) return "the links run in a circle";
        const std::string name = "node " + std::to_string(v);
        if (state_[v] == State::kFree) return name + " is free and linked";
        if (is_leaf(v) != (left[v] == kNone)) return name + " is a leaf with children or an inner node without";
        if (!is_leaf(v)) {
            if (left[v] == right[v]) return name + " has one child";
            double sum = size[v];
            std::vector<double> rest(sums(v), sums(v) + width_);
            Node last = kNone;
            for (Node c = left[v]; c != kNone; last = c, c = after[c]) {
                if (parent[c] != v || before[c] != last) return name + " has a child linked elsewhere";
                sum -= size[c];
                for (std::size_t j = 0; j < width_; ++j) rest[j] -= sums(c)[j];
            }
            if (right[v] != last) return name + " has another last child";
            if (!(std::abs(sum) <= tolerance * scale)) return "the size of " + name + " is not that of its children";
            for (std::size_t j = 0; j < width_; ++j)
                if (!(std::abs(rest[j]) <= tolerance * most[j]))
                    return "the sums of " + name + " are not those of its children";
        }
        if (v == root) break;
    }
    return reached == nodes_ ? "" : "nodes that cannot be reached";
}

}  // namespace cladify::live
