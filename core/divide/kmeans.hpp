// Bisecting k-means: k-means++ and Lloyd with two centres. With two centres a row's side is the sign of one inner
// product, <z, c1 - c0> - t, and only the rows that change sides change the sums.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "divide/linkage.hpp"
#include "divide/rows.hpp"

namespace cladify::divide {

struct KMeansParameters {
    bool spherical;  // centres of unit length, for rows of unit length
    int n_init;
    int max_iter;
    double tolerance;  // stop when the centres move less than this share of the part's mean variance
    std::int64_t leaf_size;
    std::uint64_t seed;
};

class KMeansSplitter {
public:
    // Weighted sums over some rows.
    struct Sum {
        std::vector<double> z;
        double weight = 0, square = 0;
        std::int64_t count = 0;
        void clear(std::int64_t k) { *this = {std::vector<double>(k, 0.0)}; }
        void add(const Sum& other, double sign) {
            for (std::size_t j = 0; j < z.size(); ++j) z[j] += sign * other.z[j];
            weight += sign * other.weight;
            square += sign * other.square;
            count += sign > 0 ? other.count : -other.count;
        }
    };

    struct Scratch {
        std::vector<std::uint8_t> side, best_side;
        std::vector<double> distance;
        std::vector<Sum> partial;
        Sum whole, sides[2];
        std::vector<float> direction, pairs;
    };

    KMeansSplitter(Rows rows, std::vector<double>* weight, const KMeansParameters& parameters, Team& team,
                   Interrupt& interrupt)
        : rows_(std::move(rows)), weight_(weight), parameters_(parameters), interrupt_(interrupt), square_(rows_.n) {
        for_blocks(0, rows_.n, team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
            for (std::int64_t p = a; p < b; ++p) square_[p] = dot(rows_.row(p), rows_.row(p), rows_.k);
        });
        rows_.beside.push_back(&square_);
        if (weight_) rows_.beside.push_back(weight_);
    }

    bool is_leafy(std::int64_t size) const { return size <= parameters_.leaf_size; }

    // Average linkage over squared distances. The inertia of a merged cluster follows from those of its two parts and
    // the mean squared distance between them.
    void finish(const Range& part, Scratch& s, Nodes& nodes, std::int64_t* leaf_above) const {
        const std::int64_t m = part.size();
        s.pairs.resize(m * m);
        std::vector<float> size(m);
        std::vector<double> mass(2 * m - 1), spread(2 * m - 1, 0.0), height;  // spread: sum of squares about the mean
        for (std::int64_t i = 0; i < m; ++i) {
            const std::int64_t p = part.first + i;
            size[i] = static_cast<float>(mass[i] = weight(p));
            for (std::int64_t j = 0; j < i; ++j)
                s.pairs[i * m + j] = s.pairs[j * m + i] = static_cast<float>(squared_distance(p, part.first + j));
        }
        const auto merges = average_linkage(std::move(size), s.pairs.data());
        for (std::int64_t i = 0; i < m - 1; ++i) {
            const auto [a, b, distance] = merges[i];
            const double whole = mass[m + i] = mass[a] + mass[b];
            spread[m + i] = (mass[b] * distance + spread[a]) * mass[a] / whole + spread[b] * mass[b] / whole;
            // A sum of unit rows has the squared length whole² - whole · spread.
            const double length = std::sqrt(std::max(0.0, whole * (whole - spread[m + i])));
            height.push_back(parameters_.spherical ? whole - length : spread[m + i]);
        }
        std::vector<std::int64_t> position(m);
        std::iota(position.begin(), position.end(), part.first);
        attach(merges, height, position, -1, nodes, leaf_above);
    }

    // The value of a part is its inertia: the sum over its rows of the (squared) distance to its centre.
    double inertia_of_all(Team& team) {
        Scratch s;
        add_up({0, rows_.n}, s, team);
        return inertia(s.whole);
    }

