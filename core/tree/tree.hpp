// Passes over a tree given by its parent array: leaves are 0..n-1, children come before parents, the root is last with
// parent -1, and inner nodes have two children or more. A pass in order of ids goes up, one in reverse order goes down,
// so nothing here recurses and everything is linear unless it says otherwise.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/finite.hpp"
#include "common/random.hpp"

namespace cladify {

using Ids = std::vector<std::int64_t>;
using IdSpan = std::span<const std::int64_t>;
using RealSpan = std::span<const double>;

// --- what a node is made of ---

// The first rule that a parent array breaks, with the node that breaks it; rule 0 when it breaks none.
struct BrokenRule {
    int rule = 0;
    std::int64_t node = -1;
    std::int64_t n_leaves = 0;
};

inline BrokenRule check_parents(IdSpan parent) {
    const std::int64_t m = std::ssize(parent);
    if (m == 0) return {1, -1, 0};
    if (parent[m - 1] != -1) return {2, m - 1, 0};
    std::vector<std::int8_t> arity(m, 0);
    for (std::int64_t v = 0; v + 1 < m; ++v) {
        const std::int64_t p = parent[v];
        if (p < 0 || p >= m) return {2, v, 0};
        if (p <= v) return {3, v, 0};
        if (arity[p] < 2) ++arity[p];
    }
    std::int64_t n = 0;
    while (n < m && arity[n] == 0) ++n;
    for (std::int64_t v = n; v < m; ++v) {
        if (arity[v] == 0) return {4, v, n};
        if (arity[v] == 1) return {5, v, n};
    }
    return {0, -1, n};
}

// Number of leaves below each node.
inline Ids leaf_counts(IdSpan parent, std::int64_t n_leaves) {
    Ids size(parent.size(), 0);
    std::fill_n(size.begin(), n_leaves, 1);
    for (std::size_t v = 0; v + 1 < parent.size(); ++v) size[parent[v]] += size[v];
    return size;
}

// Edges on the longest way down to a leaf.
inline Ids levels_up(IdSpan parent) {
    Ids up(parent.size(), 0);
    for (std::size_t v = 0; v + 1 < parent.size(); ++v) up[parent[v]] = std::max(up[parent[v]], up[v] + 1);
    return up;
}

// Edges on the way up to the root.
inline Ids levels_down(IdSpan parent) {
    Ids down(parent.size(), 0);
    for (std::size_t v = parent.size() - 1; v-- > 0;) down[v] = down[parent[v]] + 1;
    return down;
}

// Smallest leaf below each node.
inline Ids smallest_leaves(IdSpan parent, std::int64_t n_leaves) {
    Ids smallest(parent.size(), std::numeric_limits<std::int64_t>::max());
    std::iota(smallest.begin(), smallest.begin() + n_leaves, 0);
    for (std::size_t v = 0; v + 1 < parent.size(); ++v)
        smallest[parent[v]] = std::min(smallest[parent[v]], smallest[v]);
    return smallest;
}

// Largest height of an inner node in each subtree (SciPy's maxdists): the height itself when heights never decrease.
inline std::vector<double> largest_heights(IdSpan parent, RealSpan height, std::int64_t n_leaves) {
    std::vector<double> largest(height.begin(), height.end());
    for (std::size_t v = n_leaves; v + 1 < parent.size(); ++v)
        largest[parent[v]] = std::max(largest[parent[v]], largest[v]);
    return largest;
}

// The child with most leaves of each node, of several the first; -1 at the leaves.
inline Ids heaviest_children(IdSpan parent, IdSpan size) {
    Ids heavy(parent.size(), -1);
    for (std::size_t v = 0; v + 1 < parent.size(); ++v) {
        std::int64_t& h = heavy[parent[v]];
        if (h < 0 || size[v] > size[h]) h = static_cast<std::int64_t>(v);
    }
    return heavy;
}

// Where the children of at least `min_size` leaves, `n_big` of them, have less than half of a node's leaves, none of
// them counts: a few that are just large enough would stand for many that are not. Binary trees have no such node.
template <typename Count>
void stop_at_crumbs(IdSpan parent, IdSpan size, std::int64_t min_size, std::vector<Count>& n_big) {
    Ids held(parent.size(), 0);
    for (std::size_t v = 0; v + 1 < parent.size(); ++v)
        if (size[v] >= min_size) held[parent[v]] += size[v];
    for (std::size_t v = 0; v < parent.size(); ++v)
        if (2 * held[v] < size[v]) n_big[v] = 0;
}

inline std::int64_t pair_count(std::int64_t n) { return n * (n - 1) / 2; }

// Children in order of ids: those of inner node n + i are child[start[i] .. start[i+1]).
struct Children {
    Ids start, child;
};

inline Children children_of(IdSpan parent, std::int64_t n_leaves) {
    const std::int64_t m = std::ssize(parent), inner = m - n_leaves;
    Children out{Ids(inner + 1, 0), Ids(m - 1)};
    for (std::int64_t v = 0; v + 1 < m; ++v) ++out.start[parent[v] - n_leaves + 1];
    std::partial_sum(out.start.begin(), out.start.end(), out.start.begin());
    Ids next(out.start.begin(), out.start.end() - 1);
    for (std::int64_t v = 0; v + 1 < m; ++v) out.child[next[parent[v] - n_leaves]++] = v;
    return out;
}

// Depth-first order of the leaves, children in order of ids: node v holds order[first[v] .. last[v]).
struct Layout {
    Ids order, first, last;
};

inline Layout lay_out(IdSpan parent, IdSpan size, std::int64_t n_leaves) {
    const std::int64_t m = std::ssize(parent);
    Layout out{Ids(n_leaves), Ids(m), Ids(m)};
    Ids free_end(m);  // where the next child, counted from the last one, ends
    out.first[m - 1] = 0;
    out.last[m - 1] = free_end[m - 1] = n_leaves;
    for (std::int64_t v = m - 2; v >= 0; --v) {
        std::int64_t& end = free_end[parent[v]];
        out.last[v] = free_end[v] = end;
        out.first[v] = end -= size[v];
    }
    for (std::int64_t v = 0; v < n_leaves; ++v) out.order[out.first[v]] = v;
    return out;
}

inline Ids ancestors_of(IdSpan parent, std::int64_t v) {
    Ids path;
    for (v = parent[v]; v >= 0; v = parent[v]) path.push_back(v);
    return path;
}

// --- lowest common ancestors ---

// In depth-first order the ancestor of two leaves is the largest of the nodes that separate neighbouring leaves between
// them, because ids grow upwards. So an LCA is a range maximum: whole blocks from a sparse table, the rest from
// prefix and suffix maxima of the two end blocks.
class Lca {
public:
    Lca(IdSpan parent, IdSpan first, IdSpan last, std::int64_t n_leaves)
        : n_leaves_(n_leaves), first_(first.begin(), first.end()), last_(last.begin() + n_leaves, last.end()) {
        const std::int64_t m = std::ssize(parent), gaps = n_leaves - 1;
        separator_.assign(gaps, 0);
        for (std::int64_t v = 0; v + 1 < m; ++v)
            if (first[v] != first[parent[v]]) separator_[first[v] - 1] = static_cast<Id>(parent[v]);
        prefix_ = suffix_ = separator_;
        const std::int64_t blocks = (gaps + kBlock - 1) / kBlock;
        std::vector<Id> top(blocks);
        for (std::int64_t b = 0; b < blocks; ++b) {
            const std::int64_t begin = b * kBlock, end = std::min(begin + kBlock, gaps);
            for (std::int64_t i = begin + 1; i < end; ++i) prefix_[i] = std::max(prefix_[i], prefix_[i - 1]);
            for (std::int64_t i = end - 1; i-- > begin;) suffix_[i] = std::max(suffix_[i], suffix_[i + 1]);
            top[b] = suffix_[begin];
        }
        table_.push_back(std::move(top));
        for (std::int64_t width = 1; 2 * width <= blocks; width *= 2) {
            const std::vector<Id>& below = table_.back();
            std::vector<Id> row(blocks - 2 * width + 1);
            for (std::size_t b = 0; b < row.size(); ++b) row[b] = std::max(below[b], below[b + width]);
            table_.push_back(std::move(row));
        }
    }

