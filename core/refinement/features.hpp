// Weights from a feature map: the source of FeatureWeights for every part of a tree.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "common/interrupt.hpp"
#include "refinement/parts.hpp"
#include "refinement/weights.hpp"

namespace cladify::refine {

// w_ij = shift + offset_i + offset_j + scale <z_i, z_j> with z = (x - centre) * row_scale; a leaf counts `weight`
// times.
template <typename T>
struct FeatureMap {
    const T* rows;  // n x k
    std::size_t n, k;
    std::span<const double> centre, row_scale;  // may be empty
    std::span<const double> weight, offset;
    double scale, shift;
};

template <typename T>
class FeatureSource {
public:
    FeatureSource(const FeatureMap<T>& map, Interrupt& interrupt) : map_(map), mean_(map.k, 0.0) {
        // With the mean of z taken off, bounds by its length are tighter and sums cancel less; the offsets make up.
        std::vector<double> row(width()), sum(map.k, 0.0);
        double mass = 0.0;
        for (std::size_t i = 0; i < map.n; ++i) {
            if (i % 4096 == 0) interrupt();
            fill(static_cast<Node>(i), row.data());
            for (std::size_t j = 0; j < map.k; ++j) sum[j] += row[j];
            mass += map.weight[i];
        }
        for (std::size_t j = 0; j < map.k; ++j) mean_[j] = sum[j] / mass;
        for (double m : mean_) half_ += 0.5 * m * m;
    }

    // Sums of the subtrees below the cuts: the parts below come first.
    void cut(const BinaryTree& tree, const std::vector<Part>& parts, Control& control) {
        leaves_ = tree.leaves;
        place_.assign(tree.nodes() - tree.leaves, kNone);
        for (std::size_t i = 1; i < parts.size(); ++i) place_[parts[i].root() - leaves_] = static_cast<Node>(i);
        sums_.assign(parts.size() * width(), 0.0);
        std::vector<double> row(width());
        for (std::size_t i = parts.size(); i-- > 1 && !control.failed();)
            for (Node v : parts[i].members) {
                const double* x = member(v, row.data());
                for (std::size_t j = 0; j < width(); ++j) sums_[i * width() + j] += x[j];
            }
    }

    FeatureWeights weights(const Part& part, const BinaryTree& local, Control&) const {
        std::vector<double> rows;
        rows.reserve(static_cast<std::size_t>(local.nodes()) * width());
        rows.resize(part.members.size() * width());
        for (std::size_t i = 0; i < part.members.size(); ++i) {
            double* out = rows.data() + i * width();
            const double* x = member(part.members[i], out);
            if (x != out) std::copy_n(x, width(), out);
        }
        return FeatureWeights(local, width(), map_.scale, map_.shift, std::move(rows));
    }

private:
    std::size_t width() const { return map_.k + 2; }

    const double* member(Node v, double* scratch) const {
        if (v >= leaves_) return sums_.data() + static_cast<std::size_t>(place_[v - leaves_]) * width();
        fill(v, scratch);
        return scratch;
    }

    // [weight z, weight, weight offset] of a leaf.
    void fill(Node v, double* out) const {
        const std::size_t k = map_.k;
        const T* x = map_.rows + static_cast<std::size_t>(v) * k;
        const double weight = map_.weight[v], factor = map_.row_scale.empty() ? 1.0 : map_.row_scale[v];
        double along = 0.0;
        for (std::size_t j = 0; j < k; ++j) {
            const double z = (static_cast<double>(x[j]) - (map_.centre.empty() ? 0.0 : map_.centre[j])) * factor;
            along += mean_[j] * z;
            out[j] = weight * (z - mean_[j]);
        }
        out[k] = weight;
        out[k + 1] = weight * (map_.offset[v] + map_.scale * (along - half_));
    }

    FeatureMap<T> map_;
    std::vector<double> mean_;
    double half_ = 0.0;  // half the squared length of the mean
    Node leaves_ = 0;
    std::vector<Node> place_;  // of an inner node that is a member: its row in sums_
    std::vector<double> sums_;
};

}  // namespace cladify::refine
