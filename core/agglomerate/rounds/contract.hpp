// Agglomeration in rounds on a sparse similarity graph: each cluster knows its most similar neighbour, a round merges
// the pairs or components that a rule selects, and the merged clusters' edges are combined. Reciprocal nearest
// neighbours, Affinity and SCC are three rules over this one contraction.
//
// Only changed clusters are looked at again. All linkages here are reducible: merging A and B never makes their union
// more similar to C than the better of the two was. So a cluster's neighbour stays right until that neighbour is
// merged, and its old similarity stays an upper bound after that, which is enough to skip it while the threshold is
// above. Edges keep the name their end had when they were written; names are looked up when they are read.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "agglomerate/rounds/graph_linkages.hpp"
#include "agglomerate/rounds/rounds.hpp"
#include "common/gather.hpp"
#include "common/interrupt.hpp"
#include "common/lists.hpp"
#include "common/team.hpp"
#include "common/union_find.hpp"

namespace cladify {

// A symmetric graph in CSR form, without self-loops; similarity of an edge = shift + scale * weight.
struct SimilarityGraph {
    std::int64_t n;
    const std::int64_t* indptr;
    const std::int32_t* indices;
    const float* weight;  // or null, and then weight64
    double shift, scale;
    const double* mass;  // leaves that a node stands for; null: one each
    const double* weight64 = nullptr;
};

// The rule by which a round merges.
struct Rule {
    double threshold;  // nearest-neighbour pairs below this similarity wait
    bool pairs;        // only pairs that are each other's nearest; otherwise whole components of nearest neighbours
    double epsilon;    // with `pairs`: also pairs within a factor 1 + epsilon of the best either end has or had
};

// Two clusters that a rule selected.
struct SelectedPair {
    double similarity;
    std::int32_t left, right;
    // Strongest first; ties go to the smaller names.
    bool operator<(const SelectedPair& other) const {
        if (similarity != other.similarity) return similarity > other.similarity;
        return left != other.left ? left < other.left : right < other.right;
    }
};

// The clusters between two rounds, as another run left them: row c of the graph has the edges of cluster c, whose value
// is the weight itself.
struct ClusterState {
    const double* size;
    const double* best;
    const std::int32_t* nearest;  // -1: none, or one that is gone
    const bool* clean;            // the nearest has not changed since the last look
    const bool* single;           // a point on its own, whose edges are never combined
    const double* pairs;          // complete linkage: pairs of points that an edge stands for
    const double* weakest;        // or null
};

class Contraction {
public:
    virtual ~Contraction() = default;
    // One round; returns the number of merges (0: nothing left to merge under this rule).
    virtual std::int64_t round(const Rule& rule, Interrupt& interrupt) = 0;
    virtual std::int64_t n_clusters() const = 0;
    // True while some cluster still reads the graph that was given.
    virtual bool needs_graph() const = 0;
    // Joins the remaining clusters, as one more round.
    virtual void join(double similarity) = 0;
    RoundMerges& merges() { return merges_; }

protected:
    RoundMerges merges_;
};

template <typename Linkage>
class ContractionOf final : public Contraction {
    using Value = typename Linkage::Value;
    // Values in units of the points that name the clusters; otherwise, of pairs of points.
    static constexpr bool kNamed = requires(Value v) { Linkage::renamed(v, 0); };

public:
    ContractionOf(const SimilarityGraph& graph, int threads)
        : graph_(graph),
          team_(threads),
          n_(static_cast<std::size_t>(graph.n)),
          names_(n_),
          nearest_(n_, -1),
          changed_(n_, 0),
          seen_(n_, -1),
          size_(n_, 1.0),
          halvings_(kNamed ? n_ : 0, 0.0),
          best_(n_, std::numeric_limits<double>::infinity()),
          alive_(n_),
          lists_(n_, threads),
          gather_(static_cast<std::size_t>(threads)) {
        for (std::size_t i = 0; i < n_; ++i) {
            alive_[i] = static_cast<std::int32_t>(i);
            n_single_ += graph.indptr[i + 1] > graph.indptr[i];
        }
        if (graph.mass != nullptr) std::copy_n(graph.mass, n_, size_.begin());
        merges_.reserve(n_);
    }

    // Goes on from clusters that were merged elsewhere; the clock starts at 1.
    ContractionOf(const SimilarityGraph& graph, const ClusterState& state, int threads)
        : ContractionOf(graph, threads) {
        clock_ = 1;
        n_single_ = 0;
        std::copy_n(state.size, n_, size_.begin());
        std::copy_n(state.best, n_, best_.begin());
        std::copy_n(state.nearest, n_, nearest_.begin());
        if (state.weakest != nullptr) weakest_.assign(state.weakest, state.weakest + n_);
        std::vector<Value> values;
        for (std::size_t c = 0; c < n_; ++c) {
            const std::int64_t first = graph.indptr[c], degree = graph.indptr[c + 1] - first;
            if (state.clean[c]) seen_[c] = clock_;
            if (state.single[c]) {
                n_single_ += degree > 0;
                continue;
            }
            changed_[c] = clock_;
            values.clear();
            for (std::int64_t e = first; e < first + degree; ++e)
                values.push_back(Linkage::edge(graph.weight64[e], state.pairs != nullptr ? state.pairs[e] : 1.0));
            lists_.write(0, c, graph.indices + first, values.data(), degree);
        }
    }

