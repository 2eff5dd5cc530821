// Similarities between the clusters of a cover, and their change when clusters are united.
//
// Rows are sorted by cluster, and the two directions of a link have the same value to the last bit: only the upper half
// is computed, and mirrored. So the order of all links is one, whoever looks at it, and nearest neighbours form a
// forest.
#pragma once
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "common/gather.hpp"
#include "common/interrupt.hpp"
#include "common/team.hpp"
#include "tree/cover.hpp"

namespace cladify {

// Asks for large pages: rows are read and written all over some gigabytes.
inline void in_large_pages([[maybe_unused]] void* from, [[maybe_unused]] std::size_t bytes) {
#ifdef __linux__
    constexpr std::size_t kPage = std::size_t{1} << 21, kLeast = std::size_t{1} << 25;
    if (bytes < kLeast) return;
    const auto first = (reinterpret_cast<std::uintptr_t>(from) + kPage - 1) / kPage * kPage;
    const auto last = (reinterpret_cast<std::uintptr_t>(from) + bytes) / kPage * kPage;
    madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // no harm where it cannot be had
#endif
}

// Elements that nobody asked a value for get none: a vector of some gigabytes is touched first by the threads that fill
// it, not by the one that made it.
template <typename T>
struct Unset : std::allocator<T> {
    template <typename U>
    struct rebind {
        using other = Unset<U>;
    };
    T* allocate(std::size_t n) {
        T* const memory = std::allocator<T>::allocate(n);
        in_large_pages(memory, n * sizeof(T));
        return memory;
    }
    template <typename U>
    void construct(U* at) {
        ::new (static_cast<void*>(at)) U;
    }
    template <typename U, typename... Args>
    void construct(U* at, Args&&... args) {
        ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
    }
};

// A similarity in [0, 1] in 32 bits, with as many digits next to 1 as next to 0: above a half, what is missing to 1 is
// kept, with a minus. So near points stay distinct beside an outlier, and links take 8 bytes instead of 12.
class Similarity {
public:
    Similarity() = default;
    explicit Similarity(double value)
        : kept_(value <= 0.5 ? std::max(static_cast<float>(value), std::numeric_limits<float>::min())
                             : -std::max(static_cast<float>(1.0 - value), 0.0f)) {}
    double value() const { return std::signbit(kept_) ? 1.0 + static_cast<double>(kept_) : kept_; }

private:
    float kept_;
};

struct Links {
    std::vector<std::int64_t> start;
    std::vector<std::int32_t, Unset<std::int32_t>> end;
    std::vector<Similarity, Unset<Similarity>> value;

    std::size_t first(std::size_t row) const { return static_cast<std::size_t>(start[row]); }
    std::size_t last(std::size_t row) const { return static_cast<std::size_t>(start[row + 1]); }
};

// The parts of new clusters: one or two clusters of the cover before, with their shares in the new one.
struct Unions {
    struct Parts {
        std::int32_t first, second;  // second = -1: only one
        std::int32_t least;          // no part of this new cluster or of a later one is below
        double share;                // of the first
    };
    struct Into {
        std::int32_t cluster;
        double share;  // of the old cluster in this one
    };
    std::vector<Parts> parts;
    std::vector<std::int64_t, Unset<std::int64_t>> start;  // of each old cluster's new ones
    std::vector<Into, Unset<Into>> into;

    std::size_t count() const { return parts.size(); }

    void index(std::size_t n_old) {
        start.assign(n_old + 1, 0);
        const auto each = [&](auto visit) {
            for (std::size_t p = 0; p < parts.size(); ++p) {
                visit(static_cast<std::size_t>(parts[p].first), p, parts[p].share);
                if (parts[p].second >= 0) visit(static_cast<std::size_t>(parts[p].second), p, 1.0 - parts[p].share);
            }
        };
        each([&](std::size_t old, std::size_t, double) { ++start[old + 1]; });
        for (std::size_t c = 0; c < n_old; ++c) start[c + 1] += start[c];
        into.resize(static_cast<std::size_t>(start[n_old]));
        std::vector<std::int64_t> next(start.begin(), start.end() - 1);
        each([&](std::size_t old, std::size_t p, double share) {
            into[static_cast<std::size_t>(next[old]++)] = {static_cast<std::int32_t>(p), share};
        });
    }
};

namespace link_rows {

constexpr std::int64_t kBlock = 256;

// The upper halves of the rows of one block, each sorted by end.
struct Block {
    std::vector<std::int32_t> length, end;
    std::vector<Similarity> value;

