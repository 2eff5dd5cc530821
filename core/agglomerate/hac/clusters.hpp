// The clusters of exact agglomeration of vectors in linear memory: for linkages that a mean vector and a
// scalar per cluster determine,
//
//   average    D(A,B) = V(A) + V(B) + |mA - mB|^2         V = mean squared distance of the members to their mean
//   ward       D(A,B) = wA wB / (wA + wB) |mA - mB|^2
//   centroid   D(A,B) = |mA - mB|^2
//   single     D(x,y) as for average, between points (single.hpp)
//   weighted, median: as average and centroid, where the two parts of a union count the same whatever their sizes,
//
// every cluster keeps a list of candidates and a bound: what is not on its list is at least that far. A merged cluster
// inherits both lists, and a bound by the Lance-Williams formula. A candidate that merged lives on in the cluster that
// it became. Distances on a list are lower bounds until they matter; then the means decide, in float64.
//
// reducible.hpp and centroid.hpp choose the pair to merge from the lists. The lists of
// centroid and median linkage hold *average* distances: those, being convex combinations, never fall below a bound.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "agglomerate/hac/linkage.hpp"
#include "common/finite.hpp"
#include "common/interrupt.hpp"
#include "common/union_find.hpp"

namespace cladify {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Candidate {
    double bound;  // the distance if exact, else a lower bound of it
    std::int32_t id;
    std::int32_t exact;
    bool operator<(const Candidate& other) const { return bound != other.bound ? bound < other.bound : id < other.id; }
};

// Clusters sit in slots 0..slots()-1; those that merged away leave holes until `compact`. Ids below `first_id` are
// given, the merges count on from there.
class HacClusters {
public:
    // `mean` and `mean32` are rows x dimension, owned by the caller, and updated in place.
    HacClusters(double* mean, float* mean32, std::size_t rows, std::size_t dimension, Linkage linkage,
                std::size_t list_size, const double* weight, const double* spread, const std::int32_t* id,
                const std::int32_t* leaf, std::int32_t first_id)
        : mean_(mean),
          mean32_(mean32),
          dimension_(dimension),
          linkage_(linkage),
          list_size_(list_size),
          slots_(rows),
          alive_(rows),
          weight_(weight, weight + rows),
          spread_(spread, spread + rows),
          id_(id, id + rows),
          group_(rows),
          bound_(rows, -kInfinity),
          key_(rows, kInfinity),
          tie_(rows, 0),
          count_(rows, 0),
          list_(rows * list_size),
          bias_(rows),
          rate_(rows),
          place_(rows),
          mark_(rows, -1),
          first_id_(first_id),
          next_id_(first_id),
          merged_into_(first_id + rows - 1),
          slot_of_(first_id + rows - 1, -1),
          leaf_(first_id + rows - 1, -1) {
        make_finite();
        for (std::size_t s = 0; s < rows; ++s) {
            slot_of_[id_[s]] = group_[s] = place_[s] = static_cast<std::int32_t>(s);
            leaf_[id_[s]] = leaf[s];
            prepare(s);
        }
    }
    virtual ~HacClusters() = default;

    std::size_t slots() const { return slots_; }
    std::size_t alive() const { return alive_; }
    std::size_t dimension() const { return dimension_; }
    std::size_t list_size() const { return list_size_; }
    Linkage linkage() const { return linkage_; }
    bool is_alive(std::size_t s) const { return group_[s] >= 0; }
    // Whether a search for s may find t.
    bool are_apart(std::size_t s, std::size_t t) const { return group_[t] >= 0 && group_[s] != group_[t]; }
    const std::vector<std::int32_t>& groups() const { return group_; }
    const float* bias() const { return bias_.data(); }
    const float* rate() const { return rate_.data(); }
    const float* mean32(std::size_t s) const { return mean32_ + s * dimension_; }

    // Living clusters in an order in which near ones are close to each other: a union keeps its first part's place.
    void set_near_order(const std::vector<std::int32_t>& slots) {
        for (std::size_t p = 0; p < slots.size(); ++p) place_[slots[p]] = static_cast<std::int32_t>(p);
    }
    std::vector<std::int32_t> near_order() const {
        std::vector<std::int32_t> at(mark_.size(), -1), slots;
        for (std::size_t s = 0; s < slots_; ++s)
            if (is_alive(s)) at[place_[s]] = static_cast<std::int32_t>(s);
        std::copy_if(at.begin(), at.end(), std::back_inserter(slots), [](std::int32_t s) { return s >= 0; });
        return slots;
    }

