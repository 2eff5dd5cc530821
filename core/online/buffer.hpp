// Agglomeration with a buffer: of the clusters that are kept side by side below the root, the two most similar ones are
// joined whenever there is no room for the next point.
#pragma once
#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "mutable/tree.hpp"
#include "online/linkage.hpp"

namespace cladify::online {

// The root, where there are several clusters, is marked by a weight (`cross`) of 1.
template <typename Linkage>
class Buffer {
public:
    Buffer(live::Tree& tree, Linkage linkage, std::size_t room) : tree_(tree), linkage_(linkage), room_(room) {
        for (const Node v : clusters(tree)) put(v);
    }

    // The nodes that are side by side.
    static std::vector<Node> clusters(const live::Tree& tree) {
        if (tree.root == kNone) return {};
        if (tree.is_leaf(tree.root) || tree.cross[tree.root] == 0.0) return {tree.root};
        std::vector<Node> out;
        for (Node c = tree.left[tree.root]; c != kNone; c = tree.after[c]) out.push_back(c);
        return out;
    }

    // `x` hangs nowhere.
    void insert(Node x) {
        if (tree_.root == x) {
            if (slots_.empty()) put(x);
            return;
        }
        if (slots_.size() >= room_) join();
        Node top = tree_.root;
        if (tree_.is_leaf(top) || tree_.cross[top] == 0.0) {
            top = tree_.make_inner();
            tree_.cross[top] = 1.0;
            tree_.append(top, tree_.root);
            tree_.root = top;
        }
        tree_.append(top, x);
        put(x);
    }

    struct Slot {
        Node node;
        std::size_t best;  // the most similar other one
        double similarity;
    };
    const std::vector<Slot>& slots() const { return slots_; }
    // The clusters in the order in which they were kept, which decides between equal similarities.
    void restore(std::vector<Slot> slots) {
        std::vector<Node> nodes, expected = clusters(tree_);
        for (const Slot& s : slots) {
            nodes.push_back(s.node);
            if (s.best >= slots.size()) throw std::domain_error("the most similar cluster is not in the buffer");
        }
        std::sort(nodes.begin(), nodes.end());
        std::sort(expected.begin(), expected.end());
        if (nodes != expected) throw std::domain_error("the buffer does not hold the clusters of the tree");
        slots_ = std::move(slots);
    }

private:
    void put(Node v) {
        slots_.push_back({v, 0, -std::numeric_limits<double>::infinity()});
        search(slots_.size() - 1, true);
    }
    void search(std::size_t i, bool offer) {
        Slot& s = slots_[i];
        s.similarity = -std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < slots_.size(); ++j) {
            if (j == i) continue;
            const double f = linkage_(tree_, s.node, slots_[j].node);
            if (f > s.similarity) s.similarity = f, s.best = j;
            if (offer && f > slots_[j].similarity) slots_[j].similarity = f, slots_[j].best = i;
        }
    }
    void join() {
        std::size_t a = 0;
        for (std::size_t i = 1; i < slots_.size(); ++i)
            if (slots_[i].similarity > slots_[a].similarity) a = i;
        std::size_t b = slots_[a].best;
        if (b < a) std::swap(a, b);
        const Node p = tree_.make_inner(), top = tree_.root;
        for (const Node v : {slots_[a].node, slots_[b].node}) {
            tree_.unhang(v);
            tree_.append(p, v);
        }
        tree_.append(top, p);
        slots_[a].node = p;
        // The last one takes the place of b.
        const std::size_t last = slots_.size() - 1;
        again_.clear();
        for (std::size_t i = 0; i < slots_.size(); ++i)
            if (i != a && i != b && (slots_[i].best == a || slots_[i].best == b)) again_.push_back(i == last ? b : i);
        slots_[b] = slots_[last];
        slots_.pop_back();
        for (Slot& s : slots_)
            if (s.best == last) s.best = b;
        if (slots_.size() == 1) {  // only with room for two
            tree_.unhang(p);
            tree_.drop(top);
            tree_.root = p;
            slots_[0].similarity = -std::numeric_limits<double>::infinity();
            return;
        }
        search(a, true);
        for (const std::size_t i : again_)
            if (i != a) search(i, false);
    }

    live::Tree& tree_;
    Linkage linkage_;
    std::size_t room_;
    std::vector<Slot> slots_;
    std::vector<std::size_t> again_;
};

}  // namespace cladify::online
