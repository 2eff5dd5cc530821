// Nearest neighbours of leaves that come and go: everyone's list of nearest, and who has whom in theirs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "live/tree.hpp"

namespace ramify::online {

using live::kNone;
using live::Node;

struct Edge {
    Node to;
    float weight;
    bool mine, theirs;  // whether the owner counts `to` among its nearest, and the other way round
};

class NeighborLists {
public:
    explicit NeighborLists(int neighbors) : k_(neighbors) {}

    void grow(std::size_t nodes) {
        if (edges_.size() >= nodes) return;
        edges_.resize(std::max(nodes, 2 * edges_.size()));
        lost_.resize(edges_.size(), 0);
    }
    const std::vector<Edge>& operator[](Node leaf) const { return edges_[leaf]; }
    int neighbors() const { return k_; }
    int own(Node leaf) const {
        int count = 0;
        for (const Edge& e : edges_[leaf]) count += e.mine;
        return count;
    }
    Edge* find(Node leaf, Node to) {
        for (Edge& e : edges_[leaf])
            if (e.to == to) return &e;
        return nullptr;
    }
    // `to` is among the nearest of `leaf` from now on.
    void add(Node leaf, Node to, float weight) {
        if (Edge* e = find(leaf, to)) {
            e->mine = true;
            find(to, leaf)->theirs = true;
        } else {
            edges_[leaf].push_back({to, weight, true, false});
            edges_[to].push_back({leaf, weight, false, true});
        }
    }
    // Whether a leaf this near would be among the nearest of `u`; `far` is then the one that has to go, or kNone.
    // Where some of the nearest have gone, nobody knows who comes after those that are left: only nearer ones may
    // enter.
    bool is_near(Node u, float weight, Node& far) const {
        int count = 0;
        const Edge* last = nullptr;
        for (const Edge& e : edges_[u])
            if (e.mine) {
                ++count;
                if (last == nullptr || e.weight < last->weight) last = &e;
            }
        far = kNone;
        if (last == nullptr || (count < k_ && !lost_[u])) return true;
        if (weight <= last->weight) return false;
        if (count == k_) far = last->to;
        return true;
    }
    // What a leaf has to weigh more than to be among the nearest of `u`.
    float reach(Node u) const {
        constexpr float all = -std::numeric_limits<float>::infinity();
        int count = 0;
        float least = std::numeric_limits<float>::infinity();
        for (const Edge& e : edges_[u])
            if (e.mine) {
                ++count;
                least = std::min(least, e.weight);
            }
        return count == 0 || (count < k_ && !lost_[u]) ? all : least;
    }
    // The list of `u` is as long as it can be.
    void set_whole(Node u) { lost_[u] = 0; }
    // `far` is no longer among the nearest of `u`.
    void drop(Node u, Node far) {
        Edge* e = find(u, far);
        e->mine = false;
        find(far, u)->theirs = false;
        if (e->theirs) return;
        erase(u, far);
        erase(far, u);
    }
    // Nobody has `x` as a neighbour any more.
    void forget(Node x) {
        for (const Edge& e : edges_[x]) {
            if (e.theirs) lost_[e.to] = 1;
            erase(e.to, x);
        }
        edges_[x].clear();
        lost_[x] = 0;
    }

    // All lists, in the order in which they are searched, and whose are not whole: what is kept in a file.
    struct Kept {
        std::vector<Node> from, to;
        std::vector<float> weight;
        std::vector<std::int8_t> mine, theirs, lost;  // the last one by leaf
    };
    Kept keep(Node nodes) const {
        Kept out;
        for (Node v = 0; v < std::min(nodes, static_cast<Node>(edges_.size())); ++v) {
            for (const Edge& e : edges_[v]) {
                out.from.push_back(v);
                out.to.push_back(e.to);
                out.weight.push_back(e.weight);
                out.mine.push_back(e.mine);
                out.theirs.push_back(e.theirs);
            }
            out.lost.push_back(lost_[v]);
        }
        return out;
    }
    // Fills empty lists. Takes one edge, and whether one of the nearest has gone.
    void restore(Node from, const Edge& edge) { edges_[from].push_back(edge); }
    void restore(Node leaf, bool lost) { lost_[leaf] = lost; }

    // The first rule found broken, or an empty string.
    std::string broken_rule(const live::Tree& tree) const {
        for (Node v = 0; v < static_cast<Node>(edges_.size()); ++v) {
            const std::string name = "the list of " + std::to_string(v);
            const bool is_leaf = tree.is_alive(v) && tree.is_leaf(v);
            if (!is_leaf && !edges_[v].empty()) return name + " is not that of a leaf";
            if (own(v) > k_) return name + " is too long";
            for (const Edge& e : edges_[v]) {
                if (!e.mine && !e.theirs) return name + " has an edge that nobody wants";
                if (e.to == v || !tree.is_alive(e.to) || !tree.is_leaf(e.to))
                    return name + " has an end that is no leaf";
                const auto same = [&](const Edge& o) { return o.to == e.to; };
                if (std::count_if(edges_[v].begin(), edges_[v].end(), same) != 1) return name + " has an edge twice";
                const auto back =
                    std::find_if(edges_[e.to].begin(), edges_[e.to].end(), [&](const Edge& o) { return o.to == v; });
                if (back == edges_[e.to].end() || back->mine != e.theirs || back->theirs != e.mine ||
                    back->weight != e.weight)
                    return name + " and that of " + std::to_string(e.to) + " do not agree";
            }
        }
        return "";
    }

private:
    void erase(Node owner, Node to) {
        *find(owner, to) = edges_[owner].back();
        edges_[owner].pop_back();
    }

    int k_;
    std::vector<std::vector<Edge>> edges_;  // of a leaf
    std::vector<char> lost_;                // whether one of its nearest has gone and no other came for it
};

}  // namespace ramify::online
