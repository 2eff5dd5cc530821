// Refinement of a large tree part by part.
//
// A part is the top of some subtree, cut off where it has a given number of nodes: the subtree below a cut becomes one
// leaf, with the size and the weights of all it holds, and the root of a part of its own. The objective of the whole is
// the sum over the parts, and the leaves of a part do not change when the parts below are rearranged: so all parts can
// be refined at the same time, and the sum of their gains is the gain of the whole. The next pass cuts elsewhere.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/team.hpp"
#include "refinement/control.hpp"
#include "refinement/search.hpp"
#include "refinement/tree.hpp"
#include "tree/random_trees.hpp"

namespace cladify::refine {

struct Part {
    std::vector<Node> members;      // nodes of the whole tree that are leaves here, from left to right
    std::vector<Node> inner;        // nodes of the whole tree that are inner nodes here, the root first
    std::vector<Node> left, right;  // children of the inner nodes, numbered within the part: members, then inner
    Node root() const { return inner[0]; }
};

// The part below `root` with at most `limit` members: the largest is opened until there are enough.
inline Part open_part(const BinaryTree& tree, Node root, Node limit, std::vector<char>& opened) {
    Part part;
    std::priority_queue<std::pair<double, Node>> largest;
    if (limit >= tree.leaves)
        std::fill(opened.begin() + tree.leaves, opened.end(), 1);
    else
        largest.emplace(tree.size[root], root);
    for (Node count = 1; count < limit && !largest.empty(); ++count) {
        const Node v = largest.top().second;
        largest.pop();
        opened[v] = 1;
        for (Node child : {tree.left[v], tree.right[v]})
            if (!tree.is_leaf(child)) largest.emplace(tree.size[child], child);
    }
    // Left to right, so that neighbours in the tree are close in memory.
    struct Visit {
        Node node, owner;  // owner: place of the parent in `inner`
        bool is_left;
    };
    std::vector<Visit> stack{{root, kNone, false}};
    while (!stack.empty()) {
        const auto [v, owner, is_left] = stack.back();
        stack.pop_back();
        const Node place = static_cast<Node>(opened[v] ? part.inner.size() : part.members.size());
        if (owner != kNone) (is_left ? part.left : part.right)[owner] = opened[v] ? -1 - place : place;
        if (!opened[v]) {
            part.members.push_back(v);
            continue;
        }
        part.inner.push_back(v);
        part.left.push_back(kNone);
        part.right.push_back(kNone);
        stack.push_back({tree.right[v], place, false});
        stack.push_back({tree.left[v], place, true});
    }
    // Inner nodes were counted from -1 down until the number of members was known.
    const Node n = static_cast<Node>(part.members.size());
    for (auto* links : {&part.left, &part.right})
        for (Node& v : *links)
            if (v < 0) v = n + (-1 - v);
    for (Node v : part.inner) opened[v] = 0;
    return part;
}

// The whole tree as parts, each before those that hang below it. The first has another size: that moves all cuts.
inline std::vector<Part> cut(const BinaryTree& tree, Node limit, Node first_limit, Control& control) {
    std::vector<Part> parts;
    std::vector<char> opened(tree.nodes(), 0);
    std::vector<Node> roots{tree.root};
    for (std::size_t i = 0; i < roots.size() && !control.failed(); ++i) {
        parts.push_back(open_part(tree, roots[i], i == 0 ? first_limit : limit, opened));
        for (Node v : parts.back().members)
            if (!tree.is_leaf(v)) roots.push_back(v);
    }
    return parts;
}

// `Source` makes the weights of a part: source.cut(tree, parts, control), then source.weights(part, its tree, control).
template <typename Source>
class Refiner {
public:
    Refiner(BinaryTree tree, Source source) : tree_(std::move(tree)), source_(std::move(source)) {}

    const BinaryTree& tree() const { return tree_; }

    // Moves subtrees of at most the size `largest`.
    Outcome pass(Node limit, Node first_limit, double tolerance, double largest, int threads, Control& control) {
        if (tree_.leaves < 2) return {};
        const std::vector<Part> parts = cut_all(limit, first_limit, control);
        std::vector<Outcome> outcome(parts.size());
        Team team(threads), alone(1);
        if (parts.size() == 1)
            refine(parts[0], tolerance, largest, team, control, outcome[0]);
        else
            team.run(static_cast<std::int64_t>(parts.size()),
                     [&](std::int64_t i, int) { refine(parts[i], tolerance, largest, alone, control, outcome[i]); });
        control.finish();
        known_ = true;
        tree_.fill_sizes();
        Outcome sum;
        for (const Outcome& o : outcome) {
            sum.moves += o.moves;
            sum.gained += o.gained;
        }
        return sum;
    }

