// Agglomeration by centroid or median linkage, which are not reducible: the union of two clusters may be nearer to a
// third than both were, so pairs merge strictly in the order of their distances, and a pair is answered for by the
// cluster that was searched for its nearest later.
//
// The lists hold average distances E(A,B) = |mA - mB|^2 + V(A) + V(B), whose bounds last (a union's E is a convex
// combination). What is off the list of A is then at squared distance E - V(A) - V(B) >= bound - V(A) - V(B): only the
// clusters of large enough V need to be looked at, and most clusters have a small one or none.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "agglomerate/hac/clusters.hpp"
#include "common/winner_tree.hpp"

namespace cladify {

class HacCentroid final : public HacClusters {
public:
    template <class... Arguments>
    explicit HacCentroid(Arguments&&... arguments)
        : HacClusters(std::forward<Arguments>(arguments)...), nearest_(slots_, -1), fresh_(slots_, 0) {}

    void start() override {
        for (std::size_t s = 0; s < slots_; ++s) {
            // All are points, or the same point several times: the lists hold bounds of the squared distances.
            key_[s] = bound_[s];
            for (std::size_t e = 0; e < count_[s]; ++e) key_[s] = std::min(key_[s], list_[s * list_size_ + e].bound);
            tie_[s] = 0;
        }
        tree_.build(slots_, Earlier{*this});
    }

    void searched(const std::vector<std::int32_t>& slots) override {
        for (const std::int32_t s : slots) fresh_[s] = 1;
    }

    std::vector<std::int32_t> run(std::size_t clusters, double /*limit*/, std::size_t merges,
                                  Interrupt& interrupt) override {
        for (std::size_t step = 1; alive_ > clusters && merges > 0; ++step) {
            if (step % 64 == 0) interrupt();
            const std::size_t s = tree_.winner();
            const std::int32_t r = nearest_[s];
            if (r >= 0 && merged_into_.is_root(r)) {
                merge(s, slot_of_[r], key_[s]);
                --merges;
            } else {
                if (!find_nearest(s)) return {static_cast<std::int32_t>(s)};
                tree_.update(s, Earlier{*this});
            }
        }
        return {};
    }

private:
    std::vector<std::int32_t> nearest_;                              // its id, when found last; -1 before
    std::vector<std::uint8_t> fresh_;                                // searched, and not looked at since
    std::set<std::pair<double, std::int32_t>, std::greater<>> fat_;  // clusters by V, where that is above 0
    WinnerTree tree_;

    // The nearest of all clusters there are now; false when a search is needed.
    bool find_nearest(std::size_t s) {
        constexpr double kRounding = 1e-13;
        double best = kInfinity;
        std::uint64_t best_code = 0;
        std::int32_t best_id = -1;
        const auto look = [&](std::size_t k) {
            const double apart = squared(s, k);
            const std::uint64_t code = pair_code(id_[s], id_[k]);
            if (apart > best || (apart == best && code >= best_code)) return apart;
            best = apart;
            best_code = code;
            best_id = id_[k];
            return apart;
        };
        Candidate* list = &list_[s * list_size_];
        std::size_t kept = 0;
        for (std::size_t e = 0; e < count_[s]; ++e) {
            Candidate c = list[e];
            const std::int32_t r = root(c.id);
            if (r == id_[s]) continue;
            const std::size_t k = slot_of_[r];
            const double within = spread_[s] + spread_[k];
            const double least = r == c.id ? c.bound : std::min(c.bound, bound_[s]);
            if (least - within - kRounding * least <= best) c = {look(k) + within, r, 1};
            list[kept++] = c;
        }
        count_[s] = static_cast<std::uint16_t>(kept);

        if (bound_[s] != kInfinity) {
            const double enough = bound_[s] * (1 - kRounding) - spread_[s] - best;
            if (enough <= 0 && !fresh_[s]) return false;
            for (const auto& [spread, k] : fat_) {
                if (spread < enough) break;
                if (static_cast<std::size_t>(k) != s) look(k);
            }
        }
        fresh_[s] = 0;
        key_[s] = best;
        tie_[s] = best_code;
        nearest_[s] = best_id;
        return true;
    }

    void merge(std::size_t s, std::size_t t, double h) {
        fat_.erase({spread_[s], static_cast<std::int32_t>(s)});
        fat_.erase({spread_[t], static_cast<std::int32_t>(t)});
        const std::size_t to = join(s, t, h), hole = to == s ? t : s;
        if (spread_[to] > 0) fat_.insert({spread_[to], static_cast<std::int32_t>(to)});
        nearest_[to] = nearest_[hole] = -1;
        fresh_[to] = 0;
        key_[to] = 0.5 * h;  // a union comes nearer to others by a quarter of h at most: it is looked at next
        tie_[to] = 0;
        tree_.update(to, Earlier{*this});
        tree_.update(hole, Earlier{*this});
        if (!has_many_holes()) return;
        compact([this](std::size_t a, std::size_t b) {
            nearest_[a] = nearest_[b];
            fresh_[a] = fresh_[b];
        });
        tree_.build(slots_, Earlier{*this});
        fat_.clear();
        for (std::size_t k = 0; k < slots_; ++k)
            if (spread_[k] > 0) fat_.insert({spread_[k], static_cast<std::int32_t>(k)});
    }
};

}  // namespace cladify
