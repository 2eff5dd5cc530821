// Growing a tree from the root down, whatever decides the splits. A part of the points is a range of positions in one
// order that is rearranged in place; a split leaves its two sides side by side. Large parts are split one after the
// other, with all threads inside; small ones in parallel, one thread each, down to the leaves. Nothing recurses, and
// what a splitter does may depend on the range alone, so the tree is the same for any number of threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/finite.hpp"
#include "common/interrupt.hpp"
#include "common/team.hpp"

namespace cladify::divide {

// Positions [first, last) below node `above`; `value` is what the splitter thinks of them (see `Growth::max_splits`).
struct Range {
    std::int64_t first, last;
    std::int64_t above = -1;
    double value = 0;
    std::int64_t size() const { return last - first; }
};

// A point that leaves its part alone, and the height of the node above it and the rest.
struct Peel {
    std::int64_t position;
    double height;
};

// Where a part is split, the height of the node above the two sides, and their values. With a trunk, the points before
// `middle` leave one after the other, in the order of the trunk, and what is behind it stays together.
struct Cut {
    std::int64_t middle;
    double height;
    double left = 0, right = 0;
    std::span<const Peel> trunk{};
};

// Nodes in order of creation, parents before children.
struct Nodes {
    std::vector<std::int64_t> above;
    std::vector<double> height;
    std::int64_t add(std::int64_t up, double h) {
        above.push_back(up);
        height.push_back(h);
        return std::ssize(above) - 1;
    }
};

// The nodes of a cut, and the parts that are left below them.
inline void add_cut(const Cut& cut, const Range& part, Nodes& nodes, std::int64_t* leaf_above,
                    std::vector<Range>& below) {
    std::int64_t node = part.above;
    for (const Peel& peel : cut.trunk) leaf_above[peel.position] = node = nodes.add(node, peel.height);
    if (cut.trunk.empty()) {
        node = nodes.add(node, cut.height);
        below.push_back({part.first, cut.middle, node, cut.left});
    }
    below.push_back({cut.middle, part.last, node, cut.right});
}

struct Growth {
    std::int64_t small_part = 1;   // parts of up to so many points go to one thread
    std::int64_t max_splits = -1;  // if not negative: only so many splits, those of the largest values
};

// Parents and heights of the leaves (0 .. n-1) and nodes, numbered so that children come before parents. A node's
// height is raised to the largest below it.
struct GrownTree {
    std::vector<std::int64_t> parent;
    std::vector<double> height;
};

// A Splitter has
//   Scratch                                            working memory of one thread
//   Cut split(const Range&, Scratch&, Team&)             rearranges the positions of the part
//   bool is_leafy(size)                                whether parts of this size are finished as a whole, by
//   void finish(const Range&, Scratch&, Nodes&, std::int64_t* leaf_above)
//                                                      which appends their nodes, the topmost first with above = -1
template <typename Splitter>
class Grower {
public:
    // report(done) is called, from the calling thread, with the number of points that are leaves so far.
    using Report = std::function<void(std::int64_t)>;

    Grower(Splitter& splitter, std::int64_t n, const Growth& growth, Team& team, Interrupt& interrupt, Report report)
        : splitter_(splitter),
          n_(n),
          growth_(growth),
          team_(team),
          interrupt_(interrupt),
          report_(std::move(report)),
          leaf_above_(n, -1) {}

    // `index[p]` is the point at position p once all is done; `value` is that of the whole.
    GrownTree grow(const std::int64_t* index, double value) {
        std::vector<Range> level{{0, n_, -1, value}};
        typename Splitter::Scratch scratch;
        while (!level.empty()) {
            std::vector<Range> large, small, below;
            for (const Range& part : level) {
                if (part.size() == 1)
                    leaf_above_[part.first] = part.above, ++done_;
                else
                    (part.size() > growth_.small_part ? large : small).push_back(part);
            }
            if (growth_.max_splits >= 0) close_low_parts(large, small);
            for (const Range& part : large) {
                interrupt_();
                report_(done_);
                split(part, scratch, team_, nodes_, below);
            }
            split_small(small, below);
            level = std::move(below);
        }
        if (growth_.max_splits >= 0) collapse_low_nodes();
        return number(index);
    }

private:
    void split(const Range& part, typename Splitter::Scratch& scratch, Team& team, Nodes& nodes,
               std::vector<Range>& below) {
        add_cut(splitter_.split(part, scratch, team), part, nodes, leaf_above_.data(), below);
    }

    // Small parts, one thread each: down to the leaves, or one split each if the number of splits is limited.
    void split_small(const std::vector<Range>& parts, std::vector<Range>& below) {
        struct Twig {
            Nodes nodes;  // with numbers of their own
            std::vector<Range> open;
        };
        std::vector<Twig> twigs(parts.size());
        std::vector<std::int64_t> by_size(parts.size());  // the largest first, so that threads end together
        std::iota(by_size.begin(), by_size.end(), 0);
        std::stable_sort(by_size.begin(), by_size.end(),
                         [&](std::int64_t a, std::int64_t b) { return parts[a].size() > parts[b].size(); });
        const bool to_the_end = growth_.max_splits < 0;
        std::vector<typename Splitter::Scratch> scratch(team_.threads());
        const auto split_one = [&](std::int64_t i, int thread) {
            Twig& twig = twigs[by_size[i]];
            auto& mine = scratch[thread];
            Team alone(1);
            Range part = parts[by_size[i]];
            part.above = -1;
            twig.open.push_back(part);
            do {
                part = twig.open.back();
                twig.open.pop_back();
                if (part.size() == 1)
                    leaf_above_[part.first] = part.above;
                else if (to_the_end && splitter_.is_leafy(part.size()))
                    finish(part, mine, twig.nodes);
                else
                    split(part, mine, alone, twig.nodes, twig.open);
            } while (to_the_end && !twig.open.empty());
            if (to_the_end) done_ += parts[by_size[i]].size();
            if (thread == 0) report_(done_);
        };
        team_.run(std::ssize(parts), split_one, &interrupt_);
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const std::int64_t base = append(twigs[i].nodes, parts[i].above, nodes_);
            for (Range part : twigs[i].open) {
                part.above += base;
                below.push_back(part);
            }
            for (std::int64_t p = parts[i].first; to_the_end && p < parts[i].last; ++p) leaf_above_[p] += base;
        }
    }

