// A tree of levels over a graph of neighbours that grows and shrinks: mini-batch SCC.
//
// Level i + 1 comes from level i: every cluster is linked to its most similar one where that similarity reaches
// threshold i, and the connected components of these links are the clusters of the next level. A cluster that stays
// alone for some levels is one node: it is alive from its own level up to below that of its parent.
//
// When points come, only marked clusters of a level are assigned again: those that have changed below, their siblings,
// and the best neighbours of what they were part of before, which are where they may go. All others stay with their
// parent. Marks rise with the changes, and where a level is left as it was the rest of the way up is, too.
//
// The similarity of two clusters is the weight of the edges between them over the number of pairs. What a node is tied
// to is kept for the level on which it was made, and is added up again from its children where something has changed.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mutable/tree.hpp"
#include "online/neighbor_lists.hpp"

namespace cladify::online {

class LevelTree {
public:
    LevelTree(live::Tree& tree, int neighbors, std::vector<double> thresholds)
        : tree_(tree),
          lists_(neighbors),
          threshold_(std::move(thresholds)),
          marked_(threshold_.size() + 1),
          broken_(threshold_.size() + 2) {}

    std::vector<std::int32_t> level;  // on which a node was made: 0 for leaves
    std::vector<Node> best;           // the most similar cluster when it was last looked for

    const NeighborLists& lists() const { return lists_; }
    NeighborLists& grown_lists() {
        grow();
        return lists_;
    }
    std::int64_t decisions = 0;  // assignments of clusters so far

    // --- the graph
    // -----------------------------------------------------------------------------------------------------

    // Leaves in the tree get these nearest ones.
    void load(Node leaf, std::span<const Node> near, std::span<const float> weight) {
        grow();
        for (std::size_t i = 0; i < near.size(); ++i) lists_.add(leaf, near[i], weight[i]);
    }
    // A new leaf, its nearest among those that came before, and others that may have it among theirs (`back`); it gets
    // its place by update().
    void insert(Node x, std::span<const Node> near, std::span<const float> weight, std::span<const Node> back,
                std::span<const float> back_weight) {
        grow();
        lists_.fetch(near);
        lists_.fetch(back);
        level[x] = 0;
        best[x] = kNone;
        change(x);
        mark(0, x);
        loose_.push_back(x);
        for (std::size_t i = 0; i < near.size(); ++i) {
            lists_.add(x, near[i], weight[i]);
            touch(near[i]);
            offer(near[i], x, weight[i]);
        }
        for (std::size_t i = 0; i < back.size(); ++i) offer(back[i], x, back_weight[i]);
    }
    // The rest stays where it is: a parent that is left with one child gives its place to that child. Clusters are
    // assigned again when points come near them.
    void remove(Node x) {
        grow();
        for (const Edge& e : lists_[x]) touch(e.to);
        lists_.forget(x);
        touch(x);
        tree_.remove(x);
    }
    // A leaf that has lost neighbours gets the nearest of these that it has not yet.
    void mend(Node leaf, std::span<const Node> near, std::span<const float> weight) {
        touch(leaf);
        lists_.mend(
            leaf, near, weight,
            [&](Node far) {
                lists_.drop(leaf, far);
                touch(far);
            },
            [&](Node to, float w) {
                lists_.add(leaf, to, w);
                touch(to);
            });
    }

    // Levels and best neighbours of all ids, as they were kept.
    void restore(std::span<const std::int32_t> levels, std::span<const Node> bests) {
        grow();
        const auto n = static_cast<std::size_t>(tree_.capacity());
        if (levels.size() != n || bests.size() != n) throw std::domain_error("levels and nodes are of unequal number");
        for (Node v = 0; v < tree_.capacity(); ++v) {
            const Node p = tree_.parent[v];
            if (bests[v] < kNone || bests[v] >= tree_.capacity())
                throw std::domain_error("a best neighbour does not exist");
            if (tree_.is_alive(v) && (tree_.is_leaf(v) != (levels[v] == 0) || levels[v] < 0 ||
                                      levels[v] > this->levels() + 1 || (p != kNone && levels[p] <= levels[v])))
                throw std::domain_error("a node is on a level that is not its own");
        }
        std::copy(levels.begin(), levels.begin() + tree_.capacity(), level.begin());
        std::copy(bests.begin(), bests.begin() + tree_.capacity(), best.begin());
    }

