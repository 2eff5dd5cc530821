// The sums of objectives.hpp for dense rows: O(nk) time, for every shape of tree.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/interrupt.hpp"
#include "common/team.hpp"
#include "objectives/objectives.hpp"
#include "tree/heavy.hpp"

namespace cladify::objectives {

// weight_i * z_i is (row_i - centre) * factor_i.
template <typename T>
struct DenseRows {
    const T* rows;
    std::int64_t k;
    std::span<const double> centre, factor;

    // Adds a leaf's vector to `sum`; returns its product with `sum` as it was.
    double add(std::int64_t leaf, double* sum) const {
        const T* row = rows + leaf * k;
        const double* c = centre.data();
        const double f = factor[leaf];
        double dot = 0;
#pragma omp simd reduction(+ : dot)
        for (std::int64_t j = 0; j < k; ++j) {
            const double z = (static_cast<double>(row[j]) - c[j]) * f;
            dot += sum[j] * z;
            sum[j] += z;
        }
        return dot;
    }

    void prefetch(std::int64_t leaf) const {
        const char* row = reinterpret_cast<const char*>(rows + leaf * k);
        const std::int64_t bytes = std::min<std::int64_t>(k * static_cast<std::int64_t>(sizeof(T)), 2048);
        for (std::int64_t b = 0; b < bytes; b += 64) __builtin_prefetch(row + b);
    }
};

// Vectors of nodes that were worked out before, indexed by `slot[v - n_leaves]`; -1 for the others.
struct Ready {
    std::vector<std::int32_t> slot;
    std::vector<std::vector<double>> sum;
};

// Works through one subtree in one thread: climbs each heavy path with one running sum, and puts the sum of a light
// child, worked out on the next level of a stack, on top of it. At most log2(n) vectors are alive.
template <typename T>
class Climb {
public:
    Climb(const TreeView& tree, std::span<const std::int64_t> heavy, const DenseRows<T>& rows, const Affine& affine,
          const Ready& ready)
        : tree_(tree), heavy_(heavy), rows_(rows), affine_(affine), ready_(ready) {}

    // The vector of inner node `top`; what its pairs of leaves add goes to `sums`.
    std::vector<double> run(std::int64_t top, PairSums& sums, Interrupt* interrupt) {
        push(top);
        for (std::int64_t step = 1;; ++step) {
            if (interrupt != nullptr && step % 4096 == 0) (*interrupt)();
            Level& level = stack_[depth_ - 1];
            const auto children = tree_.children(level.node);
            if (level.next < std::ssize(children)) {
                const std::int64_t child = children[level.next++];
                if (child == heavy_[level.node - tree_.n_leaves]) continue;
                if (tree_.is_leaf(child))
                    join_leaf(level, child, sums);
                else if (const std::vector<double>* sum = find(child); sum != nullptr)
                    join(level, child, sum->data(), sums);
                else
                    push(child);
            } else if (level.node != level.top) {
                enter(level, level.node);
            } else if (--depth_ == 0) {
                return std::move(level.sum);
            } else {
                join(stack_[depth_ - 1], level.top, level.sum.data(), sums);
            }
        }
    }

private:
    struct Level {
        std::int64_t top, node, next;
        bool many;  // the node has more than two children
        JoinedChildren joined;
        std::vector<double> sum, weighted;
    };

    const std::vector<double>* find(std::int64_t v) const {
        const std::int32_t slot = ready_.slot[v - tree_.n_leaves];
        return slot < 0 ? nullptr : &ready_.sum[slot];
    }

    // A new level with the bottom of the heavy path that starts at `top`.
    void push(std::int64_t top) {
        if (++depth_ > std::ssize(stack_)) stack_.emplace_back();
        Level& level = stack_[depth_ - 1];
        level.top = top;
        std::int64_t v = heavy_[top - tree_.n_leaves];
        while (!tree_.is_leaf(v) && find(v) == nullptr) v = heavy_[v - tree_.n_leaves];
        if (tree_.is_leaf(v)) {
            level.sum.assign(rows_.k, 0.0);
            rows_.add(v, level.sum.data());
        } else {
            level.sum = *find(v);
        }
        enter(level, v);
    }

