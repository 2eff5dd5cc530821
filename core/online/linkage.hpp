// How similar two clusters of a changing tree are, from the sums that the tree keeps.
#pragma once
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>

#include "mutable/tree.hpp"

namespace cladify::online {

using live::kNone;
using live::Node;

// Eight sums, so that the compiler may use vectors without reordering anything itself.
inline double dot(const double* x, const double* y, std::size_t k) {
    double part[8] = {};
    std::size_t j = 0;
    for (; j + 7 < k; j += 8)
        for (int i = 0; i < 8; ++i) part[i] += x[j + i] * y[j + i];
    double sum = 0.0;
    for (; j < k; ++j) sum += x[j] * y[j];
    for (const double p : part) sum += p;
    return sum;
}

// The mean over all pairs of scale <x, y> + offset(x) + offset(y), offsets being the last number of a row.
struct AverageLinkage {
    double scale;

    double operator()(const live::Tree& tree, Node a, Node b) const {
        const std::size_t k = tree.width() - 1;
        const double *x = tree.sums(a), *y = tree.sums(b);
        return scale * dot(x, y, k) / (tree.size[a] * tree.size[b]) + x[k] / tree.size[a] + y[k] / tree.size[b];
    }

    // The mean over all pairs of different children of `v`: all pairs but those within a child.
    double among_children(const live::Tree& tree, Node v) const {
        const std::size_t k = tree.width() - 1;
        if (tree.after[tree.left[v]] == tree.right[v]) return (*this)(tree, tree.left[v], tree.right[v]);
        const double* all = tree.sums(v);
        double products = dot(all, all, k), offsets = 0.0, pairs = tree.size[v] * tree.size[v];
        for (Node c = tree.left[v]; c != kNone; c = tree.after[c]) {
            const double* x = tree.sums(c);
            products -= dot(x, x, k);
            offsets += x[k] * (tree.size[v] - tree.size[c]);
            pairs -= tree.size[c] * tree.size[c];
        }
        return (scale * products + 2.0 * offsets) / pairs;
    }
};

// The cosine between the sums of two clusters.
struct CentroidCosine {
    double operator()(const live::Tree& tree, Node a, Node b) const {
        const std::size_t k = tree.width() - 1;
        const double *x = tree.sums(a), *y = tree.sums(b);
        const double length = std::sqrt(dot(x, x, k) * dot(y, y, k));
        return length > 0.0 ? dot(x, y, k) / length : 0.0;
    }
};

// A function of the user's.
struct GivenLinkage {
    std::function<double(const live::Tree&, Node, Node)> function;

    double operator()(const live::Tree& tree, Node a, Node b) const { return function(tree, a, b); }
};

}  // namespace cladify::online
