// Single linkage of vectors: the minimum spanning tree, edge by edge.
//
// Points stay points here, with their lists and bounds, and groups of them grow: the nearest point outside the own
// group is on the list or beyond the bound. Points are served in order of that distance. An edge joins its two groups
// if it is the shortest that leaves one of them, and that it is, unless both have a point waiting whose list is used up
// (its bound is shorter than the edge). When all wait, those points are searched together; not those of the largest
// group, since what leaves it is found from the other side.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "agglomerate/hac/queue.hpp"

namespace cladify {

class HacSingle final : public HacQueue {
public:
    template <class... Arguments>
    explicit HacSingle(Arguments&&... arguments)
        : HacQueue(std::forward<Arguments>(arguments)...),
          sets_(first_id_),
          size_(first_id_, 1),
          waiting_(first_id_, 0) {}

    // `left` and `right` are the ends of the edges.
    std::vector<std::int32_t> run(std::size_t clusters, double limit, std::size_t merges,
                                  Interrupt& interrupt) override {
        for (std::size_t step = 1; alive_ > clusters && merges > 0; ++step) {
            if (step % 256 == 0) interrupt();
            const std::size_t s = first();
            if (parked_[s] || key_[s] > limit) {
                std::vector<std::int32_t> rows = to_search();
                if (rows.empty()) continue;  // what is known is enough to go on
                return rows;
            }
            if (lazy_[s]) {
                park(s);
                continue;
            }
            Candidate& c = candidate(s);
            const std::int32_t a = find(id_[s]), b = find(c.id);
            if (a == b) {
                drop(s, c);
            } else if (!c.exact) {
                c = {distance(s, slot_of_[c.id]), c.id, 1};
            } else if (waiting_[a] && waiting_[b]) {
                park(s);
                continue;
            } else {
                left.push_back(id_[s]);
                right.push_back(c.id);
                height.push_back(c.bound);
                unite(a, b);
                --merges;
                drop(s, c);
            }
            refresh(s);
            update(s);
        }
        return {};
    }

private:
    UnionFind<> sets_;
    std::vector<std::int32_t> size_;     // by root: points of the group
    std::vector<std::int32_t> waiting_;  // by root: parked points of the group

    std::int32_t find(std::int32_t id) { return sets_.find(id); }

    void unite(std::int32_t a, std::int32_t b) {
        if (size_[a] < size_[b]) std::swap(a, b);
        size_[a] += size_[b];
        sets_.unite(b, a);
        waiting_[a] += waiting_[b];
        --alive_;
    }

    void park(std::size_t s) {
        parked_[s] = 1;
        ++waiting_[find(id_[s])];
        update(s);
    }

    // Ends all waiting, and puts the points of a group next to each other.
    std::vector<std::int32_t> to_search() {
        std::int32_t largest = find(id_[0]);
        std::vector<double> shortest(first_id_, kInfinity);  // known edge that leaves the group
        for (std::size_t s = 0; s < slots_; ++s) {
            const std::int32_t root = group_[s] = find(id_[s]);
            if (size_[root] > size_[largest]) largest = root;
            if (parked_[s] && !lazy_[s] && find(candidate(s).id) != root)
                shortest[root] = std::min(shortest[root], key_[s]);
        }
        std::vector<std::int32_t> order(slots_);
        for (std::size_t s = 0; s < slots_; ++s) order[s] = static_cast<std::int32_t>(s);
        std::stable_sort(order.begin(), order.end(), [&](auto s, auto t) { return group_[s] < group_[t]; });
        permute(order);
        std::vector<std::int32_t> rows;
        for (std::size_t s = 0; s < slots_; ++s)
            if (parked_[s] && lazy_[s] && group_[s] != largest && key_[s] <= shortest[group_[s]])
                rows.push_back(static_cast<std::int32_t>(s));
        std::fill(parked_.begin(), parked_.end(), 0);
        std::fill(waiting_.begin(), waiting_.end(), 0);
        rebuild();
        return rows;
    }

    void permute(const std::vector<std::int32_t>& order) {
        HacClusters::permute(order);
        permute_values(order, lazy_);
        permute_values(order, parked_);
        permute_values(order, nearest_);
    }
};

}  // namespace cladify