    // `row` is working memory: numbers are sorted faster than pairs.
    void append(const Gather<double>& gather, const auto& value_of, std::vector<std::uint64_t>& row) {
        row.clear();
        for (std::size_t i = 0; i < gather.keys.size(); ++i) {
            const auto bits = std::bit_cast<std::uint32_t>(Similarity(value_of(gather.keys[i], gather.values[i])));
            row.push_back(static_cast<std::uint64_t>(gather.keys[i]) << 32 | bits);
        }
        std::sort(row.begin(), row.end());
        for (const std::uint64_t entry : row) {
            end.push_back(static_cast<std::int32_t>(entry >> 32));
            value.push_back(std::bit_cast<Similarity>(static_cast<std::uint32_t>(entry)));
        }
        length.push_back(static_cast<std::int32_t>(row.size()));
    }
};

// All rows from their upper halves.
inline Links mirrored(const std::vector<Block>& blocks, std::size_t n, int threads, Interrupt& interrupt) {
    Links links;
    links.start.assign(n + 1, 0);
    const auto each = [&](std::int64_t first_block, std::int64_t last_block, auto visit) {
        for (auto b = first_block; b < last_block; ++b) {
            const Block& block = blocks[static_cast<std::size_t>(b)];
            auto row = static_cast<std::size_t>(b * kBlock);
            std::size_t from = 0;
            for (const std::int32_t length : block.length) {
                visit(row++, block.end.data() + from, block.value.data() + from, static_cast<std::size_t>(length));
                from += static_cast<std::size_t>(length);
            }
        }
    };
    const auto n_blocks = static_cast<std::int64_t>(blocks.size());
    each(0, n_blocks, [&](std::size_t row, const std::int32_t* end, const Similarity*, std::size_t length) {
        links.start[row + 1] += static_cast<std::int64_t>(length);
        for (std::size_t i = 0; i < length; ++i) ++links.start[static_cast<std::size_t>(end[i]) + 1];
    });
    for (std::size_t row = 0; row < n; ++row) links.start[row + 1] += links.start[row];
    interrupt();
    links.end.resize(static_cast<std::size_t>(links.start[n]));
    links.value.resize(links.end.size());
    std::vector<std::int64_t> next(links.start.begin(), links.start.end() - 1);
    // Each thread writes the rows of one range: the lower halves in order of their ends, then the upper ones.
    const std::int64_t ranges = std::min<std::int64_t>(std::min(threads, 8), n_blocks);
    parallel_items(ranges, threads, interrupt, [&](std::int64_t range) {
        const auto low = static_cast<std::int32_t>(kBlock * (n_blocks * range / ranges));
        const auto high = static_cast<std::int32_t>(kBlock * (n_blocks * (range + 1) / ranges));
        const auto put = [&](std::int64_t at, std::int32_t end, Similarity value) {
            links.end[static_cast<std::size_t>(at)] = end;
            links.value[static_cast<std::size_t>(at)] = value;
        };
        each(0, n_blocks * (range + 1) / ranges,
             [&](std::size_t row, const std::int32_t* end, const Similarity* value, std::size_t length) {
                 for (std::size_t i = 0; i < length; ++i)
                     if (end[i] >= low && end[i] < high)
                         put(next[static_cast<std::size_t>(end[i])]++, static_cast<std::int32_t>(row), value[i]);
             });
        each(n_blocks * range / ranges, n_blocks * (range + 1) / ranges,
             [&](std::size_t row, const std::int32_t* end, const Similarity* value, std::size_t length) {
                 for (std::size_t i = 0; i < length; ++i) put(next[row]++, end[i], value[i]);
             });
    });
    return links;
}

// Rows computed block by block: row(p, gather) adds what falls on clusters above p. `used` is freed once all are read.
// Nothing where there are more than `most` links.
template <typename Row, typename ValueOf>
std::optional<Links> all_rows(std::size_t n, std::int64_t most, Links* used, int threads, Interrupt& interrupt, Row row,
                              ValueOf value_of) {
    std::vector<Block> blocks((n + kBlock - 1) / kBlock);
    std::atomic<std::int64_t> count = 0;
    Lent<Gather<double>> gathers;
    parallel_items(static_cast<std::int64_t>(blocks.size()), threads, interrupt, [&](std::int64_t b) {
        gathers.with([&](Gather<double>& gather) {
            Block& block = blocks[static_cast<std::size_t>(b)];
            std::vector<std::uint64_t> sorted;
            const std::size_t last = std::min(n, static_cast<std::size_t>((b + 1) * kBlock));
            for (auto p = static_cast<std::size_t>(b * kBlock); p < last && count.load() <= most; ++p) {
                row(p, gather);
                gather.finish();
                block.append(gather, [&](std::int32_t q, double v) { return value_of(p, q, v); }, sorted);
                count += block.length.back();
            }
            block.end.shrink_to_fit();
            block.value.shrink_to_fit();
        });
    });
    if (count.load() > most) return std::nullopt;
    if (used != nullptr) *used = {};
    return mirrored(blocks, n, threads, interrupt);
}

}  // namespace link_rows

// The links of new clusters by the update rule: of single linkage (the largest link of their parts, where a shared part
// links its holders by what is inside it), or of average linkage (the mean of the parts' links by their shares, where a
// shared part adds nothing). `inner` is that of the old clusters, whose links are used up.
inline std::optional<Links> united(Links& old, const Unions& unions, const std::vector<double>& inner, bool single,
                                   std::int64_t most, int threads, Interrupt& interrupt) {
    const auto n = static_cast<std::int64_t>(unions.count());
    struct Entry {
        std::int32_t end;
        double value;
    };
    // The old clusters that a new one is linked to, from `least` on: both parts have many in common, and these are put
    // together before the new clusters are looked up.
    const auto brought = [&](const Unions::Parts& parts, std::vector<Entry>& all) {
        all.clear();
        const std::int32_t* end = old.end.data();
        const auto row = [&](std::int32_t c) {
            const auto part = static_cast<std::size_t>(std::max(c, 0));
            const std::int32_t* last = end + old.last(part);
            return std::pair(c < 0 ? last : std::lower_bound(end + old.first(part), last, parts.least), last);
        };
        auto [a, a_last] = row(parts.first);
        auto [b, b_last] = row(parts.second);
        const double a_share = single ? 1.0 : parts.share, b_share = single ? 1.0 : 1.0 - parts.share;
        const auto value = [&](const std::int32_t* at, double share) {
            return share * old.value[static_cast<std::size_t>(at - end)].value();
        };
        while (a != a_last && b != b_last) {
            if (*a < *b) {
                all.push_back({*a, value(a, a_share)});
                ++a;
            } else if (*b < *a) {
                all.push_back({*b, value(b, b_share)});
                ++b;
            } else {
                const double x = value(a, a_share), y = value(b, b_share);
                all.push_back({*a, single ? std::max(x, y) : x + y});
                ++a, ++b;
            }
        }
        for (; a != a_last; ++a) all.push_back({*a, value(a, a_share)});
        for (; b != b_last; ++b) all.push_back({*b, value(b, b_share)});
        if (!single) return;
        for (const std::int32_t c : {parts.first, parts.second}) {  // a shared part links by what is inside it
            if (c < 0 || inner[static_cast<std::size_t>(c)] <= 0.0) continue;
            const double inside = inner[static_cast<std::size_t>(c)];
            const auto at =
                std::lower_bound(all.begin(), all.end(), c, [](const Entry& e, std::int32_t x) { return e.end < x; });
            if (at == all.end() || at->end != c)
                all.insert(at, {c, inside});
            else
                at->value = std::max(at->value, inside);
        }
    };
    Lent<std::vector<Entry>> lent;
    const auto row = [&](std::size_t p, Gather<double>& gather) {
        lent.with([&](std::vector<Entry>& all) {
            brought(unions.parts[p], all);
            // Neighbours are anywhere in memory: their places are asked for well before they are read.
            constexpr std::size_t kAhead = 16;
            std::int64_t upper = 0;
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (i + kAhead < all.size())
                    __builtin_prefetch(unions.start.data() + static_cast<std::size_t>(all[i + kAhead].end));
                const std::int64_t* start = unions.start.data() + static_cast<std::size_t>(all[i].end);
                __builtin_prefetch(unions.into.data() + start[0]);
                upper += start[1] - start[0];
            }
            gather.start(upper, n);
            for (const Entry& e : all)
                for (auto i = static_cast<std::size_t>(unions.start[static_cast<std::size_t>(e.end)]);
                     i < static_cast<std::size_t>(unions.start[static_cast<std::size_t>(e.end) + 1]); ++i) {
                    const auto [q, share] = unions.into[i];
                    if (q <= static_cast<std::int32_t>(p)) continue;
                    if (single)
                        gather.add(q, e.value, [](double& a, double b) { a = std::max(a, b); });
                    else
                        gather.add(q, e.value * share, [](double& a, double b) { a += b; });
                }
        });
    };
    return link_rows::all_rows(unions.count(), most, &old, threads, interrupt, row,
                               [](std::size_t, std::int32_t, double value) { return value; });
}

