// A tournament over players 0..n-1: the winner is at hand, and a changed player costs log n comparisons.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cladify {

class WinnerTree {
public:
    template <class Less>
    void build(std::size_t n, const Less& less) {
        width_ = std::bit_ceil(n < 1 ? std::size_t{1} : n);
        node_.assign(2 * width_, -1);
        for (std::size_t i = 0; i < n; ++i) node_[width_ + i] = static_cast<std::int32_t>(i);
        for (std::size_t v = width_ - 1; v >= 1; --v) node_[v] = play(v, less);
    }

    std::size_t winner() const { return node_[1]; }

    template <class Less>
    void update(std::size_t player, const Less& less) {
        for (std::size_t v = (width_ + player) / 2; v >= 1; v /= 2) node_[v] = play(v, less);
    }

private:
    std::size_t width_ = 1;
    std::vector<std::int32_t> node_;  // node 1 is the final, nodes width_.. the players; -1 is nobody

    template <class Less>
    std::int32_t play(std::size_t v, const Less& less) const {
        const std::int32_t a = node_[2 * v], b = node_[2 * v + 1];
        if (a < 0 || b < 0) return a < 0 ? b : a;
        return less(b, a) ? b : a;
    }
};

}  // namespace cladify
