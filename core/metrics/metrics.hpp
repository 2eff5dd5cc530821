// Trees against labels.
//
// Labels come as a cover: the labels of leaf i are label[start[i] .. start[i+1]); a partition has one each. The points
// of one label span a small tree inside the large one, whose inner nodes are the ancestors of its neighbours in
// depth-first order: walking it costs one LCA a point, so what depends on (label, node) pairs that differ is linear.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "common/team.hpp"
#include "tree/tree.hpp"

namespace cladify {

// The places in depth-first order of each label's points, ascending: place[start[l] .. start[l+1]).
struct LabelPlaces {
    Ids start, place;
};

inline LabelPlaces places_by_label(IdSpan order, IdSpan start, IdSpan label, std::int64_t n_labels) {
    LabelPlaces out{Ids(n_labels + 1, 0), Ids(label.size())};
    for (const std::int64_t l : label) ++out.start[l + 1];
    std::partial_sum(out.start.begin(), out.start.end(), out.start.begin());
    Ids next(out.start.begin(), out.start.end() - 1);
    for (std::int64_t p = 0; p < std::ssize(order); ++p)
        for (std::int64_t k = start[order[p]]; k < start[order[p] + 1]; ++k) out.place[next[label[k]]++] = p;
    return out;
}

// Walks the tree that the points at `places` span. For each of its inner nodes, children first, calls
// part(node, place, count) for each child (a place below it, points in it) and then whole(node, points, pairs joined).
template <typename Part, typename Whole>
void walk_spanned(IdSpan places, const Lca& lca, Part&& part, Whole&& whole) {
    struct Open {
        std::int64_t node, points, inside;  // inside: pairs within one child
    };
    std::vector<Open> spine;
    const auto add = [&](Open& open, std::int64_t place, std::int64_t count) {
        part(open.node, place, count);
        open.points += count;
        open.inside += pair_count(count);
    };
    const std::int64_t n = std::ssize(places);
    for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t joint = i + 1 < n ? lca.between(places[i], places[i + 1]) : -1;
        std::int64_t count = 1;
        while (!spine.empty() && (joint < 0 || spine.back().node < joint)) {
            Open open = spine.back();
            spine.pop_back();
            add(open, places[i], count);
            whole(open.node, open.points, pair_count(open.points) - open.inside);
            count = open.points;
        }
        if (joint < 0) break;
        if (spine.empty() || spine.back().node != joint) spine.push_back({joint, 0, 0});
        add(spine.back(), places[i], count);
    }
}

// Sum over the pairs of each label of the purity of their ancestor; see cladify.metrics.dendrogram_purity.
inline std::vector<double> purity_sums(const LabelPlaces& places, const Lca& lca, IdSpan size, int threads,
                                       Interrupt& interrupt) {
    const std::int64_t n_labels = std::ssize(places.start) - 1;
    std::vector<double> sums(n_labels, 0.0);
    parallel_items(n_labels, threads, interrupt, [&](std::int64_t l) {
        const IdSpan own(places.place.data() + places.start[l], places.place.data() + places.start[l + 1]);
        double sum = 0;
        walk_spanned(
            own, lca, [](auto...) {},
            [&](std::int64_t v, std::int64_t points, std::int64_t joined) {
                sum += static_cast<double>(joined) * static_cast<double>(points) / static_cast<double>(size[v]);
            });
        sums[l] = sum;
    });
    return sums;
}

// For each node, the pairs of equal label that it joins.
inline Ids joined_pairs(const LabelPlaces& places, const Lca& lca, std::int64_t n_nodes, int threads,
                        Interrupt& interrupt) {
    const std::int64_t n_labels = std::ssize(places.start) - 1;
    Ids joined_at(n_nodes, 0);
    parallel_items(n_labels, threads, interrupt, [&](std::int64_t l) {
        const IdSpan own(places.place.data() + places.start[l], places.place.data() + places.start[l + 1]);
        walk_spanned(
            own, lca, [](auto...) {},
            [&](std::int64_t v, std::int64_t, std::int64_t joined) {
                std::atomic_ref(joined_at[v]).fetch_add(joined, std::memory_order_relaxed);
            });
    });
    return joined_at;
}

