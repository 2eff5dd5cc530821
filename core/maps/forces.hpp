// Points of a map that pull their neighbours and push all others away, step by step.
//
// The similarity of two points at distance d is 1 / (1 + a d^2b), as in UMAP. In one step every point moves by the sum
// of the pulls of its neighbours and of the pushes of a few random points, all taken from the positions of the step
// before: points do not wait for each other, and any number of threads gives the same map.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "common/random.hpp"
#include "common/team.hpp"

namespace cladify::maps {

struct Point {
    float x, y;
};

struct Graph {
    std::int64_t n;
    const std::int64_t* indptr;
    const std::int32_t* indices;
    const float* weight;
};

struct Settings {
    float a, b;      // the curve
    float push;      // mean pushes for one pull
    float gravity;   // pull to the origin for one pull of a neighbour; keeps parts without edges between them together
    float momentum;  // share of the last move that a point repeats
    std::uint64_t seed;
};

// Eight numbers at a time. Compilers make of them what the instruction set has.
constexpr int kLanes = 8;
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));
typedef float LooseLanes __attribute__((vector_size(kLanes * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef std::int32_t IntLanes __attribute__((vector_size(kLanes * sizeof(std::int32_t))));
typedef std::int64_t Pairs __attribute__((vector_size(4 * sizeof(std::int64_t))));

// x^p for x > 0 and |p| <= 1, with an error of about 1e-3 of it: enough for a force.
inline Lanes power(Lanes x, float p) {
    const auto bits = reinterpret_cast<IntLanes>(x);
    const Lanes m = reinterpret_cast<Lanes>((bits & 0x007fffff) | 0x3f800000) - 1.0F;  // in [0, 1)
    const Lanes log2x =
        __builtin_convertvector((bits >> 23) - 127, Lanes) + m * (1.4238F + m * (-0.5821F + m * 0.1583F));
    const Lanes t = p * log2x;
    IntLanes whole = __builtin_convertvector(t, IntLanes);
    whole += t < __builtin_convertvector(whole, Lanes);  // towards minus infinity
    const Lanes f = t - __builtin_convertvector(whole, Lanes);
    const Lanes exp2f = 1.0F + f * (0.6957F + f * (0.2264F + f * 0.0779F));
    return reinterpret_cast<Lanes>((whole + 127) << 23) * exp2f;
}

inline Lanes at_least(Lanes x, float low) { return x > low ? x : low - Lanes{}; }
inline Lanes clip(Lanes x) {
    x = x > -4.0F ? x : Lanes{} - 4.0F;
    return x < 4.0F ? x : Lanes{} + 4.0F;
}
inline float sum(Lanes x) { return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7])); }

// Four points as they lie in memory: x, y, x, y, ...
inline Lanes four(const Point* points, const std::int32_t* ids) {
    Pairs pairs;
    for (int k = 0; k < 4; ++k) {
        std::int64_t pair;
        std::memcpy(&pair, points + ids[k], sizeof pair);
        pairs[k] = pair;
    }
    return reinterpret_cast<Lanes>(pairs);
}

class Forces {
public:
    Forces(Graph graph, Settings settings, std::vector<Point> start, const std::vector<std::uint8_t>& fixed,
           int threads)
        : graph_(graph),
          set_(settings),
          now_(std::move(start)),
          next_(now_),  // points that are fixed are never written again
          speed_(now_.size(), Point{0.0F, 0.0F}),
          is_whole_(fixed.empty()),
          team_(threads) {
        for (std::size_t i = 0; i < fixed.size(); ++i)
            if (!fixed[i]) free_.push_back(static_cast<std::int32_t>(i));
    }

    // One step; `rate` is the share of the mean force that a point follows.
    void step(float rate, Interrupt& interrupt) {
        const std::int64_t count = is_whole_ ? graph_.n : static_cast<std::int64_t>(free_.size());
        team_.split((count + kGroup - 1) / kGroup, 64,
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t g = first; g < last; ++g) {
                            const Samples samples = draw(static_cast<std::uint64_t>(g));
                            for (std::int64_t i = g * kGroup; i < std::min(count, (g + 1) * kGroup); ++i)
                                move(is_whole_ ? i : free_[static_cast<std::size_t>(i)], rate, samples);
                        }
                    },
                    &interrupt);
        std::swap(now_, next_);
        ++steps_;
    }

    const std::vector<Point>& points() const { return now_; }

