// Trees drawn at random: by cutting a line at random points, and uniformly among all binary trees.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/random.hpp"
#include "common/team.hpp"

namespace cladify {

// out[i] = <row i, direction>, divided by the length of row i if `normalize` is set. Sums run in T over sixteen lanes,
// which are added up in double.
template <typename T>
void project_rows(const T* X, std::int64_t n, std::int64_t d, const T* direction, bool normalize, double* out) {
    constexpr int kLanes = 16;
    const auto sum = [](const T* lane) {
        double total = 0;
        for (int l = 0; l < kLanes; ++l) total += lane[l];
        return total;
    };
    for (std::int64_t i = 0; i < n; ++i) {
        const T* x = X + i * d;
        T dot[kLanes] = {}, square[kLanes] = {};
        std::int64_t j = 0;
        for (; j + kLanes <= d; j += kLanes)
            for (int l = 0; l < kLanes; ++l) dot[l] += x[j + l] * direction[j + l];
        for (int l = 0; j + l < d; ++l) dot[l] += x[j + l] * direction[j + l];
        out[i] = sum(dot);
        if (!normalize) continue;
        for (j = 0; j + kLanes <= d; j += kLanes)
            for (int l = 0; l < kLanes; ++l) square[l] += x[j + l] * x[j + l];
        for (int l = 0; j + l < d; ++l) square[l] += x[j + l] * x[j + l];
        out[i] /= std::sqrt(sum(square));
    }
}

// --- cuts of a line
// ---------------------------------------------------------------------------------------------------

// Sorting keys of positions: their leading bits, in order, over the index in the trailing ones. Plain integers sort
// several times faster than positions with their indices beside them.
inline int index_bits(std::int64_t n) { return n < 2 ? 1 : 64 - std::countl_zero(static_cast<std::uint64_t>(n - 1)); }

// work(i) for every i below n, where each takes next to no time.
template <class Work>
void each_of(std::int64_t n, Team& team, const Work& work) {
    team.split(n, 1 << 14, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t i = first; i < last; ++i) work(i);
    });
}

inline void line_keys(std::span<const double> position, std::span<std::uint64_t> key, Team& team) {
    const std::int64_t n = std::ssize(position);
    const int bits = index_bits(n);
    each_of(n, team, [&](std::int64_t i) {
        const std::uint64_t raw = std::bit_cast<std::uint64_t>(position[i] + 0.0);  // -0 becomes 0
        const std::uint64_t ordered = raw >> 63 ? ~raw : raw | (std::uint64_t{1} << 63);
        key[i] = (ordered >> bits << bits) | static_cast<std::uint64_t>(i);
    });
}

// From sorted keys to the points in order of (position, index): only points with the same leading bits are left to
// sort.
inline void line_order(std::span<const double> position, std::span<std::uint64_t> key, Team& team) {
    const std::int64_t n = std::ssize(position);
    const std::uint64_t mask = (std::uint64_t{1} << index_bits(n)) - 1;
    const auto before = [&](std::uint64_t a, std::uint64_t b) { return position[a & mask] < position[b & mask]; };
    for (std::int64_t first = 0; first < n;) {
        std::int64_t last = first + 1;
        while (last < n && (key[last] | mask) == (key[first] | mask)) ++last;
        if (last - first > 1 && !std::is_sorted(key.begin() + first, key.begin() + last, before))
            std::stable_sort(key.begin() + first, key.begin() + last, before);
        first = last;
    }
    each_of(n, team, [&](std::int64_t i) { key[i] &= mask; });
}

// The tree of cutting the line at a uniformly random point, then each part in the same way: parents and heights of the
// 2n - 1 nodes. Height: the extent of a node.
//
// Give every gap between neighbours an independent exponential clock with the gap's length as its rate. The clock that
// rings first lies in gap g with probability length(g) / extent, and, clocks being without memory, the same holds
// inside each part afterwards. So the tree is the Cartesian tree of the ringing times E / length: one pass, one stack.
// Gaps of length 0 never ring; their equal points are split at uniformly random places.
//
// The gaps that ring first of all leave stretches that threads take one by one, and the tree over those is made in the
// same way. The work needs no memory beside its result. The places of the points come in the first n heights, and their
// sorted keys in the last n parents, which become the leaves in order; then the places in order take the last heights,
// and the ringing times the first ones.
class RandomCutTree {
public:
    RandomCutTree(std::int64_t n, std::uint64_t seed, Team& team, std::int64_t* parent, double* height)
        : n_(n), seed_(seed), parent_(parent), height_(height), start_{parent[n - 1], height[parent[n - 1]]} {
        each_of(n - 1, team, [&](std::int64_t i) { height[n + i] = height[parent[n + i]]; });
        each_of(n - 1, team, [&](std::int64_t i) {  // 0 / 0 cannot occur: the logarithm is of a number below 1
            height[i] = -std::log(open_unit(random_bits(seed, i))) / (at(i + 1).place - at(i).place);
        });

        const std::vector<Stretch> stretches = divide();
        const std::int64_t count = std::ssize(stretches);
        std::vector<Piece> pieces(count);
        team.run(count, [&](std::int64_t s) {
            const Stretch& stretch = stretches[s];
            pieces[s] = join(stretch.last - stretch.first, n + stretch.first - s, [&](std::int64_t i) {
                // Leaves come in no order: their parents would miss the cache every time.
                __builtin_prefetch(&parent_[at(stretch, std::min(stretch.first + i + kAhead, stretch.last - 1)).leaf],
                                   1);
                const auto [leaf, place] = at(stretch, stretch.first + i);
                return Piece{leaf, stretch.first + i, place, place};
            });
        });
        join(count, 2 * n - count, [&](std::int64_t s) { return pieces[s]; });
        parent[2 * n - 2] = -1;
        each_of(n, team, [&](std::int64_t i) { height[i] = 0.0; });
    }

private:
    static constexpr std::int64_t kStretches = 128, kStretchSize = 4096, kAhead = 16;

