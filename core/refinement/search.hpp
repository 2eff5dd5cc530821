// Local search on one binary tree: subtrees move to their best place until no move gains.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/team.hpp"
#include "refinement/control.hpp"
#include "refinement/graph_scan.hpp"
#include "refinement/scan.hpp"
#include "refinement/weights.hpp"

namespace cladify::refine {

struct Outcome {
    std::int64_t moves = 0;
    double gained = 0.0;  // the sum of the gains of all moves
};

template <typename Weights>
class Search {
public:
    // The search ends when a sweep gains less than `tolerance`, as a share of the objective. Subtrees above the size
    // `largest` stay where they are, unless what they hold is moved.
    Search(BinaryTree tree, Weights weights, double tolerance, double largest, Team& team, Control& control)
        : team_(team),
          control_(control),
          tree_(std::move(tree)),
          weights_(std::move(weights)),
          tolerance_(tolerance),
          largest_(largest),
          mark_(tree_.nodes(), 0),
          active_(tree_.nodes(), 1) {
        refresh();
    }

    const BinaryTree& tree() const { return tree_; }
    Outcome outcome;

    // Every subtree is offered a new place; then, until they come to rest, those that something changed around.
    void run() {
        // The objective falls from sweep to sweep and from refresh to refresh, or the search ends: sums that overflow,
        // or that rounding has made worthless, must not keep it going.
        for (double last = kInfinity; !stopped_ && cost_ < last;) {
            last = cost_;
            const double before = gained_;
            std::fill(active_.begin(), active_.end(), 1);
            for (double now = cost_, value = kInfinity; !stopped_ && now < value; now = tree_.objective()) {
                value = now;
                const double start = gained_;
                sweep();
                if (!(gained_ - start > tolerance_ * std::abs(cost_))) break;
            }
            if (!(gained_ - before > tolerance_ * std::abs(cost_))) return;
            refresh();
        }
    }

    // Offers a place to every subtree marked active.
    void sweep() {
        std::vector<Node> list;
        for (Node v : tree_.postorder())
            if (active_[v]) {
                active_[v] = 0;
                if (tree_.size[v] <= largest_) list.push_back(v);
            }
        control_.expect(std::ssize(list));
        const std::size_t batch_size = Scans<Weights>::batch(tree_);
        std::vector<Place> places(batch_size);
        for (std::size_t start = 0; start < list.size() && !stopped_; start += batch_size) {
            const auto first = list.begin() + start;
            const auto last = std::remove(first, first + std::min(batch_size, list.size() - start), tree_.root);
            const int count = static_cast<int>(last - first);
            if (count > 0) {
                scans_.run(tree_, weights_, {first, last}, places.data(), team_, control_);
                if (control_.stop(0)) {
                    stopped_ = true;
                    return;
                }
                apply(&*first, count, places.data());
            }
            stopped_ = control_.stop(static_cast<std::int64_t>(std::min(batch_size, list.size() - start)));
        }
    }

private:
    // The best first. The first move makes the others' figures old: each is weighed again.
    void apply(const Node* batch, int count, const Place* places) {
        std::vector<int> ranked;
        for (int i = 0; i < count; ++i)
            if (places[i].above != kNone && places[i].above != tree_.parent[batch[i]] &&
                places[i].above != tree_.sibling(batch[i]))
                ranked.push_back(i);
        std::stable_sort(ranked.begin(), ranked.end(), [&](int a, int b) { return places[a].gain > places[b].gain; });
        for (int i : ranked) {
            if (control_.stop(0)) return;
            try_move(batch[i], places[i].above, i);
        }
    }

    // Moves s, the i-th of its batch, above u if that is possible and gains.
    void try_move(Node s, Node u, int i) {
        const Node p = tree_.parent[s];
        if (p == kNone || u == p || u == s || u == tree_.sibling(s)) return;
        // top: the lowest node above s that also holds u. Nothing changes above it.
        ++stamp_;
        for (Node a = p; a != kNone; a = tree_.parent[a]) mark_[a] = stamp_;
        Node top = u;
        while (mark_[top] != stamp_) {
            if (top == s) return;
            top = tree_.parent[top];
        }
        scans_.focus(weights_, tree_, s, i);
        const double self = weights_.with(s), size = tree_.size[s];
        const double gain =
            cost_here(s, top) - (top == u ? tree_.size[u] * (weights_.with(u) - self) : cost_above(s, u, top, self));
        const double rounding = kRounding * weights_.magnitude() * size * tree_.size[top] * tree_.size[top];
        if (!(gain > rounding)) return;
        move(s, u, top, self);
        gained_ += gain;
        outcome.gained += gain;
        ++outcome.moves;
    }

