// The minimum spanning tree under mutual reachability, w(i, j) = max(core_i, core_j, s * d(i, j)), without all pairs.
//
// Every point has a list of others with their weights, and a bound that everything off the list is at least away.
// Borůvka's rounds run on the lists: the shortest edge that leaves a component is known when it is no longer than the
// bounds of the component's points. When no component knows its edge any more, the points whose bounds are too short
// are searched for the nearest point of each of a few other components, and so on. The largest component never has to
// search: what leaves it is found from the other side.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "agglomerate/rounds/forest.hpp"
#include "common/finite.hpp"
#include "common/interrupt.hpp"
#include "common/union_find.hpp"

namespace cladify {

class ReachForest {
public:
    using Edge = ForestEdge<double>;
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();

    // `distance` has the distances of the `k` nearest others of each point, nearest first, scaled by s.
    ReachForest(const std::int32_t* neighbour, const double* distance, std::size_t k, std::span<const double> core)
        : n_(core.size()),
          components_(n_),
          core_(core.begin(), core.end()),
          list_(n_),
          next_(n_, 0),
          bound_(n_),
          sets_(n_),
          label_(n_) {
        std::iota(label_.begin(), label_.end(), 0);
        for (double& c : core_) c = not_above_largest(c);
        for (std::size_t i = 0; i < n_; ++i) {
            fill_list(i, k, neighbour + i * k, distance + i * k);
            if (list_[i].size() < k)
                bound_[i] = 0.0;  // some are not known: it has to be searched
            else if (k + 1 < n_)
                bound_[i] = std::max(core_[i], k > 0 ? not_above_largest(distance[(i + 1) * k - 1]) : 0.0);
            else
                bound_[i] = kInfinity;
        }
    }

    std::size_t components() const { return components_; }
    const std::vector<std::int32_t>& label() const { return label_; }
    const std::vector<Edge>& edges() const { return edges_; }
    const std::vector<double>& bound() const { return bound_; }

    // Rounds, until no component knows its shortest edge.
    void merge(Interrupt& interrupt) {
        while (components_ > 1 && round()) interrupt();
        if (components_ > 1 && to_search().empty()) join_rest();
    }

    // The points to search, in order of their components.
    std::vector<std::int32_t> to_search() {
        find_best();
        std::vector<std::int32_t> size(n_, 0), rows;
        for (const std::int32_t root : label_) ++size[root];
        const auto largest = std::max_element(size.begin(), size.end()) - size.begin();
        for (std::size_t i = 0; i < n_; ++i)
            if (label_[i] != largest && bound_[i] < best_[label_[i]].value)
                rows.push_back(static_cast<std::int32_t>(i));
        std::stable_sort(rows.begin(), rows.end(), [&](auto i, auto j) { return label_[i] < label_[j]; });
        return rows;
    }

    // The result of a search for the points `rows`: `m` others each and their scaled distances, -1 where there are no
    // more.
    void set_lists(std::span<const std::int32_t> rows, std::size_t m, const std::int32_t* found,
                   const double* distance) {
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const std::int32_t i = rows[r];
            fill_list(i, m, found + r * m, distance + r * m);
            bound_[i] = list_[i].size() == m ? list_[i].back().value : kInfinity;
        }
    }

private:
    struct Neighbour {
        double value;
        std::int32_t id;
        bool operator<(const Neighbour& other) const {
            return value != other.value ? value < other.value : id < other.id;
        }
    };

    // `m` others of point i and their scaled distances; -1 where there is none.
    void fill_list(std::size_t i, std::size_t m, const std::int32_t* other, const double* distance) {
        list_[i].clear();
        list_[i].reserve(m);
        next_[i] = 0;
        for (std::size_t c = 0; c < m; ++c)
            if (other[c] >= 0)
                list_[i].push_back({std::max({core_[i], core_[other[c]], not_above_largest(distance[c])}), other[c]});
        std::sort(list_[i].begin(), list_[i].end());
    }

    // Links parts that no search can link: distances that are not numbers.
    void join_rest() {
        for (std::size_t i = 1; i < n_; ++i) {
            if (label_[i] != static_cast<std::int32_t>(i)) continue;
            edges_.push_back({kLargest<double>, 0, static_cast<std::int32_t>(i)});
            --components_;
        }
        std::fill(label_.begin(), label_.end(), 0);
    }

    // The shortest known edge that leaves each component, and the shortest bound in it.
    void find_best() {
        best_.assign(n_, Edge{kInfinity, -1, -1});
        least_.assign(n_, kInfinity);
        for (std::size_t i = 0; i < n_; ++i) {
            const std::int32_t root = label_[i], own = static_cast<std::int32_t>(i);
            const auto& list = list_[i];
            while (next_[i] < list.size() && label_[list[next_[i]].id] == root) ++next_[i];
            least_[root] = std::min(least_[root], bound_[i]);
            if (next_[i] == list.size()) continue;
            const auto [value, other] = list[next_[i]];
            best_[root] = std::min(best_[root], Edge{value, std::min(own, other), std::max(own, other)});
        }
    }

    bool round() {
        find_best();
        std::vector<Edge> chosen;
        for (std::size_t i = 0; i < n_; ++i)
            if (label_[i] == static_cast<std::int32_t>(i) && best_[i].low >= 0 && best_[i].value <= least_[i])
                chosen.push_back(best_[i]);
        // Equal edges may form a cycle; its last edge is left out.
        std::sort(chosen.begin(), chosen.end());
        for (const Edge& edge : chosen) {
            const std::int32_t a = sets_.find(edge.low), b = sets_.find(edge.high);
            if (a == b) continue;
            sets_.unite_smaller(a, b);
            edges_.push_back(edge);
            --components_;
        }
        for (std::size_t i = 0; i < n_; ++i) label_[i] = sets_.find(static_cast<std::int32_t>(i));
        return !chosen.empty();
    }

