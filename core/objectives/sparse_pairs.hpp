// The sums of objectives.hpp for sparse rows: O(nnz log n) time, for every shape of tree.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "common/interrupt.hpp"
#include "common/team.hpp"
#include "objectives/objectives.hpp"
#include "tree/heavy.hpp"

namespace cladify::objectives {

// weight_i * z_i is row_i * factor_i.
template <typename T, typename Index>
struct SparseRows {
    const Index *indptr, *indices;
    const T* data;
    std::int64_t k;
    std::span<const double> factor;

    template <typename Visit>
    void visit(std::int64_t leaf, Visit visit) const {
        const double f = factor[leaf];
        for (Index p = indptr[leaf]; p < indptr[leaf + 1]; ++p) visit(indices[p], f * static_cast<double>(data[p]));
    }
};

// A vector over all columns for a thread, with only the columns in use ever touched; climbs one heavy path at a time
// and adds the leaves of light children one by one. `order` and `first` are the depth-first layout of the leaves.
template <typename T, typename Index>
class SparseClimb {
public:
    SparseClimb(const TreeView& tree, std::span<const std::int64_t> heavy, std::span<const std::int64_t> order,
                std::span<const std::int64_t> first, const SparseRows<T, Index>& rows, const Affine& affine)
        : tree_(tree), heavy_(heavy), order_(order), first_(first), rows_(rows), affine_(affine), sum_(rows.k, 0.0) {}

    PairSums run(std::int64_t top, Interrupt& interrupt) {
        PairSums sums;
        std::int64_t v = top;
        while (!tree_.is_leaf(v)) v = heavy_[v - tree_.n_leaves];
        add(v, sum_, 1.0);
        while (v != top) {
            const std::int64_t below = v;
            v = tree_.parent[v];
            climb(v, below, sums);
            interrupt();
        }
        for (const std::int64_t leaf : leaves(top)) clear(leaf, sum_);
        return sums;
    }

private:
    void climb(std::int64_t node, std::int64_t heavy_child, PairSums& sums) {
        const auto children = tree_.children(node);
        const bool many = children.size() > 2;
        if (many && light_.empty()) {
            light_.assign(rows_.k, 0.0);
            weighted_.assign(rows_.k, 0.0);
        }
        const double heavy_mass = affine_.mass[heavy_child];
        JoinedChildren joined = JoinedChildren::only(heavy_mass, affine_.offset[heavy_child]);
        for (const std::int64_t child : children) {
            if (child == heavy_child) continue;
            double dot = 0, light = 0, weighted = 0;
            for (const std::int64_t leaf : leaves(child)) {
                rows_.visit(leaf, [&](Index j, double z) { dot += sum_[j] * z; });
                if (many)
                    rows_.visit(leaf, [&](Index j, double z) {
                        light += light_[j] * z;
                        weighted += weighted_[j] * z;
                    });
            }
            const double m = affine_.mass[child];
            // The heavy child's part of the product is what is left of it without the light ones before.
            const double sides = many ? heavy_mass * (dot - light) + weighted : heavy_mass * dot;
            const double w = joined.join(m, affine_.offset[child], dot, sides, affine_.mass[node], affine_, sums);
            if (!affine_.cross.empty()) affine_.cross[node - tree_.n_leaves] += w;
            for (const std::int64_t leaf : leaves(child)) {
                add(leaf, sum_, 1.0);
                if (many) {
                    add(leaf, light_, 1.0);
                    add(leaf, weighted_, m);
                }
            }
        }
        if (!many) return;
        for (const std::int64_t child : children) {
            if (child == heavy_child) continue;
            for (const std::int64_t leaf : leaves(child)) {
                clear(leaf, light_);
                clear(leaf, weighted_);
            }
        }
    }

    std::span<const std::int64_t> leaves(std::int64_t v) const { return order_.subspan(first_[v], tree_.size[v]); }
    void add(std::int64_t leaf, std::vector<double>& sum, double times) const {
        rows_.visit(leaf, [&](Index j, double z) { sum[j] += times * z; });
    }
    void clear(std::int64_t leaf, std::vector<double>& sum) const {
        rows_.visit(leaf, [&](Index j, double) { sum[j] = 0.0; });
    }

    const TreeView& tree_;
    std::span<const std::int64_t> heavy_, order_, first_;
    const SparseRows<T, Index>& rows_;
    const Affine& affine_;
    std::vector<double> sum_, light_, weighted_;
};

// O(nnz log n) time, memory for up to three vectors a thread. Heavy paths are independent of each other.
template <typename T, typename Index>
PairSums sparse_pair_sums(const TreeView& tree, std::span<const std::int64_t> order,
                          std::span<const std::int64_t> first, const SparseRows<T, Index>& rows, const Affine& affine,
                          int threads, Interrupt& interrupt) {
    if (tree.n_leaves < 2) return {};
    const std::vector<std::int64_t> heavy = heavy_children(tree);
    std::vector<std::int64_t> tops{tree.root()};  // from the largest down, so that the longest work starts first
    for (std::int64_t v = tree.root() - 1; v >= tree.n_leaves; --v)
        if (heavy[tree.parent[v] - tree.n_leaves] != v) tops.push_back(v);
    std::vector<SparseClimb<T, Index>> climbs(threads, {tree, heavy, order, first, rows, affine});
    std::vector<PairSums> sums(tops.size());
    parallel_items(std::ssize(tops), threads, interrupt,
                   [&](std::int64_t i, int thread) { sums[i] = climbs[thread].run(tops[i], interrupt); });
    PairSums all;
    for (const PairSums& part : sums) all += part;
    return all;
}

}  // namespace cladify::objectives