    Cut split(const Range& part, Scratch& s, Team& team) {
        if (part.size() == 2) return {part.first + 1, part.value};
        SplitMix random = part_random(parameters_.seed, part);
        add_up(part, s, team);
        Cut best{-1, part.value};
        for (int trial = 0; trial < parameters_.n_init && place_centres(part, s, random, team); ++trial) {
            lloyd(part, s, team);
            if (s.sides[0].count == 0 || s.sides[1].count == 0) continue;
            const double left = inertia(s.sides[0]), right = inertia(s.sides[1]);
            if (best.middle >= 0 && left + right >= best.left + best.right) continue;
            best = {part.first + s.sides[0].count, part.value, left, right};
            s.best_side = s.side;
        }
        if (best.middle < 0) return {part.first + part.size() / 2, part.value, part.value, part.value};  // equal rows
        swap_rows(rows_, swaps_for(part.first, part.last, s.best_side), team);
        return best;
    }

private:
    double squared_distance(std::int64_t p, std::int64_t q) const {
        return std::max(0.0, square_[p] + square_[q] - 2.0 * dot(rows_.row(p), rows_.row(q), rows_.k));
    }

    double weight(std::int64_t p) const { return weight_ ? (*weight_)[p] : 1.0; }

    double inertia(const Sum& sum) const {
        const double length = dot(sum.z.data(), sum.z.data(), rows_.k);
        return std::max(0.0, parameters_.spherical ? sum.weight - std::sqrt(length) : sum.square - length / sum.weight);
    }

    Sum& partial(Scratch& s, std::int64_t block) const {
        s.partial[block].clear(rows_.k);
        return s.partial[block];
    }

    void count_in(Sum& sum, std::int64_t p, double sign) const {
        sum.weight += sign * weight(p);
        sum.square += sign * weight(p) * square_[p];
        sum.count += sign > 0 ? 1 : -1;
    }

    // Sums over the whole part; short runs of rows are added up in float.
    void add_up(const Range& part, Scratch& s, Team& team) const {
        s.partial.resize(std::max<std::size_t>(s.partial.size(), count_blocks(part.size())));
        for_blocks(part.first, part.last, team, [&](std::int64_t block, std::int64_t a, std::int64_t b) {
            Sum& sum = partial(s, block);
            std::vector<float> run(rows_.k);
            while (a < b) {
                std::fill(run.begin(), run.end(), 0.0f);
                for (const std::int64_t end = std::min(b, a + kShortRun); a < end; ++a) {
                    add_scaled(run.data(), rows_.row(a), static_cast<float>(weight(a)), rows_.k);
                    count_in(sum, a, 1.0);
                }
                add(sum.z.data(), run.data(), rows_.k);
            }
        });
        s.whole.clear(rows_.k);
        for (std::int64_t b = 0; b < count_blocks(part.size()); ++b) s.whole.add(s.partial[b], 1.0);
    }

    // k-means++: a row by weight, then one by weight times squared distance. False if all rows are equal.
    bool place_centres(const Range& part, Scratch& s, SplitMix& random, Team& team) const {
        const std::int64_t m = part.size(), k = rows_.k;
        std::int64_t centre = part.first + random.below(m);
        if (weight_) centre = draw(part, random, [&](std::int64_t p) { return weight(p); });
        if (centre < 0) return false;
        const float* c = rows_.row(centre);
        s.distance.resize(m);
        for_blocks(part.first, part.last, team, [&](std::int64_t, std::int64_t a, std::int64_t b) {
            for (std::int64_t p = a; p < b; ++p) {
                s.distance[p - part.first] = squared_distance(p, centre) * weight(p);
            }
        });
        const std::int64_t other = draw(part, random, [&](std::int64_t p) { return s.distance[p - part.first]; });
        if (other < 0) return false;
        s.direction.resize(k);
        for (std::int64_t j = 0; j < k; ++j) s.direction[j] = rows_.row(other)[j] - c[j];
        s.side.assign(m, 0);
        s.sides[0] = s.whole;
        s.sides[1].clear(k);
        assign(part, s, 0.5 * (square_[other] - square_[centre]), team);
        return true;
    }