    // Entries of the lists.
    double distance(std::size_t s, std::size_t t) const {
        const double apart = squared(s, t);
        if (linkage_ == Linkage::ward) return weight_[s] * weight_[t] / (weight_[s] + weight_[t]) * apart;
        return spread_[s] + spread_[t] + apart;
    }

    // Gives cluster `s` a new list; the ids of the candidates are slots here. Everything else is at least `bound` away.
    void set_list(std::size_t s, const std::vector<Candidate>& candidates, double bound) {
        Candidate* list = &list_[s * list_size_];
        count_[s] = static_cast<std::uint16_t>(candidates.size());
        for (std::size_t e = 0; e < candidates.size(); ++e) {
            list[e] = candidates[e];
            list[e].id = id_[candidates[e].id];
        }
        bound_[s] = bound;
    }

    // After the first lists are set.
    virtual void start() = 0;
    // After new lists were set for some.
    virtual void searched(const std::vector<std::int32_t>& slots) = 0;
    // Merges until `clusters` are left or the next merge is above `limit`, at most `merges` times; or until some
    // clusters need a search, and returns these.
    virtual std::vector<std::int32_t> run(std::size_t clusters, double limit, std::size_t merges,
                                          Interrupt& interrupt) = 0;

    std::vector<std::int32_t> left, right;  // in the order of the merges
    std::vector<double> height;

protected:
    double* mean_;
    float* mean32_;
    std::size_t dimension_;
    Linkage linkage_;
    std::size_t list_size_, slots_, alive_;
    // by slot
    std::vector<double> weight_, spread_;
    std::vector<std::int32_t> id_;
    std::vector<std::int32_t> group_;  // -1 in a hole; single linkage searches points, and those of a group are merged
    std::vector<double> bound_;
    std::vector<double> key_;  // at most the distance to whatever the cluster answers for
    std::vector<std::uint64_t> tie_;
    std::vector<std::uint16_t> count_;
    std::vector<Candidate> list_;
    std::vector<float> bias_, rate_;
    std::vector<std::int32_t> place_;  // see near_order
    std::vector<std::int32_t> mark_;
    // by id
    std::int32_t first_id_, next_id_;
    UnionFind<> merged_into_;
    std::vector<std::int32_t> slot_of_, leaf_;
    double least_weight_ = 0;

    // The order in which clusters are served.
    struct Earlier {
        const HacClusters& all;
        bool operator()(std::size_t s, std::size_t t) const {
            return all.key_[s] != all.key_[t] ? all.key_[s] < all.key_[t] : all.tie_[s] < all.tie_[t];
        }
    };

