// Trees for reading: few children a node, no crumbs; see Tree.condense and Tree.cut for the rules.
//
// Of a tree, only its parts of `min_size` leaves or more count. Where two or more of them part, that is a split; a node
// with one such child only loses crumbs and lives on in that child. Crumbs stay with their largest sibling. A node
// whose leaves are mostly in crumbs is the last of its kind.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <queue>
#include <utility>
#include <vector>

#include "tree/tree.hpp"

namespace cladify {

// The largest `min_size` up to `most` at which a tree has parts enough for `n_clusters` clusters. A node is a last part
// at all sizes above its largest child's and up to its own, so one pass counts the parts at every size.
inline std::int64_t largest_min_size(IdSpan parent, IdSpan size, std::int64_t n_clusters, std::int64_t most) {
    Ids largest_child(parent.size(), 0), change(most + 2, 0);
    for (std::size_t v = 0; v < parent.size(); ++v) {
        if (largest_child[v] < most) {
            ++change[largest_child[v] + 1];
            --change[std::min(size[v], most) + 1];
        }
        if (parent[v] >= 0) largest_child[parent[v]] = std::max(largest_child[parent[v]], size[v]);
    }
    std::int64_t found = 1, parts = 0;
    for (std::int64_t s = 1; s <= most; ++s) {
        parts += change[s];
        if (parts >= n_clusters) found = s;
    }
    return found;
}

// The number of parts that hold no other.
inline std::int64_t count_parts(IdSpan parent, IdSpan size, std::int64_t min_size) {
    std::vector<std::uint8_t> holds(parent.size(), 0);
    std::int64_t count = 0;
    for (std::size_t v = 0; v < parent.size(); ++v) {
        if (size[v] < min_size) continue;
        count += !holds[v];
        if (parent[v] >= 0) holds[parent[v]] = 1;
    }
    return count;
}

// The parts of a tree: which nodes count, and where each of them ends.
class Parts {
public:
    Parts(IdSpan parent, IdSpan size, std::int64_t n_leaves, std::int64_t min_size)
        : min_size_(min_size),
          size_(size),
          heavy(heaviest_children(parent, size)),
          n_big(parent.size(), 0),
          end(parent.size()) {
        const std::int64_t m = std::ssize(parent);
        for (std::int64_t v = 0; v + 1 < m; ++v) n_big[parent[v]] += big(v);
        stop_at_crumbs(parent, size, min_size, n_big);
        for (std::int64_t v = 0; v < m; ++v) end[v] = n_big[v] == 1 ? end[heavy[v]] : v;
    }

    bool big(std::int64_t v) const { return size_[v] >= min_size_; }

private:
    std::int64_t min_size_;
    IdSpan size_;

public:
    Ids heavy;
    std::vector<std::int32_t> n_big;  // children that count
    Ids end;                          // where a node that only loses crumbs splits, or is the last of its kind
};

class Condenser {
public:
    // `priority` never decreases towards the root: splits of high priority come first.
    Condenser(IdSpan parent, IdSpan size, RealSpan priority, std::int64_t n_leaves, std::int64_t min_size,
              std::int64_t max_children)
        : parent_(parent),
          size_(size),
          priority_(priority),
          n_leaves_(n_leaves),
          max_children_(max_children),
          floor_(1e-12 * std::max(priority.back(), 1e-300)),
          parts_(parent, size, n_leaves, min_size),
          children_(children_of(parent, n_leaves)) {}

    // The condensed tree; the source of a node is where its part begins.
    Derived condense() {
        const std::int64_t m = std::ssize(parent_), root = m - 1;
        Ids above(m, -2);  // of the nodes that are kept: the kept node above
        above[root] = -1;
        Ids open{root};
        while (!open.empty()) {
            const std::int64_t v = open.back();
            open.pop_back();
            if (!splits(v)) continue;
            for (const std::int64_t child : fan(v)) {
                above[child] = v;
                open.push_back(child);
            }
        }
        // Each leaf hangs below the last part that it is in: crumbs go where their largest sibling goes. Going down,
        // `part` is the kept node whose last part a node is in, of a crumb that of its sibling's heavy path.
        Ids last(m), part(m);
        for (std::int64_t v = 0; v < m; ++v) last[v] = parts_.n_big[v] == 0 ? v : last[parts_.heavy[v]];
        Ids begin(m);  // the kept node whose part ends in a node
        for (std::int64_t v = root; v >= 0; --v)
            begin[v] = above[v] != -2 ? v : parts_.big(v) && parts_.n_big[parent_[v]] == 1 ? begin[parent_[v]] : -1;
        for (std::int64_t v = root; v >= 0; --v) {
            const bool inside = v != root && part[parent_[v]] >= 0;
            if (inside)
                part[v] = part[parent_[v]];
            else if (!parts_.big(v))
                part[v] = begin[last[parts_.heavy[parent_[v]]]];
            else
                part[v] = parts_.n_big[v] == 0 ? begin[v] : -1;
        }

        Derived out;
        Ids now(m, -1);
        for (std::int64_t v = 0; v < m; ++v)
            if (v < n_leaves_ || above[v] != -2) {
                now[v] = std::ssize(out.source);
                out.source.push_back(v);
            }
        out.parent.resize(out.source.size());
        for (std::size_t i = 0; i < out.source.size(); ++i) {
            const std::int64_t v = out.source[i];
            const std::int64_t p = v < n_leaves_ && part[v] != v ? part[v] : above[v];
            out.parent[i] = p < 0 ? -1 : now[p];
        }
        return out;
    }

private:
    bool splits(std::int64_t v) const { return parts_.n_big[parts_.end[v]] >= 2; }
    double priority(std::int64_t v) const { return std::max(priority_[parts_.end[v]], floor_); }

