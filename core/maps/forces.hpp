// Points of a map that pull their neighbours and push all others away, step by step.
//
// The similarity of two points at distance d is 1 / (1 + a d^2b), as in UMAP. In one step every point moves by the sum
// of the pulls of its neighbours and of the pushes of a few random points, all taken from the positions of the step
// before: points do not wait for each other, and any number of threads gives the same map.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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
    float a, b;     // the curve
    float push;     // mean pushes for one pull
    float gravity;  // pull to the origin for one pull of a neighbour; keeps parts without edges between them together
    int samples;    // random points a step
    std::uint64_t seed;
};

// x^p for x > 0 with an error of about 1e-4 of it: enough for a force, and it fits vector instructions.
inline float power(float x, float p) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const auto exponent = static_cast<float>(static_cast<std::int32_t>(bits >> 23) - 127);
    const float m = std::bit_cast<float>((bits & 0x007fffffU) | 0x3f800000U) - 1.0F;  // in [0, 1)
    const float log2m = m * (1.4425100F + m * (-0.7155479F + m * (0.4366084F + m * (-0.2198728F + m * 0.0563024F))));
    const float t = std::clamp(p * (exponent + log2m), -126.0F, 126.0F);
    const float whole = std::floor(t);
    const float f = t - whole;
    const float exp2f = 1.0F + f * (0.6931158F + f * (0.2408127F + f * (0.0530716F + f * 0.0129999F)));
    return std::bit_cast<float>((static_cast<std::uint32_t>(static_cast<std::int32_t>(whole) + 127) << 23)) * exp2f;
}

inline float clip(float x) { return std::clamp(x, -4.0F, 4.0F); }

class Forces {
public:
    Forces(Graph graph, Settings settings, std::vector<Point> start, const std::vector<std::uint8_t>& fixed, int threads)
        : graph_(graph),
          set_(settings),
          now_(std::move(start)),
          next_(now_),  // points that are fixed are never written again
          is_whole_(fixed.empty()),
          team_(threads) {
        for (std::size_t i = 0; i < fixed.size(); ++i)
            if (!fixed[i]) free_.push_back(static_cast<std::int32_t>(i));
    }

    // One step; `rate` is the share of the mean force that a point follows.
    void step(float rate, Interrupt& interrupt) {
        team_.split(
            is_whole_ ? graph_.n : static_cast<std::int64_t>(free_.size()), 512,
            [&](std::int64_t first, std::int64_t last) {
                for (std::int64_t i = first; i < last; ++i)
                    move(is_whole_ ? i : free_[static_cast<std::size_t>(i)], rate);
            },
            &interrupt);
        std::swap(now_, next_);
        ++steps_;
    }

    const std::vector<Point>& points() const { return now_; }

private:
    static constexpr int kBlock = 32;
    static constexpr float kLeastDegree = 0.1F;  // also a point without neighbours moves
    static constexpr float kLongest = 4.0F;      // step of a point

    // Differences to the other ends of a few edges, and their weights.
    struct Block {
        float x[kBlock], y[kBlock], w[kBlock];
    };

    void move(std::int64_t i, float rate) {
        const Point at = now_[static_cast<std::size_t>(i)];
        Block block;
        Point force{0.0F, 0.0F};
        float degree = 0.0F;
        for (std::int64_t e = graph_.indptr[i]; e < graph_.indptr[i + 1]; e += kBlock) {
            const int count = static_cast<int>(std::min<std::int64_t>(kBlock, graph_.indptr[i + 1] - e));
            for (int k = 0; k < count; ++k) {
                const Point other = now_[static_cast<std::size_t>(graph_.indices[e + k])];
                block.x[k] = at.x - other.x;
                block.y[k] = at.y - other.y;
                block.w[k] = graph_.weight[e + k];
            }
            float fx = 0.0F, fy = 0.0F, sum = 0.0F;
#pragma omp simd reduction(+ : fx, fy, sum)
            for (int k = 0; k < count; ++k) {
                const float d2 = std::max(block.x[k] * block.x[k] + block.y[k] * block.y[k], 1e-12F);
                const float p = power(d2, set_.b - 1.0F);
                const float g = -2.0F * set_.a * set_.b * p / (1.0F + set_.a * p * d2) * block.w[k];
                fx += clip(g * block.x[k]);
                fy += clip(g * block.y[k]);
                sum += block.w[k];
            }
            force.x += fx;
            force.y += fy;
            degree += sum;
        }
        degree = std::max(degree, kLeastDegree);
        const Point away = pushes(i, at, block);
        const float back = set_.gravity * degree;
        const float share = rate / degree;
        const float x = share * (force.x + set_.push * degree * away.x - back * at.x);
        const float y = share * (force.y + set_.push * degree * away.y - back * at.y);
        const float length = std::sqrt(x * x + y * y);
        const float within = length > kLongest ? kLongest / length : 1.0F;
        next_[static_cast<std::size_t>(i)] = {at.x + within * x, at.y + within * y};
    }

    // The mean push of a few random points.
    Point pushes(std::int64_t i, Point at, Block& block) const {
        const auto n = static_cast<std::uint64_t>(graph_.n);
        const std::uint64_t stream = mix(set_.seed + steps_ * 0x9e3779b97f4a7c15ULL) + static_cast<std::uint64_t>(i);
        for (int k = 0; k < set_.samples; k += 2) {
            const std::uint64_t bits = random_bits(stream, static_cast<std::uint64_t>(k) * n);
            for (int half = 0; half < 2; ++half) {
                const std::uint64_t j = ((half ? bits >> 32 : bits & 0xffffffffULL) * n) >> 32;
                const Point other = now_[j];
                block.x[k + half] = at.x - other.x;
                block.y[k + half] = at.y - other.y;
            }
        }
        float fx = 0.0F, fy = 0.0F;
#pragma omp simd reduction(+ : fx, fy)
        for (int k = 0; k < set_.samples; ++k) {
            const float d2 = block.x[k] * block.x[k] + block.y[k] * block.y[k];
            const float g = 2.0F * set_.b / ((0.001F + d2) * (1.0F + set_.a * power(std::max(d2, 1e-12F), set_.b)));
            fx += clip(g * block.x[k]);
            fy += clip(g * block.y[k]);
        }
        const auto samples = static_cast<float>(set_.samples);
        return {fx / samples, fy / samples};
    }

    Graph graph_;
    Settings set_;
    std::vector<Point> now_, next_;
    bool is_whole_;
    std::vector<std::int32_t> free_;  // points that move, where not all do
    Team team_;
    std::uint64_t steps_ = 0;
};

}  // namespace cladify::maps
