// Trees against trees: triples of leaves, and the heights at which pairs are joined, over all of them in O(n²).
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/team.hpp"
#include "tree/tree.hpp"

namespace cladify {

// The other leaves of a tree by their LCA with one leaf: for each of its ancestors, nearest first, the children on
// other branches. visit(rank of the ancestor, ancestor, child, first, last).
struct LeafView {
    IdSpan parent, order, first, last;
    const Children& children;
    std::int64_t n_leaves;

    template <typename Visit>
    void from(std::int64_t leaf, Visit&& visit) const {
        std::int64_t rank = 0;
        for (std::int64_t below = leaf, v = parent[leaf]; v >= 0; below = v, v = parent[v], ++rank)
            for (std::int64_t k = children.start[v - n_leaves]; k < children.start[v - n_leaves + 1]; ++k)
                if (const std::int64_t c = children.child[k]; c != below) visit(rank, v, c, first[c], last[c]);
    }

    std::int64_t arity(std::int64_t v) const { return children.start[v - n_leaves + 1] - children.start[v - n_leaves]; }
};

// Triples of leaves with the same shape in both trees: the same closest pair, or no closest pair in either.
// O(n² log depth) in all: from leaf i, j and k make a triple ij|k when the ancestor with j is below the one with k, so
// the pairs that agree are the concordant pairs of two rankings. Each is seen from i and from j.
struct SameTriples {
    std::int64_t resolved = 0, unresolved = 0;
};

class TripleCounter {
public:
    TripleCounter(const LeafView& a, const LeafView& b) : a_(a), b_(b), rank_(a.n_leaves), wide_b_(a.n_leaves) {}

    // Concordant pairs seen from leaf i.
    std::int64_t resolved_from(std::int64_t i) {
        std::int64_t depth = 0;
        b_.from(i, [&](std::int64_t rank, std::int64_t, std::int64_t, std::int64_t first, std::int64_t last) {
            for (std::int64_t p = first; p < last; ++p) rank_[b_.order[p]] = rank;
            depth = rank + 1;
        });
        below_.assign(depth + 1, 0);
        const auto fewer = [&](std::int64_t rank) {  // leaves inserted with a smaller rank
            std::int64_t sum = 0;
            for (; rank > 0; rank &= rank - 1) sum += below_[rank];
            return sum;
        };
        const auto insert = [&](std::int64_t rank) {
            for (++rank; rank <= depth; rank += rank & -rank) ++below_[rank];
        };
        std::int64_t found = 0, done = 0;
        group_.clear();
        a_.from(i, [&](std::int64_t rank, std::int64_t, std::int64_t, std::int64_t first, std::int64_t last) {
            if (rank != done) {
                for (const std::int64_t r : group_) insert(r);
                group_.clear();
                done = rank;
            }
            for (std::int64_t p = first; p < last; ++p) {
                const std::int64_t r = rank_[a_.order[p]];
                found += fewer(r);
                group_.push_back(r);
            }
        });
        return found;
    }

    // Pairs that make an unresolved triple with leaf i in both trees; only nodes of three children or more have any.
    std::int64_t unresolved_from(std::int64_t i) {
        std::fill(wide_b_.begin(), wide_b_.end(), Place{-1, -1});
        b_.from(i, [&](std::int64_t, std::int64_t v, std::int64_t c, std::int64_t first, std::int64_t last) {
            if (b_.arity(v) > 2)
                for (std::int64_t p = first; p < last; ++p) wide_b_[b_.order[p]] = {v, c};
        });
        for (auto& keys : keys_) keys.clear();
        a_.from(i, [&](std::int64_t, std::int64_t v, std::int64_t c, std::int64_t first, std::int64_t last) {
            if (a_.arity(v) == 2) return;
            for (std::int64_t p = first; p < last; ++p) {
                const Place other = wide_b_[a_.order[p]];
                if (other.node < 0) continue;
                keys_[0].emplace_back(v, other.node);
                keys_[1].emplace_back(c, other.node);
                keys_[2].emplace_back(v, other.child);
                keys_[3].emplace_back(c, other.child);
            }
        });
        // Under the same ancestors, less those in one child of either, with those in one child of both put back.
        return equal_pairs(keys_[0]) - equal_pairs(keys_[1]) - equal_pairs(keys_[2]) + equal_pairs(keys_[3]);
    }

private:
    struct Place {
        std::int64_t node, child;
    };
    using Keys = std::vector<std::pair<std::int64_t, std::int64_t>>;

    static std::int64_t equal_pairs(Keys& keys) {
        std::sort(keys.begin(), keys.end());
        std::int64_t found = 0;
        for (auto begin = keys.begin(); begin != keys.end();) {
            const auto end = std::find_if(begin, keys.end(), [&](const auto& key) { return key != *begin; });
            found += pair_count(end - begin);
            begin = end;
        }
        return found;
    }

    const LeafView &a_, &b_;
    Ids rank_, below_, group_;
    std::vector<Place> wide_b_;
    Keys keys_[4];
};

inline SameTriples same_triples(const LeafView& a, const LeafView& b, int threads, Interrupt& interrupt) {
    const std::int64_t n = a.n_leaves;
    const bool binary = std::ssize(a.parent) == 2 * n - 1 || std::ssize(b.parent) == 2 * n - 1;
    std::vector<TripleCounter> counter(static_cast<std::size_t>(threads), TripleCounter(a, b));
    std::vector<SameTriples> found(static_cast<std::size_t>(threads));
    parallel_items(n, threads, interrupt, [&](std::int64_t i, int thread) {
        found[thread].resolved += counter[thread].resolved_from(i);
        if (!binary) found[thread].unresolved += counter[thread].unresolved_from(i);
    });
    SameTriples sum;
    for (const SameTriples& part : found) {
        sum.resolved += part.resolved;
        sum.unresolved += part.unresolved;
    }
    return {sum.resolved / 2, sum.unresolved / 3};
}

// Sum over pairs of leaves of (height of their ancestor in a - shift_a) times the same in b. O(n²).
inline double cophenetic_product(const LeafView& a, const LeafView& b, RealSpan height_a, RealSpan height_b,
                                 double shift_a, double shift_b, int threads, Interrupt& interrupt) {
    const std::int64_t n = a.n_leaves;
    std::vector<double> row(n, 0.0);
    std::vector<std::vector<double>> seen_by(static_cast<std::size_t>(threads), std::vector<double>(n));
    parallel_items(n, threads, interrupt, [&](std::int64_t i, int thread) {
        std::vector<double>& seen = seen_by[thread];
        b.from(i, [&](std::int64_t, std::int64_t v, std::int64_t, std::int64_t first, std::int64_t last) {
            for (std::int64_t p = first; p < last; ++p) seen[b.order[p]] = height_b[v] - shift_b;
        });
        double sum = 0;
        a.from(i, [&](std::int64_t, std::int64_t v, std::int64_t, std::int64_t first, std::int64_t last) {
            double part = 0;
            for (std::int64_t p = first; p < last; ++p) part += seen[a.order[p]];
            sum += part * (height_a[v] - shift_a);
        });
        row[i] = sum;
    });
    return std::accumulate(row.begin(), row.end(), 0.0) / 2;
}

}  // namespace cladify