// The links of clusters from those of their points: the sum over all pairs, divided by their number.
inline std::optional<Links> recomputed(const Links& points, const Cover& cover, std::int64_t most, int threads,
                                       Interrupt& interrupt) {
    const std::size_t n_points = points.start.size() - 1;
    std::vector<std::int64_t> start(n_points + 1, 0);
    for (const std::int32_t i : cover.member) ++start[static_cast<std::size_t>(i) + 1];
    for (std::size_t i = 0; i < n_points; ++i) start[i + 1] += start[i];
    std::vector<std::int32_t> holder(cover.member.size());
    std::vector<std::int64_t> next(start.begin(), start.end() - 1);
    for (std::size_t c = 0; c < cover.count(); ++c)
        for (auto at = cover.start[c]; at < cover.start[c + 1]; ++at)
            holder[static_cast<std::size_t>(
                next[static_cast<std::size_t>(cover.member[static_cast<std::size_t>(at)])]++)] =
                static_cast<std::int32_t>(c);
    Lent<Gather<double>> reaches;
    const auto row = [&](std::size_t p, Gather<double>& gather) {
        reaches.with([&](Gather<double>& reach) {
            std::int64_t upper = 0;
            const auto members = [&](auto visit) {
                for (auto at = cover.start[p]; at < cover.start[p + 1]; ++at)
                    visit(static_cast<std::size_t>(cover.member[static_cast<std::size_t>(at)]));
            };
            members([&](std::size_t i) { upper += points.start[i + 1] - points.start[i]; });
            reach.start(upper, static_cast<std::int64_t>(n_points));
            members([&](std::size_t i) {
                for (auto e = points.first(i); e < points.last(i); ++e)
                    reach.add(points.end[e], points.value[e].value(), [](double& a, double b) { a += b; });
            });
            reach.finish();
            upper = 0;
            for (const std::int32_t i : reach.keys)
                upper += start[static_cast<std::size_t>(i) + 1] - start[static_cast<std::size_t>(i)];
            gather.start(upper, static_cast<std::int64_t>(cover.count()));
            for (std::size_t k = 0; k < reach.keys.size(); ++k) {
                const auto i = static_cast<std::size_t>(reach.keys[k]);
                for (auto at = static_cast<std::size_t>(start[i]); at < static_cast<std::size_t>(start[i + 1]); ++at)
                    if (holder[at] > static_cast<std::int32_t>(p))
                        gather.add(holder[at], reach.values[k], [](double& a, double b) { a += b; });
            }
        });
    };
    return link_rows::all_rows(
        cover.count(), most, nullptr, threads, interrupt, row, [&](std::size_t p, std::int32_t q, double sum) {
            return sum /
                   (static_cast<double>(cover.size(p)) * static_cast<double>(cover.size(static_cast<std::size_t>(q))));
        });
}

}  // namespace cladify
