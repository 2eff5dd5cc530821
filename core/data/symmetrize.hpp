// Both directions of every edge of a graph in CSR form, in linear time and in parallel.
//
// A transposition writes all over memory. So the edges go first, in order, into buckets of neighbouring target rows,
// each of which fits a cache; then every bucket is ordered by row on its own. Threads own a run of source rows in the
// first step and whole buckets in the second: the result is the same for any number of them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/interrupt.hpp"
#include "common/team.hpp"

namespace cladify {

// Memory that its writers touch first, so that threads share the cost of its pages.
template <typename T>
struct Raw {
    std::unique_ptr<T[]> data;
    std::size_t size = 0;
    explicit Raw(std::size_t n = 0) : data(std::make_unique_for_overwrite<T[]>(n)), size(n) {}
};

template <typename Value>
struct Edges {
    Raw<std::int64_t> indptr;
    Raw<std::int32_t> indices;
    Raw<Value> value;
};

// How to combine the directions of an edge: keep it when either direction is there, with the larger or the smaller
// value or the mean (a missing direction counts as 0), or only when both are, with the smaller or larger value; or, for
// values in [0, 1], with the probability a + b - ab that one of the two holds.
enum class Combine { either_larger, either_smaller, mean, both_larger, both_smaller, either_holds };

template <typename Value>
class Symmetrize {
public:
    Symmetrize(const std::int64_t* indptr, const std::int32_t* indices, const Value* value, std::size_t n, Combine how,
               int threads)
        : indptr_(indptr),
          indices_(indices),
          value_(value),
          n_(static_cast<std::int64_t>(n)),
          how_(how),
          team_(threads) {
        while ((n_ >> shift_) > 1024) ++shift_;
        buckets_ = (n_ >> shift_) + 1;
    }

    // Rows must be sorted by column; so are the rows of the result.
    Edges<Value> run(Interrupt& interrupt) {
        scatter();
        interrupt();
        Edges<Value> result;
        result.indptr = Raw<std::int64_t>(static_cast<std::size_t>(n_) + 1);
        std::int64_t* degree = result.indptr.data.get();
        start_ = Raw<std::int64_t>(static_cast<std::size_t>(n_) + 1);
        start_.data[static_cast<std::size_t>(n_)] = indptr_[n_];
        team_.run(buckets_, [&](std::int64_t b) { order(b); }, &interrupt);
        const auto each_row = [&](auto body) {
            team_.run(
                buckets_,
                [&](std::int64_t b) {
                    for (std::int64_t i = first_row(b); i < first_row(b + 1); ++i) body(i);
                },
                &interrupt);
        };
        each_row([&](std::int64_t i) {
            std::int64_t count = 0;
            merge(i, [&](std::int32_t, Value) { ++count; });
            degree[i + 1] = count;
        });
        degree[0] = 0;
        for (std::int64_t i = 0; i < n_; ++i) degree[i + 1] += degree[i];
        const auto edges = static_cast<std::size_t>(degree[n_]);
        result.indices = Raw<std::int32_t>(edges);
        result.value = Raw<Value>(edges);
        each_row([&](std::int64_t i) {
            std::int64_t place = degree[i];
            merge(i, [&](std::int32_t j, Value v) {
                result.indices.data[static_cast<std::size_t>(place)] = j;
                result.value.data[static_cast<std::size_t>(place++)] = v;
            });
        });
        return result;
    }

private:
    struct Incoming {
        std::int32_t to, from;
        Value value;
    };

    const std::int64_t* indptr_;
    const std::int32_t* indices_;
    const Value* value_;
    std::int64_t n_;
    Combine how_;
    Team team_;
    int shift_ = 11;  // rows of a bucket: 2^shift
    std::int64_t buckets_ = 0;
    Raw<Incoming> incoming_;               // by bucket and, once ordered, by row; within a row by source
    std::vector<std::int64_t> bucket_at_;  // where each bucket begins
    Raw<std::int64_t> start_;              // where each row's incoming edges begin

    std::int64_t first_row(std::int64_t bucket) const { return std::min(bucket << shift_, n_); }