// Sum over the pairs of each label of what they earn in the Moseley-Wang objective: a pair that v joins from children a
// and b earns n - |v| leaves outside, and a third of the |v| - |a| - |b| in v's other children: what a random binary
// resolution of v leaves out of the pair's own part.
inline std::vector<double> outside_sums(const LabelPlaces& places, const Lca& lca, const Children& children,
                                        IdSpan first, IdSpan size, std::int64_t n_leaves, int threads,
                                        Interrupt& interrupt) {
    const std::int64_t n_labels = std::ssize(places.start) - 1;
    const auto arity = [&](std::int64_t v) { return children.start[v - n_leaves + 1] - children.start[v - n_leaves]; };
    // Children lie in depth-first order: the one that holds a place is the last that begins at or before it.
    const auto child_size = [&](std::int64_t v, std::int64_t place) {
        const auto begin = children.child.begin() + children.start[v - n_leaves];
        const auto end = children.child.begin() + children.start[v - n_leaves + 1];
        const auto after =
            std::upper_bound(begin, end, place, [&](std::int64_t p, std::int64_t c) { return p < first[c]; });
        return static_cast<double>(size[*(after - 1)]);
    };
    std::vector<double> sums(n_labels, 0.0);
    parallel_items(n_labels, threads, interrupt, [&](std::int64_t l) {
        const IdSpan own(places.place.data() + places.start[l], places.place.data() + places.start[l + 1]);
        // With x_a points of the label in child a of v, the pairs of v's children sum to
        // sum over a < b of x_a x_b (|v| - |a| - |b|) = |v| joined - x_v sum of x_a |a| + sum of x_a² |a|.
        struct Wide {
            std::int64_t node;
            double linear = 0, square = 0;
        };
        std::vector<Wide> open;  // nodes of more than two children that the walk is inside of
        double sum = 0;
        walk_spanned(
            own, lca,
            [&](std::int64_t v, std::int64_t place, std::int64_t count) {
                if (arity(v) == 2) return;
                if (open.empty() || open.back().node != v) open.push_back({v});
                const double x = static_cast<double>(count), a = child_size(v, place);
                open.back().linear += x * a;
                open.back().square += x * x * a;
            },
            [&](std::int64_t v, std::int64_t points, std::int64_t joined) {
                const double pairs = static_cast<double>(joined), inside = static_cast<double>(size[v]);
                sum += pairs * (static_cast<double>(n_leaves) - inside);
                if (arity(v) == 2) return;
                const Wide wide = open.back();
                open.pop_back();
                sum += (inside * pairs - static_cast<double>(points) * wide.linear + wide.square) / 3;
            });
        sums[l] = sum;
    });
    return sums;
}

// Sum of `values` over each subtree.
inline Ids subtree_sums(IdSpan parent, IdSpan values) {
    Ids sums(values.begin(), values.end());
    for (std::size_t v = 0; v + 1 < parent.size(); ++v) sums[parent[v]] += sums[v];
    return sums;
}

// The cut with the largest sum of 2 same - ratio * pairs over its nodes; of equal ones the coarsest.
struct BestCut {
    std::vector<std::uint8_t> marked;      // a node is best taken whole
    std::int64_t same = 0, predicted = 0;  // sums over the nodes of the cut
};

inline BestCut best_cut(IdSpan parent, IdSpan pairs, IdSpan same, double ratio, std::int64_t n_leaves) {
    const std::int64_t m = std::ssize(parent);
    BestCut out{std::vector<std::uint8_t>(m, 0)};
    std::vector<double> value(m, 0.0);
    for (std::int64_t v = 0; v < m; ++v) {
        const double whole = 2.0 * static_cast<double>(same[v]) - ratio * static_cast<double>(pairs[v]);
        if (v < n_leaves || whole >= value[v]) {
            out.marked[v] = 1;
            value[v] = whole;
        }
        if (v + 1 < m) value[parent[v]] += value[v];
    }
    std::vector<std::uint8_t> covered(m, 0);
    for (std::int64_t v = m - 1; v >= 0; --v) {
        covered[v] = v + 1 < m && (covered[parent[v]] || out.marked[parent[v]]);
        if (covered[v] || !out.marked[v]) continue;
        out.same += same[v];
        out.predicted += pairs[v];
    }
    return out;
}

// --- Jaccard ---

// For each label, the largest Jaccard similarity of its points with a node of the tree. Of the nodes that hold the same
// points of the label the smallest is best, so only nodes of the spanned tree and the leaves count.
inline std::vector<double> best_node_of_labels(const LabelPlaces& places, const Lca& lca, IdSpan size, int threads,
                                               Interrupt& interrupt) {
    const std::int64_t n_labels = std::ssize(places.start) - 1;
    std::vector<double> best(n_labels, 0.0);
    parallel_items(n_labels, threads, interrupt, [&](std::int64_t l) {
        const IdSpan own(places.place.data() + places.start[l], places.place.data() + places.start[l + 1]);
        const std::int64_t n = std::ssize(own);
        if (n == 0) return;
        double found = 1.0 / static_cast<double>(n);
        walk_spanned(
            own, lca, [](auto...) {},
            [&](std::int64_t v, std::int64_t points, std::int64_t) {
                found = std::max(found, static_cast<double>(points) / static_cast<double>(n + size[v] - points));
            });
        best[l] = found;
    });
    return best;
}

