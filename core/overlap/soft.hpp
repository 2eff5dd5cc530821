// Soft membership: in which groups of a hierarchy the neighbours of a point lie, beside those that the point is in.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/interrupt.hpp"
#include "common/team.hpp"
#include "tree/cover.hpp"

namespace cladify {

// Groups in groups: each but the top ones has a parent with a larger number (-1: none). The lowest group of point i is
// lowest[i]; -1: it is in none.
struct Groups {
    const std::int32_t* parent;
    std::size_t count;
    const std::int32_t* lowest;
};

struct SoftGroups {
    std::vector<double> own;          // share of a point's neighbours that are in its lowest group
    std::vector<std::int64_t> start;  // of each point's other groups
    std::vector<std::int32_t> group;  // ascending for a point
    std::vector<float> share;
};

// Every group that point i is not in and where at least `least` of the weight of its edges leads. With a group all
// groups around it that do not hold the point are listed, their shares being no smaller.
inline SoftGroups soft_groups(const Groups& groups, const std::int64_t* indptr, const std::int32_t* indices,
                              const float* weight, std::size_t n, double least, int threads, Interrupt& interrupt) {
    struct Sums {
        std::vector<double> sum;
        std::vector<std::int32_t> met;
    };
    struct Found {
        std::vector<std::int32_t> count, group;
        std::vector<float> share;
    };
    constexpr std::int64_t kBlock = 2048;
    SoftGroups soft;
    soft.own.assign(n, 0.0);
    std::vector<Found> found((n + kBlock - 1) / kBlock);
    Lent<Sums> lent;
    parallel_items(static_cast<std::int64_t>(found.size()), threads, interrupt, [&](std::int64_t b) {
        lent.with([&](Sums& work) {
            work.sum.resize(groups.count, 0.0);
            Found& out = found[static_cast<std::size_t>(b)];
            const std::size_t last = std::min(n, static_cast<std::size_t>((b + 1) * kBlock));
            for (auto i = static_cast<std::size_t>(b * kBlock); i < last; ++i) {
                double total = 0.0;
                for (std::int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
                    const double w = weight[e];
                    if (!(w > 0.0)) continue;
                    total += w;
                    for (std::int32_t g = groups.lowest[indices[e]]; g >= 0; g = groups.parent[g]) {
                        double& sum = work.sum[static_cast<std::size_t>(g)];
                        if (sum == 0.0) work.met.push_back(g);
                        sum += w;
                    }
                }
                const std::int32_t own = groups.lowest[i];
                if (own >= 0 && total > 0.0) soft.own[i] = work.sum[static_cast<std::size_t>(own)] / total;
                for (std::int32_t g = own; g >= 0; g = groups.parent[g]) work.sum[static_cast<std::size_t>(g)] = 0.0;
                std::sort(work.met.begin(), work.met.end());
                const std::size_t before = out.group.size();
                for (const std::int32_t g : work.met) {
                    double& sum = work.sum[static_cast<std::size_t>(g)];
                    if (sum > 0.0 && sum >= least * total) {
                        out.group.push_back(g);
                        out.share.push_back(static_cast<float>(sum / total));
                    }
                    sum = 0.0;
                }
                work.met.clear();
                out.count.push_back(static_cast<std::int32_t>(out.group.size() - before));
            }
        });
    });
    soft.start.reserve(n + 1);
    soft.start.push_back(0);
    for (const Found& part : found) {
        for (const std::int32_t count : part.count) soft.start.push_back(soft.start.back() + count);
        soft.group.insert(soft.group.end(), part.group.begin(), part.group.end());
        soft.share.insert(soft.share.end(), part.share.begin(), part.share.end());
    }
    return soft;
}

}  // namespace cladify