    std::int64_t round(const Rule& rule, Interrupt& interrupt) override {
        refresh(rule.threshold, interrupt);
        select(rule);
        if (candidates_.empty()) return 0;
        const std::size_t before = merges_.left.size();
        unite();
        const std::size_t merged = merges_.left.size() - before;
        flatten(merged);
        rebuild(before, interrupt);
        return static_cast<std::int64_t>(merged);
    }

    std::int64_t n_clusters() const override { return static_cast<std::int64_t>(alive_.size()); }
    bool needs_graph() const override { return n_single_ > 0; }
    void join(double similarity) override { join_rest(merges_, alive_, size_, similarity, clock_ + 1); }

private:
    SimilarityGraph graph_;
    Team team_;
    std::size_t n_;
    std::int32_t clock_ = 0;             // merging rounds so far
    bool flat_ = true;                   // every label is a root
    UnionFind<kNamed> names_;            // a cluster's name is its smallest member
    std::vector<std::int32_t> nearest_;  // of the last look; -1: no neighbour
    std::vector<std::int32_t> changed_;  // clock of the cluster's last merge
    std::vector<std::int32_t> seen_;     // clock of the last look at its neighbours; -1: never
    std::vector<double> size_, best_;    // best: similarity to nearest, an upper bound once the nearest has changed
    std::vector<double> halvings_;  // merges that the point which names the cluster took part in; see WeightedLinkage
    std::vector<double> weakest_;   // least similarity merged inside the cluster; only kept for epsilon > 0
    std::vector<std::int32_t> alive_;  // names of the clusters, ascending
    std::vector<SelectedPair> candidates_;
    std::vector<std::int64_t> members_;  // root << 32 | name, of the clusters merged into another this round
    std::int64_t n_single_ = 0;          // points still on their own that have neighbours
    ListStore<Value> lists_;             // edges of merged clusters; single points read the graph
    std::vector<Gather<Value>> gather_;  // one a thread

    static constexpr std::int64_t kGrain = 64;   // clusters that a thread takes at a time
    static constexpr std::int64_t kSmall = 512;  // fewer are not worth waking a thread

    std::int32_t find(std::int32_t c) { return names_.root(names_.find(c)); }

    // After many merges every name is looked up at once, and reading an edge costs one step instead of a path.
    void flatten(std::size_t merged) {
        flat_ = merged > n_ / 64;
        if (flat_) names_.flatten(team_);
    }

    auto end(std::int32_t name) { return flat_ ? names_.stored(name) : names_.find(name); }

    // The divisor of the value of an edge between two clusters.
    double scale(std::size_t a, std::size_t b) const {
        if constexpr (kNamed) return halvings_[a] + halvings_[b];
        return size_[a] * size_[b];
    }

    template <typename Body>
    void for_each(std::int64_t count, Interrupt& interrupt, const Body& body) {
        team_.split(
            count, count > kSmall ? kGrain : kSmall,
            [&](std::int64_t first, std::int64_t last, int thread) {
                for (std::int64_t i = first; i < last; ++i) body(static_cast<std::size_t>(i), thread);
            },
            &interrupt);
    }

    // Looks again at the clusters that could merge at this threshold and whose nearest neighbour has changed.
    void refresh(double threshold, Interrupt& interrupt) {
        for_each(n_clusters(), interrupt, [&](std::size_t i, int thread) {
            const auto c = static_cast<std::size_t>(alive_[i]);
            if (best_[c] < threshold || best_[c] <= 0) return;
            if (seen_[c] >= 0) {
                const auto nearest = static_cast<std::size_t>(find(nearest_[c]));
                if (changed_[nearest] <= seen_[c]) return;
            }
            look(c, thread);
        });
    }

    void look(std::size_t c, int thread) {
        Gather<Value>& gather = gather_[static_cast<std::size_t>(thread)];
        if (clock_ == 0) {
            look_at_points(c);
            return;
        }
        gather.start(degree(c), graph_.n);
        collect(c, static_cast<std::int32_t>(c), gather);
        gather.finish();
        if (lists_.has(c)) lists_.shrink(c, gather.keys, gather.values);
        look_at_clusters(c, gather);
    }

