// Checks at the entry of kernels. Arrays may come from a file: a wrong size or id must be an error, not an access
// outside of an array. Each check is one pass without branches, short beside the work of the kernel.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>

namespace cladify {

// Python sees a ValueError.
inline void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

// All values are in [low, high).
template <typename T>
void require_within(std::span<const T> values, std::int64_t low, std::int64_t high, const char* message) {
    bool holds = true;
    for (const T value : values) holds &= (value >= low) & (value < high);
    require(holds, message);
}

// Starts of lists that lie one after another in an array of `count` entries: they rise from 0 to `count`.
template <typename T>
void require_starts(std::span<const T> start, std::size_t count, const char* message) {
    bool holds = !start.empty() && start.front() == 0 && start.back() == static_cast<T>(count);
    for (std::size_t i = 0; i + 1 < start.size(); ++i) holds &= start[i] <= start[i + 1];
    require(holds, message);
}

// A graph of start.size() - 1 nodes in rows: the ends of each edge are nodes, and each edge has its value.
template <typename Start, typename Id>
void require_graph(std::span<const Start> start, std::span<const Id> ends, std::size_t n_values) {
    require_starts(start, ends.size(), "indptr must rise from 0 to the number of edges");
    require_within(ends, 0, static_cast<std::int64_t>(start.size()) - 1, "an edge leads to no node of the graph");
    require(n_values == ends.size(), "a graph has one value an edge");
}

// Parents of a tree of n leaves: each but the last comes after its child and is no leaf.
inline void require_parents(std::span<const std::int64_t> parent, std::int64_t n_leaves) {
    const auto m = static_cast<std::int64_t>(parent.size());
    require(n_leaves >= 1 && n_leaves <= m, "a tree has between one leaf and as many as nodes");
    bool holds = true;
    for (std::int64_t v = 0; v + 1 < m; ++v) holds &= (parent[v] > v) & (parent[v] >= n_leaves) & (parent[v] < m);
    require(holds, "a parent is a later node and no leaf");
}

}  // namespace cladify
