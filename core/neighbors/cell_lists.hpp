// Rows in cells: which slots each cell holds, and the scan of the cells that queries look into.
//
// The rows stay where they are; a cell is a list of their slots. Queries that look into the same cell are taken
// together, so that a row is fetched once for all of them.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "data/topk.hpp"

namespace cladify {

class CellLists {
public:
    explicit CellLists(std::size_t cells) : lists_(cells) {}

    std::size_t cells() const { return lists_.size(); }
    const std::vector<std::int32_t>& operator[](std::size_t c) const { return lists_[c]; }
    std::int32_t cell_of(std::int32_t slot) const { return at_[slot].cell; }

    bool has(std::int32_t slot) const {
        return slot >= 0 && static_cast<std::size_t>(slot) < at_.size() && at_[slot].cell >= 0;
    }

    void make_cells(std::size_t more) { lists_.resize(lists_.size() + more); }
    // A slot that is in no cell goes into this one.
    void add(std::int32_t slot, std::int32_t cell) {
        if (static_cast<std::size_t>(slot) >= at_.size())
            at_.resize(std::max<std::size_t>(slot + 1, 2 * at_.size()), {-1, -1});
        at_[slot] = {cell, static_cast<std::int32_t>(lists_[cell].size())};
        lists_[cell].push_back(slot);
    }
    // A slot leaves its cell; the last one of the cell takes its place.
    void remove(std::int32_t slot) {
        const At at = at_[slot];
        auto& list = lists_[at.cell];
        list[at.place] = list.back();
        at_[list.back()].place = at.place;
        list.pop_back();
        at_[slot] = {-1, -1};
    }

private:
    struct At {
        std::int32_t cell, place;
    };
    std::vector<std::vector<std::int32_t>> lists_;
    std::vector<At> at_;  // of a slot
};

// Rows by slot. A row scores <z, query> + bias with a query, and is within reach of those slots whose `reach` is at
// most <z, query> + the query's own bias.
struct SlotRows {
    const float* z;
    std::size_t width;
    const float* bias;
    const float* reach;
};
struct QueryRows {
    const float* z;
    const float* bias;
};
// Query `query` is within reach of the row in `slot`.
struct ReachedPairs {
    std::vector<std::int32_t> query, slot;
};

// Products of `Rows` rows with `Wide` queries, which stand side by side: queries[j * Wide + q]. Every product is summed
// up in the order of the columns, whatever else is worked out at the same time. The lanes are written out as vectors:
// left to itself the compiler takes the rows for lanes, at a third of the speed.
template <int Rows, int Wide>
void products(const float* const* row, const float* queries, std::size_t width, float* out) {
    constexpr int kLane = Wide < 8 ? Wide : 8, kParts = Wide / kLane;
    typedef float Lane __attribute__((vector_size(kLane * sizeof(float)), aligned(sizeof(float)), may_alias));
    Lane sum[Rows][kParts] = {};
    for (std::size_t j = 0; j < width; ++j, queries += Wide)
        for (int p = 0; p < kParts; ++p) {
            const Lane q = *reinterpret_cast<const Lane*>(queries + p * kLane);
            for (int r = 0; r < Rows; ++r) sum[r][p] += row[r][j] * q;
        }
    for (int r = 0; r < Rows; ++r)
        for (int p = 0; p < kParts; ++p) *reinterpret_cast<Lane*>(out + r * Wide + p * kLane) = sum[r][p];
}

// Scans lists of slots for queries and offers them what they find. One a thread.
class CellScan {
public:
    CellScan(const SlotRows& rows, const QueryRows& queries, TopK top, ReachedPairs* reached)
        : rows_(rows), queries_(queries), top_(top), reached_(reached) {}

    void scan(std::span<const std::int32_t> slots, std::span<const std::int32_t> queries) {
        if (slots.empty()) return;
        std::size_t i = 0;
        for (; i + 8 < queries.size(); i += 16) some<16>(slots, queries.subspan(i));
        if (i + 4 < queries.size())
            some<8>(slots, queries.subspan(i));
        else if (i < queries.size())
            some<4>(slots, queries.subspan(i));
    }

private:
    static constexpr std::size_t kAhead = 8;  // rows that are fetched beforehand
    static constexpr std::size_t kLine = 16;  // floats of a line of the cache
    static constexpr float kNever = std::numeric_limits<float>::infinity();

