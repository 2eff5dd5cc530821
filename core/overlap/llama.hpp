// LLAMA: every round unites each cluster of a cover with its nearest neighbour in that cover. A cluster that is the
// nearest of several others gets several parents, so that the clusters of all rounds form a directed acyclic graph.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "agglomerate/rounds/contract.hpp"
#include "common/interrupt.hpp"
#include "common/team.hpp"
#include "overlap/links.hpp"
#include "tree/cover.hpp"

namespace cladify {

enum class OverlapLinkage { average, single, exact_average };

// The finished structure: nodes in order of their sizes, so that children come before parents; the root is the last.
struct OverlapDag {
    std::vector<std::int64_t> parent_start, parent, size;
    std::vector<double> similarity;                              // of the two clusters that a node first united
    std::vector<std::int64_t> span_node, span_first, span_last;  // rounds in which a node was in the cover
};

class Llama {
public:
    // The similarities of the graph are at most 1.
    Llama(const SimilarityGraph& graph, OverlapLinkage linkage, std::int64_t max_parents, bool merge_equal, int threads)
        : n_(static_cast<std::size_t>(graph.n)),
          linkage_(linkage),
          max_parents_(max_parents),
          merge_equal_(merge_equal),
          threads_(threads),
          sets_(2 * n_),
          node_size_(n_, 1),
          similarity_(n_, 0.0),
          since_(n_, 0) {
        cover_.node.resize(n_);
        std::iota(cover_.node.begin(), cover_.node.end(), 0);
        cover_.member = cover_.node;
        cover_.start.resize(n_ + 1);
        std::iota(cover_.start.begin(), cover_.start.end(), std::int64_t{0});
        cover_.bag.assign(n_, 1.0);
        cover_.inner.assign(n_, 0.0);
        cover_.hash.resize(n_);
        for (std::size_t i = 0; i < n_; ++i) cover_.hash[i].add(i);
        links_.start.assign(n_ + 1, 0);
        links_.end.reserve(static_cast<std::size_t>(graph.indptr[n_]));
        links_.value.reserve(static_cast<std::size_t>(graph.indptr[n_]));
        for (std::size_t i = 0; i < n_; ++i) {
            for (std::int64_t e = graph.indptr[i]; e < graph.indptr[i + 1]; ++e) {
                const double value = graph.shift + graph.scale * static_cast<double>(graph.weight[e]);
                if (value <= 0.0) continue;
                links_.end.push_back(graph.indices[e]);
                links_.value.push_back(Similarity(value));
            }
            links_.start[i + 1] = static_cast<std::int64_t>(links_.end.size());
        }
        if (linkage_ == OverlapLinkage::exact_average) points_ = links_;
    }

    std::int64_t n_clusters() const { return static_cast<std::int64_t>(cover_.count()); }
    std::int64_t n_nodes() const { return static_cast<std::int64_t>(node_size_.size()); }

    // True once the links of a cover were more than a round was allowed; there are no further rounds then.
    bool is_full() const { return full_; }

    // One round; returns how many pairs of clusters were united (0: no two have a link). Where the new clusters have
    // more than `max_links` links they get none.
    std::int64_t round(std::int64_t max_links, Interrupt& interrupt) {
        find_nearest(interrupt);
        std::vector<Pair> pairs = chosen_pairs();
        if (pairs.empty()) return 0;
        if (max_parents_ > 0) keep_agreed(pairs);
        std::sort(pairs.begin(), pairs.end(), [](const Pair& x, const Pair& y) {
            return x.first != y.first ? x.first < y.first : x.second < y.second;
        });
        ++round_;
        Cover next;
        const Unions unions = unite(pairs, next, interrupt);
        std::optional<Links> links;
        if (linkage_ == OverlapLinkage::exact_average) {
            links_ = {};
            links = recomputed(points_, next, max_links, threads_, interrupt);
        } else {
            const bool single = linkage_ == OverlapLinkage::single;
            links = united(links_, unions, cover_.inner, single, max_links, threads_, interrupt);
        }
        full_ = !links;
        links_ = links ? std::move(*links) : Links{std::vector<std::int64_t>(next.count() + 1, 0), {}, {}};
        note_spans(next);
        cover_ = std::move(next);
        return static_cast<std::int64_t>(pairs.size());
    }

