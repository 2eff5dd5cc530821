// The best places of subtrees on a sparse graph.
//
// What S adds above node u is that of scan.hpp. Its ends are the leaves it has edges to. The way up from S passes every
// node above it; from there, ways down lead to the siblings that hold ends of S. A way stops where what it has cost and
// what the weights below will cost at least are no better than the best place known. With weights of at least 0 there
// is nothing to find below a node that holds no end.
//
// The ends of a node are those of its two children, merged: all subtrees below a small one are done together, from
// below. Each of the few large ones adds up what the small ones below it have.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/team.hpp"
#include "refinement/control.hpp"
#include "refinement/graph_weights.hpp"
#include "refinement/scan.hpp"
#include "refinement/snapshot.hpp"

namespace cladify::refine {

// The way up and down for one subtree, given its ends.
class EndScan {
public:
    EndScan(const Snapshot& view, double least, double least_size)
        : view_(view), least_(least), least_size_(least_size) {}

    Place find(Node s, std::span<const End> ends) {
        sums_.set(ends);
        const Snapshot::Spot& own = view_.spot[s];
        size_ = own.size;
        best_ = {};
        here_ = 0.0;
        double inside = 0.0;  // between S and what is below the node on the way up
        const Node count = sums_.count();
        Node low = sums_.at(own.first, 0, count), high = low;
        for (Node c = s, a = own.parent; a != kNone; c = a, a = view_.spot[a].parent) {
            const Snapshot::Spot& spot = view_.spot[a];
            Node first = low, last = high;
            while (first > 0 && sums_.rank(first - 1) >= spot.first) --first;
            while (last < count && sums_.rank(last) < spot.first + spot.leaves) ++last;
            Step beside =
                c == view_.left(a) ? Step{view_.right(a), high, last, 0.0} : Step{view_.left(a), first, low, 0.0};
            const double off = sums_.between(beside.low, beside.high);
            if (c == s) {
                // Without S its parent is gone: the way to its sibling costs nothing.
                here_ = spot.size * off;
            } else {
                const double cross = size_ * (spot.cross - off);
                here_ += cross + spot.size * off;
                offer(spot.node, spot.size * (inside + off));
                beside.path = cross + spot.size * inside;
            }
            descend(beside);
            inside += off;
            low = first;
            high = last;
        }
        return best_;
    }

private:
    // Ends [low, high) are below the node at place `at`; `path` is the cost of the way from where S leaves its old one.
    struct Step {
        Node at, low, high;
        double path;
    };

    void offer(Node above, double cost) {
        if (here_ - cost > best_.gain) best_ = {above, here_ - cost};
    }

    void descend(const Step& start) {
        push(start);
        while (!stack_.empty()) {
            const Step step = stack_.back();
            stack_.pop_back();
            if (worth(step)) visit(step);
        }
    }

    void visit(const Step& step) {
        const Snapshot::Spot& spot = view_.spot[step.at];
        const double all = spot.size + size_;
        offer(spot.node, step.path + all * sums_.between(step.low, step.high));
        if (spot.leaves == 1) return;
        const Node left = view_.left(step.at);
        const Node middle = sums_.at(view_.spot[left].first + view_.spot[left].leaves, step.low, step.high);
        const double to_left = sums_.between(step.low, middle), to_right = sums_.between(middle, step.high);
        const double base = step.path + size_ * spot.cross;
        const Step l{left, step.low, middle, base + all * to_right};
        const Step r{view_.right(step.at), middle, step.high, base + all * to_left};
        // The side with more weight first: it is likely to have the better place.
        push(to_left < to_right ? l : r);
        push(to_left < to_right ? r : l);
    }

    void push(const Step& step) {
        if (least_ >= 0.0 && step.low == step.high) return;
        if (worth(step)) stack_.push_back(step);
    }

    // As in scan.hpp, with one bound for all weights.
    bool worth(const Step& step) const {
        const double w = sums_.between(step.low, step.high);
        double rest = (size_ + least_size_) * w;
        if (least_ < 0.0) {
            const double size = view_.spot[step.at].size, pairs = least_ * size * size_;
            rest = pairs * (size + size_) + (size_ + least_size_) * (w - pairs);
        }
        return here_ - (step.path + rest) > best_.gain;
    }

    const Snapshot& view_;
    double least_, least_size_;
    EndSums sums_;
    double size_ = 0.0, here_ = 0.0;  // of S, and what it costs now up to the node on the way up
    Place best_;
    std::vector<Step> stack_;
};

template <>
class Scans<GraphWeights> {
public:
    static std::size_t batch(const BinaryTree& tree) {
        return std::max<std::size_t>(kLeast, static_cast<std::size_t>(tree.nodes()) / kBatches);
    }

