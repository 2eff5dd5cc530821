// A cover: clusters of points that may overlap, each a list of points, and the sets known by their hashes.
#pragma once
#include <bit>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace cladify {

// Sum of two random words a point: 128 bits, so that two sets of a structure with 10^9 nodes never share one in
// practice. A sum can be built up in any order.
struct SetHash {
    std::uint64_t low = 0, high = 0;
    bool operator==(const SetHash&) const = default;
    void add(std::uint64_t point) {
        low += mixed(2 * point);
        high += mixed(2 * point + 1);
    }

private:
    static std::uint64_t mixed(std::uint64_t x) {
        x += 0x9E3779B97F4A7C15ull;
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
        x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
        return x ^ (x >> 31);
    }
};

// Numbers sets 0, 1, … in the order in which they are first seen.
class SetTable {
public:
    explicit SetTable(std::size_t expected = 16) : slot_(std::bit_ceil(2 * expected + 2), -1) {}

    std::int32_t count() const { return static_cast<std::int32_t>(sets_.size()); }

    // The number of the set; a new one where it was not there.
    std::int32_t number(const SetHash& set) {
        if (2 * sets_.size() + 2 > slot_.size()) grow();
        std::size_t at = set.low & (slot_.size() - 1);
        for (; slot_[at] != -1; at = (at + 1) & (slot_.size() - 1))
            if (sets_[static_cast<std::size_t>(slot_[at])] == set) return slot_[at];
        slot_[at] = count();
        sets_.push_back(set);
        return slot_[at];
    }

private:
    std::vector<SetHash> sets_;
    std::vector<std::int32_t> slot_;

    void grow() {
        slot_.assign(2 * slot_.size(), -1);
        for (std::size_t i = 0; i < sets_.size(); ++i) {
            std::size_t at = sets_[i].low & (slot_.size() - 1);
            while (slot_[at] != -1) at = (at + 1) & (slot_.size() - 1);
            slot_[at] = static_cast<std::int32_t>(i);
        }
    }
};

// Which points a walk has met, emptied in no time.
class Marks {
public:
    void start(std::size_t n) {
        if (mark_.size() < n) mark_.resize(n, 0);
        if (++round_ == 0) {
            mark_.assign(mark_.size(), 0);
            round_ = 1;
        }
    }
    // True the first time.
    bool set(std::int32_t i) {
        std::uint32_t& mark = mark_[static_cast<std::size_t>(i)];
        return mark != round_ && (mark = round_, true);
    }

private:
    std::uint32_t round_ = 0;
    std::vector<std::uint32_t> mark_;
};

// Working memory lent to one piece of work at a time: as many copies as pieces ever ran at once.
template <typename T>
class Lent {
public:
    template <typename Work>
    void with(Work work) {
        std::unique_ptr<T> mine;
        {
            const std::lock_guard lock(mutex_);
            if (!free_.empty()) {
                mine = std::move(free_.back());
                free_.pop_back();
            }
        }
        if (!mine) mine = std::make_unique<T>();
        work(*mine);
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(mine));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> free_;
};

struct Cover {
    std::vector<std::int32_t> node;  // of the structure
    std::vector<SetHash> hash;
    std::vector<double> bag;          // points, each as often as updates counted it
    std::vector<double> inner;        // the largest similarity of two of its points; 0 where there are none
    std::vector<std::int64_t> start;  // of each cluster in `member`
    std::vector<std::int32_t> member;

    std::size_t count() const { return node.size(); }
    std::int64_t size(std::size_t c) const { return start[c + 1] - start[c]; }
};

}  // namespace cladify
