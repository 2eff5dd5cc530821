// One way down the tree that finds, for a batch of subtrees, the best place to put each.
//
// Take S off; T' is the rest. Above node u of T', S adds
//     I(u) = (|u| + |S|) W(S, u) + sum over the ancestors a of u: |S| cross(a) + (|a| + |S|) W(S, other child of a),
// and I at the old place gives the gain of a move. The pass runs on the tree as it stands, S included: where a is an
// ancestor of S, its size, its cross weight and W(S, a) are corrected for the absence of S.
//
// Most of the tree is never looked at. Let c be a lower bound of the weights between S and the leaves below a, and
// among these leaves. If all of them were c, the rest of the way below a would cost c |a||S| (|a| + |S|) wherever S
// ends up (all binary trees over a clique cost the same), and what the weights W(S, a) have above c counts at least |S|
// + 1 times. If the way so far and this together are no better than the best place known, a is left out.
#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/team.hpp"
#include "refinement/control.hpp"
#include "refinement/weights.hpp"

namespace cladify::refine {

struct Place {
    Node above = kNone;  // kNone: nothing better than where it is
    double gain = 0.0;
};

template <typename Weights>
class Scan {
public:
    // Places for subtrees[0..count), count <= kLanes; none of them is the root.
    void run(const BinaryTree& tree, const Weights& weights, const Node* subtrees, int count, Place* places) {
        start(tree, weights, subtrees, count);
        descend(tree);
        for (int l = 0; l < count; ++l)
            places[l] = at_[l] == kNone ? Place{} : Place{static_cast<Node>(at_[l]), now_[l] - best_[l]};
        for (Node s : subtree_)
            for (Node a = tree.parent[s]; a != kNone && above_[a] != 0; a = tree.parent[a]) above_[a] = 0;
    }

private:
    struct Frame {
        Node node;
        Lanes path;  // cost of the way down to here
        Lanes w;     // W(S, node without S)
    };

    void start(const BinaryTree& tree, const Weights& weights, const Node* subtrees, int count) {
        above_.resize(tree.nodes(), 0);
        // Unused lanes repeat the last subtree; their result is dropped.
        for (int l = 0; l < kLanes; ++l) subtree_[l] = subtrees[std::min(l, count - 1)];
        batch_.load(weights, tree, subtree_);
        for (int l = 0; l < kLanes; ++l) {
            const Node s = subtree_[l], p = tree.parent[s];
            size_[l] = tree.size[s];
            self_[l] = batch_.with(s, l);
            at_[l] = kNone;
            double now = tree.size[p] * batch_.with(tree.sibling(s), l);
            above_[p] = static_cast<std::uint16_t>(above_[p] | (1u << l));
            for (Node c = p, a = tree.parent[p]; a != kNone; c = a, a = tree.parent[a]) {
                above_[a] = static_cast<std::uint16_t>(above_[a] | (1u << l));
                const double off = batch_.with(tree.sibling(c), l);
                now += size_[l] * (tree.cross[a] - off) + tree.size[a] * off;
            }
            now_[l] = best_[l] = now;
        }
    }

    void descend(const BinaryTree& tree) {
        stack_.resize(1);
        stack_[0].node = tree.root;
        stack_[0].path = Lanes{};
        batch_.with(tree.root, stack_[0].w);
        for (int l = 0; l < kLanes; ++l) stack_[0].w[l] -= self_[l];
        while (!stack_.empty()) {
            const Frame frame = stack_.back();
            stack_.pop_back();
            visit(tree, frame);
        }
    }