    void scatter() {
        const auto width = static_cast<std::size_t>(buckets_);
        const std::int64_t runs = team_.threads();
        std::vector<std::vector<std::int64_t>> next(static_cast<std::size_t>(runs),
                                                    std::vector<std::int64_t>(width, 0));
        const auto each_run = [&](auto body) {
            team_.run(runs, [&](std::int64_t t) {
                body(n_ * t / runs, n_ * (t + 1) / runs, next[static_cast<std::size_t>(t)].data());
            });
        };
        each_run([&](std::int64_t low, std::int64_t high, std::int64_t* count) {
            for (std::int64_t e = indptr_[low]; e < indptr_[high]; ++e) ++count[indices_[e] >> shift_];
        });
        bucket_at_.assign(width + 1, 0);
        std::int64_t place = 0;
        for (std::size_t b = 0; b < width; ++b) {
            bucket_at_[b] = place;
            for (auto& run : next) {
                const std::int64_t count = run[b];
                run[b] = place;
                place += count;
            }
        }
        bucket_at_[width] = place;
        incoming_ = Raw<Incoming>(static_cast<std::size_t>(place));
        each_run([&](std::int64_t low, std::int64_t high, std::int64_t* at) {
            for (std::int64_t i = low; i < high; ++i)
                for (std::int64_t e = indptr_[i]; e < indptr_[i + 1]; ++e)
                    incoming_.data[static_cast<std::size_t>(at[indices_[e] >> shift_]++)] = {
                        indices_[e], static_cast<std::int32_t>(i), value_[e]};
        });
    }

    // Orders a bucket by row; counting keeps the sources of a row ascending.
    void order(std::int64_t b) {
        const std::int64_t low = first_row(b), rows = first_row(b + 1) - low;
        Incoming* bucket = incoming_.data.get() + bucket_at_[static_cast<std::size_t>(b)];
        const auto count = static_cast<std::size_t>(bucket_at_[static_cast<std::size_t>(b) + 1] -
                                                    bucket_at_[static_cast<std::size_t>(b)]);
        std::vector<std::int64_t> at(static_cast<std::size_t>(rows) + 1, 0);
        for (std::size_t e = 0; e < count; ++e) ++at[static_cast<std::size_t>(bucket[e].to - low) + 1];
        for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
            at[i + 1] += at[i];
            start_.data[static_cast<std::size_t>(low) + i] = bucket_at_[static_cast<std::size_t>(b)] + at[i];
        }
        const std::vector<Incoming> before(bucket, bucket + count);
        for (const Incoming& edge : before) bucket[at[static_cast<std::size_t>(edge.to - low)]++] = edge;
    }

    // Calls emit(j, value) for every edge of row i in the result, by ascending j.
    template <typename Emit>
    void merge(std::int64_t i, Emit emit) const {
        const bool both_needed = how_ == Combine::both_larger || how_ == Combine::both_smaller;
        const bool larger = how_ == Combine::either_larger || how_ == Combine::both_larger;
        std::int64_t p = indptr_[i];
        const std::int64_t p_end = indptr_[i + 1];
        const Incoming* q = incoming_.data.get() + start_.data[static_cast<std::size_t>(i)];
        const Incoming* q_end = incoming_.data.get() + start_.data[static_cast<std::size_t>(i) + 1];
        while (p < p_end || q < q_end) {
            const bool out = q == q_end || (p < p_end && indices_[p] <= q->from);
            const bool in = p == p_end || (q < q_end && q->from <= indices_[p]);
            const std::int32_t j = out ? indices_[p] : q->from;
            if (out && in) {
                const Value a = value_[p], b = q->value;
                emit(j, how_ == Combine::mean           ? Value{0.5} * (a + b)
                        : how_ == Combine::either_holds ? a + b - a * b
                        : larger                        ? std::max(a, b)
                                                        : std::min(a, b));
            } else if (!both_needed) {
                emit(j, (out ? value_[p] : q->value) * (how_ == Combine::mean ? Value{0.5} : Value{1.0}));
            }
            p += out;
            q += in;
        }
    }
};

}  // namespace cladify