    // The children of a kept node: its splits from the highest priority down, up to the largest gap between two. Were
    // priorities a power of their rank, i times the i-th gap of their logarithms would have the same distribution for
    // every i (Rényi), so no number of children is preferred.
    //
    // The widest of a dozen gaps may be chance. At the root, where a reader begins, a child of more than a third of all
    // leaves needs more than that: a next split of less than a third of the last one's priority. (Even parts of nothing
    // in particular have about half of it.)
    Ids fan(std::int64_t v) {
        using Entry = std::pair<double, std::int64_t>;
        std::priority_queue<Entry> waiting;
        Ids now, best;
        double best_gap = -1, lowest = priority(v);
        bool best_is_even = false;
        const auto add_children = [&](std::int64_t w) {
            const std::int64_t i = parts_.end[w] - n_leaves_;
            for (std::int64_t c = children_.start[i]; c < children_.start[i + 1]; ++c) {
                const std::int64_t child = children_.child[c];
                if (!parts_.big(child)) continue;
                now.push_back(child);
                if (splits(child)) waiting.emplace(priority(child), child);
            }
        };
        add_children(v);
        for (;;) {
            double next = waiting.empty() ? floor_ : waiting.top().first;
            if (waiting.empty())
                for (const std::int64_t child : now) next = std::max(next, std::min(lowest, priority(child)));
            const double gap = static_cast<double>(now.size() - 1) * std::log(lowest / next);
            const bool is_even =
                parent_[v] >= 0 || kOutstanding * next <= lowest || kLargest * largest(now) <= size_[v];
            if (best.empty() || is_even > best_is_even || (is_even == best_is_even && gap >= best_gap)) {
                best_gap = gap;
                best = now;
                best_is_even = is_even;
            }
            if (waiting.empty()) break;
            const std::int64_t w = waiting.top().second;
            if (std::ssize(now) - 1 + parts_.n_big[parts_.end[w]] > max_children_) break;
            waiting.pop();
            lowest = next;
            now.erase(std::find(now.begin(), now.end(), w));
            add_children(w);
        }
        return best;
    }

    std::int64_t largest(const Ids& nodes) const {
        std::int64_t most = 0;
        for (const std::int64_t v : nodes) most = std::max(most, size_[v]);
        return most;
    }

    static constexpr double kOutstanding = 3.0;
    static constexpr std::int64_t kLargest = 3;

    IdSpan parent_, size_;
    RealSpan priority_;
    std::int64_t n_leaves_, max_children_;
    double floor_;
    Parts parts_;
    Children children_;
};

// The parts of a tree and when they split, from the first split down, for the cuts that they make one after the other.
struct PartList {
    Ids node, above;               // where a part begins, and the part that it is of; -1 for the root's
    Ids end;                       // where it splits; where it is the last of its kind, the node that no longer can
    std::vector<double> lifetime;  // over its leaves, from the part's begin until each of them leaves it
};

// `scale` is a height that grows towards the root. A leaf leaves its part as a crumb or where the part splits.
inline PartList parts_of(IdSpan parent, IdSpan size, RealSpan scale, std::int64_t n_leaves, std::int64_t min_size) {
    const std::int64_t m = std::ssize(parent);
    const Parts parts(parent, size, n_leaves, min_size);
    std::vector<double> leave(m);  // summed over the leaves of a node
    for (std::int64_t v = 0; v < m; ++v) {
        const std::int64_t h = parts.n_big[v] == 1 ? parts.heavy[v] : -1;
        const std::int64_t crumbs = h < 0 ? size[v] : size[v] - size[h];
        leave[v] = static_cast<double>(crumbs) * scale[v] + (h < 0 ? 0.0 : leave[h]);
    }
    PartList out;
    Ids number(m, -1);  // the part that a node is in
    for (std::int64_t v = m - 1; v >= 0; --v) {
        if (!parts.big(v)) continue;
        const std::int64_t p = parent[v];
        if (p >= 0 && (number[p] < 0 || parts.n_big[p] == 0)) continue;  // inside a last part
        if (p >= 0 && parts.n_big[p] == 1) {
            number[v] = number[p];
            continue;
        }
        number[v] = std::ssize(out.node);
        out.node.push_back(v);
        out.above.push_back(p < 0 ? -1 : number[p]);
        out.end.push_back(parts.end[v]);
        const double born = scale[p < 0 ? v : p];
        out.lifetime.push_back(static_cast<double>(size[v]) * born - leave[v]);
    }
    return out;
}

}  // namespace cladify
