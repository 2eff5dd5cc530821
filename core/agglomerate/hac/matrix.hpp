// Agglomeration of a distance matrix, in place: any linkage that has a Lance-Williams formula.
//
// The matrix is condensed as SciPy's, the upper triangle row by row. A cluster keeps the few nearest of the clusters
// that were there when its row was read last, and a bound: all others of that time are at least that far. Of a pair,
// the cluster that was made (or read) later answers for it. So the smallest key of all is either a bound, and then its
// row is read again, or the next merge. A merge reads two rows and writes one, and sees all distances of the new
// cluster on the way.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "agglomerate/hac/lance_williams.hpp"
#include "agglomerate/hac/mst.hpp"
#include "common/finite.hpp"
#include "common/interrupt.hpp"
#include "common/team.hpp"
#include "common/winner_tree.hpp"

namespace cladify {

template <typename T>
class HacMatrix {
public:
    // `distance` has n (n - 1) / 2 entries, and is overwritten.
    HacMatrix(T* distance, std::size_t n, Linkage linkage, const double* weight, int threads)
        : distance_(distance),
          linkage_(linkage),
          team_(threads),
          slots_(n),
          alive_(n),
          weight_(weights(weight, n)),
          gone_(n, 0),
          id_(n),
          leaf_(n),
          row_begin_(n),
          key_(n, kInfinite),
          bound_(n, kInfinite),
          tie_(n, 0),
          lazy_(n, 0),
          count_(n, 0),
          list_(n * kList),
          row_(n),
          slot_of_(2 * n - 1, -1),
          heights_(2 * n - 1, -kInfinite),
          next_id_(static_cast<std::int32_t>(n)) {
        for (std::size_t s = 0; s < n; ++s) id_[s] = leaf_[s] = slot_of_[s] = static_cast<std::int32_t>(s);
        lay_out();
    }

    std::size_t alive() const { return alive_; }
    MergeList merges;

    // Reads the matrix once, front to back; each thread some of the rows, with lists of its own.
    void start(Interrupt& interrupt) {
        struct Part {
            std::vector<Shortlist> lists;
            std::vector<T> limit;
        };
        std::vector<Part> parts(team_.threads());
        const auto read_row = [&](std::int64_t place, int thread) {
            Part& part = parts[static_cast<std::size_t>(thread)];
            if (part.lists.empty()) {
                part.lists.resize(slots_);
                part.limit.assign(slots_, kNone);
            }
            const auto s = static_cast<std::size_t>(place);
            make_finite(s);
            const Row row = row_of(s);
            const T* limit = part.limit.data();
            const auto add = [&](std::size_t to, std::size_t other) {
                part.limit[to] = part.lists[to].add({row[std::max(to, other)], static_cast<std::int32_t>(other)});
            };
            const auto look = [&](std::size_t j) {
                if (row[j] < limit[s]) add(s, j);
                if (row[j] < limit[j]) add(j, s);
            };
            for_stretches(s + 1, [&](std::size_t j) { return (row[j] < limit[s]) | (row[j] < limit[j]); }, look);
        };
        team_.run(static_cast<std::int64_t>(slots_), read_row, &interrupt);
        for (std::size_t s = 0; s < slots_; ++s) {
            Shortlist list;
            for (Part& part : parts)
                if (!part.lists.empty())
                    list.items.insert(list.items.end(), part.lists[s].items.begin(), part.lists[s].items.end());
            set_list(s, list);
        }
        tree_.build(slots_, Order{*this});
    }

    // Merges at most `count` times.
    void run(std::size_t count, Interrupt& interrupt) {
        for (std::size_t step = 1; alive_ > 1 && count > 0; ++step) {
            if (step % 16 == 0) interrupt();
            const std::size_t s = tree_.winner();
            if (lazy_[s]) {
                read(s);
                tree_.update(s, Order{*this});
            } else if (const std::int32_t t = slot_of_[nearest(s).id]; t < 0) {
                drop_dead(s);
                tree_.update(s, Order{*this});
            } else {
                merge(s, t);
                --count;
            }
        }
    }

private:
    static constexpr std::size_t kList = 16;
    static constexpr T kNone = std::numeric_limits<T>::infinity();
    static constexpr double kInfinite = std::numeric_limits<double>::infinity();

    struct Near {
        T distance;
        std::int32_t id;
        bool operator<(const Near& other) const {
            return distance != other.distance ? distance < other.distance : id < other.id;
        }
    };

    // The nearest few so far and the next one after them, in no order.
    struct Shortlist {
        std::vector<Near> items;
        T limit = kNone;

        // Returns the bound of the next item.
        T add(Near near) {
            items.push_back(near);
            if (items.size() < 3 * kList) return limit;
            std::nth_element(items.begin(), items.begin() + kList, items.end());
            items.resize(kList + 1);
            return limit = items.back().distance;
        }
    };

