// Heavy paths of a tree: from every node follow the child with most leaves. A leaf lies below at most log2(n) nodes
// that are not the heavy child of their parent, so work that starts at each such node stays within n log n steps,
// and a stack of partial results within log2(n), for every shape of tree.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace cladify::objectives {

// A tree as its arrays; see Tree in Python for their meaning.
struct TreeView {
    std::span<const std::int64_t> parent, size, child_start, child_ids;
    std::int64_t n_leaves;

    std::int64_t n_nodes() const { return std::ssize(parent); }
    std::int64_t root() const { return n_nodes() - 1; }
    bool is_leaf(std::int64_t v) const { return v < n_leaves; }
    std::span<const std::int64_t> children(std::int64_t v) const {
        const std::int64_t begin = child_start[v - n_leaves], end = child_start[v - n_leaves + 1];
        return child_ids.subspan(begin, end - begin);
    }
};

// The child with most leaves of each inner node (the first of several), indexed by v - n_leaves.
inline std::vector<std::int64_t> heavy_children(const TreeView& tree) {
    std::vector<std::int64_t> heavy(tree.n_nodes() - tree.n_leaves, -1);
    for (std::int64_t v = 0; v < tree.root(); ++v) {
        std::int64_t& h = heavy[tree.parent[v] - tree.n_leaves];
        if (h < 0 || tree.size[v] > tree.size[h]) h = v;
    }
    return heavy;
}

}  // namespace cladify::objectives