// The largest a / (b + x) of many (a, b) at growing x. Two of these curves cross once at most, so each cell of a
// segment tree over the values of x keeps one curve (a Li Chao tree): O(log) to add one and to ask.
class BestRatio {
public:
    void reset(const std::vector<double>& x) {
        x_ = &x;
        width_ = 1;
        while (width_ < x.size()) width_ *= 2;
        curve_.assign(2 * width_, {0.0, 1.0});
    }

    void add(double a, double b) {
        Curve curve{a, b};
        std::size_t cell = 1, lo = 0, hi = width_;
        while (lo < x_->size()) {
            const std::size_t middle = (lo + hi) / 2;
            if (at(curve, middle) > at(curve_[cell], middle)) std::swap(curve, curve_[cell]);
            if (hi - lo == 1) return;
            if (at(curve, lo) > at(curve_[cell], lo)) {
                cell = 2 * cell;
                hi = middle;
            } else if (at(curve, hi - 1) > at(curve_[cell], hi - 1)) {
                cell = 2 * cell + 1;
                lo = middle;
            } else {
                return;
            }
        }
    }

    double operator()(std::size_t i) const {
        double best = 0;
        for (std::size_t cell = width_ + i; cell >= 1; cell /= 2) best = std::max(best, at(curve_[cell], i));
        return best;
    }

private:
    struct Curve {
        double a, b;
    };
    double at(const Curve& c, std::size_t i) const { return c.a / (c.b + (*x_)[std::min(i, x_->size() - 1)]); }

    const std::vector<double>* x_ = nullptr;
    std::size_t width_ = 1;
    std::vector<Curve> curve_;
};

// For each node, its largest Jaccard similarity with the points of a label. Going up a chain of heaviest children, a
// label's count only grows and the node only gets larger: a label with c of its s points in a node of size x has
// c / (s - c + x), and counts change where lighter children join. O(n log² n) for a partition.
inline std::vector<double> best_label_of_nodes(IdSpan parent, IdSpan size, IdSpan order, IdSpan first, IdSpan last,
                                               IdSpan start, IdSpan label, IdSpan label_size, int threads,
                                               Interrupt& interrupt) {
    const std::int64_t m = std::ssize(parent), n = std::ssize(order);
    const Ids heavy = heaviest_children(parent, size);
    Ids heads;
    for (std::int64_t v = 0; v < m; ++v)
        if (v == m - 1 || heavy[parent[v]] != v) heads.push_back(v);
    std::vector<double> best(m, 0.0);
    struct Scratch {
        Ids count, chain, touched;
        std::vector<double> x;
        BestRatio ratio;
    };
    std::vector<Scratch> scratch(static_cast<std::size_t>(threads));
    const auto labels_at = [&](std::int64_t place, auto&& visit) {
        for (std::int64_t k = start[order[place]]; k < start[order[place] + 1]; ++k) visit(label[k]);
    };
    const auto climb = [&](std::int64_t head, Scratch& s) {
        s.count.resize(label_size.size(), 0);
        s.chain.clear();
        for (std::int64_t v = head; v >= 0; v = heavy[v]) s.chain.push_back(v);
        std::reverse(s.chain.begin(), s.chain.end());
        s.x.clear();
        for (const std::int64_t v : s.chain) s.x.push_back(static_cast<double>(size[v]));
        s.ratio.reset(s.x);
        for (std::size_t i = 0; i < s.chain.size(); ++i) {
            const std::int64_t v = s.chain[i];
            const std::int64_t from = i ? first[s.chain[i - 1]] : last[v], to = i ? last[s.chain[i - 1]] : last[v];
            s.touched.clear();
            const auto join = [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t p = begin; p < end; ++p)
                    labels_at(p, [&](std::int64_t l) {
                        ++s.count[l];
                        s.touched.push_back(l);
                    });
            };
            join(first[v], from);
            join(to, last[v]);
            std::sort(s.touched.begin(), s.touched.end());
            s.touched.erase(std::unique(s.touched.begin(), s.touched.end()), s.touched.end());
            for (const std::int64_t l : s.touched)
                s.ratio.add(static_cast<double>(s.count[l]), static_cast<double>(label_size[l] - s.count[l]));
            best[v] = s.ratio(i);
            if (i % 65536 == 0) interrupt();
        }
        for (std::int64_t p = first[head]; p < last[head]; ++p) labels_at(p, [&](std::int64_t l) { s.count[l] = 0; });
    };
    // From the last head down, so that the longest chains start first.
    Team(threads).split(
        std::ssize(heads), 64,
        [&](std::int64_t begin, std::int64_t end, int thread) {
            for (std::int64_t h = begin; h < end; ++h) {
                const std::int64_t head = heads[heads.size() - 1 - h];
                if (head >= n) {
                    climb(head, scratch[thread]);
                    continue;
                }
                labels_at(first[head], [&](std::int64_t l) {  // most chains are a single leaf
                    best[head] = std::max(best[head], 1.0 / static_cast<double>(label_size[l]));
                });
            }
        },
        &interrupt);
    return best;
}

}  // namespace cladify