    struct Point {
        std::int64_t leaf;
        double place;
    };

    // Points first .. last-1 of the line. Nodes of stretches behind it take the room of its last points, as many as
    // there are stretches before those; so these are kept here.
    struct Stretch {
        std::int64_t first, last;
        std::vector<Point> tail;
    };

    // A finished subtree: its top node, the gap behind it, and its extent.
    struct Piece {
        std::int64_t node, gap;
        double begin, end;
    };

    Point at(std::int64_t i) const { return i == 0 ? start_ : Point{parent_[n_ - 1 + i], height_[n_ - 1 + i]}; }

    Point at(const Stretch& stretch, std::int64_t i) const {
        const std::int64_t kept = stretch.last - std::ssize(stretch.tail);
        return i < kept ? at(i) : stretch.tail[i - kept];
    }

    bool later(std::int64_t a, std::int64_t b) const {
        if (height_[a] != height_[b]) return height_[a] > height_[b];
        return random_bits(~seed_, a) > random_bits(~seed_, b);
    }

    // What the first gaps to ring leave.
    std::vector<Stretch> divide() const {
        const std::int64_t wanted = std::min(kStretches, n_ / kStretchSize);
        const auto earlier = [&](std::int64_t a, std::int64_t b) { return later(b, a); };
        std::vector<std::int64_t> gaps;  // a heap with the latest on top
        for (std::int64_t i = 0; wanted > 0 && i < n_ - 1; ++i) {
            if (std::ssize(gaps) == wanted) {
                if (!earlier(i, gaps.front())) continue;
                std::pop_heap(gaps.begin(), gaps.end(), earlier);
                gaps.pop_back();
            }
            gaps.push_back(i);
            std::push_heap(gaps.begin(), gaps.end(), earlier);
        }
        std::sort(gaps.begin(), gaps.end());
        gaps.push_back(n_ - 1);
        std::vector<Stretch> stretches;
        for (std::int64_t first = 0; const std::int64_t gap : gaps) {
            Stretch stretch{first, gap + 1, {}};
            for (std::int64_t i = std::max(first, gap + 1 - kStretches); i <= gap; ++i) stretch.tail.push_back(at(i));
            stretches.push_back(std::move(stretch));
            first = gap + 1;
        }
        return stretches;
    }

    // Joins pieces that follow each other, with nodes numbered from `next` on.
    template <typename At>
    Piece join(std::int64_t count, std::int64_t next, At piece_at) const {
        std::vector<Piece> open;  // each waits for what follows the gap behind it
        for (std::int64_t i = 0; i < count; ++i) {
            Piece piece = piece_at(i);
            while (!open.empty() && (i == count - 1 || later(open.back().gap, piece.gap))) {
                const Piece& left = open.back();
                parent_[left.node] = parent_[piece.node] = next;
                height_[next] = piece.end - left.begin;
                piece = {next++, piece.gap, left.begin, piece.end};
                open.pop_back();
            }
            open.push_back(piece);
        }
        return open.back();
    }

    std::int64_t n_;
    std::uint64_t seed_;
    std::int64_t* parent_;
    double* height_;
    Point start_;  // the first point: the results of all n leaves and the n points in order share a slot
};

// --- uniform trees
// ----------------------------------------------------------------------------------------------------

// Parents of a tree drawn uniformly from the (2n - 3)!! binary trees over n leaves, in no particular numbering of the
// inner nodes (n .. 2n - 2): leaf i is put beside one of the 2i - 1 nodes so far, each with the same probability.
inline std::vector<std::int64_t> uniform_binary_tree(std::int64_t n, std::uint64_t seed) {
    SplitMix random(seed);
    std::vector<std::int64_t> parent(2 * n - 1, -1);
    for (std::int64_t i = 1; i < n; ++i) {
        const std::int64_t pick = random.below(2 * i - 1);
        const std::int64_t beside = pick < i ? pick : n + pick - i, joined = n + i - 1;
        parent[joined] = parent[beside];
        parent[beside] = parent[i] = joined;
    }
    return parent;
}

}  // namespace cladify
