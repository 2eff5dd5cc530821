// The binary tree that refinement rearranges: the links of mutable/links.hpp, so that a subtree moves in the time of
// two root paths.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "mutable/links.hpp"

namespace cladify::refine {

using live::kNone;
using live::Node;

// Nodes 0..leaves-1 are the leaves, leaves..2*leaves-2 the inner nodes, in no particular order. `size` is the sum of
// the leaf weights below, `cross` of an inner node the sum of w over the pairs that meet there: the objective is
// the sum of size * cross over the inner nodes.
struct BinaryTree : live::Links {
    Node leaves = 0;
    std::vector<double> size, cross;
    double least_size = 0.0;  // of the leaves

    BinaryTree() = default;
    // `l`, `r`: the two children of inner node leaves + i. Sizes of the leaves are given, those of inner nodes filled.
    BinaryTree(Node n, const Node* l, const Node* r, const double* leaf_size)
        : Links(2 * n - 1), leaves(n), size(2 * n - 1, 0.0), cross(2 * n - 1, 0.0) {
        for (Node i = 0; i + 1 < n; ++i) link(n + i, l[i], r[i]);
        for (Node v = 0; v < 2 * n - 1; ++v)
            if (parent[v] == kNone) root = v;
        for (Node v = 0; v < n; ++v) size[v] = leaf_size[v];
        least_size = n ? *std::min_element(leaf_size, leaf_size + n) : 0.0;
        fill_sizes();
    }

    void fill_sizes() {
        for (Node v : postorder())
            if (!is_leaf(v)) size[v] = size[left[v]] + size[right[v]];
    }

    Node nodes() const { return 2 * leaves - 1; }
    bool is_leaf(Node v) const { return v < leaves; }

    // Every node after its children.
    std::vector<Node> postorder() const {
        std::vector<Node> order(nodes());
        std::vector<Node> stack{root};
        std::size_t at = order.size();
        while (!stack.empty()) {
            const Node v = stack.back();
            stack.pop_back();
            order[--at] = v;
            if (!is_leaf(v)) {
                stack.push_back(left[v]);
                stack.push_back(right[v]);
            }
        }
        return order;
    }

    // Steps from the root down to a leaf, on average.
    double mean_depth() const {
        const auto order = postorder();
        std::vector<Node> depth(nodes(), 0);
        double sum = 0.0;
        for (std::size_t i = order.size(); i-- > 0;) {
            const Node v = order[i];
            if (v != root) depth[v] = depth[parent[v]] + 1;
            if (is_leaf(v)) sum += depth[v];
        }
        return sum / std::max<Node>(leaves, 1);
    }

    double objective() const {
        double sum = 0.0;
        for (Node v = leaves; v < nodes(); ++v) sum += size[v] * cross[v];
        return sum;
    }
};

// The leaves from left to right: every node holds a run of them.
struct LeafOrder {
    std::vector<Node> leaf, place;   // the leaf at a place, and the place of a leaf
    std::vector<Node> first, count;  // of a node: where its run begins, and how long it is

    LeafOrder() = default;
    explicit LeafOrder(const BinaryTree& tree) : place(tree.leaves), first(tree.nodes()), count(tree.nodes(), 1) {
        leaf.reserve(tree.leaves);
        for (Node v : tree.postorder()) {
            if (tree.is_leaf(v)) {
                first[v] = place[v] = static_cast<Node>(leaf.size());
                leaf.push_back(v);
            } else {
                first[v] = std::min(first[tree.left[v]], first[tree.right[v]]);
                count[v] = count[tree.left[v]] + count[tree.right[v]];
            }
        }
    }
    bool holds(Node v, Node x) const { return place[x] >= first[v] && place[x] < first[v] + count[v]; }
};

// Where two leaves meet. Going from left to right, each leaf meets the one before it in some node; two leaves meet in
// the uppermost of these nodes from one to the other, and a table has the uppermost of every stretch whose length is a
// power of two.
class Meets {
public:
    explicit Meets(const BinaryTree& tree) : rank_(tree.leaves), table_(1) {
        leaf_.reserve(tree.leaves);
        std::vector<Node>& meet = table_[0];  // nodes are named by their place in an order that has parents first
        meet.reserve(tree.leaves);
        node_.reserve(tree.nodes());
        struct Visit {
            Node node, beside;  // beside: where its first leaf meets the one before
        };
        std::vector<Visit> stack{{tree.root, 0}};
        while (!stack.empty()) {
            const auto [v, beside] = stack.back();
            stack.pop_back();
            const Node place = static_cast<Node>(node_.size());
            node_.push_back(v);
            if (tree.is_leaf(v)) {
                rank_[v] = static_cast<Node>(leaf_.size());
                leaf_.push_back(v);
                meet.push_back(beside);
            } else {
                stack.push_back({tree.right[v], place});
                stack.push_back({tree.left[v], beside});
            }
        }
        for (std::size_t half = 1; 2 * half <= leaf_.size(); half *= 2) {
            const std::vector<Node>& below = table_.back();
            std::vector<Node> row(leaf_.size() - 2 * half + 1);
            for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::min(below[i], below[i + half]);
            table_.push_back(std::move(row));
        }
    }

    Node leaf(Node rank) const { return leaf_[rank]; }
    Node rank(Node leaf) const { return rank_[leaf]; }
    // The node of the leaves at two ranks, the lower one first.
    Node at(Node low, Node high) const {
        const int level = std::bit_width(static_cast<std::uint32_t>(high - low)) - 1;
        const std::vector<Node>& row = table_[level];
        return node_[std::min(row[low + 1], row[high + 1 - (Node{1} << level)])];
    }

private:
    std::vector<Node> leaf_, rank_, node_;
    std::vector<std::vector<Node>> table_;
};

}  // namespace cladify::refine
