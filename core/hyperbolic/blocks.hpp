// Loss and gradient of all triplets within blocks of points on a circle.
//
// A block of m points has m³/6 triplets but only m²/2 pairs: depths and their exponentials are worked out once a pair,
// and a triplet costs a division and some products. Blocks that are drawn at random make every triplet equally likely,
// so that the sum over them is an unbiased estimate of the whole cost.
//
// On a circle of radius r, two points an angle 2h apart have their common ancestor (lca.hpp) at the depth d with
//
//     e^d = (2r |cos h| + 1 + r²) / √q,   q = (2r sin h)² + (1 − r²)²,   ∂d/∂h = −2r (1 + r²) sin h sign(cos h) / q,
//
// which takes one logarithm and no root.
#pragma once
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "common/team.hpp"
#include "common/vectors.hpp"
#include "hyperbolic/lca.hpp"

namespace cladify::hyperbolic {

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

// Buffers of one thread for a block of up to `m` points. Rows of pairs (i, j) are used right of the diagonal, i < j,
// and read in whole vectors that begin at multiples of kSide: a sum that was stored is read again as it was stored,
// else the processor would wait for it. What is left of the diagonal or beyond the last column is finite, and its w and
// g are 0.
constexpr int kSide = 8;

inline int side_of(int column) { return column / kSide * kSide; }

template <typename T>
struct BlockSpace {
    explicit BlockSpace(int m)
        : stride(side_of(m + kSide - 1)),
          w(m * stride),
          e(m * stride),
          g(m * stride),
          valid(stride),
          cosine(stride),
          sine(stride),
          turn(stride) {}
    int stride;
    std::vector<T> w, e, g;            // similarity, exponential of the depth, derivative by the depth
    std::vector<T> valid;              // 1 for columns that count, 0 for others
    std::vector<double> cosine, sine;  // of half the angle
    std::vector<double> turn;          // derivative by half the angle
};

template <typename T>
inline T sum_side(const T* lane) {
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

// The triplets of i and j with all k from `first` on that are valid: what they keep, lane by lane, is added to `kept`;
// returns the derivative by the depth of i and j, and adds those by the other two to g_i and g_j.
template <typename T>
inline T triplet_row(int first, int last, T e_ij, T w_ij, const T* __restrict e_i, const T* __restrict e_j,
                     const T* __restrict w_i, const T* __restrict w_j, const T* __restrict valid, T* __restrict g_i,
                     T* __restrict g_j, T* __restrict kept) {
    T g_lane[kSide] = {};
    for (int k = first; k < last; k += kSide)
        for (int l = 0; l < kSide; ++l) {
            const T norm = valid[k + l] / (e_ij + e_i[k + l] + e_j[k + l]);
            const T s_ij = e_ij * norm, s_ik = e_i[k + l] * norm, s_jk = e_j[k + l] * norm;
            const T keep = w_ij * s_ij + w_i[k + l] * s_ik + w_j[k + l] * s_jk;
            kept[l] += keep;
            g_lane[l] += s_ij * (w_ij - keep);
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
    T *g = space.g.data(), *valid = space.valid.data();
    std::fill(space.g.begin(), space.g.begin() + m * stride, T{0});
    std::fill(valid, valid + m, T{1});
    std::fill(valid + m, valid + stride, T{0});
    double kept = 0;
    for (int j = 0; j + 1 < m; ++j) {
        valid[j] = 0;  // as are all before it
        T lane[kSide] = {};
        for (int i = 0; i < j; ++i) {
            const std::int64_t row_i = i * stride, row_j = j * stride;
            g[row_i + j] += triplet_row(side_of(j + 1), m, e[row_i + j], w[row_i + j], e + row_i, e + row_j, w + row_i,
                                        w + row_j, valid, g + row_i, g + row_j, lane);
        }
        kept += sum_side(lane);
    }
    return kept;
}

// A circle of the disk, and the constants of all pairs on it.
struct Circle {
    explicit Circle(double radius)
        : twice(2 * radius),
          most(1 + radius * radius),
          rim((1 - radius) * (1 + radius)),
          deepest(2 * std::atanh(radius)) {}
    double twice, most, rim, deepest;
};

// One point beside others: sin h, cos h and q for h half of the angle between them.
struct Apart {
    Apart(const Circle& circle, double c_i, double s_i, double c_j, double s_j)
        : sine(s_i * c_j - c_i * s_j), cosine(c_i * c_j + s_i * s_j) {
        const double wide = circle.twice * sine;
        q = wide * wide + circle.rim * circle.rim;
    }
    double sine, cosine, q;
};

// Exponentials of the depths of point i's common ancestors with those after it, e^((d − level) rate).
template <typename T>
inline void exponential_row(const Circle& circle, int i, int m, const double* __restrict cosine,
                            const double* __restrict sine, double level, double rate, T* __restrict e) {
    const double lowest = Format<T>::lowest, c = cosine[i], s = sine[i];
    for (int j = side_of(i + 1); j < m; j += kSide) {
        T lane[kSide];
        for (int l = 0; l < kSide; ++l) {
            const Apart pair(circle, c, s, cosine[j + l], sine[j + l]);
            const double top = circle.twice * std::abs(pair.cosine) + circle.most;
            const double exponent = (0.5 * log_of(top * top / pair.q) - level) * rate;
            lane[l] = static_cast<T>(exponent > lowest ? exponent : lowest);
        }
        for (int l = 0; l < kSide; ++l) {
            const T size = exp_of(-std::abs(lane[l])), inverse = 1 / size;
            e[j + l] = lane[l] > 0 ? inverse : size;
        }
    }
}

// From derivatives by depths to those by half angles: those of the others are added to `turn`, point i's is returned.
template <typename T>
inline double turning_row(const Circle& circle, int i, int m, const double* __restrict cosine,
                          const double* __restrict sine, const T* __restrict g, double* __restrict turn) {
    const double factor = -circle.twice * circle.most, c = cosine[i], s = sine[i];
    double lane[kSide] = {};
    for (int j = side_of(i + 1); j < m; j += kSide)
        for (int l = 0; l < kSide; ++l) {
            const Apart pair(circle, c, s, cosine[j + l], sine[j + l]);
            const double slope = g[j + l] * factor * std::copysign(pair.sine, pair.sine * pair.cosine) / pair.q;
            lane[l] += slope;
            turn[j + l] -= slope;
        }
    return sum_side(lane);
}

// The mean loss of all triplets of m points at these angles of a circle. The derivatives by angles go to `grad`.
template <typename T, typename Source>
double block_loss(const Source& source, const std::int64_t* rows, const std::int64_t* points, int m,
                  const double* angle, const Circle& circle, double temperature, double* grad, BlockSpace<T>& space) {
    const int stride = space.stride;
    double *cosine = space.cosine.data(), *sine = space.sine.data(), *turn = space.turn.data();
    for (int i = 0; i < stride; ++i) {
        const double half = i < m ? 0.5 * angle[points[i]] : 0.0;
        cosine[i] = std::cos(half);
        sine[i] = std::sin(half);
        turn[i] = 0;
    }
    // Exponents take the format's range on both sides of 0; what is farther below the deepest counts as equally far.
    const double rate = 1 / temperature, level = circle.deepest + 0.9 * temperature * Format<T>::lowest;
    source.fill(rows, m, stride, space.w.data());
    double all[kSide] = {};
    for (int i = 0; i < m; ++i) {
        T* w = space.w.data() + i * stride;
        std::fill(w + m, w + stride, T{0});
        exponential_row(circle, i, m, cosine, sine, level, rate, space.e.data() + i * stride);
        for (int j = 0; j < stride; j += kSide)
            for (int l = 0; l < kSide; ++l) all[l] += w[j + l];
    }
    const double kept = block_triplets(space, m);
    for (int i = 0; i < m; ++i) turn[i] += turning_row(circle, i, m, cosine, sine, space.g.data() + i * stride, turn);
    const double unit = m > 2 ? 6 / (m * (m - 1.0) * (m - 2.0)) : 0;
    for (int i = 0; i < m; ++i) grad[points[i]] = -0.5 * turn[i] * rate * unit;
    return (sum_side(all) * (m - 2) - kept) * unit;
}

// The mean loss of blocks; block b holds points[start[b] .. start[b + 1]), whose similarities are those of the rows of
// the same places, on a circle of radius[b]. No point is in two blocks, so each writes its own part of the gradient.
template <typename T, typename Source>
double blocks_loss(const Source& source, std::span<const std::int64_t> start, const std::int64_t* rows,
                   const std::int64_t* points, const double* angle, const double* radius, double temperature,
                   double* grad, int threads, Interrupt& interrupt) {
    const auto blocks = std::ssize(start) - 1;
    std::int64_t widest = 0;
    for (std::int64_t b = 0; b < blocks; ++b) widest = std::max(widest, start[b + 1] - start[b]);
    std::vector<double> loss(blocks);
    const std::int64_t pieces = std::min<std::int64_t>(blocks, 4 * threads);
    parallel_items(pieces, threads, interrupt, [&](std::int64_t piece) {
        BlockSpace<T> space(static_cast<int>(widest));
        for (std::int64_t b = blocks * piece / pieces; b < blocks * (piece + 1) / pieces; ++b)
            loss[b] = block_loss(source, rows + start[b], points + start[b], static_cast<int>(start[b + 1] - start[b]),
                                 angle, Circle(radius[b]), temperature, grad, space);
    });
    double total = 0;
    for (const double part : loss) total += part;
    return blocks > 0 ? total / static_cast<double>(blocks) : 0.0;
}

}  // namespace cladify::hyperbolic
