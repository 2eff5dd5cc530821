// Agglomeration by a reducible linkage: the union of two nearest neighbours is no nearer to a third cluster than the
// nearer of them was. So
//
//   * a bound holds for clusters that form later too: every list answers for all there is and will be;
//   * two clusters that are nearest to each other may merge before nearer pairs elsewhere do.
//
// Clusters are served in order of their key, the nearest candidate or the bound. An exact distance at the head of the
// queue is a pair of mutual nearest neighbours: merge. A bound there means that the list is used up: the cluster is
// parked, and so is whoever waits for it, and the others go on; when all wait, the parked ones are searched together.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agglomerate/hac/queue.hpp"

namespace cladify {

class HacReducible final : public HacQueue {
public:
    using HacQueue::HacQueue;

    std::vector<std::int32_t> run(std::size_t clusters, double limit, std::size_t merges,
                                  Interrupt& interrupt) override {
        for (std::size_t step = 1; alive_ > clusters && merges > 0; ++step) {
            if (step % 256 == 0) interrupt();
            const std::size_t s = first();
            if (parked_[s] || !is_alive(s) || key_[s] > limit) return to_search();
            Candidate& c = candidate(s);
            const std::int32_t r = lazy_[s] ? -1 : root(c.id);
            if (lazy_[s] || (c.exact && r == c.id && parked_[slot_of_[r]])) {
                parked_[s] = 1;
                update(s);
            } else if (c.exact && r == c.id) {
                merge(s, slot_of_[r], c.bound);
                --merges;
            } else {
                resolve(s, c, r);
                refresh(s);
                update(s);
            }
        }
        return {};
    }

private:
    // Finds out how far candidate `c` of `s`, which is cluster `r` by now, really is.
    void resolve(std::size_t s, Candidate& c, std::int32_t r) {
        const Candidate* list = &list_[s * list_size_];
        bool known = r == id_[s];
        for (std::size_t e = 0; e < count_[s]; ++e) known |= list[e].id == r && list[e].exact;
        if (known)
            drop(s, c);
        else
            c = {distance(s, slot_of_[r]), r, 1};
    }

    void merge(std::size_t s, std::size_t t, double h) {
        // Heights rise towards the root but for rounding.
        h = std::max({h, height_of(id_[s]), height_of(id_[t])});
        const std::size_t to = join(s, t, h), hole = to == s ? t : s;
        lazy_[hole] = 0;
        refresh(to);
        if (has_many_holes()) {
            compact([this](std::size_t a, std::size_t b) {
                lazy_[a] = lazy_[b];
                parked_[a] = parked_[b];
                nearest_[a] = nearest_[b];
            });
            rebuild();
        } else {
            update(to);
            update(hole);
        }
    }

    // Ends all waiting; returns the half of the parked clusters whose bounds are lowest: the others may yet be merged
    // by those before they need a search of their own.
    std::vector<std::int32_t> to_search() {
        std::vector<std::int32_t> rows;
        for (std::size_t s = 0; s < slots_; ++s)
            if (parked_[s] && lazy_[s]) rows.push_back(static_cast<std::int32_t>(s));
        std::fill(parked_.begin(), parked_.end(), 0);
        rebuild();
        constexpr std::size_t kWorthwhile = 64;
        const std::size_t batch = std::max(rows.size() / 2, std::min(rows.size(), kWorthwhile));
        if (rows.size() > batch) {
            std::nth_element(rows.begin(), rows.begin() + batch, rows.end(), Earlier{*this});
            rows.resize(batch);
            std::sort(rows.begin(), rows.end());
        }
        return rows;
    }
};

}  // namespace cladify
