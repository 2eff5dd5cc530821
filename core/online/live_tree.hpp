// A tree of small Dasgupta cost over a graph of neighbours that grows and shrinks.
//
// The cost is the sum over inner nodes of size * cross, cross being the weight of the edges that meet there. Above node
// u, subtree S adds
//     I(u) = (|u| + |S|) W(S, u) + sum over the ancestors a of u: |S| cross(a) + (|a| + |S|) W(S, other child of a),
// as in refinement/scan.hpp. With weights of at least 0 no place beside a node that S has no edge into is the best one:
// only the ways from the neighbours of S up to the root are looked at, and the sum so far bounds what lies below.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "mutable/tree.hpp"
#include "online/neighbor_lists.hpp"

namespace cladify::online {

// Edges weigh what the batch method makes of them: a leaf counts one of its nearest at distance d for
// scale / (scale + d), the smaller of the scales of both, which are the distances to their `rank`-th nearest, at least
// `least`; an edge weighs the mean of what its two ends count it for, times the weights of both. With rank 0 edges
// count for the weights they came with. Otherwise these are distances, negative: larger is nearer. A scale follows the
// lists when it is off by a tenth.
class LiveTree {
public:
    LiveTree(live::Tree& tree, int neighbors, int rank, int tries, Node largest)
        : tree_(tree), lists_(neighbors), rank_(rank), tries_(tries), largest_(largest) {}

    // --- the graph
    // -----------------------------------------------------------------------------------------------------

    const NeighborLists& lists() const { return lists_; }
    NeighborLists& grown_lists() {
        grow();
        return lists_;
    }
    // Leaves in the tree get these nearest ones, none of which they have yet; the cross weights are left alone.
    void load(Node leaf, std::span<const Node> near, std::span<const float> weight) {
        grow();
        for (std::size_t i = 0; i < near.size(); ++i) lists_.add(leaf, near[i], weight[i]);
    }
    // Works out the scales of all leaves and the cross weights of all nodes from the edges.
    void refresh(double least) {
        grow();
        least_ = least;
        for (Node v = 0; v < tree_.capacity(); ++v)
            if (tree_.is_alive(v)) {
                if (tree_.is_leaf(v)) scale_[v] = scale_of(v);
                if (tried_[v] == 0.0) tried_[v] = tree_.size[v];
            }
        refresh();
    }
    void refresh() {
        std::fill(tree_.cross.begin(), tree_.cross.end(), 0.0);
        for (Node v = 0; v < tree_.capacity(); ++v)
            if (tree_.is_alive(v) && tree_.is_leaf(v))
                for (const Edge& e : lists_[v])
                    if (e.to > v) tree_.cross[tree_.lca(v, e.to)] += value(v, e);
    }
    // The same where only the lists have changed: leaves whose scale is another by now, and their edges.
    void rescale_all(double least) {
        least_ = least;
        for (Node v = 0; v < tree_.capacity(); ++v)
            if (tree_.is_alive(v) && tree_.is_leaf(v)) rescale(v, kNone, 1.0);
    }
    // Distance to the neighbour that sets the scale of each leaf.
    double raw_scale(Node leaf) { return ranked_distance(leaf); }
    std::vector<double>& scales() { return scale_; }
    const std::vector<double>& tried() const { return tried_; }
    std::vector<Node> awake() const { return {awake_.begin(), awake_.end()}; }
    // Restores the state outside the lists: scales, sizes at the last offer, and the nodes that wait for one.
    void restore(double least, std::span<const double> scales, std::span<const double> tried,
                 std::span<const Node> awake) {
        grow();
        const auto n = static_cast<std::size_t>(tree_.capacity());
        if (scales.size() != n || tried.size() != n) throw std::domain_error("scales and nodes are of unequal number");
        for (const Node v : awake)
            if (v < 0 || v >= tree_.capacity()) throw std::domain_error("a node that waits is not there");
        if (!tree_.is_binary()) throw std::domain_error("the tree is not binary");
        least_ = least;
        std::copy(scales.begin(), scales.end(), scale_.begin());
        std::copy(tried.begin(), tried.end(), tried_.begin());
        for (const Node v : awake) {
            asleep_[v] = 0;
            awake_.push_back(v);
        }
    }
    double cost() const {
        double sum = 0.0;
        for (Node v = 0; v < tree_.capacity(); ++v)
            if (tree_.is_alive(v) && !tree_.is_leaf(v)) sum += tree_.size[v] * tree_.cross[v];
        return sum;
    }

