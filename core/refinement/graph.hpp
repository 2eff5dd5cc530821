// Weights from a sparse graph: the source of GraphWeights for every part of a tree.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "refinement/control.hpp"
#include "refinement/graph_weights.hpp"
#include "refinement/parts.hpp"

namespace cladify::refine {

// A symmetric graph without loops: the edges of leaf i are [start[i], start[i + 1]). A leaf counts `weight` times;
// `sign` is that of all weights.
template <typename T>
struct Graph {
    std::span<const std::int64_t> start;
    std::span<const Node> to;
    const T* value;
    std::span<const double> weight;
    double sign;
};

template <typename T>
class GraphSource {
public:
    explicit GraphSource(const Graph<T>& graph) : graph_(graph) {}

    void cut(const BinaryTree& tree, const std::vector<Part>&, Control&) { order_ = LeafOrder(tree); }

    // An edge belongs to the part where its ends meet. The leaves of all members are gone through except those of the
    // largest, whose pairs the others know: a leaf takes its turn in log2(n) parts at most, for every shape of tree.
    GraphWeights weights(const Part& part, const BinaryTree& local, Control& control) const {
        const Node m = static_cast<Node>(part.members.size());
        std::vector<Node> starts(m);
        Node largest = 0;
        for (Node i = 0; i < m; ++i) {
            starts[i] = order_.first[part.members[i]];
            if (order_.count[part.members[i]] > order_.count[part.members[largest]]) largest = i;
        }
        std::vector<std::int64_t> start(m + 1, 0);
        std::vector<Node> to;
        std::vector<double> weight;
        // The row of the largest comes last, and is put in its place at the end.
        std::vector<Node> to_largest;
        std::vector<double> weight_largest;
        SparseSum row;
        row.resize(m);
        for (Node i = 0; i < m; ++i) {
            if (i != largest && !control.failed()) add_member(part, i, starts, row);
            for (Node j : row.touched) {
                to.push_back(j);
                weight.push_back(row.value[j]);
                if (j == largest) to_largest.push_back(i), weight_largest.push_back(row.value[j]);
            }
            row.clear();
            start[i + 1] = std::ssize(to);
        }
        to.insert(to.begin() + start[largest], to_largest.begin(), to_largest.end());
        weight.insert(weight.begin() + start[largest], weight_largest.begin(), weight_largest.end());
        for (Node i = largest; i < m; ++i) start[i + 1] += std::ssize(to_largest);
        return GraphWeights(local, SparseRows(std::move(start), std::move(to), std::move(weight)));
    }

private:
    static Node member_at(const std::vector<Node>& starts, Node place) {
        return static_cast<Node>(std::upper_bound(starts.begin(), starts.end(), place) - starts.begin()) - 1;
    }

    void add_member(const Part& part, Node i, const std::vector<Node>& starts, SparseSum& row) const {
        const Node root = part.root(), v = part.members[i];
        const bool leaves_only = order_.count[root] == static_cast<Node>(starts.size());
        for (Node p = order_.first[v]; p < order_.first[v] + order_.count[v]; ++p) {
            const Node a = order_.leaf[p];
            const double own = graph_.sign * graph_.weight[a];
            for (std::int64_t e = graph_.start[a]; e < graph_.start[a + 1]; ++e) {
                const Node b = graph_.to[e];
                if (!order_.holds(root, b) || order_.holds(v, b)) continue;
                const Node j = leaves_only ? order_.place[b] - order_.first[root] : member_at(starts, order_.place[b]);
                row.add(j, own * graph_.weight[b] * static_cast<double>(graph_.value[e]));
            }
        }
    }

    Graph<T> graph_;
    LeafOrder order_;
};

}  // namespace cladify::refine
