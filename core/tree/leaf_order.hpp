// A leaf order in which neighbours are similar: each node's two sides are flipped so that the sum of distances between
// neighbouring leaves is small.
//
// The best order of a subtree depends on the outside only through its first and last leaf, so going up, a node keeps a
// few pairs of ends, the cheapest with ends of all kinds, and how each came about; the exact algorithm (Bar-Joseph,
// Gifford and Jaakkola, 2001) keeps all of them. A node's pairs come from those of its two sides, each either way
// round.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "tree/tree.hpp"

namespace cladify {

class LeafOrder {
public:
    // A binary tree, and rows of `d` numbers for its leaves; `width` pairs of ends are kept.
    LeafOrder(IdSpan parent, const Children& children, std::int64_t n_leaves, const float* rows, std::int64_t d,
              int width)
        : children_(children), n_leaves_(n_leaves), rows_(rows), d_(d), width_(width), begin_(parent.size() + 1, 0) {}

    // The leaves in order.
    Ids order(Interrupt& interrupt) {
        const std::int64_t m = std::ssize(begin_) - 1;
        states_.reserve(static_cast<std::size_t>(n_leaves_) * 2);
        for (std::int64_t v = 0; v < m; ++v) {
            if (v % 1024 == 0) interrupt();
            begin_[v] = std::ssize(states_);
            if (v < n_leaves_)
                states_.push_back({static_cast<Id>(v), static_cast<Id>(v), 0, 0, 0, 0.0});
            else
                join(left(v), right(v));
        }
        begin_[m] = std::ssize(states_);
        return unfold(m - 1);
    }

private:
    using Id = std::int32_t;

    // A pair of ends: which pair of each side it comes from, and which sides are turned round (bits 0 and 1).
    struct State {
        Id first, last;
        std::uint8_t of_left, of_right, turned;
        double cost;
    };

    std::int64_t left(std::int64_t v) const { return children_.child[children_.start[v - n_leaves_]]; }
    std::int64_t right(std::int64_t v) const { return children_.child[children_.start[v - n_leaves_] + 1]; }

    double distance(Id a, Id b) const {
        const float *x = rows_ + a * d_, *y = rows_ + b * d_;
        float sum = 0;
        for (std::int64_t i = 0; i < d_; ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
        return std::sqrt(static_cast<double>(sum));
    }

    // The pairs of two neighbouring nodes; those of a node lie between its begin and the next node's.
    void join(std::int64_t a, std::int64_t b) {
        const std::int64_t a0 = begin_[a], b0 = begin_[b];
        const int na = static_cast<int>(begin_[a + 1] - a0), nb = static_cast<int>(begin_[b + 1] - b0);
        const bool leaf_a = a < n_leaves_, leaf_b = b < n_leaves_;
        found_.clear();
        for (int i = 0; i < na; ++i)
            for (int turn_a = 0; turn_a < (leaf_a ? 1 : 2); ++turn_a) {
                const State& s = states_[a0 + i];
                const Id outer = turn_a ? s.last : s.first, inner = turn_a ? s.first : s.last;
                for (int j = 0; j < nb; ++j)
                    for (int turn_b = 0; turn_b < (leaf_b ? 1 : 2); ++turn_b) {
                        const State& t = states_[b0 + j];
                        const double cost = s.cost + t.cost + distance(inner, turn_b ? t.last : t.first);
                        found_.push_back({outer, turn_b ? t.first : t.last, static_cast<std::uint8_t>(i),
                                          static_cast<std::uint8_t>(j), static_cast<std::uint8_t>(turn_a + 2 * turn_b),
                                          cost});
                    }
            }
        keep_few();
    }

    // The cheapest pairs, but no end more than twice as long as there are others.
    void keep_few() {
        std::sort(found_.begin(), found_.end(), [](const State& x, const State& y) {
            if (x.cost != y.cost) return x.cost < y.cost;
            return x.first != y.first ? x.first < y.first : x.last < y.last;
        });
        const std::int64_t start = std::ssize(states_);
        for (const int repeats : {kRepeats, 1 << 30})
            for (State& s : found_) {
                if (std::ssize(states_) - start == width_) return;
                if (s.cost < 0) continue;  // taken
                int first = 0, last = 0;
                bool known = false;
                for (std::int64_t k = start; k < std::ssize(states_); ++k) {
                    first += states_[k].first == s.first;
                    last += states_[k].last == s.last;
                    known = known || (states_[k].first == s.first && states_[k].last == s.last);
                }
                if (known || first >= repeats || last >= repeats) continue;
                states_.push_back(s);
                s.cost = -1;
            }
    }

    Ids unfold(std::int64_t root) const {
        struct Open {
            std::int64_t node;
            int state;
            bool turned;
        };
        Ids out;
        out.reserve(n_leaves_);
        std::vector<Open> stack{{root, 0, false}};
        while (!stack.empty()) {
            const Open now = stack.back();
            stack.pop_back();
            if (now.node < n_leaves_) {
                out.push_back(now.node);
                continue;
            }
            const State& s = states_[begin_[now.node] + now.state];
            const Open a{left(now.node), s.of_left, ((s.turned & 1) != 0) != now.turned};
            const Open b{right(now.node), s.of_right, ((s.turned & 2) != 0) != now.turned};
            stack.push_back(now.turned ? a : b);  // the one that comes last
            stack.push_back(now.turned ? b : a);
        }
        return out;
    }

    static constexpr int kRepeats = 2;

    const Children& children_;
    std::int64_t n_leaves_;
    const float* rows_;
    std::int64_t d_;
    int width_;
    Ids begin_;
    std::vector<State> states_, found_;
};

// Where the leaves of every node lie in a given order of the leaves. The node whose leaves do not lie side by side, or
// -1: then node v holds order[first[v] .. last[v]).
inline std::int64_t place_nodes(IdSpan parent, IdSpan size, IdSpan order, Ids& first, Ids& last) {
    const std::int64_t m = std::ssize(parent), n = std::ssize(order);
    first.assign(m, n);
    last.assign(m, 0);
    for (std::int64_t i = 0; i < n; ++i) {
        first[order[i]] = i;
        last[order[i]] = i + 1;
    }
    for (std::int64_t v = 0; v + 1 < m; ++v) {
        if (last[v] - first[v] != size[v]) return v;
        first[parent[v]] = std::min(first[parent[v]], first[v]);
        last[parent[v]] = std::max(last[parent[v]], last[v]);
    }
    return -1;
}

// The depth-first order of the leaves with the children of inner node n + i in the order of pair[2i], pair[2i + 1].
inline Ids order_of_pairs(IdSpan pair, IdSpan size, std::int64_t n_leaves) {
    const std::int64_t m = std::ssize(size);
    Ids at(m, 0), order(n_leaves);
    for (std::int64_t v = m - 1; v >= n_leaves; --v) {
        const std::int64_t a = pair[2 * (v - n_leaves)], b = pair[2 * (v - n_leaves) + 1];
        at[a] = at[v];
        at[b] = at[v] + size[a];
    }
    for (std::int64_t v = 0; v < n_leaves; ++v) order[at[v]] = v;
    return order;
}

}  // namespace cladify