    // The first rule found broken, or an empty string.
    std::string broken_rule() const {
        for (Node v = 0; v < tree_.capacity(); ++v) {
            if (!tree_.is_alive(v)) continue;
            const Node p = tree_.parent[v];
            if (tree_.is_leaf(v) != (level[v] == 0) || (p != kNone && level[p] <= level[v]))
                return "node " + std::to_string(v) + " is on a level that is not its own";
        }
        return lists_.broken_rule(tree_);
    }

    // --- the levels
    // ----------------------------------------------------------------------------------------------------

    // Every marked cluster finds its place, level by level.
    void update() {
        for (int i = 0; i < levels(); ++i)
            if ((!marked_[i].empty() || !broken_[i + 1].empty()) && !step(i) && !unfinished(i)) break;
        close_top();
        for (auto& marks : marked_) marks.clear();
        for (auto& parents : broken_) parents.clear();
        ++clock_;
    }

private:
    struct Tie {
        Node to;
        double sum;
    };
    struct Item {
        Node group, node;  // the component, and a marked node, or a node that stands for itself or its children
    };

    int levels() const { return static_cast<int>(threshold_.size()); }

    void grow() {
        const auto n = static_cast<std::size_t>(tree_.capacity());
        if (level.size() >= n) return;
        const std::size_t size = std::max(n, 2 * level.size());
        lists_.grow(size);
        level.resize(size, 0);
        best.resize(size, kNone);
        similarity_.resize(size, 0.0);
        touched_.resize(size, 0);
        changed_.resize(size, 0);
        made_.resize(size, -1);
        ties_.resize(size);
        sum_.resize(size, 0.0);
        seen_.resize(size, 0);
        queued_.resize(size, 0);
        group_.resize(size, kNone);
        known_.resize(size, 0);
        chosen_.resize(size, 0);
    }

    // `x` may be among the nearest of `u`; then the farthest of them no longer is.
    void offer(Node u, Node x, float weight) {
        Node far;
        const Edge* known = lists_.find(u, x);
        if ((known != nullptr && known->mine) || !lists_.is_near(u, weight, far)) return;
        if (far != kNone) {
            lists_.drop(u, far);
            touch(far);
        }
        lists_.add(u, x, weight);
        touch(u);
        if (weight >= threshold_[0]) mark(0, u);  // on higher levels, those that have changed ask for it
    }

    // `v` is tied to others than before, and so is all above it.
    void touch(Node v) {
        for (; v != kNone && touched_[v] != clock_; v = tree_.parent[v]) touched_[v] = clock_;
    }
    // `v` has other leaves than before, and so has all above it.
    void change(Node v) {
        touch(v);
        for (; v != kNone && changed_[v] != clock_; v = tree_.parent[v]) changed_[v] = clock_;
    }
    void mark(int at, Node v) {
        if (at < levels()) marked_[at].push_back(v);
    }
    // The children of `p` are assigned again on the last level on which they are apart.
    void mark_children(Node p) {
        for (Node c = tree_.left[p]; c != kNone; c = tree_.after[c]) mark(level[p] - 1, c);
    }
    void take_out(Node v) {
        const Node p = tree_.parent[v];
        change(p);
        broken_[level[p]].push_back(p);
        tree_.unhang(v);
        loose_.push_back(v);
    }
    void hang(Node p, Node v) {
        tree_.append(p, v);
        change(p);
    }

    // The cluster of `v` on that level.
    Node lift(Node v, int at) const {
        for (Node p = tree_.parent[v]; p != kNone && level[p] <= at; p = tree_.parent[v]) v = p;
        return v;
    }
    // --- the weights between nodes