    // The part of I that changes, for s where it is: from its sibling up to and including top.
    double cost_here(Node s, Node top) const {
        const Node p = tree_.parent[s];
        double sum = tree_.size[p] * weights_.with(tree_.sibling(s));
        for (Node c = p; c != top; c = tree_.parent[c]) {
            const Node a = tree_.parent[c];
            const double off = weights_.with(tree_.sibling(c));
            sum += tree_.size[s] * (tree_.cross[a] - off) + tree_.size[a] * off;
        }
        return sum;
    }

    // The same for s above u, which lies below the other child of top.
    double cost_above(Node s, Node u, Node top, double self) const {
        const double size = tree_.size[s];
        double sum = (tree_.size[u] + size) * weights_.with(u);
        Node c = u;
        for (Node a = tree_.parent[u]; a != top; c = a, a = tree_.parent[a])
            sum += size * tree_.cross[a] + (tree_.size[a] + size) * weights_.with(tree_.sibling(c));
        if (top == tree_.parent[s]) return sum;  // gone without s
        const Node side = tree_.sibling(c);      // the child of top that holds s
        return sum + size * (tree_.cross[top] - weights_.with(c)) + tree_.size[top] * (weights_.with(side) - self);
    }

    void move(Node s, Node u, Node top, double self) {
        const Node p = tree_.parent[s];
        const double size = tree_.size[s];
        const double above = weights_.with(u) - (top == u ? self : 0.0);
        wake(s, u);
        if (top != u && top != p) {
            // Where both paths meet, s changes sides: asked before the nodes below have lost it.
            Node c = p;
            while (tree_.parent[c] != top) c = tree_.parent[c];
            tree_.cross[top] += (weights_.with(c) - self) - weights_.with(tree_.sibling(c));
        }
        if (top != p)
            for (Node c = p, a = tree_.parent[p], end = top == u ? tree_.parent[top] : top; a != end;
                 c = a, a = tree_.parent[a]) {
                tree_.cross[a] -= weights_.with(tree_.sibling(c));
                tree_.size[a] -= size;
                weights_.lose(a, s);
            }
        if (top != u)
            for (Node c = u, a = tree_.parent[u]; a != top; c = a, a = tree_.parent[a]) {
                tree_.cross[a] += weights_.with(tree_.sibling(c));
                tree_.size[a] += size;
                weights_.gain(a, s);
            }
        tree_.regraft(s, u);
        tree_.size[p] = tree_.size[u] + size;
        tree_.cross[p] = above;
        weights_.join(p, u, s);
    }

    // Subtrees next to a change may now have a better place.
    void wake(Node s, Node u) {
        const Node p = tree_.parent[s], b = tree_.sibling(s);
        for (Node v : {s, p, b, u}) {
            active_[v] = 1;
            if (tree_.parent[v] != kNone) active_[tree_.sibling(v)] = 1, active_[tree_.parent[v]] = 1;
            if (!tree_.is_leaf(v)) active_[tree_.left[v]] = active_[tree_.right[v]] = 1;
        }
    }

    void refresh() {
        weights_.refresh(tree_, control_);
        cost_ = tree_.objective();
        gained_ = 0.0;
    }

    static constexpr double kRounding = 1e-13;
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    Team& team_;
    Control& control_;
    BinaryTree tree_;
    Weights weights_;
    double tolerance_, largest_;
    double cost_ = 0.0, gained_ = 0.0;  // the objective at the last refresh, and the gain since
    bool stopped_ = false;
    Scans<Weights> scans_;
    std::vector<std::int64_t> mark_;
    std::int64_t stamp_ = 0;
    std::vector<char> active_;
};

}  // namespace cladify::refine