    // The structure of all rounds; the remaining clusters are joined by the root.
    OverlapDag finish(Interrupt& interrupt) {
        links_ = {};
        points_ = {};
        join_rest();
        for (const std::int32_t v : cover_.node) close_span(v, round_);
        interrupt();
        return numbered_by_size();
    }

private:
    struct Pair {
        std::int32_t first, second;
        double value;
    };
    static bool stronger(const Pair& x, const Pair& y) {
        if (x.value != y.value) return x.value > y.value;
        return x.first != y.first ? x.first < y.first : x.second < y.second;
    }

    const std::size_t n_;
    const OverlapLinkage linkage_;
    const std::int64_t max_parents_;
    const bool merge_equal_;
    const int threads_;
    std::int32_t round_ = 0;
    bool full_ = false;
    Cover cover_;
    Links links_, points_;
    std::vector<std::int32_t> nearest_;
    std::vector<double> nearest_value_;
    Lent<Marks> marks_;
    SetTable sets_;                        // node n + i is set i
    std::vector<std::int64_t> node_size_;  // of each node
    std::vector<double> similarity_;       // of each node
    std::vector<std::int32_t> since_;      // round in which a node entered the cover; -1: not in it
    std::vector<std::pair<std::int32_t, std::int32_t>> edges_;  // (child, parent)
    std::vector<std::int64_t> span_node_, span_first_, span_last_;

    static constexpr std::int64_t kBlock = 2048;

    template <typename Work>
    void for_each(std::size_t count, Interrupt& interrupt, Work work) {
        const auto n_blocks = (static_cast<std::int64_t>(count) + kBlock - 1) / kBlock;
        parallel_items(n_blocks, threads_, interrupt, [&](std::int64_t b) {
            const std::size_t last = std::min(count, static_cast<std::size_t>((b + 1) * kBlock));
            for (auto i = static_cast<std::size_t>(b * kBlock); i < last; ++i) work(i);
        });
    }

    // Ties go to the smaller cluster; with that, the order of pairs by (value, clusters) decides for both ends.
    void find_nearest(Interrupt& interrupt) {
        nearest_.assign(cover_.count(), -1);
        nearest_value_.assign(cover_.count(), 0.0);
        for_each(cover_.count(), interrupt, [&](std::size_t c) {
            for (auto e = links_.first(c); e < links_.last(c); ++e) {
                const double value = links_.value[e].value();
                if (value <= nearest_value_[c]) continue;
                nearest_value_[c] = value;
                nearest_[c] = links_.end[e];
            }
        });
    }

    std::vector<Pair> chosen_pairs() const {
        std::vector<Pair> pairs;
        for (std::size_t c = 0; c < nearest_.size(); ++c) {
            const auto me = static_cast<std::int32_t>(c), other = nearest_[c];
            if (other < 0 || (nearest_[static_cast<std::size_t>(other)] == me && other < me)) continue;
            pairs.push_back({std::min(me, other), std::max(me, other), nearest_value_[c]});
        }
        return pairs;
    }

    // Only pairs that are among the strongest of both their clusters.
    void keep_agreed(std::vector<Pair>& pairs) const {
        std::vector<std::int64_t> start(cover_.count() + 1, 0);
        for (const Pair& pair : pairs)
            for (const std::int32_t c : {pair.first, pair.second}) ++start[static_cast<std::size_t>(c) + 1];
        for (std::size_t c = 0; c + 1 < start.size(); ++c) start[c + 1] += start[c];
        std::vector<std::int32_t> mine(2 * pairs.size());
        std::vector<std::int64_t> next(start.begin(), start.end() - 1);
        for (std::size_t i = 0; i < pairs.size(); ++i)
            for (const std::int32_t c : {pairs[i].first, pairs[i].second})
                mine[static_cast<std::size_t>(next[static_cast<std::size_t>(c)]++)] = static_cast<std::int32_t>(i);
        std::vector<char> out(pairs.size(), 0);
        for (std::size_t c = 0; c + 1 < start.size(); ++c) {
            if (start[c + 1] - start[c] <= max_parents_) continue;
            const auto from = mine.begin() + start[c], to = mine.begin() + start[c + 1];
            std::nth_element(from, from + max_parents_, to, [&](std::int32_t x, std::int32_t y) {
                return stronger(pairs[static_cast<std::size_t>(x)], pairs[static_cast<std::size_t>(y)]);
            });
            for (auto i = from + max_parents_; i != to; ++i) out[static_cast<std::size_t>(*i)] = 1;
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < pairs.size(); ++i)
            if (!out[i]) pairs[kept++] = pairs[i];
        pairs.resize(kept);
    }