    // The first `Wide` of these queries, or as many as there are.
    template <int Wide>
    void some(std::span<const std::int32_t> slots, std::span<const std::int32_t> queries) {
        constexpr int kRows = Wide == 16 ? 4 : 8;  // whose products are worked out at once: eight sums are under way
        const std::size_t count = std::min<std::size_t>(Wide, queries.size());
        beside_.assign(rows_.width * Wide, 0.0f);
        std::fill_n(own_, kStretch, 0.0f);
        std::fill_n(least_, kStretch, kNever);
        for (std::size_t q = 0; q < count; ++q) {
            const float* z = queries_.z + static_cast<std::size_t>(queries[q]) * rows_.width;
            for (std::size_t j = 0; j < rows_.width; ++j) beside_[j * Wide + q] = z[j];
            own_[q] = queries_.bias[queries[q]];
            least_[q] = top_.threshold(queries[q], 0);
        }
        const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << count) - 1);
        float score[kRows * Wide + kStretch] = {};  // a stretch is read from the last row on, too
        const float* row[kRows];
        for (std::size_t i = 0; i < slots.size(); i += kRows) {
            const std::size_t here = std::min<std::size_t>(kRows, slots.size() - i);
            for (std::size_t r = 0; r < kRows; ++r) {
                row[r] = rows_.z + at(slots[i + std::min(r, here - 1)]);
                if (i + r + kAhead < slots.size()) fetch(slots[i + r + kAhead]);
            }
            products<kRows, Wide>(row, beside_.data(), rows_.width, score);
            for (std::size_t r = 0; r < here; ++r) look(score + r * Wide, slots[i + r], queries, all);
        }
    }

    void look(const float* score, std::int32_t slot, std::span<const std::int32_t> queries, std::uint32_t all) {
        const float bias = rows_.bias[slot];
        for (std::uint32_t hits = reaching(score, bias, +least_) & all; hits; hits &= hits - 1) {
            const int q = std::countr_zero(hits);
            if (top_.offer(queries[q], make_key(score[q] + bias, slot))) least_[q] = top_.threshold(queries[q], 0);
        }
        if (reached_ == nullptr) return;
        for (std::uint32_t hits = reaching(score, +own_, rows_.reach[slot]) & all; hits; hits &= hits - 1) {
            reached_->query.push_back(queries[std::countr_zero(hits)]);
            reached_->slot.push_back(slot);
        }
    }

    std::size_t at(std::int32_t slot) const { return static_cast<std::size_t>(slot) * rows_.width; }
    void fetch(std::int32_t slot) const {
        for (std::size_t j = 0; j < rows_.width; j += kLine) __builtin_prefetch(rows_.z + at(slot) + j);
        __builtin_prefetch(rows_.bias + slot);
        __builtin_prefetch(rows_.reach + slot);
    }

    SlotRows rows_;
    QueryRows queries_;
    TopK top_;
    ReachedPairs* reached_;
    std::vector<float> beside_;
    float own_[kStretch], least_[kStretch];
};

// Which queries are within reach of which columns of a block of products.
inline void find_reached(const float* score, std::size_t rows, std::size_t columns, const float* row_bias,
                         const float* reach, ReachedPairs& out) {
    for (std::size_t i = 0; i < rows; ++i, score += columns) {
        const auto found = [&](std::size_t j) {
            out.query.push_back(static_cast<std::int32_t>(i));
            out.slot.push_back(static_cast<std::int32_t>(j));
        };
        std::size_t j = 0;
        for (; j + kStretch <= columns; j += kStretch)
            for (std::uint32_t hits = reaching(score + j, row_bias[i], reach + j); hits; hits &= hits - 1)
                found(j + std::countr_zero(hits));
        for (; j < columns; ++j)
            if (score[j] + row_bias[i] >= reach[j]) found(j);
    }
}

}  // namespace cladify