    std::int64_t n_nodes() const { return std::ssize(first_); }
    std::int64_t n_leaves() const { return n_leaves_; }

    std::int64_t operator()(std::int64_t u, std::int64_t v) const {
        const std::int64_t lo = std::min(first_[u], first_[v]), hi = std::max(end(u), end(v)) - 1;
        return lo == hi ? u : largest(lo, hi - 1);
    }

    // Ancestor of the leaves at places lo < hi of the depth-first order.
    std::int64_t between(std::int64_t lo, std::int64_t hi) const { return largest(lo, hi - 1); }

private:
    using Id = std::int32_t;
    static constexpr std::int64_t kBlock = 16;

    std::int64_t end(std::int64_t v) const { return v < n_leaves_ ? first_[v] + 1 : last_[v - n_leaves_]; }

    // Largest separator in [lo, hi].
    Id largest(std::int64_t lo, std::int64_t hi) const {
        const std::int64_t a = lo / kBlock, b = hi / kBlock;
        if (a == b) return *std::max_element(separator_.begin() + lo, separator_.begin() + hi + 1);
        Id found = std::max(suffix_[lo], prefix_[hi]);
        if (b - a > 1) {
            const int k = 63 - __builtin_clzll(static_cast<unsigned long long>(b - a - 1));
            const std::vector<Id>& row = table_[k];
            found = std::max(found, std::max(row[a + 1], row[b - (std::int64_t{1} << k)]));
        }
        return found;
    }