    // The next cover: the union of every pair, and the clusters that are in none, each set once.
    Unions unite(const std::vector<Pair>& pairs, Cover& next, Interrupt& interrupt) {
        std::vector<char> merged(cover_.count(), 0);
        for (const Pair& pair : pairs)
            merged[static_cast<std::size_t>(pair.first)] = merged[static_cast<std::size_t>(pair.second)] = 1;
        struct Size {
            SetHash hash;
            std::int64_t size = 0;
        };
        std::vector<Size> sizes(pairs.size());
        for_each(pairs.size(), interrupt, [&](std::size_t i) {
            visit_union(pairs[i].first, pairs[i].second, [&](std::int32_t point) {
                sizes[i].hash.add(static_cast<std::uint64_t>(point));
                ++sizes[i].size;
            });
        });
        Unions unions;
        std::vector<std::int32_t> place(node_size_.size() + pairs.size(), -1);  // of a node in the next cover
        const auto put = [&](std::int32_t node, const SetHash& hash, std::int64_t size, Unions::Parts parts,
                             double between) {
            if (place[static_cast<std::size_t>(node)] >= 0) return;
            place[static_cast<std::size_t>(node)] = static_cast<std::int32_t>(next.count());
            next.node.push_back(node);
            next.hash.push_back(hash);
            next.start.push_back(size);
            const double first = cover_.bag[static_cast<std::size_t>(parts.first)];
            const double both = parts.second < 0 ? first : first + cover_.bag[static_cast<std::size_t>(parts.second)];
            parts.share = first / both;
            next.bag.push_back(both);
            const double inside = cover_.inner[static_cast<std::size_t>(parts.first)];
            next.inner.push_back(
                parts.second < 0 ? inside
                                 : std::max({inside, cover_.inner[static_cast<std::size_t>(parts.second)], between}));
            unions.parts.push_back(parts);
        };
        std::size_t c = 0;
        const auto keep_before = [&](std::size_t limit) {
            for (; c < limit; ++c) {
                const auto own = static_cast<std::int32_t>(c);
                if (!merged[c]) put(cover_.node[c], cover_.hash[c], cover_.size(c), {own, -1, own, 1.0}, 0.0);
            }
        };
        for (std::size_t i = 0; i < pairs.size(); ++i) {
            const auto [first, second, value] = pairs[i];
            const auto a = static_cast<std::size_t>(first), b = static_cast<std::size_t>(second);
            keep_before(a);
            const auto [hash, size] = sizes[i];
            if (merge_equal_ && size == cover_.size(a)) {  // the other one is inside
                put(cover_.node[a], hash, size, {first, -1, first, 1.0}, 0.0);
                edges_.emplace_back(cover_.node[b], cover_.node[a]);
            } else if (merge_equal_ && size == cover_.size(b)) {
                put(cover_.node[b], hash, size, {second, -1, first, 1.0}, 0.0);
                edges_.emplace_back(cover_.node[a], cover_.node[b]);
            } else {
                const std::int32_t node = node_of(hash, size, value);
                put(node, hash, size, {first, second, first, 0.0}, value);
                edges_.emplace_back(cover_.node[a], node);
                edges_.emplace_back(cover_.node[b], node);
            }
        }
        keep_before(cover_.count());
        // Sizes to starts, then the members themselves.
        std::int64_t total = 0;
        for (std::int64_t& start : next.start) total += std::exchange(start, total);
        next.start.push_back(total);
        next.member.resize(static_cast<std::size_t>(total));
        for_each(next.count(), interrupt, [&](std::size_t p) {
            std::int32_t* out = next.member.data() + next.start[p];
            visit_union(unions.parts[p].first, unions.parts[p].second, [&](std::int32_t point) { *out++ = point; });
        });
        const double largest = *std::max_element(next.bag.begin(), next.bag.end());
        if (largest > 1e200)  // only their ratios count
            for (double& bag : next.bag) bag = std::max(bag / largest, 1e-200);
        unions.index(cover_.count());
        return unions;
    }

