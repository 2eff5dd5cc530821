// Nearest neighbours of leaves that come and go: everyone's list of nearest, and who has whom in theirs.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "common/team.hpp"
#include "mutable/tree.hpp"
#include "online/edge_list.hpp"

namespace cladify::online {

class NeighborLists {
public:
    explicit NeighborLists(int neighbors) : k_(neighbors) {}

    void grow(std::size_t nodes) {
        if (edges_.size() >= nodes) return;
        edges_.resize(std::max(nodes, 2 * edges_.size()));
        bounds_.resize(edges_.size());
    }
    std::size_t size() const { return edges_.size(); }
    const EdgeList& operator[](Node leaf) const { return edges_[leaf]; }
    int neighbors() const { return k_; }
    int own(Node leaf) const { return bounds_[leaf].own; }
    const Edge* find(Node leaf, Node to) const {
        for (const Edge& e : edges_[leaf])
            if (e.to == to) return &e;
        return nullptr;
    }
    // `to` is among the nearest of `leaf` from now on.
    void add(Node leaf, Node to, float weight) {
        if (const Edge* e = find(leaf, to)) {
            weight = e->weight;
            tie(leaf, to, true, e->theirs);
            tie(to, leaf, find(to, leaf)->mine, true);
        } else {
            push(leaf, {to, weight, true, false});
            push(to, {leaf, weight, false, true});
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
        note(u, kNone, 0.0f, What::kWhole);
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
        const bool theirs = find(u, far)->theirs;
        if (theirs) {
            tie(u, far, false, true);
            tie(far, u, true, false);
        } else {
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
            note(e.to, kNone, 0.0f, What::kLost);
            if (--bounds_[e.to].own == 0 || e.weight <= bounds_[e.to].least) measure(e.to);
            count(e.to);
        }
        edges_[x] = {};
        waiting_ -= bounds_[x].waits;
        bounds_[x] = {};
        note(x, kNone, 0.0f, What::kClear);
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
    // What was done to single lists, one step after another, from which whoever has the lists of before makes those of
    // now. `what` is a What and two ties.
    enum class What : std::uint8_t { kPush, kTie, kErase, kClear, kLost, kWhole };
    struct Steps {
        std::vector<Node> leaf, to;
        std::vector<float> weight;
        std::vector<std::uint8_t> what;
    };
    // The steps since the last call; from the first call on they are noted. Nothing where there were so many that all
    // lists are shorter.
    std::optional<Steps> take_steps() {
        std::optional<Steps> out;
        if (is_noting_) out = std::exchange(steps_, {});
        is_noting_ = true;
        return out;
    }
    // Takes one of these steps; `has_lost` is by leaf.
    void take(Node leaf, Node to, float weight, std::uint8_t what, std::vector<std::int8_t>& has_lost) {
        const bool mine = what & 2, theirs = what & 1;
        EdgeList& list = edges_[leaf];
        const auto kind = static_cast<What>(what >> 2);
        if (kind == What::kPush) list.push_back({to, weight, mine, theirs});
        if (kind == What::kTie || kind == What::kErase) {
            if (find(leaf, to) == nullptr) throw std::domain_error("a neighbour that is not there");
            if (kind == What::kErase) return remove(leaf, to);
            Edge& e = *list.find(to);
            e.mine = mine, e.theirs = theirs;
        }
        if (kind == What::kClear) list = {};
        if (kind >= What::kClear) has_lost[leaf] = kind == What::kLost;
    }
    // The lists of leaves 0, 1, … are stretches of these edges, which stay where they are and outlive the lists.
    void hold(std::span<const std::int64_t> start, std::span<const Edge> edges) {
        for (std::size_t v = 0; v + 1 < start.size(); ++v)
            edges_[v] = EdgeList(edges.subspan(start[v], start[v + 1] - start[v]));
    }
    // Throws unless the lists are those of leaves, and those of every two agree. Each edge is counted by the one end
    // and taken off by the other, as a number drawn from a key that is new each time: the sum is nothing only where
    // they agree, and no file can be made to pass.
    void check_restored(const live::Tree& tree, std::uint64_t key, Team& team) const {
        const auto n = static_cast<std::int64_t>(edges_.size());
        std::vector<std::vector<Node>> seen(team.threads());
        std::atomic<std::uint64_t> sum = 0;
        std::atomic<bool> good = true;
        team.split(n, kPiece, [&](std::int64_t first, std::int64_t last, int thread) {
            std::vector<Node>& by = seen[thread];
            by.resize(edges_.size(), kNone);
            std::uint64_t own = 0;
            bool fine = true;
            for (Node v = static_cast<Node>(first); v < last; ++v) {
                int count = 0;
                fine &= edges_[v].empty() || (tree.is_alive(v) && tree.is_leaf(v));
                for (const Edge& e : edges_[v]) {
                    std::uint8_t tie[2];  // truths only if these are 0 or 1
                    std::memcpy(tie, reinterpret_cast<const char*>(&e) + offsetof(Edge, mine), 2);
                    if (e.to < 0 || e.to >= tree.capacity() || tie[0] > 1 || tie[1] > 1) {
                        fine = false;
                        break;
                    }
                    fine &= tree.is_leaf(e.to) && e.to != v && by[e.to] != v && tie[0] + tie[1] > 0 &&
                            std::isfinite(e.weight);
                    by[e.to] = v;
                    count += tie[0];
                    own += v < e.to ? drawn(key, v, e.to, e.weight, tie[0], tie[1])
                                    : -drawn(key, e.to, v, e.weight, tie[1], tie[0]);
                }
                fine &= count <= k_;
            }
            sum += own;
            if (!fine) good = false;
        });
        if (!good || sum != 0) throw std::domain_error("lists of neighbours do not agree");
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
    static constexpr std::size_t kSteps = 8;                 // that are noted, for each list
    static constexpr std::int64_t kPiece = 1 << 14;          // lists that a thread checks at a time

    static std::uint64_t drawn(std::uint64_t key, Node a, Node b, float weight, unsigned of_a, unsigned of_b) {
        const auto mix = [](std::uint64_t x) {
            x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
            x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
            return x ^ (x >> 32);
        };
        const std::uint64_t ends =
            (static_cast<std::uint64_t>(static_cast<std::uint32_t>(a)) << 32) | static_cast<std::uint32_t>(b);
        const std::uint64_t rest = (std::uint64_t{std::bit_cast<std::uint32_t>(weight)} << 2) | (2 * of_a + of_b);
        return mix(mix(ends ^ key) + rest);
    }

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
    void push(Node owner, const Edge& edge) {
        edges_[owner].push_back(edge);
        note(owner, edge.to, edge.weight, What::kPush, edge.mine, edge.theirs);
    }
    void tie(Node owner, Node to, bool mine, bool theirs) {
        Edge& e = *edges_[owner].find(to);
        e.mine = mine, e.theirs = theirs;
        note(owner, to, 0.0f, What::kTie, mine, theirs);
    }
    void erase(Node owner, Node to) {
        remove(owner, to);
        note(owner, to, 0.0f, What::kErase);
    }
    void remove(Node owner, Node to) {
        *edges_[owner].find(to) = edges_[owner].back();
        edges_[owner].pop_back();
    }
    void note(Node leaf, Node to, float weight, What what, bool mine = false, bool theirs = false) {
        if (!is_noting_) return;
        if (steps_.leaf.size() >= kSteps * (edges_.size() + 64)) {
            is_noting_ = false;
            steps_ = {};
            return;
        }
        steps_.leaf.push_back(leaf);
        steps_.to.push_back(to);
        steps_.weight.push_back(weight);
        steps_.what.push_back(static_cast<std::uint8_t>(4 * static_cast<unsigned>(what) + 2 * mine + theirs));
    }

    int k_;
    std::vector<EdgeList> edges_;  // of a leaf
    std::vector<Bound> bounds_;    // of a leaf
    std::vector<Node> short_;      // leaves that wait, and some that no longer do
    bool is_noting_ = false;
    Steps steps_;
    std::size_t waiting_ = 0;
};

}  // namespace cladify::online