    // Goes up from `heavy_child`, whose sum the level holds, to its parent.
    void enter(Level& level, std::int64_t heavy_child) {
        level.node = tree_.parent[heavy_child];
        level.next = 0;
        level.joined = JoinedChildren::only(affine_.mass[heavy_child], affine_.offset[heavy_child]);
        level.many = tree_.children(level.node).size() > 2;
        if (level.many) {
            level.weighted.resize(rows_.k);
            for (std::int64_t j = 0; j < rows_.k; ++j) level.weighted[j] = level.joined.mass * level.sum[j];
        }
        // The rows along a path lie anywhere in memory: ask for the next ones early.
        if (level.node != level.top && !level.many)
            for (const std::int64_t c : tree_.children(tree_.parent[level.node]).first(2))
                if (tree_.is_leaf(c)) rows_.prefetch(c);
    }

    void join_leaf(Level& level, std::int64_t leaf, PairSums& sums) {
        if (level.many) {
            scratch_.assign(rows_.k, 0.0);
            rows_.add(leaf, scratch_.data());
            join(level, leaf, scratch_.data(), sums);
        } else {
            const double dot = rows_.add(leaf, level.sum.data());
            record(level, leaf, dot, level.joined.mass * dot, sums);
        }
    }

    void join(Level& level, std::int64_t child, const double* z, PairSums& sums) {
        double dot = 0, weighted = 0;
        double* sum = level.sum.data();
        if (level.many) {
            double* part = level.weighted.data();
            const double m = affine_.mass[child];
#pragma omp simd reduction(+ : weighted)
            for (std::int64_t j = 0; j < rows_.k; ++j) {
                weighted += part[j] * z[j];
                part[j] += m * z[j];
            }
        }
#pragma omp simd reduction(+ : dot)
        for (std::int64_t j = 0; j < rows_.k; ++j) {
            dot += sum[j] * z[j];
            sum[j] += z[j];
        }
        record(level, child, dot, level.many ? weighted : level.joined.mass * dot, sums);
    }

    void record(Level& level, std::int64_t child, double dot, double weighted, PairSums& sums) {
        const double w = level.joined.join(affine_.mass[child], affine_.offset[child], dot, weighted,
                                           affine_.mass[level.node], affine_, sums);
        if (!affine_.cross.empty()) affine_.cross[level.node - tree_.n_leaves] += w;
    }

    const TreeView& tree_;
    std::span<const std::int64_t> heavy_;
    const DenseRows<T>& rows_;
    const Affine& affine_;
    const Ready& ready_;
    std::vector<Level> stack_;
    std::int64_t depth_ = 0;
    std::vector<double> scratch_;
};

// O(nk) time; beside the tree's own arrays, memory for at most n / 256 vectors. Subtrees of a size that depends on n
// alone are worked out in parallel, what lies above them afterwards, so the number of threads changes nothing.
template <typename T>
PairSums dense_pair_sums(const TreeView& tree, const DenseRows<T>& rows, const Affine& affine, int threads,
                         Interrupt& interrupt) {
    if (tree.n_leaves < 2) return {};
    const std::vector<std::int64_t> heavy = heavy_children(tree);
    const std::int64_t n = tree.n_leaves, largest = std::max<std::int64_t>(1024, n / 64), smallest = largest / 4;
    std::vector<std::int64_t> tops;
    for (std::int64_t v = n; v < tree.root(); ++v)
        if (tree.size[v] >= smallest && tree.size[v] <= largest && tree.size[tree.parent[v]] > largest)
            tops.push_back(v);

    const Ready none{std::vector<std::int32_t>(tree.n_nodes() - n, -1), {}};
    std::vector<PairSums> sums(tops.size() + 1);
    Ready ready{none.slot, std::vector<std::vector<double>>(tops.size())};
    parallel_items(std::ssize(tops), threads, interrupt, [&](std::int64_t i) {
        ready.sum[i] = Climb<T>(tree, heavy, rows, affine, none).run(tops[i], sums[i], nullptr);
    });
    for (std::size_t i = 0; i < tops.size(); ++i) ready.slot[tops[i] - n] = static_cast<std::int32_t>(i);
    Climb<T>(tree, heavy, rows, affine, ready).run(tree.root(), sums.back(), &interrupt);
    PairSums all;
    for (const PairSums& part : sums) all += part;
    return all;
}

}  // namespace cladify::objectives
