// Loss and gradient of all triplets within blocks of points.
//
// A block of m points has m³/6 triplets but only m²/2 pairs: depths and their exponentials are worked out once a pair,
// and a triplet costs a division and some products. Blocks that are drawn at random make every triplet equally likely,
// so that the sum over them is an unbiased estimate of the whole cost.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/team.hpp"
#include "common/vectors.hpp"
#include "hyperbolic/lca.hpp"

namespace ramify::hyperbolic {

// Where the similarities of the points of a block come from: w_ij = shift + offset_i + offset_j + scale ⟨z_i, z_j⟩.
struct FeatureSource {
    const float* rows;
    std::int64_t d;
    const double* offset;
    double shift, scale;

    template <typename T>
    void fill(const std::int64_t* point, int m, int stride, T* w) const {
        for (int i = 0; i < m; ++i)
            for (int j = i + 1; j < m; ++j) {
                const double product = dot(rows + point[i] * d, rows + point[j] * d, d);
                w[i * stride + j] = static_cast<T>(shift + offset[point[i]] + offset[point[j]] + scale * product);
            }
    }
};

struct MatrixSource {
    const float* values;
    std::int64_t n;

    template <typename T>
    void fill(const std::int64_t* point, int m, int stride, T* w) const {
        for (int i = 0; i < m; ++i)
            for (int j = i + 1; j < m; ++j) w[i * stride + j] = values[point[i] * n + point[j]];
    }
};

// Blocks that were worked out before: one row a place, one column a place of its block.
struct StackSource {
    const float* values;
    std::int64_t width;

