// New neighbours for leaves that have lost some, among the neighbours of their neighbours.
//
// A search among all rows would find the nearest for certain, at a price that grows with their number: whoever takes a
// large part of the rows out would pay it a few times for each. The lists of those that are left hold most of them.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/vectors.hpp"
#include "data/topk.hpp"
#include "neighbors/cell_lists.hpp"
#include "online/neighbor_lists.hpp"

namespace cladify::online {

class Nearby {
public:
    // `slot` says, by leaf, where its row is.
    Nearby(const NeighborLists& lists, const SlotRows& rows, const std::int32_t* slot)
        : lists_(lists), rows_(rows), slot_(slot) {}

    // Writes the nearest that `leaf` has not yet, nearest first, as many as its list has room for; then kNone.
    void find(Node leaf, Node* near, float* score) {
        collect(leaf);
        const auto k = static_cast<std::size_t>(lists_.neighbors());
        const std::size_t room = k - static_cast<std::size_t>(lists_.own(leaf));
        best_.clear();
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            if (i + kAhead < candidates_.size()) fetch(candidates_[i + kAhead]);
            const Node v = candidates_[i];
            const float product = cladify::dot(row(leaf), row(v), static_cast<std::int64_t>(rows_.width));
            offer(make_key(product + rows_.bias[slot_[v]], v), room);
        }
        std::sort(best_.begin(), best_.end(), std::greater<>());
        for (std::size_t i = 0; i < k; ++i) {
            near[i] = i < best_.size() ? key_id(best_[i]) : kNone;
            score[i] = i < best_.size() ? key_score(best_[i]) : 0.0f;
        }
    }

private:
    static constexpr std::size_t kAhead = 4;  // rows that are fetched beforehand
    static constexpr std::size_t kLine = 16;  // floats of a line of the cache

    // All that are tied to `leaf`, and their nearest, but for its own nearest.
    void collect(Node leaf) {
        const auto& around = lists_[leaf];
        lists_.fetch_around(leaf);
        std::size_t most = around.size() + 1;
        for (const Edge& e : around) most += lists_[e.to].size();
        seen_.assign(std::bit_ceil(2 * most), kNone);
        candidates_.clear();
        is_new(leaf);
        for (const Edge& e : around)
            if (e.mine) is_new(e.to);
        for (const Edge& e : around) {
            look(e.to);
            for (const Edge& f : lists_[e.to])
                if (f.mine) look(f.to);
        }
    }
    void look(Node v) {
        if (is_new(v)) candidates_.push_back(v);
    }
    // Whether `v` is seen for the first time. A table of a few pages, where one of all leaves would not fit the cache.
    bool is_new(Node v) {
        const std::size_t mask = seen_.size() - 1;
        std::size_t at = (static_cast<std::uint32_t>(v) * 2654435769u >> 7) & mask;
        for (; seen_[at] != kNone; at = (at + 1) & mask)
            if (seen_[at] == v) return false;
        seen_[at] = v;
        return true;
    }
    const float* row(Node v) const { return rows_.z + static_cast<std::size_t>(slot_[v]) * rows_.width; }
    void fetch(Node v) const {
        for (std::size_t j = 0; j < rows_.width; j += kLine) __builtin_prefetch(row(v) + j);
    }
    // Keeps the largest keys, in a heap whose smallest is on top.
    void offer(Key key, std::size_t room) {
        if (best_.size() == room) {
            if (room == 0 || key <= best_.front()) return;
            std::pop_heap(best_.begin(), best_.end(), std::greater<>());
            best_.pop_back();
        }
        best_.push_back(key);
        std::push_heap(best_.begin(), best_.end(), std::greater<>());
    }

    const NeighborLists& lists_;
    SlotRows rows_;
    const std::int32_t* slot_;
    std::vector<Node> seen_;  // a hash table
    std::vector<Node> candidates_;
    std::vector<Key> best_;
};

}  // namespace cladify::online
