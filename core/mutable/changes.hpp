// Changes of a tree between two versions: a bounded log of events, and their sum.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "mutable/links.hpp"

namespace cladify::live {

enum class Kind : std::int8_t { kMade, kRemoved, kMoved };

struct Event {
    Node node, parent;  // `parent`: where the node hung before
    Kind kind;
};

// Nodes that changed between two versions. A node that was moved and moved back is in none. Ids are used
// again: one that was removed and made again is in `removed` (the old node) and in `made` (the new one).
struct Changes {
    std::vector<Node> made, removed, moved;
    std::vector<Node> touched;  // there before and now, with something below them that was made, removed or moved
};

constexpr std::size_t kLogLimit = std::size_t{1} << 22;

// The version of a tree is the number of its events so far, so that a version costs nothing to keep.
class ChangeLog {
public:
    explicit ChangeLog(std::size_t limit) : limit_(limit) {}

    void add(Kind kind, Node node, Node parent) {
        if (events_.size() >= limit_) forget(events_.size() / 2);
        events_.push_back({node, parent, kind});
    }
    std::int64_t version() const { return forgotten_ + std::ssize(events_); }
    std::int64_t oldest() const { return forgotten_; }  // the first version from which changes are known

    // The log of a tree read from a file goes on from there.
    void restart(std::int64_t version) {
        events_.clear();
        forgotten_ = version;
    }

    // `since` lies between oldest() and version().
    template <typename Alive>
    Changes since(std::int64_t since, const Links& links, Alive&& alive) const {
        struct Story {
            Node parent_before;
            bool was_there, made;
        };
        std::unordered_map<Node, Story> stories;
        std::vector<Node> order;  // in which nodes were first touched: the result does not depend on a hash
        std::vector<Node> parents;
        for (auto i = static_cast<std::size_t>(since - forgotten_); i < events_.size(); ++i) {
            const Event& e = events_[i];
            const auto [at, is_new] = stories.try_emplace(e.node, Story{e.parent, e.kind != Kind::kMade, false});
            if (is_new) order.push_back(e.node);
            at->second.made |= e.kind == Kind::kMade;
            if (e.parent != kNone) parents.push_back(e.parent);
        }
        Changes out;
        for (const Node v : order) {
            const Story& s = stories.at(v);
            const bool is_there = alive(v);
            if (s.was_there && (s.made || !is_there)) out.removed.push_back(v);
            if (s.made && is_there) out.made.push_back(v);
            // A parent of the same id is another node where the id was given to a new one since.
            const auto above = stories.find(links.parent[v]);
            const bool other = s.parent_before != links.parent[v] || (above != stories.end() && above->second.made);
            if (s.was_there && is_there && !s.made && other) out.moved.push_back(v);
            if (is_there && links.parent[v] != kNone) parents.push_back(links.parent[v]);
        }
        std::unordered_map<Node, bool> seen;
        for (Node v : parents)
            for (; v != kNone && alive(v) && seen.try_emplace(v, true).second; v = links.parent[v]) {
                const auto at = stories.find(v);
                if (at == stories.end() || !at->second.made) out.touched.push_back(v);
            }
        return out;
    }

private:
    void forget(std::size_t count) {
        events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count));
        forgotten_ += static_cast<std::int64_t>(count);
    }

    std::size_t limit_;
    std::int64_t forgotten_ = 0;
    std::vector<Event> events_;
};

}  // namespace cladify::live