    // Appends nodes with numbers of their own, the topmost below `above`; returns what to add to their numbers.
    static std::int64_t append(const Nodes& made, std::int64_t above, Nodes& to) {
        const std::int64_t base = std::ssize(to.above);
        for (std::size_t v = 0; v < made.above.size(); ++v)
            to.add(made.above[v] < 0 ? above : base + made.above[v], made.height[v]);
        return base;
    }

    void finish(const Range& part, typename Splitter::Scratch& scratch, Nodes& nodes) {
        Nodes made;
        splitter_.finish(part, scratch, made, leaf_above_.data());
        const std::int64_t base = append(made, part.above, nodes);
        for (std::int64_t p = part.first; p < part.last; ++p) leaf_above_[p] += base;
    }

    // --- a limited number of splits
    // -----------------------------------------------------------------------------------

    // A node whose value is not among the largest `max_splits` known so far can never be: values fall towards the
    // leaves. Its points become its children.
    void close_low_parts(std::vector<Range>& large, std::vector<Range>& small) {
        std::vector<double> value(nodes_.height);
        for (const auto* parts : {&large, &small})
            for (const Range& part : *parts) value.push_back(part.value);
        const double lowest = kth_largest(value);
        for (auto* parts : {&large, &small})
            std::erase_if(*parts, [&](const Range& part) {
                if (part.value >= lowest) return false;
                close(part);
                return true;
            });
    }

    void close(const Range& part) {
        const std::int64_t node = nodes_.add(part.above, part.value);
        closed_.resize(nodes_.above.size(), 0);
        closed_[node] = 1;
        for (std::int64_t p = part.first; p < part.last; ++p) leaf_above_[p] = node;
        done_ += part.size();
    }

    double kth_largest(std::vector<double>& value) const {
        for (double& v : value) v = within(v, std::numeric_limits<double>::max());
        if (growth_.max_splits == 0) return std::numeric_limits<double>::infinity();
        if (std::ssize(value) <= growth_.max_splits) return -std::numeric_limits<double>::infinity();
        std::nth_element(value.begin(), value.begin() + growth_.max_splits - 1, value.end(), std::greater<>());
        return value[growth_.max_splits - 1];
    }

    // Takes back splits that larger ones, found later, have pushed out of the limit.
    void collapse_low_nodes() {
        const std::int64_t count = std::ssize(nodes_.above);
        closed_.resize(count, 0);
        std::vector<std::int64_t> splits;
        for (std::int64_t v = 0; v < count; ++v)
            if (!closed_[v]) splits.push_back(v);
        std::stable_sort(splits.begin(), splits.end(),
                         [&](std::int64_t a, std::int64_t b) { return nodes_.height[a] > nodes_.height[b]; });
        for (std::int64_t i = growth_.max_splits; i < std::ssize(splits); ++i) closed_[splits[i]] = 1;
        std::vector<std::int64_t> now(count);
        Nodes kept;
        for (std::int64_t v = 0; v < count; ++v) {
            const std::int64_t up = nodes_.above[v];
            now[v] = up >= 0 && closed_[up] ? now[up] : kept.add(up < 0 ? -1 : now[up], nodes_.height[v]);
        }
        for (std::int64_t& node : leaf_above_) node = node < 0 ? -1 : now[node];
        nodes_ = std::move(kept);
    }

    // --- the result
    // ---------------------------------------------------------------------------------------------------

    GrownTree number(const std::int64_t* index) const {
        const std::int64_t inner = std::ssize(nodes_.above), m = n_ + inner;
        GrownTree tree{std::vector<std::int64_t>(m, -1), std::vector<double>(m, 0.0)};
        for (std::int64_t v = 0; v < inner; ++v) {
            tree.parent[m - 1 - v] = nodes_.above[v] < 0 ? -1 : m - 1 - nodes_.above[v];
            tree.height[m - 1 - v] = nodes_.height[v];
        }
        for (std::int64_t p = 0; p < n_; ++p) tree.parent[index[p]] = leaf_above_[p] < 0 ? -1 : m - 1 - leaf_above_[p];
        for (std::int64_t v = n_; v + 1 < m; ++v)
            tree.height[tree.parent[v]] = std::max(tree.height[tree.parent[v]], tree.height[v]);
        return tree;
    }

    Splitter& splitter_;
    std::int64_t n_;
    Growth growth_;
    Team& team_;
    Interrupt& interrupt_;
    Report report_;
    std::atomic<std::int64_t> done_{0};
    Nodes nodes_;
    std::vector<std::int64_t> leaf_above_;  // node above each position
    std::vector<char> closed_;              // nodes whose children are all leaves, by decision
};

}  // namespace cladify::divide