    std::int64_t n_leaves_;
    std::vector<Id> first_, last_;  // last_ of inner nodes only
    std::vector<Id> separator_, prefix_, suffix_;
    std::vector<std::vector<Id>> table_;
};

// --- clusters ---

// Labels 0, 1, ... of the leaves, in order of each cluster's smallest leaf; `cluster` names one by any node id.
inline Ids numbered_by_leaf(IdSpan cluster, std::int64_t n_leaves) {
    Ids label(n_leaves), number(cluster.size(), -1);
    std::int64_t count = 0;
    for (std::int64_t v = 0; v < n_leaves; ++v) {
        std::int64_t& known = number[cluster[v]];
        if (known < 0) known = count++;
        label[v] = known;
    }
    return label;
}

// Labels, by smallest leaf, of the clusters whose top nodes are marked: the highest marked node above each leaf.
inline Ids label_by_top(IdSpan parent, std::span<const std::uint8_t> marked, std::int64_t n_leaves) {
    const std::int64_t m = std::ssize(parent);
    Ids cluster(m, -1);
    for (std::int64_t v = m - 1; v >= 0; --v) {
        if (v != m - 1) cluster[v] = cluster[parent[v]];
        if (cluster[v] < 0 && (marked[v] || v < n_leaves)) cluster[v] = v;
    }
    return numbered_by_leaf(cluster, n_leaves);
}

// --- other trees from this one ---

// A tree over some of the nodes of another one: `source[i]` is the old node that new node i stands for.
struct Derived {
    Ids parent, source;
};

// The tree of the leaves `keep`, new leaf i being keep[i]; inner nodes left with one child vanish, the others keep
// their order.
inline Derived prune_tree(IdSpan parent, std::int64_t n_leaves, IdSpan keep) {
    const std::int64_t m = std::ssize(parent);
    Ids stand_in(m, -1);  // the new node at or below an old one, -1 when nothing of it is kept
    Derived out;
    out.source.assign(keep.begin(), keep.end());
    for (std::size_t i = 0; i < keep.size(); ++i) stand_in[keep[i]] = static_cast<std::int64_t>(i);
    std::vector<std::int8_t> n_kept(m, 0);
    Ids only(m, -1);
    for (std::int64_t v = 0; v < m; ++v) {
        if (v >= n_leaves) {
            if (n_kept[v] == 1) stand_in[v] = only[v];
            if (n_kept[v] >= 2) {
                stand_in[v] = std::ssize(out.source);
                out.source.push_back(v);
            }
        }
        if (v + 1 < m && stand_in[v] >= 0) {
            if (n_kept[parent[v]] < 2) ++n_kept[parent[v]];
            only[parent[v]] = stand_in[v];
        }
    }
    Ids above(m, -1);  // the nearest new node above, from the root down
    for (std::int64_t v = m - 2; v >= 0; --v)
        above[v] = n_kept[parent[v]] >= 2 ? stand_in[parent[v]] : above[parent[v]];
    out.parent.resize(out.source.size());
    for (std::size_t i = 0; i < out.source.size(); ++i) out.parent[i] = above[out.source[i]];
    return out;
}

// Each node of more than two children becomes a random binary tree: two random parts are joined until one is left.
inline Derived binarize_tree(IdSpan parent, const Children& children, std::int64_t n_leaves, std::uint64_t seed) {
    const std::int64_t m = std::ssize(parent);
    SplitMix random(seed);
    Derived out;
    out.parent.assign(2 * n_leaves - 1, -1);
    out.source.resize(2 * n_leaves - 1);
    std::iota(out.source.begin(), out.source.begin() + n_leaves, 0);
    Ids now(m), parts;
    std::iota(now.begin(), now.begin() + n_leaves, 0);
    std::int64_t next = n_leaves;
    for (std::int64_t v = n_leaves; v < m; ++v) {
        const std::int64_t i = v - n_leaves;
        parts.clear();
        for (std::int64_t c = children.start[i]; c < children.start[i + 1]; ++c)
            parts.push_back(now[children.child[c]]);
        while (parts.size() > 1) {
            for (int side = 0; side < 2; ++side) {
                const std::int64_t pick = random.below(std::ssize(parts));
                out.parent[parts[pick]] = next;
                parts[pick] = parts.back();
                parts.pop_back();
            }
            out.source[next] = v;
            parts.push_back(next++);
        }
        now[v] = parts[0];
    }
    return out;
}

// --- trees in any numbering ---

// Inner nodes in canonical order: by the largest height below, then by levels above the leaves, then by smallest leaf.
// Children come before parents, and the order depends on the hierarchy alone, not on the numbering it came in.
inline Ids canonical_order(IdSpan up, RealSpan largest_height, IdSpan smallest_leaf, std::int64_t n_leaves) {
    Ids order(up.size() - n_leaves);
    std::iota(order.begin(), order.end(), n_leaves);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
        const double high_a = not_above_largest(largest_height[a]), high_b = not_above_largest(largest_height[b]);
        if (high_a != high_b) return high_a < high_b;
        if (up[a] != up[b]) return up[a] < up[b];
        return smallest_leaf[a] < smallest_leaf[b];
    });
    return order;
}

