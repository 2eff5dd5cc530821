// Bisect++ and Conquer (Naumov, Yaroslavtsev, Avdiukhin, AAAI 2021): split a part by projected gradient ascent, round,
// improve the split under the objective, and go on inside; small parts by average linkage.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "common/finite.hpp"
#include "divide/ascent.hpp"
#include "divide/linkage.hpp"
#include "divide/scores.hpp"
#include "divide/weights.hpp"

namespace cladify::divide {

struct BisectParameters {
    double sign;           // 1: distances, cut as much as possible; -1: similarities, as little
    double delta;          // sides of (1/2 ± delta) m points; negative: chosen by value
    double inside;         // how good trees inside the sides are taken to be: 0 as random ones, 1 as the triple bound;
                           // negative: as is best for a sample
    bool random_rounding;  // round x at random, as algorithm 1 does, and do not improve
    double noise = 1;      // variance of the coordinates of a start
    std::vector<double> rates;  // of the steps of the ascent; empty: a scale that needs no tuning
    int n_init, n_iter;         // starts; steps of the ascent
    int n_improve, n_full;      // rounds of improvement of each start, and of the best over the whole of a large part
    std::int64_t n_sample;      // rows of a large part on which its starts are made
    std::int64_t n_groups;      // thresholds looked at
    std::int64_t leaf_size;
    double height_shift, height_scale;  // height = shift + scale · mean weight across
    std::uint64_t seed;
};

template <typename Weights>
class BisectSplitter {
public:
    struct Scratch {
        typename Weights::Scratch weights;
        AscentScratch ascent;
        std::vector<double> x, y;
        Grouping grouping;
        std::vector<std::uint16_t> group, best_group;
        std::vector<std::uint8_t> side;
        Splits splits;
        std::vector<float> pairs;
        std::vector<std::int64_t> order;
        std::vector<Peel> trunk;
        int effort = 1;               // 2: half of it
        double inside = 0, toll = 0;  // shares of m·W: see find_shares and fewest_of
        double earned = 0;            // sum over the nodes made of points times weight across
    };

    BisectSplitter(Weights& weights, const BisectParameters& parameters, int threads, Interrupt& interrupt)
        : weights_(weights), parameters_(parameters), interrupt_(interrupt) {
        if (parameters_.inside < 0) parameters_.inside = choose_inside(threads);
    }

    double inside() const { return parameters_.inside; }

    bool is_leafy(std::int64_t size) const { return size <= parameters_.leaf_size; }

    // Parts of up to `leaf_size` points: average linkage, or bisection if that is worth more.
    void finish(const Range& part, Scratch& s, Nodes& nodes, std::int64_t* leaf_above) const {
        const std::int64_t m = part.size();
        const Linked linked = link(part, s);
        std::vector<std::int64_t> position(m);  // of the points that are linked
        std::iota(position.begin(), position.end(), part.first);
        if (is_free() && m > kTiny) {
            std::vector<std::pair<std::int64_t, std::int64_t>> moved(m);  // point, position before
            for (std::int64_t i = 0; i < m; ++i) moved[i] = {weights_.index()[part.first + i], i};
            if (bisect(part, s, nodes, leaf_above) > parameters_.sign * linked.earned) return;
            nodes = {};
            std::sort(moved.begin(), moved.end());
            for (std::int64_t p = part.first; p < part.last; ++p)
                position[std::lower_bound(moved.begin(), moved.end(), std::pair{weights_.index()[p], std::int64_t{0}})
                             ->second] = p;
        }
        attach(linked.merges, linked.height, position, -1, nodes, leaf_above);
    }