private:
    static constexpr int kSamples = 16;          // random points that push, a point and step
    static constexpr std::int64_t kGroup = 8;    // points that share their random points: these are read once
    static constexpr float kLeastDegree = 0.1F;  // also a point without neighbours moves
    static constexpr float kLongest = 4.0F;      // step of a point

    struct Samples {
        Lanes x[kSamples / kLanes], y[kSamples / kLanes];
    };
    struct Sums {
        Lanes x = {}, y = {}, weight = {};
    };

    void move(std::int64_t i, float rate, const Samples& samples) {
        const Point at = now_[static_cast<std::size_t>(i)];
        Sums sums;
        std::int64_t e = graph_.indptr[i];
        const std::int64_t last = graph_.indptr[i + 1];
        for (; e + kLanes <= last; e += kLanes)
            pull(at, graph_.indices + e, *reinterpret_cast<const LooseLanes*>(graph_.weight + e), sums);
        if (e < last) {
            std::int32_t ids[kLanes];
            Lanes weight = {};
            for (int k = 0; k < kLanes; ++k) {
                const bool is_edge = e + k < last;
                ids[k] = is_edge ? graph_.indices[e + k] : static_cast<std::int32_t>(i);
                weight[k] = is_edge ? graph_.weight[e + k] : 0.0F;
            }
            pull(at, ids, weight, sums);
        }
        const float degree = std::max(sum(sums.weight), kLeastDegree);
        const Point away = pushes(at, samples);
        const float share = rate / degree;
        const float x = share * sum(sums.x) + rate * (set_.push * away.x - set_.gravity * at.x);
        const float y = share * sum(sums.y) + rate * (set_.push * away.y - set_.gravity * at.y);
        const float length = std::sqrt(x * x + y * y);
        const float within = length > kLongest ? kLongest / length : 1.0F;
        Point& speed = speed_[static_cast<std::size_t>(i)];
        speed = {set_.momentum * speed.x + within * x, set_.momentum * speed.y + within * y};
        next_[static_cast<std::size_t>(i)] = {at.x + speed.x, at.y + speed.y};
    }

    // Adds the pulls of eight neighbours.
    void pull(Point at, const std::int32_t* ids, Lanes weight, Sums& sums) const {
        const Lanes low = four(now_.data(), ids), high = four(now_.data(), ids + 4);
        const Lanes dx = at.x - __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14);
        const Lanes dy = at.y - __builtin_shufflevector(low, high, 1, 3, 5, 7, 9, 11, 13, 15);
        const Lanes d2 = at_least(dx * dx + dy * dy, 1e-12F);
        const Lanes p = power(d2, set_.b - 1.0F);
        const Lanes g = -2.0F * set_.a * set_.b * p / (1.0F + set_.a * p * d2) * weight;
        sums.x += g * dx;
        sums.y += g * dy;
        sums.weight += weight;
    }

    // The random points of a group in this step.
    Samples draw(std::uint64_t group) const {
        const auto n = static_cast<std::uint64_t>(graph_.n);
        const std::uint64_t stream = mix(mix(set_.seed + steps_ * 0x9e3779b97f4a7c15ULL) + group);
        Samples samples;
        for (int k = 0; k < kSamples; ++k) {
            const Point other = now_[((random_bits(stream, static_cast<std::uint64_t>(k)) >> 32) * n) >> 32];
            samples.x[k / kLanes][k % kLanes] = other.x;
            samples.y[k / kLanes][k % kLanes] = other.y;
        }
        return samples;
    }

    // The mean push of the random points.
    Point pushes(Point at, const Samples& samples) const {
        Lanes fx = {}, fy = {};
        for (int k = 0; k < kSamples / kLanes; ++k) {
            const Lanes dx = at.x - samples.x[k], dy = at.y - samples.y[k];
            const Lanes d2 = dx * dx + dy * dy;
            const Lanes p = power(at_least(d2, 1e-12F), set_.b - 1.0F);
            const Lanes g = 2.0F * set_.b / ((0.001F + d2) * (1.0F + set_.a * p * d2));
            fx += clip(g * dx);
            fy += clip(g * dy);
        }
        return {sum(fx) / kSamples, sum(fy) / kSamples};
    }

    Graph graph_;
    Settings set_;
    std::vector<Point> now_, next_, speed_;
    bool is_whole_;
    std::vector<std::int32_t> free_;  // points that move, where not all do
    Team team_;
    std::uint64_t steps_ = 0;
};

}  // namespace cladify::maps
