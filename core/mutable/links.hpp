// The links of a tree that changes: every move of a subtree is a few pointers, whatever hangs below it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cladify::live {

using Node = std::int32_t;
constexpr Node kNone = -1;

// Children of a node form a list from `left` to `right`, its outermost children; `before` and `after` are the
// neighbours in that list. So a node with two children has them in `left` and `right`: code for binary trees (the
// search of refinement) reads them directly, and the same tree may have nodes with any number of children elsewhere.
struct Links {
    Node root = kNone;
    std::vector<Node> parent, left, right, before, after;

    Links() = default;
    explicit Links(std::size_t nodes)
        : parent(nodes, kNone), left(nodes, kNone), right(nodes, kNone), before(nodes, kNone), after(nodes, kNone) {}

    void resize(std::size_t nodes) {
        for (auto* column : {&parent, &left, &right, &before, &after}) column->resize(nodes, kNone);
    }

    // Of a node whose parent has two children.
    Node sibling(Node v) const {
        const Node p = parent[v];
        return left[p] == v ? right[p] : left[p];
    }
    bool has_two_children(Node p) const {
        return left[p] != kNone && left[p] != right[p] && after[left[p]] == right[p];
    }

    // Gives `p` exactly these two children; whatever it had before must have gone elsewhere.
    void link(Node p, Node l, Node r) {
        left[p] = l;
        right[p] = r;
        parent[l] = p;
        parent[r] = p;
        before[l] = after[r] = kNone;
        after[l] = r;
        before[r] = l;
    }
    // Puts `other` where `v` hangs; the links of `v` itself stay as they are.
    void replace(Node v, Node other) {
        const Node p = parent[v], b = before[v], a = after[v];
        parent[other] = p;
        before[other] = b;
        after[other] = a;
        if (p == kNone) {
            root = other;
            return;
        }
        (b == kNone ? left[p] : after[b]) = other;
        (a == kNone ? right[p] : before[a]) = other;
    }
    // In a binary tree: the parent of `v` leaves its place to v's sibling and comes back, with `v`, above `u`.
    void regraft(Node v, Node u) {
        const Node p = parent[v];
        replace(p, sibling(v));
        replace(u, p);
        link(p, u, v);
    }
    // `v`, which hangs nowhere, becomes the last child of `p`.
    void append(Node p, Node v) {
        const Node last = right[p];
        parent[v] = p;
        before[v] = last;
        after[v] = kNone;
        (last == kNone ? left[p] : after[last]) = v;
        right[p] = v;
    }
    // Takes `v` out of its parent's list; the parent may be left with one child.
    void unhook(Node v) {
        const Node p = parent[v], b = before[v], a = after[v];
        (b == kNone ? left[p] : after[b]) = a;
        (a == kNone ? right[p] : before[a]) = b;
        parent[v] = before[v] = after[v] = kNone;
    }

    // The nodes below `top`, and `top`, every node after its children: start at first_below(top), end after `top`.
    Node first_below(Node v) const {
        while (left[v] != kNone) v = left[v];
        return v;
    }
    Node next_up(Node v) const { return after[v] == kNone ? parent[v] : first_below(after[v]); }
};

}  // namespace cladify::live
