// Union-find: which set an element belongs to. Many threads may ask, and shorten the paths, at once.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "common/team.hpp"

namespace cladify {

// `find` returns a Place: the root of an element and, where shifts are kept, the sum of the shifts on the way there.
template <bool kShifts = false>
class UnionFind {
public:
    using Place = std::conditional_t<kShifts, std::int64_t, std::int32_t>;

    explicit UnionFind(std::size_t n) : above_(n) {
        for (std::size_t i = 0; i < n; ++i) above_[i] = static_cast<Place>(i);
    }

    static std::int32_t root(Place place) { return static_cast<std::int32_t>(place); }
    static std::int32_t shift(Place place) {
        if constexpr (kShifts) return static_cast<std::int32_t>(place >> 32);
        return 0;
    }

    bool is_root(std::int32_t c) const { return root(above_[static_cast<std::size_t>(c)]) == c; }

    // The parent of c: its root, after `flatten`.
    Place stored(std::int32_t c) const { return above_[static_cast<std::size_t>(c)]; }

    // Threads shorten paths while others read them: any value read is an ancestor with the shift up to it, so all find
    // the same root.
    Place find(std::int32_t c) {
        Place place = c;
        for (;;) {
            std::atomic_ref<Place> up(above_[static_cast<std::size_t>(c)]);
            const Place one = up.load(std::memory_order_relaxed);
            if (root(one) == c) return place;
            const Place two =
                std::atomic_ref<Place>(above_[static_cast<std::size_t>(root(one))]).load(std::memory_order_relaxed);
            if (root(two) == root(one)) return then(place, one);
            const Place both = then(one, two);
            up.store(both, std::memory_order_relaxed);
            place = then(place, both);
            c = root(both);
        }
    }

    // Puts root c below root `to`.
    void unite(std::int32_t c, std::int32_t to, std::int32_t shift = 0) {
        above_[static_cast<std::size_t>(c)] = then(pack(c, shift), to);
    }

    // Joins the sets of roots a and b under the smaller one.
    void unite_smaller(std::int32_t a, std::int32_t b) { unite(a < b ? b : a, a < b ? a : b); }

    // Stores the root of every element.
    void flatten() {
        for (std::size_t i = 0; i < above_.size(); ++i) above_[i] = find(static_cast<std::int32_t>(i));
    }
    void flatten(Team& team) {
        constexpr std::int64_t kGrain = 4096;  // fewer are not worth waking a thread
        team.split(static_cast<std::int64_t>(above_.size()), kGrain, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i)
                std::atomic_ref(above_[static_cast<std::size_t>(i)])
                    .store(find(static_cast<std::int32_t>(i)), std::memory_order_relaxed);
        });
    }

private:
    std::vector<Place> above_;

    static Place pack(std::int32_t root, std::int32_t shift) {
        if constexpr (kShifts) return static_cast<std::int64_t>(shift) << 32 | static_cast<std::uint32_t>(root);
        return root;
    }

    static Place then(Place a, Place b) { return pack(root(b), shift(a) + shift(b)); }
};

}  // namespace cladify
