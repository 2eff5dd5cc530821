// Cuts of a tree into flat clusters, by number, height and size; see Tree.cut for the rules.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "tree/tree.hpp"

namespace cladify {

// Limits of a cut; `n_clusters` 0 asks for no number.
struct CutRule {
    std::int64_t n_clusters = 0;
    bool by_height = false;
    double height = 0;
    std::int64_t min_size = 1;
    std::int64_t max_size = std::numeric_limits<std::int64_t>::max();
    bool by_halves = false;  // a node whose big children have less than half of its leaves is not split
};

struct Cut {
    Ids label;               // a leaf's cluster, numbered by smallest leaf
    Ids node;                // a cluster's node: the highest one that has leaves of this cluster only
    std::int64_t count = 0;  // clusters
    bool oversized = false;  // a cluster above max_size remained
};

// A set of numbers, as bits.
class NumberSet {
public:
    explicit NumberSet(std::int64_t largest = 0) : bits_(largest / 64 + 1, 0) {}

    void add(std::int64_t number) { bits_[number / 64] |= std::uint64_t{1} << (number % 64); }
    bool has(std::int64_t number) const {
        return number >= 0 && number / 64 < words() && (bits_[number / 64] >> (number % 64) & 1);
    }
    std::int64_t words() const { return std::ssize(bits_); }
    std::int64_t largest_up_to(std::int64_t limit) const {
        while (limit > 0 && !has(limit)) --limit;
        return limit;
    }

    // All sums up to `limit` of a number of one set and a number of the other.
    static NumberSet sums(const NumberSet& a, const NumberSet& b, std::int64_t limit) {
        const NumberSet &few = a.words() < b.words() ? a : b, &many = a.words() < b.words() ? b : a;
        NumberSet out(std::min(limit, 64 * (a.words() + b.words()) - 2));
        for (std::int64_t w = 0; w < few.words(); ++w)
            for (std::uint64_t bits = few.bits_[w]; bits != 0; bits &= bits - 1)
                out.add_shifted(many, 64 * w + std::countr_zero(bits));
        return out;
    }
    // The numbers raised by `by`, up to `limit`.
    NumberSet raised(std::int64_t by, std::int64_t limit) const {
        NumberSet out(std::min(limit, 64 * words() - 1 + by));
        out.add_shifted(*this, by);
        return out;
    }

private:
    // May set bits above the limit in the last word; numbers are only asked for up to the limit.
    void add_shifted(const NumberSet& set, std::int64_t by) {
        const std::int64_t skip = by / 64, rest = by % 64;
        for (std::int64_t w = skip; w < std::min(words(), set.words() + skip + 1); ++w) {
            std::uint64_t bits = w - skip < set.words() ? set.bits_[w - skip] << rest : 0;
            if (rest && w > skip) bits |= set.bits_[w - skip - 1] >> (64 - rest);
            bits_[w] |= bits;
        }
    }

    std::vector<std::uint64_t> bits_;
};

class TreeCutter {
public:
    // `order` has the inner nodes from the highest down, parents before children.
    TreeCutter(IdSpan parent, IdSpan size, RealSpan largest_height, IdSpan order, std::int64_t n_leaves,
               const CutRule& rule)
        : parent_(parent),
          size_(size),
          order_(order),
          n_leaves_(n_leaves),
          root_(std::ssize(parent) - 1),
          rule_(rule),
          heavy_(heaviest_children(parent, size)),
          n_big_(parent.size(), 0),
          extra_(parent.size(), 0),
          split_(parent.size(), 0) {
        condense();
        split_where_asked(largest_height);
        if (rule.n_clusters <= count_) return;
        const std::vector<std::uint8_t> asked = split_;
        split_to_number();
        if (count_ < rule.n_clusters) try_other_splits(asked);
    }

    Cut cut() const {
        const std::int64_t m = std::ssize(parent_);
        // Where a small piece that joins node v ends up, then each node's cluster from the root down. A node that loses
        // small pieces alone hands its cluster on: `top` is where that began.
        Ids home(m), cluster(m, -1), top(m);
        for (std::int64_t v = 0; v < m; ++v) home[v] = passes(v) ? home[heavy_[v]] : v;
        Cut out;
        for (std::int64_t v = root_; v >= 0; --v) {
            top[v] = v != root_ && big(v) && n_big_[parent_[v]] == 1 ? top[parent_[v]] : v;
            if (v != root_ && cluster[parent_[v]] >= 0) {
                cluster[v] = cluster[parent_[v]];
            } else if (!big(v)) {
                cluster[v] = home[heavy_[parent_[v]]];
            } else if (!passes(v)) {
                cluster[v] = v;
                out.oversized = out.oversized || too_large(v);
            }
        }
        out.label = numbered_by_leaf(cluster, n_leaves_);
        out.count = count_;
        out.node.resize(count_);
        for (std::int64_t v = 0; v < n_leaves_; ++v) out.node[out.label[v]] = top[cluster[v]];
        return out;
    }

private:
    bool big(std::int64_t v) const { return size_[v] >= rule_.min_size; }
    bool can_split(std::int64_t v) const { return n_big_[v] >= 2; }
    bool too_large(std::int64_t v) const { return size_[v] + extra_[v] > rule_.max_size; }
    // Not a cluster itself: its leaves go on to its children, or to the only one that is big.
    bool passes(std::int64_t v) const { return n_big_[v] == 1 || split_[v]; }