    template <typename Visit>
    void visit_union(std::int32_t a, std::int32_t b, Visit visit) {
        const auto points = [&](std::int32_t c, auto each) {
            for (auto at = cover_.start[static_cast<std::size_t>(c)];
                 at < cover_.start[static_cast<std::size_t>(c) + 1]; ++at)
                each(cover_.member[static_cast<std::size_t>(at)]);
        };
        if (b < 0) return points(a, visit);
        marks_.with([&](Marks& marks) {
            marks.start(n_);
            for (const std::int32_t c : {a, b})
                points(c, [&](std::int32_t point) {
                    if (marks.set(point)) visit(point);
                });
        });
    }

    std::int32_t node_of(const SetHash& hash, std::int64_t size, double similarity) {
        const auto node = merge_equal_ ? static_cast<std::int32_t>(n_) + sets_.number(hash)
                                       : static_cast<std::int32_t>(node_size_.size());
        if (static_cast<std::size_t>(node) == node_size_.size()) {
            node_size_.push_back(size);
            similarity_.push_back(similarity);
            since_.push_back(-1);
        }
        return node;
    }

    void note_spans(const Cover& next) {
        // Those that stay are marked by a negative round for the time of this comparison.
        for (const std::int32_t v : next.node) {
            std::int32_t& since = since_[static_cast<std::size_t>(v)];
            since = since < 0 ? -2 - round_ : -2 - since;
        }
        for (const std::int32_t v : cover_.node)
            if (since_[static_cast<std::size_t>(v)] >= 0) close_span(v, round_ - 1);
        for (const std::int32_t v : next.node) {
            std::int32_t& since = since_[static_cast<std::size_t>(v)];
            since = -2 - since;
        }
    }

    void close_span(std::int32_t v, std::int32_t last) {
        span_node_.push_back(v);
        span_first_.push_back(since_[static_cast<std::size_t>(v)]);
        span_last_.push_back(last);
        since_[static_cast<std::size_t>(v)] = -1;
    }

    void join_rest() {
        if (cover_.count() == 1) return;
        SetHash all;
        for (std::size_t i = 0; i < n_; ++i) all.add(i);
        for (const std::int32_t v : cover_.node) close_span(v, round_);
        const std::int32_t root = node_of(all, static_cast<std::int64_t>(n_), 0.0);
        for (const std::int32_t v : cover_.node)
            if (v != root) edges_.emplace_back(v, root);
        cover_.node = {root};
        since_[static_cast<std::size_t>(root)] = ++round_;
    }

    OverlapDag numbered_by_size() {
        const std::size_t m = node_size_.size();
        std::vector<std::int64_t> order(m), place(m);
        std::iota(order.begin(), order.end(), std::int64_t{0});
        std::stable_sort(order.begin() + static_cast<std::ptrdiff_t>(n_), order.end(),
                         [&](std::int64_t x, std::int64_t y) {
                             return node_size_[static_cast<std::size_t>(x)] < node_size_[static_cast<std::size_t>(y)];
                         });
        OverlapDag dag;
        for (std::size_t i = 0; i < m; ++i) {
            const auto v = static_cast<std::size_t>(order[i]);
            place[v] = static_cast<std::int64_t>(i);
            dag.size.push_back(node_size_[v]);
            dag.similarity.push_back(similarity_[v]);
        }
        for (auto& [child, parent] : edges_) {
            child = static_cast<std::int32_t>(place[static_cast<std::size_t>(child)]);
            parent = static_cast<std::int32_t>(place[static_cast<std::size_t>(parent)]);
        }
        std::sort(edges_.begin(), edges_.end());
        edges_.erase(std::unique(edges_.begin(), edges_.end()), edges_.end());
        dag.parent_start.assign(m + 1, 0);
        dag.parent.reserve(edges_.size());
        for (const auto& [child, parent] : edges_) {
            ++dag.parent_start[static_cast<std::size_t>(child) + 1];
            dag.parent.push_back(parent);
        }
        for (std::size_t v = 0; v < m; ++v) dag.parent_start[v + 1] += dag.parent_start[v];
        for (std::int64_t& v : span_node_) v = place[static_cast<std::size_t>(v)];
        dag.span_node = std::move(span_node_);
        dag.span_first = std::move(span_first_);
        dag.span_last = std::move(span_last_);
        return dag;
    }
};

}  // namespace cladify
