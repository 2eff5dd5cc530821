// Sums over all pairs of leaves of a tree, from which every objective follows:
//     total = sum of w_ij,   lca = sum of w_ij * |v|,   sides = sum of w_ij * (|a| + |b|)
// where v is the lowest common ancestor of leaves i and j, and a, b are the children of v that hold them. Sizes are
// sums of leaf weights, and w_ij stands for weight_i * weight_j * w_ij.
//
// Here w is an affine inner product, w_ij = shift + offset_i + offset_j + scale * <z_i, z_j>, so the weight between two
// sets of leaves follows from the sums of their z and offsets: one pass from the leaves up.
#pragma once
#include <span>

namespace cladify::objectives {

struct PairSums {
    double total = 0, lca = 0, sides = 0;

    PairSums& operator+=(const PairSums& other) {
        total += other.total;
        lca += other.lca;
        sides += other.sides;
        return *this;
    }
};

// Terms of the features of a set of leaves in a sum over pairs, besides the vectors.
struct Affine {
    double scale, shift;
    std::span<const double> mass, offset;  // of every node: sums over its leaves of weight and weight * offset
    std::span<double> cross = {};          // of every inner node, where asked for: the weight between its children
};

// The children R of one node that were joined so far. Joining c adds w(R, c) to `total` and, to `sides`, the sum over a
// in R of (|a| + |c|) * w(a, c).
struct JoinedChildren {
    double mass, offset;               // sums over R
    double mass_squared, mass_offset;  // sums of |a|^2 and of |a| * offset(a)

    static JoinedChildren only(double m, double o) { return {m, o, m * m, m * o}; }

    // `dot` is <z(R), z(c)>, `weighted` the sum of |a| <z(a), z(c)>, `size` that of the node. Returns w(R, c).
    double join(double m, double o, double dot, double weighted, double size, const Affine& affine, PairSums& sums) {
        const double w = affine.shift * mass * m + m * offset + mass * o + affine.scale * dot;
        const double reach = mass_squared + m * mass;
        sums.total += w;
        sums.lca += size * w;
        sums.sides +=
            (affine.shift * m + o) * reach + m * (mass_offset + m * offset) + affine.scale * (weighted + m * dot);
        mass += m;
        offset += o;
        mass_squared += m * m;
        mass_offset += m * o;
        return w;
    }
};

}  // namespace cladify::objectives