    // Places are of no use where the control has stopped meanwhile.
    void run(const BinaryTree& tree, GraphWeights& weights, std::span<const Node> subtrees, Place* places, Team& team,
             Control& control) {
        view_.take(tree);
        weights.start(view_);
        places_ = places;
        slot_.assign(static_cast<std::size_t>(tree.nodes()), kNone);
        for (std::size_t i = 0; i < subtrees.size(); ++i) slot_[view_.place[subtrees[i]]] = static_cast<Node>(i);
        kept_.resize(subtrees.size());
        find_units();
        left_.resize(std::max(left_.size(), unit_.size()));
        worker_.resize(static_cast<std::size_t>(team.threads()));
        for (Worker& w : worker_) w.kept.clear();
        std::vector<EndScan> scan(worker_.size(), EndScan(view_, weights.least(), tree.least_size));
        team.run(std::ssize(unit_), [&](std::int64_t u, int thread) {
            if (!control.stop(0)) scan_unit(static_cast<Node>(u), weights.rows(), scan[thread], thread);
        });
        team.run(std::ssize(large_), [&](std::int64_t i, int thread) {
            if (!control.stop(0)) scan_large(large_[i], scan[thread], thread);
        });
    }

    // The i-th of the subtrees, s, is about to be moved.
    void focus(GraphWeights& weights, const BinaryTree& tree, Node s, int i) const {
        const Kept& kept = kept_[i];
        weights.focus(tree, s, std::span(worker_[kept.thread].kept).subspan(kept.start, kept.count));
    }

private:
    static constexpr Node kBatches = 8;         // a sweep over all subtrees
    static constexpr std::size_t kLeast = 128;  // subtrees of a batch
    static constexpr Node kUnit = 256;          // leaves of a small subtree
    // Each list of ends is followed by one beyond all others, which is not counted.
    static constexpr End kBeyond{std::numeric_limits<Node>::max(), 0.0};

    struct Unit {
        Node at;         // place of its top
        bool is_needed;  // by a large subtree above it
    };
    struct Kept {
        int thread;
        std::size_t start, count;
    };
    struct Worker {
        std::vector<End> ends, merged;   // lists of ends one after another
        std::vector<std::size_t> start;  // of each
        std::vector<char> needed;
        std::vector<End> kept;  // the ends of subtrees that have a better place
        SparseSum sum;
    };

    // Small subtrees in which places are wanted or that a large one needs, from left to right.
    void find_units() {
        unit_.clear();
        large_.clear();
        const Node m = static_cast<Node>(view_.spot.size());
        Node open_end = 0;  // places before it are below a large subtree that is wanted
        for (Node i = 0; i < m;) {
            const Node end = i + 2 * view_.spot[i].leaves - 1;
            if (view_.spot[i].leaves > kUnit) {
                if (slot_[i] != kNone) {
                    large_.push_back(i);
                    open_end = std::max(open_end, end);
                }
                ++i;
                continue;
            }
            const bool is_needed = i < open_end;
            if (is_needed || std::any_of(slot_.begin() + i, slot_.begin() + end, [](Node s) { return s != kNone; }))
                unit_.push_back({i, is_needed});
            i = end;
        }
    }

    void scan_unit(Node number, SparseRows& rows, EndScan& scan, int thread) {
        Worker& w = worker_[thread];
        const auto [top, is_needed] = unit_[number];
        if (is_needed) add_all(rows, top, w, left_[number]);
        const Node count = 2 * view_.spot[top].leaves - 1;
        const auto parent = [&](Node k) { return view_.spot[top + k].parent - top; };
        w.needed.assign(static_cast<std::size_t>(count), 0);
        for (Node k = 0; k < count; ++k) w.needed[k] = slot_[top + k] != kNone || (k > 0 && w.needed[parent(k)] != 0);
        w.ends.clear();
        w.start.clear();
        for (Node k = count; k-- > 0;) {
            if (!w.needed[k]) continue;
            const Snapshot::Spot& spot = view_.spot[top + k];
            if (spot.leaves == 1)
                add_leaf(rows, spot, w);
            else
                merge_last_two(spot, w);
            const std::span<const End> ends(w.ends.begin() + w.start.back(), w.ends.end() - 1);
            if (slot_[top + k] != kNone) look(top + k, ends, scan, thread);
            if (k > 0 && !w.needed[parent(k)]) {
                w.ends.resize(w.start.back());
                w.start.pop_back();
            }
        }
    }