    template <typename T>
    void fill(const std::int64_t* place, int m, int stride, T* w) const {
        for (int i = 0; i < m; ++i)
            for (int j = i + 1; j < m; ++j) w[i * stride + j] = values[place[i] * width + j];
    }
};

// What one thread needs for a block of up to `m` points. Rows of pairs have some columns more, so that a loop may run
// over their end in whole vectors.
constexpr int kSide = 8;

template <typename T>
struct BlockSpace {
    explicit BlockSpace(int m)
        : stride(m + kSide),
          w(m * stride),
          e(m * stride),
          g(m * stride),
          valid(stride),
          x(stride),
          y(stride),
          gx(stride),
          gy(stride) {}
    int stride;
    std::vector<T> w, e, g;            // similarity, exponential of the depth, derivative by the depth
    std::vector<T> valid;              // 1 for columns of the block, 0 for those beyond
    std::vector<double> x, y, gx, gy;  // coordinates and gradient
};

template <typename T>
inline T sum_side(const T* lane) {
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

// The triplets of i and j with all k of a row: what they keep, lane by lane, is added to `kept`; returns the derivative
// by the depth of i and j, and adds those by the other two to g_i and g_j.
template <typename T>
inline T triplet_row(int count, T e_ij, T w_ij, const T* __restrict e_i, const T* __restrict e_j,
                     const T* __restrict w_i, const T* __restrict w_j, const T* __restrict valid, T* __restrict g_i,
                     T* __restrict g_j, T* __restrict kept) {
    T g_lane[kSide] = {};
    for (int k = 0; k < count; k += kSide)
        for (int l = 0; l < kSide; ++l) {
            const T norm = 1 / (e_ij + e_i[k + l] + e_j[k + l]);
            const T s_ij = e_ij * norm, s_ik = e_i[k + l] * norm, s_jk = e_j[k + l] * norm;
            const T keep = w_ij * s_ij + w_i[k + l] * s_ik + w_j[k + l] * s_jk;
            kept[l] += keep * valid[k + l];
            g_lane[l] += s_ij * (w_ij - keep) * valid[k + l];
            g_i[k + l] += s_ik * (w_i[k + l] - keep);
            g_j[k + l] += s_jk * (w_j[k + l] - keep);
        }
    return sum_side(g_lane);
}

// All triplets of a block, given w and e: the sum of what they keep, Σ w · softmax, and its derivatives by d / τ in g.
template <typename T>
double block_triplets(BlockSpace<T>& space, int m) {
    const int stride = space.stride;
    const T *w = space.w.data(), *e = space.e.data();
    T* g = space.g.data();
    std::fill(space.g.begin(), space.g.begin() + m * stride, T{0});
    double kept = 0;
    for (int i = 0; i < m; ++i) {
        T lane[kSide] = {};
        for (int j = i + 1; j + 1 < m; ++j) {
            const int at_i = i * stride + j + 1, at_j = j * stride + j + 1, pair = i * stride + j;
            g[pair] += triplet_row(m - j - 1, e[pair], w[pair], e + at_i, e + at_j, w + at_i, w + at_j,
                                   space.valid.data() + j + 1, g + at_i, g + at_j, lane);
        }
        kept += sum_side(lane);
    }
    return kept;
}

// Exponentials of the depths of one point's common ancestors with others, e^((d − level) rate).
template <typename T>
inline void exponential_row(int count, double x0, double x1, const double* __restrict x, const double* __restrict y,
                            double level, double rate, T* __restrict e) {
    for (int j = 0; j < count; ++j) {
        const double depth = depth_of(lca(x0, x1, x[j], y[j]).sinh_depth);
        const double exponent = (depth - level) * rate, lowest = Format<T>::lowest;
        const double a = exponent > lowest ? exponent : lowest;
        const double size = exp_of(a > 0 ? -a : a);
        e[j] = static_cast<T>(a > 0 ? 1 / size : size);
    }
}

// From derivatives by depths to those by coordinates: those of the others are added to gx and gy.
template <typename T>
inline void gradient_row(int count, double x0, double x1, const double* __restrict x, const double* __restrict y,
                         const T* __restrict g, double* __restrict gx, double* __restrict gy, double& g0, double& g1) {
    double lane0[kSide] = {}, lane1[kSide] = {};
    for (int j = 0; j < count; j += kSide)
        for (int l = 0; l < kSide; ++l) {  // beyond the end g is 0
            const Lca<double> pair = lca(x0, x1, x[j + l], y[j + l]);
            const double by_depth = g[j + l];
            lane0[l] += by_depth * pair.x0;
            lane1[l] += by_depth * pair.x1;
            gx[j + l] += by_depth * pair.y0;
            gy[j + l] += by_depth * pair.y1;
        }
    g0 += sum_side(lane0);
    g1 += sum_side(lane1);
}

// The mean loss of all triplets of m points at z (two coordinates each). The gradient goes to `grad`, two numbers a
// point.
template <typename T, typename Source>
double block_loss(const Source& source, const std::int64_t* rows, const std::int64_t* points, int m, const double* z,
                  double temperature, double* grad, BlockSpace<T>& space) {
    const int stride = space.stride;
    source.fill(rows, m, stride, space.w.data());
    double deepest = 0;
    for (int i = 0; i < m; ++i) {
        space.valid[i] = 1;
        space.x[i] = z[2 * points[i]];
        space.y[i] = z[2 * points[i] + 1];
        deepest = std::max(deepest, lca(space.x[i], space.y[i], space.x[i], space.y[i]).sinh_depth);
    }
    for (int i = m; i < m + kSide; ++i) space.valid[i] = 0, space.x[i] = space.y[i] = 0;
    std::fill(space.gx.begin(), space.gx.end(), 0.0);
    std::fill(space.gy.begin(), space.gy.end(), 0.0);
    // Exponents take the format's range on both sides of 0; what is farther below the deepest counts as equally far.
    const double rate = 1 / temperature, level = depth_of(deepest) + 0.9 * temperature * Format<T>::lowest;
    const double *x = space.x.data(), *y = space.y.data();
    double all = 0;
    for (int i = 0; i + 1 < m; ++i) {
        T *e = space.e.data() + i * stride, *w = space.w.data() + i * stride;
        exponential_row(m - i - 1, x[i], y[i], x + i + 1, y + i + 1, level, rate, e + i + 1);
        for (int j = i + 1; j < m; ++j) all += w[j];
        std::fill(e + m, e + stride, T{0});
        std::fill(w + m, w + stride, T{0});
    }
    const double kept = block_triplets(space, m);
    for (int i = 0; i + 1 < m; ++i)
        gradient_row(m - i - 1, x[i], y[i], x + i + 1, y + i + 1, space.g.data() + i * stride + i + 1,
                     space.gx.data() + i + 1, space.gy.data() + i + 1, space.gx[i], space.gy[i]);
    const double unit = m > 2 ? 6 / (m * (m - 1.0) * (m - 2.0)) : 0;
    for (int i = 0; i < m; ++i) {
        grad[2 * points[i]] = -space.gx[i] * rate * unit;
        grad[2 * points[i] + 1] = -space.gy[i] * rate * unit;
    }
    return (all * (m - 2) - kept) * unit;
}

// The mean loss of blocks; block b holds points[start[b] .. start[b + 1]), whose similarities are those of the rows of
// the same places. No point is in two blocks, so each writes its own part of the gradient.
template <typename T, typename Source>
double blocks_loss(const Source& source, std::span<const std::int64_t> start, const std::int64_t* rows,
                   const std::int64_t* points, const double* z, double temperature, double* grad, int threads,
                   Interrupt& interrupt) {
    const auto blocks = std::ssize(start) - 1;
    std::int64_t widest = 0;
    for (std::int64_t b = 0; b < blocks; ++b) widest = std::max(widest, start[b + 1] - start[b]);
    std::vector<double> loss(blocks);
    const std::int64_t pieces = std::min<std::int64_t>(blocks, 4 * threads);
    parallel_items(pieces, threads, interrupt, [&](std::int64_t piece) {
        BlockSpace<T> space(static_cast<int>(widest));
        for (std::int64_t b = blocks * piece / pieces; b < blocks * (piece + 1) / pieces; ++b)
            loss[b] = block_loss(source, rows + start[b], points + start[b], static_cast<int>(start[b + 1] - start[b]),
                                 z, temperature, grad, space);
    });
    double total = 0;
    for (const double part : loss) total += part;
    return blocks > 0 ? total / static_cast<double>(blocks) : 0.0;
}

}  // namespace ramify::hyperbolic