    bool is_valid(Node v) const {
        if (made_[v] == clock_) return true;
        if (made_[v] < touched_[v]) return false;
        for (const Tie& t : ties_[v])
            if (touched_[t.to] > made_[v]) return false;
        return true;
    }
    void collect(Node v) {
        stack_.assign(1, v);
        std::vector<Node> late;
        while (!stack_.empty()) {
            const Node u = stack_.back();
            stack_.pop_back();
            if (tree_.is_leaf(u) || is_valid(u)) continue;
            late.push_back(u);
            for (Node c = tree_.left[u]; c != kNone; c = tree_.after[c]) stack_.push_back(c);
        }
        for (auto u = late.rbegin(); u != late.rend(); ++u) {
            ++stamp_;
            touched_nodes_.clear();
            for (Node c = tree_.left[*u]; c != kNone; c = tree_.after[c])
                each_tie(c, [&](Node to, double sum) { add(lift(to, level[*u]), sum); });
            auto& out = ties_[*u];
            out.clear();
            for (const Node to : touched_nodes_)
                if (to != *u) out.push_back({to, sum_[to]});
            made_[*u] = clock_;
        }
    }
    template <typename F>
    void each_tie(Node v, F&& f) const {
        if (tree_.is_leaf(v))
            for (const Edge& e : lists_[v]) f(e.to, e.weight * tree_.size[v] * tree_.size[e.to]);
        else
            for (const Tie& t : ties_[v]) f(t.to, t.sum);
    }
    void add(Node to, double sum) {
        if (seen_[to] != stamp_) {
            seen_[to] = stamp_;
            sum_[to] = 0.0;
            touched_nodes_.push_back(to);
        }
        sum_[to] += sum;
    }

    struct Best {
        Node node = kNone;
        double similarity = 0.0;
    };
    Best most_similar(Node v, int at) {
        ++decisions;
        collect(v);
        ++stamp_;
        touched_nodes_.clear();
        each_tie(v, [&](Node to, double sum) { add(lift(to, at), sum); });
        Best out;
        for (const Node to : touched_nodes_) {
            if (to == v) continue;
            const double f = sum_[to] / (tree_.size[v] * tree_.size[to]);
            if (f > out.similarity || (f == out.similarity && to < out.node)) out = {to, f};
        }
        return out;
    }

    // --- one level

    Node root_of(Node v) {
        while (group_[v] != v) v = group_[v] = group_[group_[v]];
        return v;
    }
    // The item that `v` is part of: itself if it is marked, otherwise all that stays together with it.
    Node item(Node v, int at) {
        if (queued_[v] != round_) {
            const Node p = tree_.parent[v];
            if (p != kNone && level[p] == at + 1) v = p;
        }
        know(v);
        return v;
    }
    void know(Node v) {
        if (known_[v] == round_) return;
        known_[v] = round_;
        group_[v] = v;
        items_.push_back({kNone, v});
    }

    // Returns whether anything hangs elsewhere than before.
    bool step(int at) {
        ++round_;
        std::vector<Node> marked;
        for (Node v : marked_[at]) {
            if (!tree_.is_alive(v) || level[v] > at) continue;
            v = lift(v, at);
            if (queued_[v] == round_) continue;
            queued_[v] = round_;
            marked.push_back(v);
        }
        if (marked.empty() && broken_[at + 1].empty()) return true;
        items_.clear();
        for (const Node v : marked) know(v);
        // Parents whose children may leave stay in the game, with the children that do not.
        std::vector<Node> parents;
        const auto affect = [&](Node p) {
            if (p == kNone || !tree_.is_alive(p) || level[p] != at + 1 || chosen_[p] == round_) return;
            chosen_[p] = round_;
            parents.push_back(p);
        };
        for (const Node v : marked) affect(tree_.parent[v]);
        for (const Node p : broken_[at + 1]) affect(p);
        for (const Node v : marked) {
            const Best to = most_similar(v, at);
            best[v] = to.node;
            similarity_[v] = to.similarity;
            if (to.node == kNone || to.similarity < threshold_[at]) continue;
            const Node a = root_of(v), b = root_of(item(to.node, at));
            if (a != b) group_[std::max(a, b)] = std::min(a, b);
            if (const Node p = tree_.parent[to.node]; queued_[to.node] != round_) affect(p);
        }
        for (const Node p : parents)
            for (Node c = tree_.left[p]; c != kNone; c = tree_.after[c])
                if (queued_[c] != round_) {
                    know(p);
                    break;
                }
        return regroup(at, parents);
    }