    struct Order {
        const HacMatrix& all;
        bool operator()(std::size_t s, std::size_t t) const {
            return all.key_[s] != all.key_[t] ? all.key_[s] < all.key_[t] : all.tie_[s] < all.tie_[t];
        }
    };

    T* distance_;
    Linkage linkage_;
    Team team_;
    std::size_t slots_, alive_;
    // by slot; their order is that of the smallest leaves
    std::vector<double> weight_;
    std::vector<T> gone_;  // infinite in a hole, else 0
    std::vector<std::int32_t> id_, leaf_;
    std::vector<T*> row_begin_;  // at (s, s + 1)
    std::vector<double> key_, bound_;
    std::vector<std::uint64_t> tie_;
    std::vector<std::uint8_t> lazy_;
    std::vector<std::uint8_t> count_;
    std::vector<Near> list_;
    std::vector<T> row_;
    // by id
    std::vector<std::int32_t> slot_of_;  // -1 when merged
    std::vector<double> heights_;
    std::int32_t next_id_;
    WinnerTree tree_;
    Shortlist shortlist_;

    // Positive, and their sum is finite.
    static std::vector<double> weights(const double* weight, std::size_t n) {
        constexpr double kLeast = 1e-100;
        std::vector<double> result(weight, weight + n);
        for (double& w : result) w = std::max(kLeast, within(w, 1 / kLeast));
        return result;
    }

    void lay_out() {
        T* place = distance_;
        for (std::size_t s = 0; s < slots_; ++s) {
            row_begin_[s] = place;
            place += slots_ - s - 1;
        }
    }

    // The distances of slot s to the slots behind it: row[j] is (s, j), j > s.
    struct Row {
        T* begin;
        std::size_t first;
        T& operator[](std::size_t j) const { return begin[j - first]; }
    };
    Row row_of(std::size_t s) const { return {row_begin_[s], s + 1}; }

    // Infinity marks holes here; a distance must not be taken for one.
    void make_finite(std::size_t s) {
        T* const begin = row_begin_[s];
        T* const end = begin + (slots_ - s - 1);
        // A counter as wide as the numbers is what the compiler makes vector instructions of.
        std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t> large = 0;
        for (const T* x = begin; x != end; ++x) large += *x < kLargest<T> ? 0 : 1;
        if (large > 0) std::transform(begin, end, begin, not_above_largest<T>);
    }

    Near& nearest(std::size_t s) { return list_[s * kList]; }

    // Calls look(j) for the slots from `first` on where test(j) may hold.
    template <class Test, class Look>
    void for_stretches(std::size_t first, const Test& test, const Look& look) const {
        constexpr std::size_t kStretch = 32;
        std::size_t j = first;
        for (; j + kStretch <= slots_; j += kStretch) {
            int hits = 0;
            for (std::size_t k = j; k < j + kStretch; ++k) hits |= test(k);
            if (hits)
                for (std::size_t k = j; k < j + kStretch; ++k) look(k);
        }
        for (; j < slots_; ++j) look(j);
    }

    // Calls work(first, last) for parts of the slots, by several threads where that is worth waking them.
    template <class Work>
    void in_parts(const Work& work) {
        constexpr std::size_t kPart = 2048;
        const std::size_t parts = team_.threads() == 1 ? 1 : std::max<std::size_t>(1, slots_ / kPart);
        team_.run(static_cast<std::int64_t>(parts), [&](std::int64_t part, int) {
            const auto p = static_cast<std::size_t>(part);
            work(slots_ * p / parts, slots_ * (p + 1) / parts);
        });
    }

    void set_list(std::size_t s, Shortlist& list) {
        std::vector<Near>& found = list.items;
        std::sort(found.begin(), found.end());
        bound_[s] = kInfinite;
        if (found.size() > kList) {
            bound_[s] = found[kList].distance;
            found.resize(kList);
        }
        for (Near& near : found) near.id = id_[near.id];
        std::copy(found.begin(), found.end(), &list_[s * kList]);
        count_[s] = static_cast<std::uint8_t>(found.size());
        refresh(s);
    }

    // Lists the nearest of `row_`, the distances of cluster s to all slots (infinite for itself and for holes).
    void list_row(std::size_t s) {
        const T* row = row_.data();
        T limit = shortlist_.limit = kNone;
        shortlist_.items.clear();
        const auto look = [&](std::size_t j) {
            if (row[j] < limit) limit = shortlist_.add({row[j], static_cast<std::int32_t>(j)});
        };
        for_stretches(0, [&](std::size_t j) { return row[j] < limit; }, look);
        set_list(s, shortlist_);
    }

    void refresh(std::size_t s) {
        lazy_[s] = count_[s] == 0;
        key_[s] = lazy_[s] ? bound_[s] : nearest(s).distance;
        tie_[s] = 0;
        if (lazy_[s]) return;
        const std::int32_t t = slot_of_[nearest(s).id];
        if (t < 0) return;
        const auto a = static_cast<std::uint64_t>(leaf_[s]), b = static_cast<std::uint64_t>(leaf_[t]);
        tie_[s] = (std::min(a, b) << 32 | std::max(a, b)) + 1;
    }

