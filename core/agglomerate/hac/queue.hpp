// The queue in which clusters wait for their turn, nearest first, when merges may be made out of order
// (reducible.hpp, single.hpp): one that cannot go on without a search is parked, and the others go on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "agglomerate/hac/clusters.hpp"
#include "common/winner_tree.hpp"

namespace cladify {

class HacQueue : public HacClusters {
public:
    template <class... Arguments>
    explicit HacQueue(Arguments&&... arguments)
        : HacClusters(std::forward<Arguments>(arguments)...),
          lazy_(slots_, 0),
          parked_(slots_, 0),
          nearest_(slots_, 0) {}

    void start() override {
        for (std::size_t s = 0; s < slots_; ++s) refresh(s);
        rebuild();
    }

    void searched(const std::vector<std::int32_t>& slots) override {
        for (const std::int32_t s : slots) {
            refresh(s);
            update(s);
        }
    }

protected:
    std::vector<std::uint8_t> lazy_;      // the bound is below the list: a search is needed
    std::vector<std::uint8_t> parked_;    // waits for a search, its own or another's
    std::vector<std::uint16_t> nearest_;  // place on the list

    // Who is next, parked ones last.
    std::size_t first() const { return tree_.winner(); }
    void update(std::size_t s) { tree_.update(s, Order{*this}); }
    void rebuild() { tree_.build(slots_, Order{*this}); }

    Candidate& candidate(std::size_t s) { return list_[s * list_size_ + nearest_[s]]; }

    // Takes a candidate off the list.
    void drop(std::size_t s, Candidate& c) { c = list_[s * list_size_ + --count_[s]]; }

    // Finds the nearest candidate, after a change of the list.
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

private:
    WinnerTree tree_;

    struct Order {
        const HacQueue& all;
        bool operator()(std::size_t s, std::size_t t) const {
            if (all.parked_[s] != all.parked_[t]) return all.parked_[t] != 0;
            return Earlier{all}(s, t);
        }
    };
};

}  // namespace cladify