    // The first rule found broken, or an empty string.
    std::string broken_rule() {
        if (const std::string rule = lists_.broken_rule(tree_); !rule.empty()) return rule;
        const std::vector<double> kept = tree_.cross;
        refresh();
        std::vector<double> fresh = kept;
        fresh.swap(tree_.cross);
        double most = 0.0;
        for (const double w : fresh) most = std::max(most, w);
        for (Node v = 0; v < tree_.capacity(); ++v)
            if (tree_.is_alive(v) && !(std::abs(kept[v] - fresh[v]) <= 1e-9 * most))
                return "the weight that meets in " + std::to_string(v) + " is not that of its edges";
        return "";
    }

    // --- changes
    // -------------------------------------------------------------------------------------------------------

    // A leaf that hangs nowhere comes into the tree: `near` are its nearest among those that came before, none twice,
    // and `back` others of them that may have it among theirs.
    void insert(Node x, std::span<const Node> near, std::span<const float> weight, std::span<const Node> back,
                std::span<const float> back_weight) {
        grow();
        if (tree_.root == x) {
            scale_[x] = scale_of(x);  // the id may be that of a leaf of an earlier tree
            return;
        }
        lists_.fetch(near);
        lists_.fetch(back);
        for (std::size_t i = 0; i < near.size(); ++i) lists_.add(x, near[i], weight[i]);
        scale_[x] = scale_of(x);
        for (std::size_t i = 0; i < near.size(); ++i) offer(near[i], x, weight[i]);
        for (std::size_t i = 0; i < back.size(); ++i) offer(back[i], x, back_weight[i]);
        collect(x);
        const Node u = best_place(x).node;
        if (u == kNone) throw std::domain_error("a leaf has no place of finite cost");
        const double w = with(u);
        const Node p = tree_.join(u, x);
        grow();
        tried_[p] = tree_.size[p];
        tree_.cross[p] = w;
        add_cross(p, 1.0);
        // Those around may now have better places.
        for (std::size_t i = 0; i < near.size() && i < 4; ++i) wake(near[i]);
        wake(x);
        offer_grown(p);
        for (int i = 0; i < tries_ && !awake_.empty(); ++i) try_next();
        if (awake_.size() > kMost) awake_.erase(awake_.begin(), awake_.end() - kMost / 2);
    }

    // A leaf goes for good. Leaves that counted it among their nearest have one less.
    void remove(Node x) {
        collect(x);
        const Node p = tree_.parent[x];
        if (p != kNone) add_cross(p, -1.0);
        const Node beside = p == kNone ? kNone : tree_.sibling(x);
        lists_.forget(x);
        tree_.remove(x);
        if (beside != kNone) wake(beside);
        if (awake_.size() > kMost) awake_.erase(awake_.begin(), awake_.end() - kMost / 2);
    }

    // A leaf that has lost neighbours gets the nearest of these that it has not yet.
    void mend(Node leaf, std::span<const Node> near, std::span<const float> weight) {
        lists_.mend(
            leaf, near, weight, [&](Node far) { drop(leaf, far); },
            [&](Node to, float w) {
                const Edge* e = lists_.find(leaf, to);
                const double before = e == nullptr ? 0.0 : value(leaf, *e);
                lists_.add(leaf, to, w);
                tree_.cross[tree_.lca(leaf, to)] += value(leaf, *lists_.find(leaf, to)) - before;
            });
        rescale(leaf, kNone, 0.9);
        wake(leaf);
    }

    // Offers places to the nodes with changed surroundings, newest first, until there is nothing left or the time is
    // over.
    template <typename Stop>
    void settle(Stop&& stop) {
        for (std::int64_t i = 0; !awake_.empty(); ++i) {
            if (i % 64 == 0 && stop()) return;
            try_next();
        }
    }

private:
    static constexpr std::size_t kMost = 1 << 20;
    static constexpr int kAhead = 8;          // steps up that are fetched beforehand
    static constexpr double kLargest = 4096;  // leaves of a subtree that moves while points arrive

    void grow() {
        const auto n = static_cast<std::size_t>(tree_.capacity());
        if (tied_.size() >= n) return;
        const std::size_t size = std::max(n, 2 * tied_.size());
        lists_.grow(size);
        scale_.resize(size, 0.0);
        tried_.resize(size, 0.0);
        tied_.resize(size);
        asleep_.resize(size, 1);
    }