    // Looks for a better top of the tree, of `limit` nodes, from random ones; what hangs below stays as it is. Local
    // moves hardly ever exchange large subtrees: here these are few, and a search takes next to no time.
    Outcome restart(Node limit, int starts, std::uint64_t seed, double tolerance, int threads, Control& control) {
        if (tree_.leaves < 3) return {};
        const std::vector<Part> parts = cut_all(limit, limit, control);
        const Part& top = parts[0];
        const BinaryTree start = local_tree(top);
        const auto weights = source_.weights(top, start, control);
        std::vector<BinaryTree> found(starts);
        Team team(threads), alone(1);
        team.run(starts, [&](std::int64_t i, int) {
            if (control.stop(0)) return;
            BinaryTree tree = random_tree(start, random_bits(seed, static_cast<std::uint64_t>(i)));
            Search<std::remove_const_t<decltype(weights)>> search(std::move(tree), weights, tolerance, kAny, alone,
                                                                  control);
            search.run();
            found[i] = search.tree();
        });
        control.finish();
        double before = 0.0;
        for (Node v : top.inner) before += tree_.size[v] * tree_.cross[v];
        const BinaryTree* best = nullptr;
        double least = before - tolerance * std::abs(before);
        for (const BinaryTree& tree : found)
            if (tree.leaves > 0 && tree.objective() < least) {
                best = &tree;
                least = tree.objective();
            }
        if (best == nullptr) return {};
        write_back(top, *best);
        tree_.fill_sizes();
        return {1, before - least};
    }

private:
    std::vector<Part> cut_all(Node limit, Node first_limit, Control& control) {
        std::vector<Part> parts = cut(tree_, limit, first_limit, control);
        if (!control.failed()) source_.cut(tree_, parts, control);
        if (control.failed()) control.finish();
        return parts;
    }

    BinaryTree local_tree(const Part& part) const {
        const Node n = static_cast<Node>(part.members.size());
        std::vector<double> size(n);
        for (Node i = 0; i < n; ++i) size[i] = tree_.size[part.members[i]];
        return BinaryTree(n, part.left.data(), part.right.data(), size.data());
    }

    static BinaryTree random_tree(const BinaryTree& like, std::uint64_t seed) {
        const Node n = like.leaves;
        std::vector<Node> left(n - 1, kNone), right(n - 1, kNone);
        const auto parent = uniform_binary_tree(n, seed);
        for (Node v = 0; v < 2 * n - 1; ++v)
            if (parent[v] >= 0) {
                Node& first = left[parent[v] - n];
                (first == kNone ? first : right[parent[v] - n]) = v;
            }
        return BinaryTree(n, left.data(), right.data(), like.size.data());
    }

    void refine(const Part& part, double tolerance, double largest, Team& team, Control& control, Outcome& outcome) {
        // At the end of the time there is nothing left to do, once the cross weights of all nodes are known.
        if (control.failed() || (known_ && control.stop(0))) return;
        BinaryTree local = local_tree(part);
        auto weights = source_.weights(part, local, control);
        Search<decltype(weights)> search(std::move(local), std::move(weights), tolerance, largest, team, control);
        if (!control.stop(0)) search.run();
        write_back(part, search.tree());
        outcome = search.outcome;
    }

    // Inner nodes keep their names in the whole tree; the root must, as the part above knows it by that.
    void write_back(const Part& part, const BinaryTree& local) {
        const Node n = local.leaves;
        std::vector<Node> name(part.members);
        name.insert(name.end(), part.inner.begin(), part.inner.end());
        std::swap(name[n], name[local.root]);
        for (Node v = n; v < local.nodes(); ++v) {
            tree_.link(name[v], name[local.left[v]], name[local.right[v]]);
            tree_.cross[name[v]] = local.cross[v];
        }
    }

    static constexpr double kAny = std::numeric_limits<double>::infinity();

    BinaryTree tree_;
    Source source_;
    bool known_ = false;  // the cross weights of all nodes are
};

}  // namespace cladify::refine