    // The ends of a small subtree, in no order: a large one above it adds them up.
    void add_all(const SparseRows& rows, Node top, Worker& w, std::vector<End>& ends) const {
        const Snapshot::Spot& spot = view_.spot[top];
        w.sum.resize(static_cast<Node>(view_.leaf.size()));
        for (Node rank = spot.first; rank < spot.first + spot.leaves; ++rank)
            rows.each(view_.leaf[rank], [&](Node j, double weight) {
                const Node end = view_.rank[j];
                if (!holds(spot, end)) w.sum.add(end, weight);
            });
        ends.clear();
        for (Node rank : w.sum.touched) ends.push_back({rank, w.sum.value[rank]});
        w.sum.clear();
    }

    void scan_large(Node at, EndScan& scan, int thread) {
        Worker& w = worker_[thread];
        const Snapshot::Spot& spot = view_.spot[at];
        const auto below = std::partition_point(unit_.begin(), unit_.end(), [&](const Unit& u) { return u.at < at; });
        w.sum.resize(static_cast<Node>(view_.leaf.size()));
        for (auto u = below; u != unit_.end() && u->at < at + 2 * spot.leaves - 1; ++u)
            for (const End& e : left_[static_cast<std::size_t>(u - unit_.begin())])
                if (!holds(spot, e.rank)) w.sum.add(e.rank, e.weight);
        w.ends.clear();
        w.sum.in_order([&](Node rank, double weight) { w.ends.push_back({rank, weight}); });
        w.sum.clear();
        look(at, w.ends, scan, thread);
    }

    void look(Node at, std::span<const End> ends, EndScan& scan, int thread) {
        const Node i = slot_[at];
        places_[i] = scan.find(at, ends);
        if (places_[i].above == kNone) return;
        std::vector<End>& kept = worker_[thread].kept;
        kept_[i] = {thread, kept.size(), ends.size()};
        kept.insert(kept.end(), ends.begin(), ends.end());
    }

    // A row is left in the order of the ends, which will hardly have changed when it is wanted again.
    void add_leaf(SparseRows& rows, const Snapshot::Spot& leaf, Worker& w) const {
        w.start.push_back(w.ends.size());
        bool is_sorted = true;
        Node last = kNone;
        rows.each(leaf.node, [&](Node j, double weight) {
            const Node rank = view_.rank[j];
            is_sorted &= last < rank;
            last = rank;
            w.ends.push_back({rank, weight});
        });
        if (!is_sorted) {
            const auto first = w.ends.begin() + w.start.back();
            std::sort(first, w.ends.end(), [](End a, End b) { return a.rank < b.rank; });
            rows.put(leaf.node, [&](std::size_t i) { return std::pair(view_.leaf[first[i].rank], first[i].weight); });
        }
        w.ends.push_back(kBeyond);
    }

    // The lists of the right child and of the left one become that of their parent. No branch depends on the ranks:
    // nothing could foretell them.
    static void merge_last_two(const Snapshot::Spot& parent, Worker& w) {
        const std::size_t right = w.start[w.start.size() - 2], left = w.start.back();
        w.merged.resize(w.ends.size() - right);
        End* out = w.merged.data();
        const End *a = w.ends.data() + right, *b = w.ends.data() + left;
        for (;;) {
            const Node rank = std::min(a->rank, b->rank);
            if (rank == kBeyond.rank) break;
            const bool from_a = a->rank == rank, from_b = b->rank == rank;
            *out = {rank, (from_a ? a->weight : 0.0) + (from_b ? b->weight : 0.0)};
            a += from_a;
            b += from_b;
            out += !holds(parent, rank);
        }
        *out++ = kBeyond;
        w.start.pop_back();
        w.ends.resize(right);
        w.ends.insert(w.ends.end(), w.merged.data(), out);
    }

    static bool holds(const Snapshot::Spot& spot, Node rank) {
        return static_cast<std::uint32_t>(rank - spot.first) < static_cast<std::uint32_t>(spot.leaves);
    }

    Snapshot view_;
    Place* places_ = nullptr;
    std::vector<Node> slot_;  // of a place: which of the subtrees it is
    std::vector<Kept> kept_;  // of a subtree that has a better place: where its ends are
    std::vector<Unit> unit_;
    std::vector<Node> large_;
    std::vector<std::vector<End>> left_;  // the ends of each unit that is needed
    std::vector<Worker> worker_;          // one a thread
};

}  // namespace cladify::refine
