// The names of clusters that merge: union-find that many threads may read, and shorten, at once.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace ramify {

// `find` returns a Place: the root of a name and, where shifts are kept, the sum of the shifts on the way there.
template <bool kShifts>
class Names {
public:
    using Place = std::conditional_t<kShifts, std::int64_t, std::int32_t>;

    explicit Names(std::size_t n) : above_(n) {
        for (std::size_t i = 0; i < n; ++i) above_[i] = static_cast<Place>(i);
    }

    static std::int32_t root(Place place) { return static_cast<std::int32_t>(place); }
    static std::int32_t shift(Place place) {
        if constexpr (kShifts) return static_cast<std::int32_t>(place >> 32);
        return 0;
    }

    bool is_root(std::int32_t c) const { return root(above_[static_cast<std::size_t>(c)]) == c; }

    // What was stored for c: its root, after `flatten`.
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

    // Makes root c a name of root `to`.
    void unite(std::int32_t c, std::int32_t to, std::int32_t shift) {
        above_[static_cast<std::size_t>(c)] = then(pack(c, shift), to);
    }

    // Stores the root of every name.
    void flatten(int threads) {
        const auto n = static_cast<std::int64_t>(above_.size());
        constexpr std::int64_t kSmall = 512;  // fewer are not worth waking a thread
#pragma omp parallel for schedule(static) num_threads(threads) if (n > kSmall)
        for (std::int64_t i = 0; i < n; ++i)
            std::atomic_ref(above_[static_cast<std::size_t>(i)])
                .store(find(static_cast<std::int32_t>(i)), std::memory_order_relaxed);
    }

private:
    std::vector<Place> above_;

    static Place pack(std::int32_t root, std::int32_t shift) {
        if constexpr (kShifts) return static_cast<std::int64_t>(shift) << 32 | static_cast<std::uint32_t>(root);
        return root;
    }

    static Place then(Place a, Place b) { return pack(root(b), shift(a) + shift(b)); }
};

}  // namespace ramify