// Renumbers the inner nodes in the given order, which must have children before parents.
inline Derived renumber(IdSpan parent, IdSpan order, std::int64_t n_leaves) {
    const std::int64_t m = std::ssize(parent);
    Derived out{Ids(m), Ids(m)};
    std::iota(out.source.begin(), out.source.begin() + n_leaves, 0);
    std::copy(order.begin(), order.end(), out.source.begin() + n_leaves);
    Ids now(m);
    for (std::int64_t i = 0; i < m; ++i) now[out.source[i]] = i;
    for (std::int64_t i = 0; i < m; ++i) {
        const std::int64_t p = parent[out.source[i]];
        out.parent[i] = p < 0 ? -1 : now[p];
    }
    return out;
}

// Faults of a parent array in any numbering; `ok` when it is one tree.
enum class ShapeFault { ok, range, leaf_parent, forest, cycle };

struct Ordered {
    Derived tree;
    ShapeFault fault = ShapeFault::ok;
    std::int64_t node = -1;
};

// A tree from parents in any numbering of the inner nodes. Nodes without leaves below and nodes with one child vanish;
// the rest comes out with children before parents, in no particular order otherwise.
inline Ordered order_parents(IdSpan parent, std::int64_t n_leaves) {
    const std::int64_t m = std::ssize(parent);
    Ordered out;
    Ids waiting(m, 0);
    for (std::int64_t v = 0; v < m; ++v) {
        const std::int64_t p = parent[v];
        if (p < -1 || p >= m || p == v) return {{}, p == v ? ShapeFault::cycle : ShapeFault::range, v};
        if (p >= 0 && p < n_leaves) return {{}, ShapeFault::leaf_parent, v};
        if (p >= 0) ++waiting[p];
    }
    Ids queue;
    queue.reserve(m);
    for (std::int64_t v = 0; v < m; ++v)
        if (waiting[v] == 0) queue.push_back(v);
    Ids stand_in(m, -1), only(m, -1);
    std::vector<std::int8_t> n_kept(m, 0);
    Ids source(n_leaves);
    std::iota(source.begin(), source.end(), 0);
    std::int64_t root = -1;
    for (std::size_t q = 0; q < queue.size(); ++q) {
        const std::int64_t v = queue[q], p = parent[v];
        if (v < n_leaves) {
            stand_in[v] = v;
        } else if (n_kept[v] == 1) {
            stand_in[v] = only[v];
        } else if (n_kept[v] >= 2) {
            stand_in[v] = std::ssize(source);
            source.push_back(v);
        }
        if (p >= 0) {
            if (stand_in[v] >= 0) {
                if (n_kept[p] < 2) ++n_kept[p];
                only[p] = stand_in[v];
            }
            if (--waiting[p] == 0) queue.push_back(p);
        } else if (stand_in[v] >= 0) {
            if (root >= 0) return {{}, ShapeFault::forest, v};
            root = v;
        }
    }
    if (std::ssize(queue) < m) {
        const auto stuck = std::find_if(waiting.begin(), waiting.end(), [](std::int64_t w) { return w > 0; });
        return {{}, ShapeFault::cycle, stuck - waiting.begin()};
    }
    // The nearest surviving node above, from the root down.
    Ids above(m, -1);
    for (std::size_t q = queue.size(); q-- > 0;) {
        const std::int64_t v = queue[q], p = parent[v];
        if (p >= 0) above[v] = n_kept[p] >= 2 ? stand_in[p] : above[p];
    }
    out.tree.parent.resize(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) out.tree.parent[i] = above[source[i]];
    out.tree.source = std::move(source);
    return out;
}

}  // namespace cladify