    // Considers the place above the node; pushes the children that are worth it.
    void visit(const BinaryTree& tree, const Frame& f) {
        const Node a = f.node;
        const std::uint16_t on_path = above_[a];
        Lanes factor;
        for (int l = 0; l < kLanes; ++l) factor[l] = tree.size[a] + size_[l];
        if (on_path)
            for (int l = 0; l < kLanes; ++l)
                if (on_path >> l & 1) factor[l] = tree.size[a];
        const std::int64_t here = a;
        for (int l = 0; l < kLanes; ++l) {
            const double cost = f.path[l] + factor[l] * f.w[l];
            at_[l] = cost < best_[l] ? here : at_[l];
            best_[l] = cost < best_[l] ? cost : best_[l];
        }
        if (tree.is_leaf(a)) return;

        const Node left = tree.left[a], right = tree.right[a];
        const double cross = tree.cross[a];
        Lanes wl, wr, pl, pr;
        batch_.with(left, wl);
        for (int l = 0; l < kLanes; ++l) {
            wr[l] = f.w[l] - wl[l];
            const double base = f.path[l] + size_[l] * cross;
            pl[l] = base + factor[l] * wr[l];
            pr[l] = base + factor[l] * wl[l];
        }
        if (on_path)
            for (int l = 0; l < kLanes; ++l)
                if (on_path >> l & 1) correct(tree, f, l, wl[l], wr[l], pl[l], pr[l]);
        // The larger child waits: the stack stays logarithmic.
        if (tree.size[left] < tree.size[right]) {
            push(tree, right, pr, wr);
            push(tree, left, pl, wl);
        } else {
            push(tree, left, pl, wl);
            push(tree, right, pr, wr);
        }
    }

    // The step down from an ancestor of S in lane l.
    void correct(const BinaryTree& tree, const Frame& f, int l, double& wl, double& wr, double& pl, double& pr) const {
        const Node a = f.node, s = subtree_[l], left = tree.left[a], right = tree.right[a];
        if (left == s || right == s) {
            // Without S this node is gone, and its other child stands in its place: where S is now.
            const double never = std::numeric_limits<double>::infinity();
            wl = wr = f.w[l];
            pl = left == s ? never : f.path[l];
            pr = right == s ? never : f.path[l];
            return;
        }
        const bool in_left = above_[left] >> l & 1;
        if (in_left) wl -= self_[l];
        wr = f.w[l] - wl;
        const double base = f.path[l] + size_[l] * (tree.cross[a] - (in_left ? wr : wl));
        pl = base + tree.size[a] * wr;
        pr = base + tree.size[a] * wl;
    }

    void push(const BinaryTree& tree, Node u, const Lanes& path, const Lanes& w) {
        // On the way to S itself the sizes would need correcting; those nodes are few.
        if (!above_[u] && !worth(tree, u, path, w)) return;
        Frame& f = stack_.emplace_back();
        f.node = u;
        f.path = path;
        f.w = w;
    }

    bool worth(const BinaryTree& tree, Node u, const Lanes& path, const Lanes& w) const {
        Lanes least;
        batch_.floor(u, least);
        const double size = tree.size[u];
        bool any = false;
        for (int l = 0; l < kLanes; ++l) {
            const double pairs = least[l] * size * size_[l];
            const double low = path[l] + pairs * (size + size_[l]) + (size_[l] + tree.least_size) * (w[l] - pairs);
            any |= low < best_[l];
        }
        return any;
    }

    typename Weights::Batch batch_;
    Subtrees subtree_{};
    Lanes size_{}, self_{}, best_{}, now_{};
    std::array<std::int64_t, kLanes> at_{};
    std::vector<std::uint16_t> above_;  // bit l: the node is an ancestor of the subtree in lane l
    std::vector<Frame> stack_;
};

// The best places of many subtrees, on the tree as it stands.
template <typename Weights>
class Scans {
public:
    // How many are looked at between two rounds of moves. Set by the tree alone, so that the number of threads changes
    // nothing.
    static std::size_t batch(const BinaryTree& tree) {
        const int groups = tree.leaves < 512 ? 1 : tree.leaves < 4096 ? 4 : tree.leaves < 65536 ? 16 : 64;
        return static_cast<std::size_t>(groups) * kLanes;
    }

    void run(const BinaryTree& tree, const Weights& weights, std::span<const Node> subtrees, Place* places, Team& team,
             Control&) {
        scan_.resize(static_cast<std::size_t>(team.threads()));
        team.split(std::ssize(subtrees), kLanes, [&](std::int64_t first, std::int64_t last, int thread) {
            scan_[thread].run(tree, weights, subtrees.data() + first, static_cast<int>(last - first), places + first);
        });
    }

    // The i-th of the subtrees, s, is about to be moved.
    void focus(Weights& weights, const BinaryTree& tree, Node s, int) const { weights.focus(tree, s); }

private:
    std::vector<Scan<Weights>> scan_;  // one a thread
};

}  // namespace cladify::refine