    // Before the first merge every neighbour is a point of its own: nothing to combine.
    void look_at_points(std::size_t c) {
        const std::int64_t first = graph_.indptr[c];
        choose(c, graph_.indptr[c + 1] - first, graph_.indices + first, [&](std::int64_t e, std::size_t other) {
            const bool alike = graph_.mass == nullptr && !kNamed;  // saves a look at the other end
            return Linkage::similarity(edge(c, first + e), alike ? 1.0 : scale(c, other));
        });
    }

    void look_at_clusters(std::size_t c, const Gather<Value>& gather) {
        const auto count = static_cast<std::int64_t>(gather.keys.size());
        choose(c, count, gather.keys.data(), [&](std::int64_t e, std::size_t other) {
            return Linkage::similarity(gather.values[static_cast<std::size_t>(e)], scale(c, other));
        });
    }

    // Takes the most similar of c's neighbours, of equal ones the smallest name.
    template <typename Similarity>
    void choose(std::size_t c, std::int64_t count, const std::int32_t* names, const Similarity& similarity_of) {
        double best = 0;
        std::int32_t nearest = -1;
        for (std::int64_t e = 0; e < count; ++e) {
            const std::int32_t other = names[e];
            const double similarity = similarity_of(e, static_cast<std::size_t>(other));
            if (similarity > best || (similarity == best && nearest >= 0 && other < nearest)) {
                best = similarity;
                nearest = other;
            }
        }
        best_[c] = best;
        nearest_[c] = nearest;
        seen_[c] = clock_;
    }

    Value edge(std::size_t c, std::int64_t e) const {
        const double similarity =
            graph_.shift +
            graph_.scale * (graph_.weight64 ? graph_.weight64[e] : static_cast<double>(graph_.weight[e]));
        if (graph_.mass == nullptr) return Linkage::edge(similarity, 1.0);
        return Linkage::edge(similarity, graph_.mass[c] * graph_.mass[graph_.indices[e]]);
    }

    std::int64_t degree(std::size_t c) const {
        if (lists_.has(c)) return lists_.length(c);
        return seen_as_point(c) ? graph_.indptr[c + 1] - graph_.indptr[c] : 0;
    }

    bool seen_as_point(std::size_t c) const { return changed_[c] == 0; }

    // Adds the edges of c that leave the cluster `home`, which c is part of by now, each to the cluster where it ends.
    void collect(std::size_t c, std::int32_t home, Gather<Value>& gather) {
        [[maybe_unused]] const std::int32_t here = names_.shift(names_.find(static_cast<std::int32_t>(c)));
        const auto add = [&](std::int32_t name, Value value) {
            const auto place = end(name);
            const std::int32_t other = names_.root(place);
            if (other == home) return;
            if constexpr (kNamed) value = Linkage::renamed(value, here + names_.shift(place));
            gather.add(other, value, [](Value& a, const Value& b) { Linkage::combine(a, b); });
        };
        if (lists_.has(c)) {
            const std::int32_t* keys = lists_.keys(c);
            const Value* values = lists_.values(c);
            for (std::int32_t e = 0, length = lists_.length(c); e < length; ++e) add(keys[e], values[e]);
        } else if (seen_as_point(c)) {
            for (std::int64_t e = graph_.indptr[c]; e < graph_.indptr[c + 1]; ++e) add(graph_.indices[e], edge(c, e));
        }
    }

    void select(const Rule& rule) {
        candidates_.clear();
        for (const std::int32_t c : alive_) {
            const double similarity = best_[static_cast<std::size_t>(c)];
            const std::int32_t other = nearest_[static_cast<std::size_t>(c)];
            if (similarity <= 0 || similarity < rule.threshold) continue;
            if (!rule.pairs || (other > c && nearest_[static_cast<std::size_t>(other)] == c))
                candidates_.push_back({similarity, std::min(c, other), std::max(c, other)});
        }
        if (rule.pairs && rule.epsilon > 0) select_good_pairs(rule);
        std::sort(candidates_.begin(), candidates_.end());
        // Rounding can give the two ends of an edge different last digits, and then a cycle of nearest neighbours has
        // no pair in it. The strongest edge of all is right to merge in any case.
        if (rule.pairs && candidates_.empty()) select_strongest(rule);
    }

    void select_strongest(const Rule& rule) {
        for (const std::int32_t c : alive_) {
            const double similarity = best_[static_cast<std::size_t>(c)];
            const std::int32_t other = nearest_[static_cast<std::size_t>(c)];
            if (similarity <= 0 || similarity < rule.threshold) continue;
            const SelectedPair candidate{similarity, std::min(c, other), std::max(c, other)};
            if (candidates_.empty()) candidates_.push_back(candidate);
            candidates_[0] = std::min(candidates_[0], candidate);
        }
    }