    void drop_dead(std::size_t s) {
        Near* list = &list_[s * kList];
        Near* end = std::remove_if(list, list + count_[s], [&](const Near& near) { return slot_of_[near.id] < 0; });
        count_[s] = static_cast<std::uint8_t>(end - list);
        refresh(s);
    }

    void read(std::size_t s) {
        in_parts([&](std::size_t first, std::size_t last) {
            for (std::size_t k = first; k < std::min(s, last); ++k) row_[k] = row_of(k)[s] + gone_[k];
            const Row own = row_of(s);
            for (std::size_t k = std::max(s + 1, first); k < last; ++k) row_[k] = own[k] + gone_[k];
        });
        row_[s] = kNone;
        list_row(s);
    }

    void merge(std::size_t s, std::size_t t) {
        if (t < s) std::swap(s, t);
        const std::int32_t a = id_[s], b = id_[t], c = next_id_++;
        const double apart = row_of(s)[t];
        const bool rises = linkage_ != Linkage::centroid && linkage_ != Linkage::median;
        const double height = rises ? std::max({apart, heights_[a], heights_[b]}) : apart;  // rises but for rounding
        merges.left.push_back(a);
        merges.right.push_back(b);
        merges.height.push_back(height);
        heights_[c] = height;
        slot_of_[a] = slot_of_[b] = -1;
        slot_of_[c] = static_cast<std::int32_t>(s);
        id_[s] = c;
        id_[t] = -1;
        gone_[t] = kNone;
        with_lance_williams(linkage_, weight_[s], weight_[t], apart, [&](const auto& combine, auto grows) {
            in_parts([&](std::size_t first, std::size_t last) { join_rows(s, t, combine, grows, first, last); });
        });
        row_[s] = row_[t] = kNone;
        weight_[s] += weight_[t];
        --alive_;
        list_row(s);
        key_[t] = kInfinite;
        lazy_[t] = 0;
        count_[t] = 0;
        if (4 * alive_ < 3 * slots_) {
            compact();
        } else {
            tree_.update(s, Order{*this});
            tree_.update(t, Order{*this});
        }
    }

    // The distances of the union of s and t to the clusters from `first` on, in the matrix and in `row_`.
    template <class Combine, class Grows>
    void join_rows(std::size_t s, std::size_t t, const Combine& combine, Grows, std::size_t first, std::size_t last) {
        const Row to_s = row_of(s), to_t = row_of(t);
        const auto joined = [&](T x, T y, double weight) {
            const T both = static_cast<T>(combine(x, y, weight));
            return Grows::value ? not_above_largest(both) : both;
        };
        // A column is a cache line a row, which no processor foresees; what a hole has there is of no use and no harm.
        const auto ahead = [&](std::size_t at, std::size_t column) {
            constexpr std::size_t kAhead = 16;
            if (at + kAhead < column) __builtin_prefetch(&row_of(at + kAhead)[column]);
        };
        std::size_t k = first;
        for (; k < std::min(s, last); ++k) {
            ahead(k, s);
            ahead(k, t);
            const Row row = row_of(k);
            row[s] = joined(row[s], row[t], weight_[k]);
            row_[k] = row[s] + gone_[k];
        }
        for (k = std::max(s + 1, first); k < std::min(t, last); ++k) {
            ahead(k, t);
            to_s[k] = joined(to_s[k], row_of(k)[t], weight_[k]);
            row_[k] = to_s[k] + gone_[k];
        }
        for (k = std::max(t + 1, first); k < last; ++k) {
            to_s[k] = joined(to_s[k], to_t[k], weight_[k]);
            row_[k] = to_s[k] + gone_[k];
        }
    }

    // Closes the holes. Every entry moves towards the front, so that no copy is needed.
    void compact() {
        std::vector<std::size_t> kept;
        for (std::size_t s = 0; s < slots_; ++s)
            if (id_[s] >= 0) kept.push_back(s);
        T* place = distance_;
        for (std::size_t a = 0; a < kept.size(); ++a)
            for (std::size_t b = a + 1; b < kept.size(); ++b) *place++ = row_of(kept[a])[kept[b]];
        for (std::size_t to = 0; to < kept.size(); ++to) {
            const std::size_t s = kept[to];
            weight_[to] = weight_[s];
            gone_[to] = 0;
            id_[to] = id_[s];
            leaf_[to] = leaf_[s];
            key_[to] = key_[s];
            bound_[to] = bound_[s];
            tie_[to] = tie_[s];
            lazy_[to] = lazy_[s];
            count_[to] = count_[s];
            std::copy_n(&list_[s * kList], kList, &list_[to * kList]);
            slot_of_[id_[to]] = static_cast<std::int32_t>(to);
        }
        slots_ = kept.size();
        lay_out();
        tree_.build(slots_, Order{*this});
    }
};

}  // namespace cladify
