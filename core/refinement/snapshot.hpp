// A tree as it stood, laid out for reading: a node comes before those below it, the left ones first.
#pragma once
#include <vector>

#include "refinement/tree.hpp"

namespace cladify::refine {

struct Snapshot {
    // Places of nodes in that order: the left child of the node at place i is at i + 1, the right one follows all that
    // is below the left one.
    struct Spot {
        double size, cross;
        Node parent, node;   // the place of the parent, and the name in the tree
        Node first, leaves;  // the run of leaves below, from left to right
    };
    std::vector<Spot> spot;
    std::vector<Node> place;       // of a node
    std::vector<Node> leaf, rank;  // the leaves from left to right, and where a leaf is among them

    Node left(Node i) const { return i + 1; }
    Node right(Node i) const { return i + 2 * spot[i + 1].leaves; }

    void take(const BinaryTree& tree) {
        const Node m = tree.nodes();
        spot.resize(m);
        place.resize(m);
        leaf.clear();
        leaf.reserve(tree.leaves);
        rank.resize(tree.leaves);
        stack_.assign(1, {tree.root, kNone});
        for (Node i = 0; !stack_.empty(); ++i) {
            const auto [v, parent] = stack_.back();
            stack_.pop_back();
            place[v] = i;
            spot[i] = {tree.size[v], tree.cross[v], parent, v, static_cast<Node>(leaf.size()), 0};
            if (tree.is_leaf(v)) {
                spot[i].leaves = 1;
                rank[v] = static_cast<Node>(leaf.size());
                leaf.push_back(v);
            } else {
                stack_.push_back({tree.right[v], i});
                stack_.push_back({tree.left[v], i});
            }
        }
        for (Node i = m; i-- > 1;) spot[spot[i].parent].leaves += spot[i].leaves;
    }

private:
    struct Visit {
        Node node, parent;
    };
    std::vector<Visit> stack_;
};

}  // namespace cladify::refine