    double squared(std::size_t s, std::size_t t) const {
        const double* a = mean_ + s * dimension_;
        const double* b = mean_ + t * dimension_;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (std::size_t k = 0; k < dimension_; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
        return sum;
    }

    // Which cluster `id` belongs to by now.
    std::int32_t root(std::int32_t id) { return merged_into_.find(id); }

    // Equal distances go by the leaves: the pair with the smaller ones first. Unknown ones (0) come before.
    std::uint64_t pair_code(std::int32_t a, std::int32_t b) const {
        const auto x = static_cast<std::uint64_t>(leaf_[a]), y = static_cast<std::uint64_t>(leaf_[b]);
        return (std::min(x, y) << 32 | std::max(x, y)) + 1;
    }

    double height_of(std::int32_t id) const { return id < first_id_ ? 0 : height[id - first_id_]; }

    // Puts the union of s and t into the lower slot, which it returns, and leaves a hole in the other.
    std::size_t join(std::size_t s, std::size_t t, double h) {
        if (t < s) std::swap(s, t);
        const std::int32_t a = id_[s], b = id_[t], c = next_id_++;
        const bool in_order = leaf_[a] < leaf_[b];
        left.push_back(in_order ? a : b);
        right.push_back(in_order ? b : a);
        height.push_back(h);
        merged_into_.unite(a, c);
        merged_into_.unite(b, c);
        slot_of_[c] = static_cast<std::int32_t>(s);
        leaf_[c] = std::min(leaf_[a], leaf_[b]);
        inherit(s, t, c, h);

        const double weight = weight_[s] + weight_[t];
        const double ws = weight_[s] / weight, wt = weight_[t] / weight;
        double* m = mean_ + s * dimension_;
        const double* other = mean_ + t * dimension_;
        double apart = 0;
#pragma omp simd reduction(+ : apart)
        for (std::size_t k = 0; k < dimension_; ++k) {
            apart += (m[k] - other[k]) * (m[k] - other[k]);
            m[k] = ws * m[k] + wt * other[k];
        }
        spread_[s] = ws * spread_[s] + wt * spread_[t] + ws * wt * apart;
        if (linkage_ != Linkage::weighted && linkage_ != Linkage::median) weight_[s] = weight;
        id_[s] = c;
        prepare(s);
        group_[t] = -1;
        count_[t] = 0;
        key_[t] = kInfinity;
        bias_[t] = -std::numeric_limits<float>::infinity();
        --alive_;
        return s;
    }

    bool has_many_holes() const { return 4 * alive_ < 3 * slots_; }

    // Closes the holes, so that searches run over living clusters only. `move(to, from)` moves the data of a subclass.
    template <class Move>
    void compact(const Move& move) {
        std::size_t to = 0;
        for (std::size_t s = 0; s < slots_; ++s) {
            if (!is_alive(s)) continue;
            group_[to] = static_cast<std::int32_t>(to);
            if (to != s) {
                std::memcpy(mean_ + to * dimension_, mean_ + s * dimension_, dimension_ * sizeof(double));
                std::memcpy(mean32_ + to * dimension_, mean32_ + s * dimension_, dimension_ * sizeof(float));
                std::copy_n(&list_[s * list_size_], count_[s], &list_[to * list_size_]);
                weight_[to] = weight_[s];
                spread_[to] = spread_[s];
                id_[to] = id_[s];
                bound_[to] = bound_[s];
                key_[to] = key_[s];
                tie_[to] = tie_[s];
                count_[to] = count_[s];
                bias_[to] = bias_[s];
                rate_[to] = rate_[s];
                place_[to] = place_[s];
                slot_of_[id_[to]] = static_cast<std::int32_t>(to);
                move(to, s);
            }
            ++to;
        }
        slots_ = to;
    }

    template <class T>
    static void permute_values(const std::vector<std::int32_t>& order, std::vector<T>& values) {
        std::vector<T> before(values.begin(), values.begin() + order.size());
        for (std::size_t s = 0; s < order.size(); ++s) values[s] = before[order[s]];
    }

    // Puts the cluster of slot order[s] into slot s; there are no holes.
    void permute(const std::vector<std::int32_t>& order) {
        permute_rows(order, mean_, dimension_);
        permute_rows(order, mean32_, dimension_);
        permute_rows(order, list_.data(), list_size_);
        permute_values(order, weight_);
        permute_values(order, spread_);
        permute_values(order, id_);
        permute_values(order, group_);
        permute_values(order, bound_);
        permute_values(order, key_);
        permute_values(order, tie_);
        permute_values(order, count_);
        permute_values(order, bias_);
        permute_values(order, rate_);
        permute_values(order, place_);
        for (std::size_t s = 0; s < order.size(); ++s) slot_of_[id_[s]] = static_cast<std::int32_t>(s);
    }

private:
    // In place, cycle by cycle.
    template <class T>
    static void permute_rows(const std::vector<std::int32_t>& order, T* rows, std::size_t width) {
        std::vector<T> held(width);
        std::vector<bool> done(order.size(), false);
        for (std::size_t first = 0; first < order.size(); ++first) {
            if (done[first] || order[first] == static_cast<std::int32_t>(first)) continue;
            std::copy_n(rows + first * width, width, held.begin());
            std::size_t to = first;
            for (std::size_t from = order[to]; from != first; to = from, from = order[to]) {
                std::copy_n(rows + from * width, width, rows + to * width);
                done[to] = true;
            }
            std::copy_n(held.begin(), width, rows + to * width);
            done[to] = true;
        }
    }

    // Rows come near the origin and of moderate size; whatever they are, all that is made of them shall be finite, in
    // float32 too.
    void make_finite() {
        constexpr double kFar = 0x1p30, kLeast = 1e-30;
        for (std::size_t i = 0; i < slots_ * dimension_; ++i) mean_[i] = within(mean_[i], kFar);
        for (double& v : spread_) v = std::max(0.0, within(v, kFar * kFar));
        for (double& w : weight_) w = std::max(kLeast, within(w, 1 / kLeast));
        least_weight_ = *std::min_element(weight_.begin(), weight_.end());
    }

    struct Inherited {
        double from_s, from_t;
        std::int32_t id;
        bool fresh_s, fresh_t;
    };
    std::vector<Inherited> inherited_;
    std::vector<Candidate> merged_;

    // The columns of a search: the distance of a cluster to another is at least (see search.hpp)
    //     -2 (<m32_s, m32_t> + bias_s + bias_t) / (rate_s + rate_t)
    // where the biases take the rounding errors of a float32 product into account: that of n terms is off by at most
    // n u |a||b| <= n u (|a|^2 + |b|^2) / 2, so each side pays for its own half, and nothing is paid at the comparison.
    void prepare(std::size_t s) {
        constexpr double u = 0x1p-24;
        const double* m = mean_ + s * dimension_;
        float* m32 = mean32_ + s * dimension_;
        double norm = 0;
#pragma omp simd reduction(+ : norm)
        for (std::size_t k = 0; k < dimension_; ++k) norm += m[k] * m[k];
        for (std::size_t k = 0; k < dimension_; ++k) m32[k] = static_cast<float>(m[k]);
        const bool ward = linkage_ == Linkage::ward;
        const double own = ward ? norm : norm + spread_[s];
        const double slack = u * (static_cast<double>(dimension_ + 16) * norm + 8 * own) + 1e-30;
        bias_[s] = static_cast<float>(-0.5 * (own - slack));
        rate_[s] = ward ? static_cast<float>(1 / weight_[s]) : 0.5f;
    }

    // A lower bound of the distance from the union of s and t, which are h apart, to a cluster of weight `w`, from
    // lower bounds of their distances.
    double combine(std::size_t s, std::size_t t, double from_s, double from_t, double w, double h) const {
        const double a = weight_[s], b = weight_[t];
        const double value = linkage_ == Linkage::ward ? ((a + w) * from_s + (b + w) * from_t - w * h) / (a + b + w)
                                                       : (a * from_s + b * from_t) / (a + b);
        return value == kInfinity ? value : value - 1e-14 * (from_s + from_t);
    }

    void inherit(std::size_t s, std::size_t t, std::int32_t c, double h) {
        inherited_.clear();
        const double bound_s = bound_[s], bound_t = bound_[t];
        auto gather = [&](std::size_t from, double Inherited::* value_from, bool Inherited::* fresh_from) {
            const Candidate* list = &list_[from * list_size_];
            for (std::size_t e = 0; e < count_[from]; ++e) {
                const std::int32_t r = root(list[e].id);
                if (r == c) continue;
                const bool fresh = r == list[e].id;
                // Of a candidate that merged, the other part may be off the list: only the bound is known of that.
                const double value = fresh ? list[e].bound : std::min(list[e].bound, bound_[from]);
                std::int32_t& at = mark_[slot_of_[r]];
                const bool first = at < 0;
                if (first) {
                    at = static_cast<std::int32_t>(inherited_.size());
                    inherited_.push_back({bound_s, bound_t, r, false, false});
                }
                Inherited& item = inherited_[at];
                if (fresh || !(item.*fresh_from)) {
                    const bool known = !first && !fresh;
                    item.*value_from = known ? std::min(item.*value_from, value) : value;
                }
                item.*fresh_from |= fresh;
            }
        };
        gather(s, &Inherited::from_s, &Inherited::fresh_s);
        gather(t, &Inherited::from_t, &Inherited::fresh_t);

        // Ward's combination rises with the weight of the third cluster, so the least weight gives the bound for all.
        double bound = combine(s, t, bound_s, bound_t, least_weight_, h);
        merged_.clear();
        for (const Inherited& item : inherited_) {
            const std::size_t k = slot_of_[item.id];
            mark_[k] = -1;
            const double value = combine(s, t, item.from_s, item.from_t, weight_[k], h);
            if (value <= bound) merged_.push_back({value, item.id, 0});  // beyond the bound it says nothing
        }
        if (merged_.size() > list_size_) {
            std::nth_element(merged_.begin(), merged_.begin() + list_size_, merged_.end());
            bound = merged_[list_size_].bound;
            merged_.resize(list_size_);
        }
        std::copy(merged_.begin(), merged_.end(), &list_[s * list_size_]);
        count_[s] = static_cast<std::uint16_t>(merged_.size());
        bound_[s] = bound;
    }
};

}  // namespace cladify
