// The cuts of a tree that minimise a cost of clusters plus a price for each of them, for every price at once.
//
// Let best(v, p) be the least cost of a cut of the subtree of v at price p: cost(v) + p if v stays whole, otherwise the
// sum over its children. Splitting v leaves at least one cluster more than keeping it, so the difference of the two
// grows with p, and v is whole exactly from one price on: its threshold. Cuts are nested, and a cut at price p has the
// highest nodes whose threshold is at most p.
//
// Going up, node v starts with its children whole, as at a very high price: pieces of cost S and number k, and the
// threshold (cost(v) - S) / (k - 1). While a piece has a threshold above that, it is split there already: the largest
// first, which changes S and k. The thresholds that are left lie in a heap, those of a node's children melded; each
// node enters once and leaves at most once, so all is done in n log n.
#pragma once
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tree/tree.hpp"

namespace cladify {

struct CutPath {
    std::vector<double> threshold;  // of every node; minus infinity at the leaves
    // The splits that cuts are made of, from the highest price down: below price[i], there are count[i] clusters more
    // and they cost saving[i] less.
    std::vector<double> price, saving;
    Ids count;
};

// Heaps over the inner nodes with the largest threshold on top: leftist trees, melded along their right spines.
class ThresholdHeaps {
public:
    using Id = std::int32_t;
    explicit ThresholdHeaps(const std::vector<double>& threshold, std::int64_t n_leaves)
        : threshold_(threshold),
          offset_(n_leaves),
          left_(threshold.size() - n_leaves, -1),
          right_(left_.size(), -1),
          rank_(left_.size(), 1) {}

    double key(Id a) const { return threshold_[offset_ + a]; }

    Id meld(Id a, Id b) {
        spine_.clear();
        while (a >= 0 && b >= 0) {
            if (key(a) < key(b)) std::swap(a, b);
            spine_.push_back(a);
            a = right_[a];
        }
        Id top = a >= 0 ? a : b;
        while (!spine_.empty()) {
            const Id node = spine_.back();
            spine_.pop_back();
            right_[node] = top;
            if (rank(left_[node]) < rank(right_[node])) std::swap(left_[node], right_[node]);
            rank_[node] = static_cast<std::int8_t>(rank(right_[node]) + 1);
            top = node;
        }
        return top;
    }

    Id without_top(Id a) { return meld(left_[a], right_[a]); }

private:
    int rank(Id a) const { return a < 0 ? 0 : rank_[a]; }

    const std::vector<double>& threshold_;
    std::int64_t offset_;
    std::vector<Id> left_, right_;
    std::vector<std::int8_t> rank_;  // at most log2(n)
    std::vector<Id> spine_;
};

inline CutPath cut_path(IdSpan parent, RealSpan cost, std::int64_t n_leaves) {
    const std::int64_t m = std::ssize(parent), inner = m - n_leaves;
    CutPath path;
    path.threshold.assign(m, -std::numeric_limits<double>::infinity());
    ThresholdHeaps heaps(path.threshold, n_leaves);
    std::vector<ThresholdHeaps::Id> heap(inner, -1);
    std::vector<double> pieces(inner, 0.0);  // cost of the pieces; then what the split saves
    Ids number(inner, 0);                    // their number; then how many clusters more
    for (std::int64_t v = 0; v < m; ++v) {
        ThresholdHeaps::Id own = -1;
        if (v >= n_leaves) {
            const std::int64_t i = v - n_leaves;
            double threshold = (cost[v] - pieces[i]) / static_cast<double>(number[i] - 1);
            while (heap[i] >= 0 && heaps.key(heap[i]) > threshold) {
                const auto top = heap[i];
                pieces[i] -= pieces[top];
                number[i] += number[top];
                threshold = (cost[v] - pieces[i]) / static_cast<double>(number[i] - 1);
                heap[i] = heaps.without_top(top);
            }
            path.threshold[v] = threshold;
            pieces[i] = cost[v] - pieces[i];
            number[i] -= 1;
            // Nothing left in the heap is above the threshold, so v goes on top of it.
            own = heaps.meld(static_cast<ThresholdHeaps::Id>(i), heap[i]);
        }
        if (v == m - 1) {
            for (auto top = own; top >= 0; top = heaps.without_top(top)) {
                path.price.push_back(heaps.key(top));
                path.saving.push_back(pieces[top]);
                path.count.push_back(number[top]);
            }
        } else {
            const std::int64_t up = parent[v] - n_leaves;
            pieces[up] += cost[v];
            number[up] += 1;
            heap[up] = heaps.meld(heap[up], own);
        }
    }
    return path;
}

}  // namespace cladify