    Cut split(const Range& part, Scratch& s, Team& team) const {
        const std::int64_t m = part.size();
        if (m == 2) {
            const double w = weights_.pair(part.first, part.first + 1);
            s.earned += 2.0 * w;
            return {part.first + 1, height(w)};
        }
        SplitMix random = part_random(parameters_.seed, part);
        find_shares(part, s, random);
        // Parts far down make little difference to the value of the tree: half the effort, on a quarter of the points.
        const bool is_minor = is_free() && kMinor * m < weights_.size();
        s.effort = is_minor ? 2 : 1;
        const int starts = (parameters_.n_init + s.effort - 1) / s.effort;
        const int rounds = parameters_.random_rounding ? 0 : parameters_.n_improve / s.effort;
        // Points are in random order, so the first of a part are a sample of it. Few edges of a graph run inside one.
        Range sample = part;
        if (!Weights::kSparse && !parameters_.random_rounding) {
            const std::int64_t few = is_minor ? std::max(m / 4, kFewSamples) : m;
            sample.last = std::min(part.last, part.first + std::min(few, parameters_.n_sample));
        }
        Best best;
        for (int trial = 0; trial < starts; ++trial) {
            start(sample, s, random, trial, team);
            improve(sample, s, rounds, best, team);
        }
        if (best.cut > 0 && sample.size() < m) {
            carry_over(part, sample, s, best, team);
            best = {};
            improve(part, s, parameters_.n_full / s.effort, best, team);
        }
        if (is_free() && best.cut > 0) {
            const Cut trunk = peel(part, s, best, team);
            if (!trunk.trunk.empty()) return trunk;
        }
        if (best.cut == 0) halve(part, s, best, team);
        s.earned += best.earned;
        s.side.resize(m);
        for (std::int64_t i = 0; i < m; ++i) s.side[i] = s.best_group[i] >= best.cut;
        return {weights_.arrange(part, s.side, team), height(best.across)};
    }

private:
    struct Best {
        double value = -std::numeric_limits<double>::infinity();
        double across = 0;             // mean weight between the sides
        std::int64_t cut = 0;          // the first side is groups 0 .. cut-1 of best_group; 0: none found
        double first = 0, second = 0;  // what a unit of weight inside each side loses by not being across
        double earned = 0;             // points times weight across
    };

    static constexpr double kMostUneven = 16, kToll = 0.1, kClear = 0.01;
    static constexpr std::int64_t kPilot = 1024, kPilots = 4, kPilotShare = 2;  // points, samples, share of all points
    static constexpr std::int64_t kFewSamples = 256, kMinor = 16;
    static constexpr std::int64_t kTiny = 64;  // points for which there is not much to choose

    // Cuts that take off few points must be worth it, or a point would go through too many of them: below this number
    // of m points, they have to gain a tenth of what lies between random trees and the bound.
    double fewest_of(double m) const { return is_free() ? m / kMostUneven : 0.0; }

    // Whether the objective decides how even splits are.
    bool is_free() const { return parameters_.delta < 0 && !parameters_.random_rounding; }

    struct Linked {
        std::vector<SmallMerge> merges;
        std::vector<double> height;
        double earned = 0;
    };

    Linked link(const Range& part, Scratch& s) const {
        const std::int64_t m = part.size();
        s.pairs.resize(m * m);
        weights_.pairs(part, s.pairs.data());
        if (parameters_.sign < 0)
            for (float& w : s.pairs) w = -w;
        Linked linked{average_linkage(std::vector<float>(m, 1.0f), s.pairs.data()), {}};
        std::vector<double> size(2 * m - 1, 1.0);
        for (std::int64_t i = 0; i < m - 1; ++i) {
            const auto [a, b, distance] = linked.merges[i];
            size[m + i] = size[a] + size[b];
            linked.earned += parameters_.sign * size[m + i] * size[a] * size[b] * distance;
            linked.height.push_back(height(parameters_.sign * distance));
        }
        return linked;
    }

    // Tries a few on the first points, which are samples. A graph keeps only the edges inside parts, and a matrix only
    // their blocks, so these can be split but once.
    double choose_inside(int threads) {
        constexpr double kUsual = 0.5;
        if constexpr (Weights::kInnerProduct) {
            if (is_free()) {
                double chosen = kUsual, best = 0;
                for (const double inside : {kUsual, 0.4, 0.6}) {
                    parameters_.inside = inside;
                    const auto [value, range] = try_samples(threads);
                    if (inside != kUsual && value <= best) continue;
                    chosen = inside;
                    best = value + kClear * range;
                }
                return chosen;
            }
        }
        return kUsual;
    }

