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

#include "hac_clusters.hpp"
#include "winner_tree.hpp"

namespace ramify {

class HacReducible final : public HacClusters {
public:
    template <class... Arguments>
    explicit HacReducible(Arguments&&... arguments)
        : HacClusters(std::forward<Arguments>(arguments)...), lazy_(slots_, 0), parked_(slots_, 0) {}

    void start() override {
        for (std::size_t s = 0; s < slots_; ++s) refresh(s);
        tree_.build(slots_, Order{*this});
    }

    void searched(const std::vector<std::int32_t>& slots) override {
        for (const std::int32_t s : slots) {
            refresh(s);
            tree_.update(s, Order{*this});
        }
    }

    std::vector<std::int32_t> run(std::size_t clusters, double limit, std::size_t merges,
                                  Interrupt& interrupt) override {
        for (std::size_t step = 1; alive_ > clusters && merges > 0; ++step) {
            if (step % 256 == 0) interrupt();
            const std::size_t s = tree_.winner();
            if (parked_[s] || !is_alive(s) || key_[s] > limit) return to_search();
            if (lazy_[s]) {
                park(s);
                continue;
            }
            Candidate& c = list_[s * list_size_ + nearest_[s]];
            const std::int32_t r = root(c.id);
            if (!c.exact || r != c.id) {
                resolve(s, c, r);
                refresh(s);
                tree_.update(s, Order{*this});
            } else if (parked_[slot_of_[r]]) {
                park(s);
            } else {
                merge(s, slot_of_[r], c.bound);
                --merges;
            }
        }
        return {};
    }

private:
    std::vector<std::uint8_t> lazy_;    // the bound is below what is on the list
    std::vector<std::uint8_t> parked_;  // waits for a search, its own or another's
    std::vector<std::uint16_t> nearest_ = std::vector<std::uint16_t>(slots_, 0);  // place on the list
    WinnerTree tree_;

    struct Order {
        const HacReducible& all;
        bool operator()(std::size_t s, std::size_t t) const {
            if (all.parked_[s] != all.parked_[t]) return all.parked_[t] != 0;
            return Earlier{all}(s, t);
        }
    };

    void refresh(std::size_t s) {
        const Candidate* list = &list_[s * list_size_];
        const auto code = [&](const Candidate& c) { return c.exact ? pair_code(id_[s], c.id) : 0; };
        std::size_t best = 0;
        for (std::size_t e = 1; e < count_[s]; ++e)
            if (list[e].bound < list[best].bound ||
                (list[e].bound == list[best].bound && code(list[e]) < code(list[best])))
                best = e;
        lazy_[s] = count_[s] == 0 || list[best].bound > bound_[s];
        nearest_[s] = static_cast<std::uint16_t>(best);
        key_[s] = lazy_[s] ? bound_[s] : list[best].bound;
        tie_[s] = lazy_[s] ? 0 : code(list[best]);
    }

    // Finds out how far candidate `c` of `s`, which is cluster `r` by now, really is.
    void resolve(std::size_t s, Candidate& c, std::int32_t r) {
        Candidate* list = &list_[s * list_size_];
        bool known = r == id_[s];
        for (std::size_t e = 0; e < count_[s]; ++e) known |= list[e].id == r && list[e].exact;
        if (known)
            c = list[--count_[s]];
        else
            c = {distance(s, slot_of_[r]), r, 1};
    }

    void merge(std::size_t s, std::size_t t, double h) {
        // Heights rise towards the root but for rounding.
        h = std::max({h, height_of(id_[s]), height_of(id_[t])});
        const std::size_t to = join(s, t, h), hole = to == s ? t : s;
        lazy_[hole] = 0;
        if (has_many_holes()) {
            refresh(to);
            compact([this](std::size_t a, std::size_t b) {
                lazy_[a] = lazy_[b];
                parked_[a] = parked_[b];
                nearest_[a] = nearest_[b];
            });
            tree_.build(slots_, Order{*this});
            return;
        }
        refresh(to);
        tree_.update(to, Order{*this});
        tree_.update(hole, Order{*this});
    }

    void park(std::size_t s) {
        parked_[s] = 1;
        tree_.update(s, Order{*this});
    }

    // Ends all waiting; returns the half of the parked clusters whose bounds are lowest: the others may yet be merged
    // by those before they need a search of their own.
    std::vector<std::int32_t> to_search() {
        std::vector<std::int32_t> rows;
        for (std::size_t s = 0; s < slots_; ++s)
            if (parked_[s] && lazy_[s]) rows.push_back(static_cast<std::int32_t>(s));
        std::fill(parked_.begin(), parked_.end(), 0);
        tree_.build(slots_, Order{*this});
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

}  // namespace ramify
