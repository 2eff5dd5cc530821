// The edges of a graph's clusters where these are contracted part by part: lists lie where earlier rounds left them,
// and a cluster is some spans of them. Names and sums are those of contract.hpp, so that a round on parts merges what a
// round on the whole would.
#pragma once
#include <cstdint>
#include <vector>

#include "agglomerate/rounds/contract.hpp"
#include "agglomerate/rounds/graph_linkages.hpp"
#include "common/gather.hpp"

namespace cladify {

// Lists that earlier rounds wrote, or that another part sent: ends carry the name that they had then.
struct EdgeLists {
    const std::int32_t* key;
    const double* value;
    const double* pairs;  // complete linkage only
};

// Places of edges: source 0 is the graph itself, source i the lists i - 1; `owner` is the point whose edges they are.
struct Spans {
    std::size_t size;
    const std::int32_t *source, *owner;
    const std::int64_t *start, *count;
};

struct CombinedEdges {
    std::vector<std::int64_t> length;
    std::vector<std::int32_t> key;
    std::vector<double> value, pairs;
    std::vector<double> best;           // similarity of the nearest, 0 without one
    std::vector<std::int32_t> nearest;  // its name, or -1
};

template <typename Linkage>
class PartEdges {
    using Value = typename Linkage::Value;
    static constexpr bool kPairs = requires(Value v) { v.pairs; };

public:
    PartEdges(const SimilarityGraph& graph, std::vector<EdgeLists> lists) : graph_(graph), lists_(std::move(lists)) {}

    // The edges of some spans, one after another, as they are.
    void copy(const Spans& spans, CombinedEdges& out) const {
        for (std::size_t s = 0; s < spans.size; ++s)
            for_each(spans, s, [&](std::int32_t name, const Value& value) { push(out, name, value); });
    }

    // One list a cluster, of spans first[g] to first[g + 1]: edges to the same cluster become one, edges inside are
    // gone. `label` is the name by now of every name there was, `size` the points of each.
    void combine(const std::int32_t* label, const double* size, std::int64_t n, std::size_t count,
                 const std::int32_t* home, const std::int64_t* first, const bool* keep, const Spans& spans,
                 CombinedEdges& out) const {
        Gather<Value> gather;
        for (std::size_t g = 0; g < count; ++g) {
            std::int64_t upper = 0;
            for (std::int64_t s = first[g]; s < first[g + 1]; ++s) upper += spans.count[s];
            gather.start(upper, n);
            for (std::int64_t s = first[g]; s < first[g + 1]; ++s)
                for_each(spans, static_cast<std::size_t>(s), [&](std::int32_t name, const Value& value) {
                    const std::int32_t other = label[name];
                    if (other == home[g]) return;
                    gather.add(other, value, [](Value& a, const Value& b) { Linkage::combine(a, b); });
                });
            gather.finish();
            choose(home[g], size, gather, out);
            out.length.push_back(keep[g] ? static_cast<std::int64_t>(gather.keys.size()) : 0);
            if (!keep[g]) continue;
            for (std::size_t e = 0; e < gather.keys.size(); ++e) push(out, gather.keys[e], gather.values[e]);
        }
    }

private:
    SimilarityGraph graph_;
    std::vector<EdgeLists> lists_;

    template <typename Body>
    void for_each(const Spans& spans, std::size_t s, const Body& body) const {
        const std::int64_t start = spans.start[s], stop = start + spans.count[s];
        if (spans.source[s] == 0) {
            for (std::int64_t e = start; e < stop; ++e) body(graph_.indices[e], edge(spans.owner[s], e));
            return;
        }
        const EdgeLists& lists = lists_[static_cast<std::size_t>(spans.source[s]) - 1];
        for (std::int64_t e = start; e < stop; ++e) {
            if constexpr (kPairs)
                body(lists.key[e], Value{lists.value[e], lists.pairs[e]});
            else
                body(lists.key[e], lists.value[e]);
        }
    }

    Value edge(std::int32_t owner, std::int64_t e) const {
        const double weight = graph_.weight64 ? graph_.weight64[e] : static_cast<double>(graph_.weight[e]);
        const double similarity = graph_.shift + graph_.scale * weight;
        if (graph_.mass == nullptr) return Linkage::edge(similarity, 1.0);
        return Linkage::edge(similarity, graph_.mass[owner] * graph_.mass[graph_.indices[e]]);
    }

    static void push(CombinedEdges& out, std::int32_t key, const Value& value) {
        out.key.push_back(key);
        if constexpr (kPairs) {
            out.value.push_back(value.least);
            out.pairs.push_back(value.pairs);
        } else {
            out.value.push_back(value);
        }
    }

    // The most similar of the neighbours, of equal ones the smallest name.
    static void choose(std::int32_t home, const double* size, const Gather<Value>& gather, CombinedEdges& out) {
        double best = 0;
        std::int32_t nearest = -1;
        for (std::size_t e = 0; e < gather.keys.size(); ++e) {
            const std::int32_t other = gather.keys[e];
            const double similarity = Linkage::similarity(gather.values[e], size[home] * size[other]);
            if (similarity > best || (similarity == best && nearest >= 0 && other < nearest)) {
                best = similarity;
                nearest = other;
            }
        }
        out.best.push_back(best);
        out.nearest.push_back(nearest);
    }
};

// Joins `high` into `low`, merge by merge: adds the sizes up, and gives every name there was the one it has by now.
inline void apply_merges(const std::int32_t* low, const std::int32_t* high, std::size_t count, std::int32_t* label,
                         double* size, std::size_t n) {
    for (std::size_t i = 0; i < count; ++i) {
        label[high[i]] = low[i];
        size[low[i]] += size[high[i]];
    }
    for (std::size_t x = 0; x < n; ++x) label[x] = label[label[x]];  // names only lead to smaller ones
}

}  // namespace cladify