    // The value of trees over a few samples, and the distance from random trees to the bound there.
    std::pair<double, double> try_samples(int threads) {
        const std::int64_t size = std::min(weights_.size(), kPilot);
        const auto count = std::clamp<std::int64_t>(weights_.size() / (kPilotShare * kPilot), 1, kPilots);
        std::vector<double> value(count), between(count);
        parallel_items(count, threads, interrupt_, [&](std::int64_t i) {
            const Range sample{i * size, (i + 1) * size};
            std::vector<std::int64_t> leaf_above(sample.last);
            Scratch s;
            Nodes nodes;
            SplitMix random = part_random(parameters_.seed, sample);
            weights_.shuffle(sample, random);  // the last tree put the points in its order
            value[i] = bisect(sample, s, nodes, leaf_above.data());
            between[i] = range(sample, s);
        });
        return {std::accumulate(value.begin(), value.end(), 0.0), std::accumulate(between.begin(), between.end(), 0.0)};
    }

    void finish_tiny(const Range& part, Scratch& s, Nodes& nodes, std::int64_t* leaf_above) const {
        const Linked linked = link(part, s);
        std::vector<std::int64_t> position(part.size());
        std::iota(position.begin(), position.end(), part.first);
        attach(linked.merges, linked.height, position, part.above, nodes, leaf_above);
        s.earned += linked.earned;
    }

    // The distance from random trees of a part to the bound.
    double range(const Range& part, Scratch& s) const {
        Team alone(1);
        SplitMix random = part_random(parameters_.seed, part);
        find_shares(part, s, random);
        s.group.assign(part.size(), 0);
        s.group[0] = 1;
        weights_.measure(part, s.group, 2, s.weights, s.splits, alone);
        const double all = s.splits.first[1] + s.splits.across[1] + s.splits.second[1];
        return s.toll / kToll * static_cast<double>(part.size()) * std::abs(all);
    }

    // Splits a part down to the leaves; returns the value of the tree.
    double bisect(const Range& part, Scratch& s, Nodes& nodes, std::int64_t* leaf_above) const {
        Team alone(1);
        std::vector<Range> open{{part.first, part.last, -1}};
        s.earned = 0;
        while (!open.empty()) {
            const Range next = open.back();
            open.pop_back();
            if (next.size() > kTiny)
                add_cut(split(next, s, alone), next, nodes, leaf_above, open);
            else
                finish_tiny(next, s, nodes, leaf_above);
        }
        return parameters_.sign * s.earned;
    }

    // Lets points leave alone, the one with the largest weight to all others first (similarities: the least), as long
    // as that is worth more than to split what is left; no trunk if the best split is worth more.
    Cut peel(const Range& part, Scratch& s, const Best& best, Team& team) const {
        const std::int64_t m = part.size();
        s.x.assign(m, parameters_.sign);
        s.y.resize(m);
        weights_.spread(part, part, s.x, s.y, s.weights, team);
        for (double& score : s.y) score = within(score, kLargest<double>);
        const std::int64_t groups = s.grouping.by_rank(s.y, parameters_.n_groups / s.effort, s.group);
        weights_.measure(part, s.group, groups, s.weights, s.splits, team);
        const auto& count = s.splits.count;
        const double all = s.splits.first[1] + s.splits.across[1] + s.splits.second[1];
        double passed = 0, value = best.value + 1e-9 * std::abs(best.value);
        std::int64_t cut = 0;
        const double fewest = fewest_of(static_cast<double>(m));
        for (std::int64_t t = 1; t < groups; ++t) {  // group t-1 leaves, from the first point to the last
            const double now = t > 1 ? s.splits.second[t - 1] : all, next = s.splits.second[t];
            passed += (static_cast<double>(m) - 0.5 * static_cast<double>(count[t - 1] + count[t] - 1)) * (now - next);
            double sum = parameters_.sign * (passed + worth(s, static_cast<double>(m - count[t])) * next);
            if (static_cast<double>(count[t]) < fewest) sum -= s.toll * static_cast<double>(m) * all;
            if (sum > value && count[t] > 0 && count[t] < m) value = sum, cut = t;
        }
        if (cut == 0) return {};
        s.side.resize(m);
        s.order.clear();
        for (std::int64_t i = 0; i < m; ++i)
            if (s.group[i] < cut) s.order.push_back(part.first + i);
        std::stable_sort(s.order.begin(), s.order.end(),
                         [&](std::int64_t a, std::int64_t b) { return s.y[a - part.first] > s.y[b - part.first]; });
        const std::int64_t leave = std::ssize(s.order);
        s.x.resize(leave);
        weights_.behind(part, s.order, s.x, s.weights);
        s.trunk.clear();
        for (std::int64_t i = 0; i < leave; ++i) {
            const double left = static_cast<double>(m - 1 - i);
            s.trunk.push_back({s.order[i], height(s.x[i] / left)});
            s.earned += (left + 1.0) * s.x[i];
        }
        for (std::int64_t i = 0; i < m; ++i) s.side[i] = s.group[i] >= cut;
        // A point of the trunk behind the middle changes places with the next point before it that stays.
        const Swaps swaps = swaps_for(part.first, part.last, s.side);
        s.order.resize(m);
        for (std::size_t i = 0; i < swaps.right.size(); ++i) s.order[swaps.right[i] - part.first] = swaps.left[i];
        for (Peel& leaf : s.trunk)
            if (leaf.position >= swaps.middle) leaf.position = s.order[leaf.position - part.first];
        return {weights_.arrange(part, s.side, team), 0.0, 0.0, 0.0, s.trunk};
    }

