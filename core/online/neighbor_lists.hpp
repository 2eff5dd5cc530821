// Nearest neighbours of leaves that come and go: everyone's list of nearest, and who has whom in theirs.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "mutable/tree.hpp"

namespace cladify::online {

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
        bounds_.resize(edges_.size());
    }
    const std::vector<Edge>& operator[](Node leaf) const { return edges_[leaf]; }
    int neighbors() const { return k_; }
    int own(Node leaf) const { return bounds_[leaf].own; }
    Edge* find(Node leaf, Node to) {
        for (Edge& e : edges_[leaf])
            if (e.to == to) return &e;
        return nullptr;
    }
    // `to` is among the nearest of `leaf` from now on.
    void add(Node leaf, Node to, float weight) {
        Edge* e = find(leaf, to);
        if (e != nullptr) {
            weight = e->weight;
            e->mine = true;
            find(to, leaf)->theirs = true;
        } else {
            edges_[leaf].push_back({to, weight, true, false});
            edges_[to].push_back({leaf, weight, false, true});
        }
        ++bounds_[leaf].own;
        bounds_[leaf].least = std::min(bounds_[leaf].least, weight);
        count(leaf);
    }
    // The weight above which a leaf is among the nearest of `u`. Where some of the nearest have gone, the
    // ones after the rest are unknown: only nearer leaves may enter.
    float reach(Node u) const {
        const Bound& bound = bounds_[u];
        const bool open = bound.own == 0 || (bound.own < k_ && !bound.lost);
        return open ? -std::numeric_limits<float>::infinity() : bound.least;
    }
    // Whether a leaf this near would be among the nearest of `u`; `far` is then the one that has to go, or kNone.
    bool is_near(Node u, float weight, Node& far) const {
        if (weight <= reach(u)) return false;
        const auto is_last = [&](const Edge& e) { return e.mine && e.weight == bounds_[u].least; };
        far = bounds_[u].own < k_ ? kNone : std::find_if(edges_[u].begin(), edges_[u].end(), is_last)->to;
        return true;
    }
    // A leaf that has lost neighbours gets the nearest of these, given nearest first, that it has not yet: add(to,
    // weight) puts one on its list, after drop(far) where the list is full.
    template <typename Drop, typename Add>
    void mend(Node leaf, std::span<const Node> near, std::span<const float> weight, Drop&& drop, Add&& add) {
        for (std::size_t i = 0; i < near.size(); ++i) {
            const Edge* e = find(leaf, near[i]);
            if (e != nullptr && e->mine) continue;
            if (own(leaf) == neighbors()) {
                Node far;
                if (!is_near(leaf, weight[i], far)) break;
                drop(far);
            }
            add(near[i], weight[i]);
        }
    }
    // Marks the list of `u` as the result of a search among all.
    void set_whole(Node u) {
        bounds_[u].lost = false;
        count(u);
    }
    // Whether some of the nearest of `u` have gone since the last search among all: those that came for them may not be
    // the nearest there are.
    bool lost(Node u) const { return bounds_[u].lost; }

    // Leaves that have fewer than two thirds of their nearest left: how many, and which, ascending.
    std::size_t waiting() const { return waiting_; }
    std::vector<Node> short_ones() {
        std::sort(short_.begin(), short_.end());
        short_.erase(std::unique(short_.begin(), short_.end()), short_.end());
        std::erase_if(short_, [&](Node v) { return !bounds_[v].waits; });
        return short_;
    }
    // `far` is no longer among the nearest of `u`.
    void drop(Node u, Node far) {
        Edge* e = find(u, far);
        e->mine = false;
        find(far, u)->theirs = false;
        if (!e->theirs) {
            erase(u, far);
            erase(far, u);
        }
        measure(u);
    }
    // The lists of these leaves, or of all that are tied to `x`, are about to be read: among a million they lie far
    // from each other, and memory is waited for once, not for each. Not inlined, these would be calls without effect,
    // which are left out.
    [[gnu::always_inline]] void fetch(std::span<const Node> leaves) const {
        for (const Node v : leaves) fetch_place(v);
        for (const Node v : leaves) fetch_list(v);
    }
    [[gnu::always_inline]] void fetch_around(Node x) const {
        for (const Edge& e : edges_[x]) fetch_place(e.to);
        for (const Edge& e : edges_[x]) fetch_list(e.to);
    }
    // Nobody has `x` as a neighbour any more.
    void forget(Node x) {
        fetch_around(x);
        for (const Edge& e : edges_[x]) {
            erase(e.to, x);
            if (!e.theirs) continue;
            bounds_[e.to].lost = true;
            if (--bounds_[e.to].own == 0 || e.weight <= bounds_[e.to].least) measure(e.to);
            count(e.to);
        }
        edges_[x].clear();
        waiting_ -= bounds_[x].waits;
        bounds_[x] = {};
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
            out.lost.push_back(bounds_[v].lost);
        }
        return out;
    }
    // Fills empty lists. Takes one edge, and whether one of the nearest has gone.
    void restore(Node from, const Edge& edge) { edges_[from].push_back(edge); }
    // Throws unless the lists of every two leaves agree: edges (from, to), `from` ascending, counted by both ends.
    // Counting sort by `to` gives the edges that lead to each leaf, by ascending `from`, to compare its own list with.
    void check_restored(std::span<const Node> from, std::span<const Node> to) const {
        std::vector<std::size_t> start(edges_.size() + 1, 0), place;
        for (const Node v : to) ++start[static_cast<std::size_t>(v) + 1];
        for (std::size_t v = 0; v < edges_.size(); ++v) start[v + 1] += start[v];
        place.assign(start.begin(), start.end() - 1);
        std::vector<Edge> back(to.size());
        std::size_t i = 0;
        for (std::size_t v = 0; v < edges_.size(); ++v)
            for (const Edge& e : edges_[v]) {
                if (from[i++] != static_cast<Node>(v)) throw std::domain_error("lists of neighbours are out of order");
                back[place[e.to]++] = {static_cast<Node>(v), e.weight, e.theirs, e.mine};
            }
        std::vector<Edge> own;
        for (std::size_t v = 0; v < edges_.size(); ++v) {
            own = edges_[v];
            std::sort(own.begin(), own.end(), [](const Edge& a, const Edge& b) { return a.to < b.to; });
            int count = 0;
            bool good = own.size() == start[v + 1] - start[v];
            for (std::size_t j = 0; good && j < own.size(); ++j) {
                const Edge &e = own[j], &o = back[start[v] + j];
                count += e.mine;
                good = e.to == o.to && e.weight == o.weight && e.mine == o.mine && e.theirs == o.theirs &&
                       (e.mine || e.theirs) && e.to != static_cast<Node>(v) && (j == 0 || own[j - 1].to < e.to);
            }
            if (!good || count > k_) throw std::domain_error("lists of neighbours do not agree");
        }
    }
    void restore(Node leaf, bool lost) {
        bounds_[leaf].lost = lost;
        measure(leaf);
        count(leaf);
    }

    // The first rule found broken, or an empty string.
    std::string broken_rule(const live::Tree& tree) const {
        for (Node v = 0; v < static_cast<Node>(edges_.size()); ++v) {
            const std::string name = "the list of " + std::to_string(v);
            const bool is_leaf = tree.is_alive(v) && tree.is_leaf(v);
            if (!is_leaf && !edges_[v].empty()) return name + " is not that of a leaf";
            int count = 0;
            float least = std::numeric_limits<float>::infinity();
            for (const Edge& e : edges_[v])
                if (e.mine) ++count, least = std::min(least, e.weight);
            if (count > k_) return name + " is too long";
            if (count != own(v) || least != bounds_[v].least) return name + " is not what is known of it";
            if (bounds_[v].waits != is_short(v)) return name + " is short, or is not, and nobody knows";
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
    static constexpr std::size_t kLine = 64 / sizeof(Edge);  // edges of a line of the cache

    // How many of the edges of a leaf are its own nearest, and the smallest weight of these.
    struct Bound {
        float least = std::numeric_limits<float>::infinity();
        std::int32_t own = 0;
        bool lost = false;   // whether one of its nearest has gone since the last search among all
        bool waits = false;  // whether so many have that it needs new ones
    };
    bool is_short(Node v) const { return bounds_[v].lost && 3 * bounds_[v].own < 2 * k_; }
    void count(Node v) {
        if (is_short(v) == bounds_[v].waits) return;
        bounds_[v].waits = !bounds_[v].waits;
        waiting_ += bounds_[v].waits ? 1 : -1;
        if (bounds_[v].waits) short_.push_back(v);
    }
    [[gnu::always_inline]] void fetch_place(Node v) const {
        __builtin_prefetch(&edges_[v]);
        __builtin_prefetch(&bounds_[v]);
    }
    [[gnu::always_inline]] void fetch_list(Node v) const {
        for (std::size_t i = 0; i < edges_[v].size(); i += kLine) __builtin_prefetch(edges_[v].data() + i);
    }
    void measure(Node v) {
        Bound& bound = bounds_[v];
        bound.own = 0;
        bound.least = std::numeric_limits<float>::infinity();
        for (const Edge& e : edges_[v])
            if (e.mine) {
                ++bound.own;
                bound.least = std::min(bound.least, e.weight);
            }
    }
    void erase(Node owner, Node to) {
        *find(owner, to) = edges_[owner].back();
        edges_[owner].pop_back();
    }

    int k_;
    std::vector<std::vector<Edge>> edges_;  // of a leaf
    std::vector<Bound> bounds_;             // of a leaf
    std::vector<Node> short_;               // leaves that wait, and some that no longer do
    std::size_t waiting_ = 0;
};

}  // namespace cladify::online