    std::size_t n_, components_;
    std::vector<double> core_;
    std::vector<std::vector<Neighbour>> list_;
    std::vector<std::size_t> next_;  // the first on the list that may lie outside the own component
    std::vector<double> bound_;
    UnionFind<> sets_;
    std::vector<std::int32_t> label_;  // smallest point of the component
    std::vector<Edge> edges_, best_;
    std::vector<double> least_;
};

// A block of products between points that search and points to find. `T` float proposes and the points themselves
// decide: a pair whose value, less `margin`, is on the list is computed again.
template <typename T>
struct ReachBlock {
    const T* product;  // rows x columns
    std::size_t rows, columns;
    const T *row_square, *column_square;  // squared lengths
    const std::int32_t *row_group, *column_group, *column_id;
    const double* column_core;
    double scale;   // s, of squared distances
    double margin;  // how much too large a squared distance may come out
    // The rows and columns in float64, of `width` numbers; null where products are all there is.
    const double *row, *column;
    std::size_t width;

    double distance(std::size_t i, std::size_t j) const {
        if (row == nullptr)
            return static_cast<double>(row_square[i]) + column_square[j] - 2.0 * product[i * columns + j];
        const double *x = row + i * width, *y = column + j * width;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t c = 0; c < width; ++c) sum += (x[c] - y[c]) * (x[c] - y[c]);
        return sum;
    }
};

// Columns in pieces: long runs of one group, and what lies between them (group -1).
struct ColumnPiece {
    std::size_t begin, end;
    std::int32_t group;
};

inline std::vector<ColumnPiece> column_pieces(const std::int32_t* group, std::size_t columns, std::size_t long_run) {
    std::vector<ColumnPiece> pieces;
    for (std::size_t begin = 0; begin < columns;) {
        std::size_t end = begin + 1;
        while (end < columns && group[end] == group[begin]) ++end;
        if (end - begin >= long_run)
            pieces.push_back({begin, end, group[begin]});
        else if (!pieces.empty() && pieces.back().group < 0)
            pieces.back().end = end;
        else
            pieces.push_back({begin, end, -1});
        begin = end;
    }
    return pieces;
}

// Puts the nearest points of a block on the lists of `m` places a row: the nearest of each group, groups in order of
// max(core_j, s * d). Smaller ids win ties, so the order of blocks does not matter.
template <typename T>
void reach_scan(const ReachBlock<T>& block, std::size_t m, double* value, std::int32_t* id, std::int32_t* group) {
    constexpr std::size_t kStretch = 16;
    const std::vector<ColumnPiece> pieces = column_pieces(block.column_group, block.columns, 2 * kStretch);
    for (std::size_t i = 0; i < block.rows; ++i) {
        double* values = value + i * m;
        std::int32_t *ids = id + i * m, *groups = group + i * m;
        const std::int32_t own_group = block.row_group[i];
        const auto smaller = [](std::int32_t a, std::int32_t b) {  // an empty place, -1, comes last
            return static_cast<std::uint32_t>(a) < static_cast<std::uint32_t>(b);
        };
        const auto last = [&] {
            std::size_t worst = 0;
            for (std::size_t c = 1; c < m; ++c)
                if (values[worst] < values[c] || (values[worst] == values[c] && smaller(ids[worst], ids[c]))) worst = c;
            return worst;
        };
        std::size_t worst = last();
        // Where a point of this group would go.
        const auto place_of = [&](std::int32_t other) {
            std::size_t at = worst;
            for (std::size_t c = 0; c < m; ++c)
                if (groups[c] == other) at = c;
            return at;
        };
        const T* product = block.product + i * block.columns;
        // The least that the squared distance to column j can be, and the most that it may be to go on the list.
        const T own = block.row_square[i] - static_cast<T>(block.margin);
        const auto least = [&](std::size_t j) { return own + block.column_square[j] - 2 * product[j]; };
        const auto most = [&](std::size_t at) { return static_cast<T>(values[at] / block.scale * (1 + 1e-6)); };
        const auto look = [&](std::size_t j) {
            const std::int32_t other = block.column_group[j], point = block.column_id[j];
            if (other == own_group) return;
            const std::size_t at = place_of(other);
            const double core = block.column_core[j];
            if (core > values[at] || block.scale * static_cast<double>(least(j)) > values[at]) return;
            const double reach = not_above_largest(std::max(core, block.scale * std::max(block.distance(i, j), 0.0)));
            if (reach > values[at] || (reach == values[at] && !smaller(point, ids[at]))) return;
            values[at] = reach;
            ids[at] = point;
            groups[at] = other;
            worst = last();
        };
        for (const ColumnPiece& piece : pieces) {
            if (piece.group == own_group) continue;
            const auto limit_now = [&] { return most(piece.group < 0 ? worst : place_of(piece.group)); };
            T limit = limit_now();
            std::size_t j = piece.begin;
            for (; j + kStretch <= piece.end; j += kStretch) {
                int hits = 0;
                for (std::size_t s = 0; s < kStretch; ++s) hits += least(j + s) <= limit;
                if (hits == 0) continue;
                for (std::size_t s = 0; s < kStretch; ++s) look(j + s);
                limit = limit_now();
            }
            for (; j < piece.end; ++j) look(j);
        }
    }
}

}  // namespace cladify