    double height(double mean_weight) const {
        return parameters_.height_shift + parameters_.height_scale * mean_weight;
    }

    // A tree over m points of this part is expected to earn inside · m · W: 2/3 is what random trees earn, and the
    // triple bound, found from a sample, is the most that any could.
    void find_shares(const Range& part, Scratch& s, SplitMix& random) const {
        constexpr double kRandom = 2.0 / 3.0;
        double sum = 0, bound = 0;
        for (std::int64_t i = 0; is_free() && i < std::min<std::int64_t>(256, 2 * part.size()); ++i) {
            const Triple triple = weights_.triple(part, random);
            const auto [least, most] = std::ranges::minmax(triple.weight);
            const double all = triple.weight[0] + triple.weight[1] + triple.weight[2];
            sum += triple.share * all;
            bound += triple.share * (all - (parameters_.sign > 0 ? least : most));
        }
        const double ratio = sum > 0 ? std::clamp(bound / sum, 0.0, 1.0) : kRandom;
        s.inside = kRandom + parameters_.inside * (ratio - kRandom);
        s.toll = kToll * std::abs(ratio - kRandom);
    }

    double worth(const Scratch& s, double points) const { return 2.0 + s.inside * (points - 2.0); }

    // Leaves in s.y scores that are large for points of the first side.
    void start(const Range& part, Scratch& s, SplitMix& random, int trial, Team& team) const {
        const std::int64_t m = part.size();
        const bool chosen = parameters_.delta < 0;
        if (chosen && !parameters_.random_rounding && trial % 2 == 1) {  // two points at random attract the others
            const std::int64_t a = random.below(m), b = (a + 1 + random.below(m - 1)) % m;
            s.x.assign(m, 0.0);
            s.x[a] = -parameters_.sign;
            s.x[b] = parameters_.sign;
            s.y.resize(m);
            weights_.spread(part, part, s.x, s.y, s.weights, team);
            return;
        }
        // Where the balance is chosen, thresholds do it afterwards; rounding at random needs starts of many balances.
        double delta = parameters_.delta;
        if (chosen) delta = parameters_.random_rounding && trial > 0 ? 0.5 * trial / parameters_.n_init : 0.0;
        s.x.resize(m);
        const double spread = std::sqrt(parameters_.noise);
        for (double& value : s.x) value = spread * random.normal();
        box_ascent(weights_, part, -parameters_.sign, {}, 2.0 * delta * static_cast<double>(m),
                   (parameters_.n_iter + s.effort - 1) / s.effort, parameters_.rates, s.x, s.ascent, s.weights, team);
        s.y = s.ascent.y;
        if (parameters_.random_rounding)
            for (std::int64_t p = 0; p < m; ++p) s.y[p] = 2.0 * random.unit() - 1.0 < s.x[p] ? 1.0 : -1.0;
    }

