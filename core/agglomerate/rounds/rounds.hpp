// From the merges of a method that works in rounds to trees. A cluster is named by its smallest member; a merge joins
// `right` into `left`, left < right, and the merges of a round come together.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace cladify {

struct RoundMerges {
    std::vector<std::int32_t> left, right;
    std::vector<double> similarity;
    std::vector<std::int32_t> round;  // 1, 2, …

    void reserve(std::size_t count) {
        left.reserve(count);
        right.reserve(count);
        similarity.reserve(count);
        round.reserve(count);
    }

    void add(std::int32_t a, std::int32_t b, double s, std::int32_t r) {
        left.push_back(std::min(a, b));
        right.push_back(std::max(a, b));
        similarity.push_back(s);
        round.push_back(r);
    }
};

// Joins the clusters that are left, always the two smallest, ties by name: a shallow top over unrelated parts.
// `roots` are their names in ascending order.
inline void join_rest(RoundMerges& merges, const std::vector<std::int32_t>& roots, const std::vector<double>& size,
                      double similarity, std::int32_t round) {
    struct Group {
        double size;
        std::int32_t name;
        bool operator<(const Group& other) const { return size != other.size ? size < other.size : name < other.name; }
    };
    std::vector<Group> queue;
    queue.reserve(2 * roots.size());
    for (const std::int32_t root : roots) queue.push_back({size[static_cast<std::size_t>(root)], root});
    std::sort(queue.begin(), queue.end());
    // Two queues in one array: the parts that came, ascending, and the joined ones behind them, which also ascend.
    std::size_t first = 0, joined = queue.size();
    const std::size_t came = queue.size();
    const auto next = [&] {
        const bool old = first < came && (joined == queue.size() || !(queue[joined] < queue[first]));
        return queue[old ? first++ : joined++];
    };
    for (std::size_t i = 1; i < came; ++i) {
        const Group a = next(), b = next();
        merges.add(a.name, b.name, similarity, round);
        queue.push_back({a.size + b.size, std::min(a.name, b.name)});
    }
}

struct RoundTree {
    std::vector<std::int64_t> parent, level;
    std::vector<double> similarity;  // the least one merged in a node or below; 0 at the leaves, which have none
};

// One node a cluster and round in which it grew, children before parents. Needs all n - 1 merges.
inline RoundTree round_tree(const std::int32_t* left, const std::int32_t* right, const double* similarity,
                            const std::int32_t* round, std::size_t n) {
    RoundTree tree;
    tree.parent.assign(n, -1);
    tree.level.assign(n, 0);
    tree.similarity.assign(n, std::numeric_limits<double>::infinity());
    std::vector<std::int32_t> label(n);
    std::iota(label.begin(), label.end(), 0);
    std::vector<std::int64_t> node(n);  // of the cluster with this name
    std::iota(node.begin(), node.end(), 0);
    const std::size_t count = n - 1;
    for (std::size_t start = 0, stop; start < count; start = stop) {
        for (stop = start; stop < count && round[stop] == round[start]; ++stop)
            label[static_cast<std::size_t>(right[stop])] = left[stop];
        for (std::size_t i = start; i < stop; ++i) {
            std::int32_t root = right[i];
            while (label[static_cast<std::size_t>(root)] != root) {
                std::int32_t& up = label[static_cast<std::size_t>(root)];
                up = label[static_cast<std::size_t>(up)];
                root = up;
            }
            std::int64_t& parent = node[static_cast<std::size_t>(root)];
            if (tree.level[static_cast<std::size_t>(parent)] != round[i]) {  // the first merge of this cluster
                const auto made = static_cast<std::int64_t>(tree.parent.size());
                tree.parent[static_cast<std::size_t>(parent)] = made;
                tree.parent.push_back(-1);
                tree.level.push_back(round[i]);
                tree.similarity.push_back(tree.similarity[static_cast<std::size_t>(parent)]);
                parent = made;
            }
            const auto child = static_cast<std::size_t>(node[static_cast<std::size_t>(right[i])]);
            tree.parent[child] = parent;
            double& least = tree.similarity[static_cast<std::size_t>(parent)];
            least = std::min({least, tree.similarity[child], similarity[i]});
        }
    }
    std::fill_n(tree.similarity.begin(), n, 0.0);
    return tree;
}

// Names to the ids of nodes, n + i for the i-th merge; similarities never rise towards the root (rounding could let
// them, by a digit).
struct MergeNodes {
    std::vector<std::int64_t> left, right;
    std::vector<double> similarity;
};

inline MergeNodes merge_nodes(const std::int32_t* left, const std::int32_t* right, const double* similarity,
                              std::size_t n) {
    MergeNodes nodes;
    std::vector<std::int64_t> node(n);
    std::iota(node.begin(), node.end(), 0);
    const auto below = [&](std::int64_t v) {
        const auto inner = v - static_cast<std::int64_t>(n);
        return inner < 0 ? std::numeric_limits<double>::infinity() : nodes.similarity[static_cast<std::size_t>(inner)];
    };
    for (std::size_t i = 0; i + 1 < n; ++i) {
        const std::int64_t a = node[static_cast<std::size_t>(left[i])], b = node[static_cast<std::size_t>(right[i])];
        nodes.left.push_back(a);
        nodes.right.push_back(b);
        nodes.similarity.push_back(std::min({similarity[i], below(a), below(b)}));
        node[static_cast<std::size_t>(left[i])] = static_cast<std::int64_t>(n + i);
    }
    return nodes;
}

}  // namespace cladify