    // A position with probability proportional to `mass`; -1 if there is none.
    template <typename Mass>
    static std::int64_t draw(const Range& part, SplitMix& random, Mass mass) {
        double total = 0;
        for (std::int64_t p = part.first; p < part.last; ++p) total += mass(p);
        double left = random.unit() * total;
        std::int64_t found = -1;
        for (std::int64_t p = part.first; p < part.last; ++p) {
            if (mass(p) <= 0) continue;
            found = p;
            if ((left -= mass(p)) < 0) break;
        }
        return found;
    }

    // Rows with <z, direction> above the threshold go to side 1. True if any row changed sides.
    bool assign(const Range& part, Scratch& s, double threshold, Team& team) const {
        const std::int64_t blocks = count_blocks(part.size());
        s.partial.resize(std::max<std::size_t>(s.partial.size(), blocks));
        const auto limit = static_cast<float>(threshold);
        std::vector<char> moved(blocks, 0);
        for_blocks(part.first, part.last, team, [&](std::int64_t block, std::int64_t a, std::int64_t b) {
            for (std::int64_t p = a; p < b; ++p) {
                const std::uint8_t now = dot(rows_.row(p), s.direction.data(), rows_.k) > limit;
                std::uint8_t& side = s.side[p - part.first];
                if (now == side) continue;
                side = now;
                if (!moved[block]) partial(s, block);
                moved[block] = 1;
                const double sign = now ? 1.0 : -1.0;
                Sum& sum = s.partial[block];
                const double factor = sign * weight(p);
                const float* z = rows_.row(p);
                for (std::int64_t j = 0; j < rows_.k; ++j) sum.z[j] += factor * z[j];
                count_in(sum, p, sign);
            }
        });
        bool any = false;
        for (std::int64_t b = 0; b < blocks; ++b) {
            if (!moved[b]) continue;
            any = true;
            s.sides[1].add(s.partial[b], 1.0);
            s.sides[0].add(s.partial[b], -1.0);
        }
        return any;
    }

    // From the sums of the first assignment to where nothing changes, or the centres hardly move.
    void lloyd(const Range& part, Scratch& s, Team& team) const {
        const std::int64_t k = rows_.k;
        const double enough = parameters_.tolerance * inertia(s.whole) / (s.whole.weight * static_cast<double>(k));
        std::vector<double> centre[2] = {std::vector<double>(k), std::vector<double>(k)};
        for (int iteration = 0; iteration < parameters_.max_iter; ++iteration) {
            interrupt_();
            double moved = 0, threshold = 0;
            for (int c = 0; c < 2; ++c) {
                const Sum& sum = s.sides[c];
                if (sum.count == 0) return;
                const double length = dot(sum.z.data(), sum.z.data(), k);
                const double scale =
                    parameters_.spherical ? (length > 0 ? 1.0 / std::sqrt(length) : 0.0) : 1.0 / sum.weight;
                for (std::int64_t j = 0; j < k; ++j) {
                    const double now = sum.z[j] * scale, step = now - centre[c][j];
                    moved += step * step;
                    centre[c][j] = now;
                }
                if (!parameters_.spherical) threshold += (c ? 0.5 : -0.5) * length * scale * scale;
            }
            if (iteration > 0 && moved <= enough) return;
            for (std::int64_t j = 0; j < k; ++j) s.direction[j] = static_cast<float>(centre[1][j] - centre[0][j]);
            if (!assign(part, s, threshold, team)) return;
        }
    }

    Rows rows_;
    std::vector<double>* weight_;
    KMeansParameters parameters_;
    Interrupt& interrupt_;
    std::vector<double> square_;  // |z|² of each position
};

}  // namespace cladify::divide
