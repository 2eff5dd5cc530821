// Linkages on a graph: the data of an edge between two clusters, how two such edges combine, and the similarity it
// stands for. Pairs of points without an edge count as similarity 0. All are reducible.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace cladify {

struct AverageLinkage {
    using Value = double;  // sum over the pairs
    static Value edge(double similarity, double pairs) { return similarity * pairs; }
    static void combine(Value& a, Value b) { a += b; }
    static double similarity(Value sum, double pairs) { return sum / pairs; }
};

struct SingleLinkage {
    using Value = double;  // the most similar pair
    static Value edge(double similarity, double) { return similarity; }
    static void combine(Value& a, Value b) { a = std::max(a, b); }
    static double similarity(Value most, double) { return most; }
};

struct CompleteLinkage {
    struct Value {
        double least, pairs;
    };
    static Value edge(double similarity, double pairs) { return {similarity, pairs}; }
    static void combine(Value& a, const Value& b) {
        a.least = std::min(a.least, b.least);
        a.pairs += b.pairs;
    }
    static double similarity(const Value& v, double pairs) {
        return v.pairs < pairs ? 0.0 : v.least;  // a missing pair is the least similar one
    }
};

// The mean of the similarities of the two parts, whatever their sizes: each merge halves the weight of every point in
// it, and the similarity of two clusters is the sum over their pairs, weighted by both ends. As the sum of average
// linkage waits for its division by the number of pairs, an edge here is measured in units of the points that name its
// two clusters, whose weight is 2^-halvings: merges do not change it, and only a new name does.
struct WeightedLinkage {
    struct Value {
        double sum;  // times 2^exponent, which a double has no room for: trees may be a million merges deep
        std::int64_t exponent;
    };
    static Value edge(double similarity, double) { return {similarity, 0}; }
    static void combine(Value& a, Value b) {
        if (a.exponent < b.exponent) std::swap(a, b);
        a.sum += scaled(b, static_cast<double>(a.exponent));
    }
    // The edge in units of a point that weighs 2^-shift times as much.
    static Value renamed(Value v, std::int32_t shift) { return {v.sum, v.exponent + shift}; }
    static double similarity(const Value& v, double halvings) { return scaled(v, halvings); }

private:
    static double scaled(const Value& v, double halvings) {
        constexpr double kVanished = -3000;  // smaller powers of two are all 0
        return std::ldexp(v.sum, static_cast<int>(std::max(static_cast<double>(v.exponent) - halvings, kVanished)));
    }
};

}  // namespace cladify
