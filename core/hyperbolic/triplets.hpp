// Loss and gradient of a batch of triplets: the relaxed cost of HypHC (equation 9),
//
//     w_ij + w_ik + w_jk − (w_ij, w_ik, w_jk) · softmax(d_ij / τ, d_ik / τ, d_jk / τ),
//
// with d the depth of the lowest common ancestor of two of the three points.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "common/team.hpp"
#include "hyperbolic/lca.hpp"

namespace cladify::hyperbolic {

template <typename T>
struct TripletBatch {
    const T* z;  // n points, two coordinates each
    std::int64_t n;
    const std::int64_t* ids;  // i, j, k of each triplet
    const T* weight;          // w_ij, w_ik, w_jk of each triplet
    std::int64_t count;
    T temperature;
};

constexpr int kTriplets = 16;  // worked out side by side

template <typename T>
struct Side {  // one side of each triangle: its depth and the derivatives of that
    T depth[kTriplets], x0[kTriplets], x1[kTriplets], y0[kTriplets], y1[kTriplets];
};

template <typename T>
inline void side_lanes(const T* __restrict p0, const T* __restrict p1, const T* __restrict q0, const T* __restrict q1,
                       Side<T>& __restrict side) {
    for (int l = 0; l < kTriplets; ++l) {
        const Lca<T> found = lca(p0[l], p1[l], q0[l], q1[l]);
        side.depth[l] = found.sinh_depth;
        side.x0[l] = found.x0, side.x1[l] = found.x1;
        side.y0[l] = found.y0, side.y1[l] = found.y1;
    }
    for (int l = 0; l < kTriplets; ++l) side.depth[l] = depth_of(side.depth[l]);
}

// The loss of up to kTriplets triplets from `first` on. `grad` gets six numbers a triplet, the derivatives by its three
// points, and `share` three, the softmax; either may be null.
template <typename T>
inline double triplet_lanes(const TripletBatch<T>& batch, std::int64_t first, int lanes, T* grad, T* share) {
    T p[6][kTriplets] = {}, w[3][kTriplets] = {}, e[3][kTriplets], out[6][kTriplets], loss[kTriplets];
    for (int l = 0; l < lanes; ++l)
        for (int corner = 0; corner < 3; ++corner) {
            const T* z = batch.z + 2 * batch.ids[3 * (first + l) + corner];
            p[2 * corner][l] = z[0];
            p[2 * corner + 1][l] = z[1];
            w[corner][l] = batch.weight[3 * (first + l) + corner];
        }
    Side<T> ij, ik, jk;
    side_lanes(p[0], p[1], p[2], p[3], ij);
    side_lanes(p[0], p[1], p[4], p[5], ik);
    side_lanes(p[2], p[3], p[4], p[5], jk);
    const T rate = 1 / batch.temperature;
    for (int l = 0; l < kTriplets; ++l) {
        const T deeper = ij.depth[l] > ik.depth[l] ? ij.depth[l] : ik.depth[l];
        const T deepest = deeper > jk.depth[l] ? deeper : jk.depth[l];
        e[0][l] = (ij.depth[l] - deepest) * rate;
        e[1][l] = (ik.depth[l] - deepest) * rate;
        e[2][l] = (jk.depth[l] - deepest) * rate;
    }
    for (int c = 0; c < 3; ++c)
        for (int l = 0; l < kTriplets; ++l) e[c][l] = exp_of(e[c][l]);
    for (int l = 0; l < kTriplets; ++l) {
        const T norm = 1 / (e[0][l] + e[1][l] + e[2][l]);
        for (int c = 0; c < 3; ++c) e[c][l] *= norm;
        const T kept = w[0][l] * e[0][l] + w[1][l] * e[1][l] + w[2][l] * e[2][l];
        loss[l] = w[0][l] * (1 - e[0][l]) + w[1][l] * (1 - e[1][l]) + w[2][l] * (1 - e[2][l]);
        const T g_ij = e[0][l] * (kept - w[0][l]) * rate, g_ik = e[1][l] * (kept - w[1][l]) * rate,
                g_jk = e[2][l] * (kept - w[2][l]) * rate;
        out[0][l] = g_ij * ij.x0[l] + g_ik * ik.x0[l];
        out[1][l] = g_ij * ij.x1[l] + g_ik * ik.x1[l];
        out[2][l] = g_ij * ij.y0[l] + g_jk * jk.x0[l];
        out[3][l] = g_ij * ij.y1[l] + g_jk * jk.x1[l];
        out[4][l] = g_ik * ik.y0[l] + g_jk * jk.y0[l];
        out[5][l] = g_ik * ik.y1[l] + g_jk * jk.y1[l];
    }
    double total = 0;
    for (int l = 0; l < lanes; ++l) {
        total += loss[l];
        if (grad != nullptr)
            for (int c = 0; c < 6; ++c) grad[6 * (first + l) + c] = out[c][l];
        if (share != nullptr)
            for (int c = 0; c < 3; ++c) share[3 * (first + l) + c] = e[c][l];
    }
    return total;
}

// The sum of the losses; adds nothing up in an order that depends on the number of threads. `grad`, of n points, and
// `share` are overwritten; either may be null.
template <typename T>
double triplet_loss(const TripletBatch<T>& batch, T* grad, T* share, int threads, Interrupt& interrupt) {
    constexpr std::int64_t kBlock = 4096;
    const std::int64_t blocks = (batch.count + kBlock - 1) / kBlock;
    std::vector<T> each(grad == nullptr ? 0 : 6 * batch.count);
    std::vector<double> loss(blocks);
    parallel_items(blocks, threads, interrupt, [&](std::int64_t block) {
        const std::int64_t last = std::min(batch.count, (block + 1) * kBlock);
        for (std::int64_t t = block * kBlock; t < last; t += kTriplets)
            loss[block] += triplet_lanes(batch, t, static_cast<int>(std::min<std::int64_t>(kTriplets, last - t)),
                                         grad == nullptr ? nullptr : each.data(), share);
    });
    if (grad != nullptr) {
        // Each piece of work owns a range of points and takes the triplets in their order.
        const std::int64_t pieces = std::clamp<std::int64_t>(threads, 1, std::max<std::int64_t>(1, batch.n));
        parallel_items(pieces, threads, interrupt, [&](std::int64_t piece) {
            const std::int64_t low = batch.n * piece / pieces, high = batch.n * (piece + 1) / pieces;
            std::vector<double> sum(2 * (high - low));
            for (std::int64_t c = 0; c < 3 * batch.count; ++c) {
                const std::int64_t at = batch.ids[c] - low;
                if (at < 0 || at >= high - low) continue;
                sum[2 * at] += each[2 * c];
                sum[2 * at + 1] += each[2 * c + 1];
            }
            std::copy(sum.begin(), sum.end(), grad + 2 * low);
        });
    }
    double total = 0;
    for (const double part : loss) total += part;
    return total;
}

}  // namespace cladify::hyperbolic