    // A merge of a and b is (1 + epsilon)-good when no similarity that either has now exceeds (1 + epsilon) times the
    // least similarity merged so far in either, this one included. Each cluster takes part in one merge a round: the
    // strongest one it can get.
    void select_good_pairs(const Rule& rule) {
        if (weakest_.empty()) weakest_.assign(n_, std::numeric_limits<double>::infinity());
        candidates_.clear();
        for (const std::int32_t c : alive_) {
            const double similarity = best_[static_cast<std::size_t>(c)];
            if (similarity <= 0 || similarity < rule.threshold) continue;
            const std::int32_t other = nearest_[static_cast<std::size_t>(c)];
            const auto a = static_cast<std::size_t>(c), b = static_cast<std::size_t>(other);
            const double least = std::min({similarity, weakest_[a], weakest_[b]});
            if (std::max(best_[a], best_[b]) <= (1 + rule.epsilon) * least || nearest_[b] == c)
                candidates_.push_back({similarity, std::min(c, other), std::max(c, other)});
        }
        std::sort(candidates_.begin(), candidates_.end());
        std::vector<bool> taken(n_, false);
        std::erase_if(candidates_, [&](const SelectedPair& candidate) {
            const auto a = static_cast<std::size_t>(candidate.left), b = static_cast<std::size_t>(candidate.right);
            if (taken[a] || taken[b]) return true;
            taken[a] = taken[b] = true;
            weakest_[a] = std::min({candidate.similarity, weakest_[a], weakest_[b]});
            return false;
        });
    }

    // Joins the candidates into clusters and records the merges.
    void unite() {
        ++clock_;
        for (const SelectedPair& candidate : candidates_) {
            const std::int32_t a = find(candidate.left), b = find(candidate.right);
            if (a == b) continue;
            const std::int32_t low = std::min(a, b), high = std::max(a, b);
            std::int32_t shift = 0;
            if constexpr (kNamed) {
                shift = static_cast<std::int32_t>(halvings_[static_cast<std::size_t>(low)] -
                                                  halvings_[static_cast<std::size_t>(high)]);
                halvings_[static_cast<std::size_t>(low)] += 1;
            }
            names_.unite(high, low, shift);
            size_[static_cast<std::size_t>(low)] += size_[static_cast<std::size_t>(high)];
            merges_.add(low, high, candidate.similarity, clock_);
        }
    }

    // Combines the edges of the clusters that this round merged.
    void rebuild(std::size_t before, Interrupt& interrupt) {
        members_.clear();
        for (std::size_t i = before; i < merges_.right.size(); ++i)
            members_.push_back(static_cast<std::int64_t>(find(merges_.right[i])) << 32 | merges_.right[i]);
        std::sort(members_.begin(), members_.end());
        std::vector<std::size_t> group;  // where each new cluster's members start
        for (std::size_t i = 0; i < members_.size(); ++i)
            if (i == 0 || members_[i] >> 32 != members_[i - 1] >> 32) group.push_back(i);
        group.push_back(members_.size());
        for (const std::int64_t pair : members_) drop_single(static_cast<std::size_t>(pair & 0xffffffff));
        for (std::size_t i = 0; i + 1 < group.size(); ++i)
            drop_single(static_cast<std::size_t>(members_[group[i]] >> 32));

        for_each(static_cast<std::int64_t>(group.size()) - 1, interrupt, [&](std::size_t i, int thread) {
            const auto root = static_cast<std::size_t>(members_[group[i]] >> 32);
            Gather<Value>& gather = gather_[static_cast<std::size_t>(thread)];
            std::int64_t upper = degree(root);
            for (std::size_t k = group[i]; k < group[i + 1]; ++k)
                upper += degree(static_cast<std::size_t>(members_[k] & 0xffffffff));
            gather.start(upper, graph_.n);
            collect(root, static_cast<std::int32_t>(root), gather);
            for (std::size_t k = group[i]; k < group[i + 1]; ++k) {
                const auto member = static_cast<std::size_t>(members_[k] & 0xffffffff);
                collect(member, static_cast<std::int32_t>(root), gather);
                lists_.release(member);
            }
            gather.finish();
            lists_.release(root);
            lists_.write(thread, root, gather.keys.data(), gather.values.data(),
                         static_cast<std::int64_t>(gather.keys.size()));
            changed_[root] = clock_;
            look_at_clusters(root, gather);
        });
        std::erase_if(alive_, [&](std::int32_t c) { return !names_.is_root(c); });
        if (!lists_.is_loose()) return;
        for_each(n_clusters(), interrupt,
                 [&](std::size_t i, int thread) { lists_.tighten(thread, static_cast<std::size_t>(alive_[i])); });
    }

    void drop_single(std::size_t c) { n_single_ -= seen_as_point(c) && graph_.indptr[c + 1] > graph_.indptr[c]; }
};

}  // namespace cladify