    // Puts points in groups in falling order of s.y; returns their number.
    std::int64_t make_groups(Scratch& s) const {
        for (double& score : s.y) score = within(score, kLargest<double>);
        const std::int64_t m = std::ssize(s.y);
        if (parameters_.random_rounding) return s.grouping.by_sign(s.y, s.group);
        if (parameters_.delta < 0) return s.grouping.by_rank(s.y, parameters_.n_groups / s.effort, s.group);
        const auto count = static_cast<std::int64_t>(std::llround((0.5 + parameters_.delta) * static_cast<double>(m)));
        return s.grouping.by_count(s.y, std::clamp<std::int64_t>(count, 1, m - 1), s.group);
    }

    // Takes the best threshold of the scores s.y, then makes new scores, the gain of each point from being on the first
    // side, and again, as long as the value of the split rises. Only thresholds make a difference to what is kept.
    void improve(const Range& part, Scratch& s, int rounds, Best& best, Team& team) const {
        const double m = static_cast<double>(part.size());
        double before = -std::numeric_limits<double>::infinity();
        for (int round = 0;; ++round) {
            interrupt_();
            const std::int64_t groups = make_groups(s);
            weights_.measure(part, s.group, groups, s.weights, s.splits, team);
            Best found;
            double even = 0;
            const double fewest = fewest_of(m);
            for (std::int64_t t = 1; t < groups; ++t) {
                const double a = static_cast<double>(s.splits.count[t]), b = m - a;
                if (a < 1 || b < 1) continue;
                double value = parameters_.sign * (m * s.splits.across[t] + worth(s, a) * s.splits.first[t] +
                                                   worth(s, b) * s.splits.second[t]);
                if (std::min(a, b) < fewest)
                    value -= s.toll * m * (s.splits.across[t] + s.splits.first[t] + s.splits.second[t]);
                // Of equal splits, as among equal points, the most even one.
                const double slack = 1e-12 * std::abs(value);
                const bool ties = value >= found.value - slack && std::min(a, b) > even;
                if (value > found.value + slack || ties) {
                    found = {value,           s.splits.across[t] / (a * b), t, m - worth(s, a),
                             m - worth(s, b), m * s.splits.across[t]};
                    even = std::min(a, b);
                }
            }
            if (found.cut == 0 || found.value <= before + 1e-9 * std::abs(before)) return;
            before = found.value;
            if (found.value > best.value) {
                best = found;
                s.best_group = s.group;
            }
            if (round == rounds) return;
            weights_.pull(part, s.group, groups, found.cut, found.first, found.second, s.y, s.weights, team);
            for (double& score : s.y) score *= -parameters_.sign;
        }
    }

    // Scores of all points of a part from the split of a sample of it.
    void carry_over(const Range& part, const Range& sample, Scratch& s, const Best& best, Team& team) const {
        s.x.resize(sample.size());
        for (std::int64_t i = 0; i < sample.size(); ++i)
            s.x[i] = -parameters_.sign * (s.best_group[i] < best.cut ? best.first : -best.second);
        s.y.resize(part.size());
        weights_.spread(part, sample, s.x, s.y, s.weights, team);
    }

    // All points are equal.
    void halve(const Range& part, Scratch& s, Best& best, Team& team) const {
        s.best_group.resize(part.size());
        for (std::int64_t i = 0; i < part.size(); ++i) s.best_group[i] = 2 * i >= part.size();
        weights_.measure(part, s.best_group, 2, s.weights, s.splits, team);
        const double a = static_cast<double>(s.splits.count[1]), b = static_cast<double>(part.size()) - a;
        best = {0, s.splits.across[1] / (a * b), 1, 0, 0, (a + b) * s.splits.across[1]};
    }

    Weights& weights_;
    BisectParameters parameters_;
    Interrupt& interrupt_;
};

}  // namespace cladify::divide