    // The condensed tree: a node can split only where two children are big; a small one stays with its heaviest
    // sibling.
    void condense() {
        for (std::int64_t v = 0; v < root_; ++v) n_big_[parent_[v]] += big(v);
        if (rule_.by_halves) stop_at_crumbs(parent_, size_, rule_.min_size, n_big_);
        // Leaves of small pieces that join a node: those of its own parent, and those that joined the parent from
        // above.
        for (std::int64_t v = 0; v < root_; ++v)
            if (!big(v) && v != heavy_[parent_[v]]) extra_[heavy_[parent_[v]]] += size_[v];
        for (std::int64_t v = root_; v >= n_leaves_; --v) extra_[heavy_[v]] += extra_[v];
    }

    void make_split(std::int64_t v) {
        split_[v] = 1;
        count_ += n_big_[v] - 1;
    }

    void split_where_asked(RealSpan largest_height) {
        const bool everywhere =
            rule_.n_clusters == 0 && !rule_.by_height && rule_.max_size == std::numeric_limits<std::int64_t>::max();
        for (std::int64_t v = n_leaves_; v <= root_; ++v)
            if (can_split(v) && (everywhere || too_large(v) || (rule_.by_height && largest_height[v] > rule_.height)))
                make_split(v);
    }

    // Calls visit(v) for the nodes that can be split, from the highest down, while every split above them is made.
    template <typename Visit>
    void from_the_top(Visit&& visit) {
        std::vector<std::uint8_t> open(parent_.size(), 0);
        open[root_] = 1;
        for (const std::int64_t v : order_) {
            if (v != root_) open[v] = open[parent_[v]] && big(v) && passes(parent_[v]);
            if (open[v] && can_split(v)) visit(v);
        }
    }

    void split_to_number() {
        from_the_top([&](std::int64_t v) {
            if (!split_[v] && count_ + n_big_[v] - 1 <= rule_.n_clusters) make_split(v);
        });
    }

    // Highest-first may end below the number where other splits meet it or come closer (nodes of 3 and of 4 children,
    // and room for 3 more clusters). How many clusters more than one each subtree can give is a set of numbers, from
    // the leaves up; then, from the root down, every child gets a number that still leads to the best total: the one
    // closest to what highest-first gave it. Sets are as large as their subtrees or the number asked for, so this is
    // quick but for huge trees and numbers; those keep what highest-first found.
    void try_other_splits(const std::vector<std::uint8_t>& asked) {
        const std::int64_t limit = rule_.n_clusters - 1, m = std::ssize(parent_);
        Ids most(m, 0), given(m, 0);  // clusters more than one, at most and by highest-first
        double work = 0;
        for (std::int64_t v = 0; v < m; ++v) {
            if (can_split(v)) {
                most[v] += n_big_[v] - 1;
                given[v] = split_[v] ? given[v] + n_big_[v] - 1 : 0;
            }
            if (v == root_ || !big(v)) continue;
            const std::int64_t p = parent_[v];
            const double a = static_cast<double>(std::min(most[p], limit)),
                         b = static_cast<double>(std::min(most[v], limit));
            work += 1 + (a + b + a * b) / 64;
            most[p] += most[v];
            given[p] += given[v];
        }
        if (work > kMostWork) return;

        std::vector<NumberSet> own(m), joined(m);  // of a node; of a node and its big siblings before it
        Ids before(m, -1), last(m, -1);            // the big sibling before a node, and the last big child of a node
        for (std::int64_t v = 0; v < m; ++v) {
            if (n_big_[v] > 0) {
                own[v] = can_split(v) ? joined[last[v]].raised(n_big_[v] - 1, limit) : joined[last[v]];
                if (can_split(v) && !asked[v]) own[v].add(0);
            } else {
                own[v].add(0);
            }
            if (v == root_ || !big(v)) continue;
            const std::int64_t p = parent_[v];
            before[v] = last[p];
            joined[v] = last[p] < 0 ? own[v] : NumberSet::sums(joined[last[p]], own[v], limit);
            last[p] = v;
        }

        const std::int64_t target = own[root_].largest_up_to(limit);
        if (target < count_) return;
        Ids share(m, 0);
        share[root_] = target;
        for (std::int64_t v = root_; v >= n_leaves_; --v) {
            if (!big(v) || n_big_[v] == 0) continue;
            split_[v] = can_split(v) && (share[v] > 0 || asked[v]);
            if (can_split(v) && !split_[v]) continue;
            std::int64_t left = share[v] - (split_[v] ? n_big_[v] - 1 : 0);
            for (std::int64_t c = last[v]; c >= 0; c = before[c]) {
                share[c] = before[c] < 0 ? left : closest_share(own[c], joined[before[c]], left, given[c]);
                left -= share[c];
            }
        }
        count_ = 1 + target;
    }

    // A number of the one set, closest to `wish`, that leaves of `total` a number of the other.
    static std::int64_t closest_share(const NumberSet& own, const NumberSet& others, std::int64_t total,
                                      std::int64_t wish) {
        for (std::int64_t off = 0;; ++off)
            for (const std::int64_t number : {wish + off, wish - off})
                if (number <= total && own.has(number) && others.has(total - number)) return number;
    }

    static constexpr double kMostWork = 1e9;

    IdSpan parent_, size_, order_;
    std::int64_t n_leaves_, root_;
    CutRule rule_;
    Ids heavy_, n_big_, extra_;
    std::vector<std::uint8_t> split_;
    std::int64_t count_ = 1;
};

}  // namespace cladify