    double value(Node owner, const Edge& e) const {
        return 0.5 * counted(e, scale_[owner]) * tree_.size[owner] * tree_.size[e.to];
    }
    double counted(const Edge& e, double own) const {
        if (rank_ == 0) return (e.mine + e.theirs) * e.weight;
        const double scale = std::min(own, scale_[e.to]);
        return (e.mine + e.theirs) * scale / (scale - e.weight);
    }
    double scale_of(Node leaf) { return rank_ == 0 ? 0.0 : std::max(ranked_distance(leaf), least_); }
    double ranked_distance(Node leaf) {
        nearest_.clear();
        for (const Edge& e : lists_[leaf])
            if (e.mine) nearest_.push_back(-e.weight);
        if (nearest_.empty()) return 0.0;
        const std::size_t at = std::min(static_cast<std::size_t>(rank_), nearest_.size()) - 1;
        std::nth_element(nearest_.begin(), nearest_.begin() + static_cast<std::ptrdiff_t>(at), nearest_.end());
        return nearest_[at];
    }
    // The scale of `u` follows its list where it is off by more than that factor; `x` is not in the tree.
    void rescale(Node u, Node x, double factor) {
        if (rank_ == 0) return;
        const double now = scale_of(u), before = scale_[u];
        if (now == before || (now >= factor * before && before >= factor * now && factor < 1.0)) return;
        for (const Edge& e : lists_[u])
            if (e.to != x)
                tree_.cross[tree_.lca(u, e.to)] +=
                    0.5 * (counted(e, now) - counted(e, before)) * tree_.size[u] * tree_.size[e.to];
        scale_[u] = now;
    }
    // `x`, which is not in the tree yet, may be among the nearest of `u`; then the farthest of them no longer is.
    void offer(Node u, Node x, float weight) {
        Node far;
        if (!lists_.is_near(u, weight, far)) return;
        if (const Edge* known = lists_.find(u, x); known != nullptr && known->mine) return;
        if (far != kNone) drop(u, far);
        lists_.add(u, x, weight);
        if (-weight < scale_[u]) rescale(u, x, 0.9);
    }
    void drop(Node u, Node far) {
        double& cross = tree_.cross[tree_.lca(u, far)];
        cross -= value(u, *lists_.find(u, far));
        lists_.drop(u, far);
        if (const Edge* e = lists_.find(u, far)) cross += value(u, *e);
    }

    double with(Node v) const { return tied_[v].stamp == stamp_ ? tied_[v].weight : 0.0; }
    bool is_above(Node v) const { return tied_[v].stamp == stamp_ && tied_[v].where == Where::kAbove; }

    // W(S, v) for every node v with an edge from S, S itself left out. Each node above an end of these edges is seen
    // once: the way up from an end stops where another one came by, and the sums follow once all ways are known, the
    // last way first.
    void collect(Node s) {
        grow();
        if (++stamp_ == 0) {
            std::fill(tied_.begin(), tied_.end(), Tied{});
            stamp_ = 1;
        }
        way_.clear();
        ways_.clear();
        go_up(tree_.parent[s], Where::kAbove);
        leaves_.clear();
        for (Node v = tree_.first_below(s);; v = tree_.next_up(v)) {
            if (tree_.is_leaf(v)) {
                leaves_.push_back(v);
                tied_[v] = {0.0, stamp_, Where::kInside};
            }
            if (v == s) break;
        }
        for (const Node leaf : leaves_) {
            fetch_above(leaf);
            for (const Edge& e : lists_[leaf]) {
                if (tied_[e.to].stamp != stamp_)
                    go_up(e.to, Where::kBeside);
                else if (tied_[e.to].where == Where::kInside)
                    continue;
                tied_[e.to].weight += value(leaf, e);
            }
        }
        std::size_t end = way_.size();
        for (auto begin = ways_.rbegin(); begin != ways_.rend(); end = *begin, ++begin)
            for (std::size_t i = *begin; i < end; ++i)
                if (const Node p = tree_.parent[way_[i]]; p != kNone) tied_[p].weight += tied_[way_[i]].weight;
    }

    // The ways up from the neighbours of `leaf` are about to be walked, one after another. Among a million nodes each
    // step waits for memory; all ways walked at once wait together.
    void fetch_above(Node leaf) {
        ends_.clear();
        for (const Edge& e : lists_[leaf]) {
            ends_.push_back(e.to);
            __builtin_prefetch(&tied_[e.to]);
            __builtin_prefetch(&tree_.parent[e.to]);
            __builtin_prefetch(&tree_.size[e.to]);
            __builtin_prefetch(&scale_[e.to]);
        }
        for (int step = 0; step < kAhead; ++step)
            for (Node& v : ends_) {
                if (v == kNone || (v = tree_.parent[v]) == kNone) continue;
                __builtin_prefetch(&tied_[v]);
                __builtin_prefetch(&tree_.parent[v]);
            }
    }

    // Every ancestor of a node whose parent is `p` gains or loses the edges to the other side.
    void add_cross(Node p, double sign) {
        for (Node c = p, a = tree_.parent[p]; a != kNone; c = a, a = tree_.parent[a])
            tree_.cross[a] += sign * with(tree_.sibling(c));
    }

    enum class Where : std::uint32_t { kBeside, kAbove, kInside };
    // The weight between S and a node, where `stamp` is that of the last collect.
    struct Tied {
        double weight = 0.0;
        std::uint32_t stamp = 0;
        Where where = Where::kBeside;
    };
    void go_up(Node v, Where where) {
        ways_.push_back(way_.size());
        for (; v != kNone && tied_[v].stamp != stamp_; v = tree_.parent[v]) {
            tied_[v] = {0.0, stamp_, where};
            way_.push_back(v);
        }
    }