    bool regroup(int at, const std::vector<Node>& parents) {
        for (Item& i : items_) i.group = root_of(i.node);
        std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.group < b.group; });
        // The members of each component, and of what they were children.
        struct Group {
            std::size_t first, last;
            Node parent;
        };
        std::vector<Group> groups;
        std::vector<Node> members;
        for (std::size_t i = 0; i < items_.size();) {
            const std::size_t first = members.size();
            const Node name = items_[i].group;
            for (; i < items_.size() && items_[i].group == name; ++i) {
                const Node v = items_[i].node;
                if (level[v] <= at) {
                    members.push_back(v);
                    continue;
                }
                for (Node c = tree_.left[v]; c != kNone; c = tree_.after[c])
                    if (queued_[c] != round_) members.push_back(c);
            }
            groups.push_back({first, members.size(), kNone});
        }
        name_parents(at, groups, members);
        bool changed = false;
        const auto leaves_parent = [&](const Group& g, Node v) {
            const Node p = tree_.parent[v];
            if (p == kNone) return false;
            return g.last - g.first == 1 ? level[p] == at + 1 : p != g.parent;
        };
        for (const Group& g : groups)
            for (std::size_t i = g.first; i < g.last; ++i)
                if (leaves_parent(g, members[i])) {
                    const Node p = tree_.parent[members[i]];
                    if (level[p] == at + 2) mark_children(p);
                    take_out(members[i]);
                    changed = true;
                }
        for (Group& g : groups) {
            if (g.last - g.first == 1) {
                g.parent = members[g.first];
                continue;
            }
            if (g.parent == kNone) {
                g.parent = tree_.make_inner();
                grow();
                level[g.parent] = at + 1;
                best[g.parent] = kNone;
                touched_[g.parent] = changed_[g.parent] = clock_;
                loose_.push_back(g.parent);
            }
            for (std::size_t i = g.first; i < g.last; ++i)
                if (tree_.parent[members[i]] == kNone) {
                    hang(g.parent, members[i]);
                    changed = true;
                }
        }
        for (const Node p : parents)
            if (tree_.left[p] == kNone) {
                mark_lifted(at + 1, best[p]);
                if (tree_.parent[p] != kNone) {
                    if (level[tree_.parent[p]] == at + 2) mark_children(tree_.parent[p]);
                    take_out(p);
                }
                touched_[p] = clock_;
                tree_.drop(p);
            }
        for (const Group& g : groups) {
            const Node v = g.parent;
            if (changed_[v] != clock_ && tree_.parent[v] != kNone) continue;
            const Node p = tree_.parent[v];
            const int next = next_decision(v, at);
            mark(next, v);
            mark_lifted(next, best[v]);
            if (p != kNone && level[p] == at + 2) mark_children(p);
        }
        return changed;
    }
    // Similarities fall as clusters merge: a node that is alone decides where the threshold has come down to its own,
    // or where it was to join its parent.
    int next_decision(Node v, int at) const {
        if (queued_[v] != round_) return at + 1;
        const auto reached =
            std::lower_bound(threshold_.begin(), threshold_.end(), similarity_[v], std::greater<double>());
        auto next = static_cast<int>(reached - threshold_.begin());
        if (tree_.parent[v] != kNone) next = std::min(next, level[tree_.parent[v]] - 1);
        return std::max(next, at + 1);
    }
    void mark_lifted(int at, Node v) {
        if (v != kNone && tree_.is_alive(v) && level[v] <= at) mark(at, v);
    }
    // Whether there are nodes that hang nowhere yet, or parents with too few children.
    bool unfinished(int at) const {
        for (int i = at + 1; i < levels(); ++i)
            if (!broken_[i + 1].empty()) return true;
        return std::any_of(loose_.begin(), loose_.end(),
                           [&](Node v) { return tree_.is_alive(v) && tree_.parent[v] == kNone && v != tree_.root; });
    }

    // An old parent goes on as that of the component that has the most of its children.
    template <typename Group>
    void name_parents(int at, std::vector<Group>& groups, const std::vector<Node>& members) {
        struct Claim {
            Node parent;
            std::size_t group;
            std::int64_t count;
        };
        std::vector<Claim> claims;
        std::vector<Node> of;
        for (std::size_t g = 0; g < groups.size(); ++g) {
            if (groups[g].last - groups[g].first == 1) continue;
            of.clear();
            for (std::size_t i = groups[g].first; i < groups[g].last; ++i) {
                const Node p = tree_.parent[members[i]];
                if (p != kNone && level[p] == at + 1) of.push_back(p);
            }
            std::sort(of.begin(), of.end());
            for (std::size_t i = 0; i < of.size();) {
                const auto next = std::upper_bound(of.begin() + static_cast<std::ptrdiff_t>(i), of.end(), of[i]);
                const auto count = next - of.begin() - static_cast<std::ptrdiff_t>(i);
                claims.push_back({of[i], g, count});
                i += static_cast<std::size_t>(count);
            }
        }
        std::stable_sort(claims.begin(), claims.end(),
                         [](const Claim& a, const Claim& b) { return a.count > b.count; });
        ++round_of_claims_;
        for (const Claim& c : claims) {
            if (groups[c.group].parent != kNone || taken(c.parent)) continue;
            groups[c.group].parent = c.parent;
            taken_[c.parent] = round_of_claims_;
        }
    }
    bool taken(Node p) {
        if (taken_.size() < level.size()) taken_.resize(level.size(), 0);
        return taken_[p] == round_of_claims_;
    }

    // Clusters that remain after the last level are joined by one node.
    void close_top() {
        Node top = tree_.root;
        if (top != kNone && !(tree_.is_alive(top) && tree_.parent[top] == kNone)) top = kNone;
        if (top != kNone && level[top] <= levels()) {
            loose_.push_back(top);
            top = kNone;
        }
        ++round_;
        std::vector<Node> apart;
        for (const Node v : loose_)
            if (tree_.is_alive(v) && tree_.parent[v] == kNone && v != top && queued_[v] != round_) {
                queued_[v] = round_;
                apart.push_back(v);
            }
        loose_.clear();
        if (top == kNone && apart.size() > 1) {
            top = tree_.make_inner();
            grow();
            level[top] = levels() + 1;
            best[top] = kNone;
            touched_[top] = clock_;
        }
        if (top == kNone) {
            tree_.root = apart.empty() ? kNone : apart[0];
            return;
        }
        for (const Node v : apart) tree_.append(top, v);
        tree_.root = top;
        const Node only = tree_.left[top];
        if (only != tree_.right[top]) return;
        if (only != kNone) tree_.unhang(only);
        touched_[top] = clock_;
        tree_.drop(top);
        tree_.root = only;
    }

    live::Tree& tree_;
    NeighborLists lists_;
    std::vector<double> threshold_;  // of the step from each level to the next
    std::vector<std::vector<Node>> marked_,
        broken_;               // by level: clusters to assign again, and parents that lost children
    std::vector<Node> loose_;  // that hung nowhere at some time since the last update
    std::int64_t clock_ = 1;
    std::vector<std::int64_t> changed_, touched_, made_;  // when its leaves, their edges, and its ties changed last
    std::vector<std::vector<Tie>> ties_;
    std::vector<double> sum_, similarity_;
    std::vector<std::int64_t> seen_, queued_, known_, chosen_, taken_;
    std::vector<Node> touched_nodes_, stack_, group_;
    std::vector<Item> items_;
    std::int64_t stamp_ = 0, round_ = 0, round_of_claims_ = 0;
};

}  // namespace cladify::online