    struct Place {
        Node node = kNone;
        double gain = 0.0;
    };
    // After collect(s): the node beside which `s` costs least. Of a subtree in the tree: kNone if that is where it is.
    Place best_place(Node s) {
        const double size = tree_.size[s];
        const Node p = tree_.parent[s];
        double now = std::numeric_limits<double>::infinity();
        if (p != kNone) {
            now = tree_.size[p] * with(tree_.sibling(s));
            for (Node c = p, a = tree_.parent[p]; a != kNone; c = a, a = tree_.parent[a]) {
                const double off = with(tree_.sibling(c));
                now += size * (tree_.cross[a] - off) + tree_.size[a] * off;
            }
        }
        double best = now;
        Node at = kNone;
        stack_.clear();
        stack_.push_back({tree_.root, 0.0});
        while (!stack_.empty()) {
            auto [a, path] = stack_.back();
            stack_.pop_back();
            if (path >= best) continue;
            if (a == p) a = tree_.sibling(s);  // without S its sibling stands here
            const double all = tree_.size[a] + (is_above(a) ? 0.0 : size);
            const double cost = path + all * with(a);
            if (cost < best) best = cost, at = a;
            if (tree_.is_leaf(a)) continue;
            const Node l = tree_.left[a], r = tree_.right[a];
            const double wl = with(l), wr = with(r);
            double cross = tree_.cross[a];
            if (is_above(a)) cross -= l == s || is_above(l) ? wr : wl;
            const double base = path + size * cross;
            if (wl > 0.0 || is_above(l)) stack_.push_back({l, base + all * wr});
            if (wr > 0.0 || is_above(r)) stack_.push_back({r, base + all * wl});
        }
        return {at, now - best};
    }

    void try_next() {
        const Node s = awake_.back();
        awake_.pop_back();
        asleep_[s] = 1;
        if (tree_.is_alive(s) && tree_.parent[s] != kNone && tree_.size[s] <= largest_) try_move(s);
    }
    // Subtrees that are large get a chance whenever they have grown by half: a cluster that comes up in the middle of
    // another one leaves it so, for a price that is a few small moves a point.
    void offer_grown(Node v) {
        grown_.clear();
        for (; v != tree_.root; v = tree_.parent[v])
            if (tree_.size[v] > kLargest)
                break;
            else if (tree_.size[v] > largest_ && tree_.size[v] >= 1.5 * tried_[v])
                grown_.push_back(v);
        for (const Node u : grown_) {
            if (!tree_.is_alive(u) || tree_.parent[u] == kNone || 2 * tree_.size[u] > tree_.size[tree_.root]) continue;
            tried_[u] = tree_.size[u];
            try_move(u);
        }
    }
    void try_move(Node s) {
        collect(s);
        const Place place = best_place(s);
        if (place.node == kNone || place.node == tree_.sibling(s)) return;
        const double scale = tree_.size[tree_.root] * tree_.size[s];
        if (!(place.gain > 1e-9 * scale)) return;
        const Node beside = tree_.sibling(s);
        const double w = with(place.node);
        add_cross(tree_.parent[s], -1.0);
        const Node q = tree_.move(s, place.node);
        grow();
        tried_[q] = tree_.size[q];
        tree_.cross[q] = w;
        add_cross(q, 1.0);
        wake(beside);
        wake(place.node);
    }

    // A node, its sibling and its parent look for places again.
    void wake(Node v) {
        const Node p = tree_.parent[v];
        if (p == kNone) return;
        push(p);
        push(tree_.sibling(v));
        push(v);
    }
    void push(Node v) {
        grow();
        if (!asleep_[v] || tree_.size[v] > largest_) return;
        asleep_[v] = 0;
        awake_.push_back(v);
    }

    live::Tree& tree_;
    NeighborLists lists_;
    int rank_, tries_;
    double least_ = 0.0;
    double largest_;
    std::vector<double> scale_;  // of a leaf
    std::vector<double> tried_;  // size of a node when it was last offered another place
    std::vector<double> nearest_;
    std::vector<Tied> tied_;  // of a node
    std::vector<Node> ends_;
    std::vector<Node> leaves_, way_;  // of S, and nodes from ends of its edges upwards, one way after another
    std::vector<std::size_t> ways_;   // where each of them begins
    std::uint32_t stamp_ = 0;
    struct Step {
        Node node;
        double path;
    };
    std::vector<Step> stack_;
    std::vector<Node> grown_;
    std::deque<Node> awake_;
    std::vector<char> asleep_;
};

}  // namespace cladify::online
