// Tests of the structures of the core that Python cannot reach, or not with several threads at once. One program
// without a framework: it prints what failed and returns the number of failures.
#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <new>
#include <numeric>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "agglomerate/hac/matrix.hpp"
#include "agglomerate/hac/prim.hpp"
#include "agglomerate/hac/reach.hpp"
#include "agglomerate/hac/reducible.hpp"
#include "agglomerate/hac/search.hpp"
#include "common/cpu.hpp"
#include "common/gather.hpp"
#include "common/lists.hpp"
#include "common/radix_sort.hpp"
#include "common/team.hpp"
#include "common/union_find.hpp"
#include "common/winner_tree.hpp"
#include "data/topk.hpp"
#include "divide/box.hpp"
#include "refinement/tree.hpp"

namespace {

using namespace cladify;

int failures = 0;

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            ++failures;                                                               \
            std::printf("%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
        }                                                                             \
    } while (false)

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kThreads = 4;

bool never() { return false; }
bool always() { return true; }

// --- threads ---

void every_piece_runs_once() {
    Team team(kThreads);
    for (const std::int64_t count : {0, 1, 2, 3, 1000}) {
        std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
        team.run(count, [&](std::int64_t i, int thread) {
            CHECK(thread >= 0 && thread < kThreads);
            ++seen[static_cast<std::size_t>(i)];
        });
        CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& times) { return times == 1; }));
    }
    std::atomic<std::int64_t> covered{0};
    team.split(1001, 64, [&](std::int64_t first, std::int64_t last) { covered += last - first; });
    CHECK(covered == 1001);
}

void many_short_loops() {
    Team team(kThreads);
    std::vector<std::int64_t> sums(100, 0);
    for (int round = 0; round < 2000; ++round)
        team.run(std::ssize(sums), [&](std::int64_t i) { sums[static_cast<std::size_t>(i)] += i; });
    for (std::int64_t i = 0; i < std::ssize(sums); ++i) CHECK(sums[static_cast<std::size_t>(i)] == 2000 * i);
}

void what_a_piece_throws_comes_out() {
    Team team(kThreads);
    for (std::int64_t bad = 0; bad < 100; bad += 7) {
        bool caught = false;
        try {
            team.run(100, [&](std::int64_t i) {
                if (i == bad) throw std::bad_alloc();
            });
        } catch (const std::bad_alloc&) {
            caught = true;
        }
        CHECK(caught);
        std::atomic<int> count{0};
        team.run(100, [&](std::int64_t) { ++count; });  // and the team is as before
        CHECK(count == 100);
    }
}

// The calling thread has nothing left to do, and a piece on another thread would go on for ever.
void an_interrupt_reaches_all_threads() {
    Interrupt interrupt(&always);
    Team team(2);
    std::atomic<int> started{0};
    bool caught = false;
    try {
        team.run(
            2,
            [&](std::int64_t, int thread) {
                ++started;
                while (started < 2) std::this_thread::yield();
                while (thread != 0) interrupt();
            },
            &interrupt);
    } catch (const Interrupted&) {
        caught = true;
    }
    CHECK(caught);
}

void a_forked_child_has_its_own_threads() {
#if !defined(__SANITIZE_THREAD__) && !defined(_WIN32)  // ThreadSanitizer does not start threads in a forked child
    Team team(kThreads);
    const auto sum = [&] {
        std::atomic<std::int64_t> total{0};
        team.run(100, [&](std::int64_t i) { total += i; });
        return total.load();
    };
    CHECK(sum() == 4950);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(sum() == 4950 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(sum() == 4950);
#endif
}

// --- structures ---

void union_find_is_a_partition() {
    std::mt19937 random(0);
    const int n = 500;
    std::vector<int> label(n);
    std::iota(label.begin(), label.end(), 0);
    UnionFind<> sets(n);
    for (int step = 0; step < 400; ++step) {
        const auto a = static_cast<std::int32_t>(random() % n), b = static_cast<std::int32_t>(random() % n);
        if (sets.find(a) != sets.find(b)) sets.unite_smaller(sets.find(a), sets.find(b));
        const int from = std::max(label[a], label[b]), to = std::min(label[a], label[b]);
        std::replace(label.begin(), label.end(), from, to);
    }
    Team team(kThreads);
    team.run(n, [&](std::int64_t i) { CHECK(sets.find(static_cast<std::int32_t>(i)) == label[i]); });
    sets.flatten(team);
    for (int i = 0; i < n; ++i) CHECK(sets.stored(i) == label[i]);
}

void union_find_adds_up_shifts() {
    UnionFind<true> sets(4);
    sets.unite(3, 2, 5);
    sets.unite(2, 1, -2);
    sets.unite(1, 0, 10);
    for (int again = 0; again < 2; ++again) {
        CHECK(sets.root(sets.find(3)) == 0);
        CHECK(sets.shift(sets.find(3)) == 13);
        CHECK(sets.shift(sets.find(2)) == 8);
    }
}

void lists_keep_their_values() {
    const std::size_t n = 300;
    ListStore<double> lists(n, kThreads);
    const auto fill = [&](std::int64_t i, int thread) {
        std::vector<std::int32_t> keys(1000 + static_cast<std::size_t>(i), static_cast<std::int32_t>(i));
        std::vector<double> values(keys.size(), 0.5 * static_cast<double>(i));
        lists.write(thread, static_cast<std::size_t>(i), keys.data(), values.data(), std::ssize(keys));
    };
    Team team(kThreads);
    for (int round = 0; round < 20; ++round) {
        team.run(static_cast<std::int64_t>(n), fill);
        team.run(static_cast<std::int64_t>(n), [&](std::int64_t i, int thread) {
            const auto c = static_cast<std::size_t>(i);
            if (i % 3 == 0) lists.shrink(c, {7, 8}, {1.0, 2.0});
            lists.tighten(thread, c);
            CHECK(lists.keys(c)[0] == (i % 3 == 0 ? 7 : static_cast<std::int32_t>(i)));
            CHECK(lists.length(c) == (i % 3 == 0 ? 2 : 1000 + i));
        });
        for (std::size_t c = 0; c < n; ++c) lists.release(c);
    }
    CHECK(!lists.has(0));
}

void gather_combines_equal_keys() {
    std::mt19937 random(1);
    Gather<double> gather;
    for (const int n_keys : {10, 100000}) {
        std::vector<double> sums(static_cast<std::size_t>(n_keys), 0.0);
        gather.start(200, n_keys);
        for (int i = 0; i < 200; ++i) {
            const auto key = static_cast<std::int32_t>(random() % static_cast<unsigned>(n_keys));
            sums[static_cast<std::size_t>(key)] += i;
            gather.add(key, static_cast<double>(i), [](double& a, const double& b) { a += b; });
        }
        gather.finish();
        for (std::size_t e = 0; e < gather.keys.size(); ++e) {
            CHECK(gather.values[e] == sums[static_cast<std::size_t>(gather.keys[e])]);
            sums[static_cast<std::size_t>(gather.keys[e])] = 0.0;
        }
        CHECK(std::all_of(sums.begin(), sums.end(), [](double s) { return s == 0.0; }));
    }
}

void radix_sort_sorts() {
    std::mt19937 random(2);
    std::vector<std::uint32_t> keys(1000), spare;
    for (auto& key : keys) key = static_cast<std::uint32_t>(random());
    std::vector<std::uint32_t> expected = keys;
    std::sort(expected.begin(), expected.end());
    radix_sort(keys, spare);
    CHECK(keys == expected);
}

void winner_tree_knows_the_least() {
    std::mt19937 random(3);
    for (const std::size_t n : {1, 2, 7, 64}) {
        std::vector<int> key(n);
        for (int& k : key) k = static_cast<int>(random() % 1000);
        const auto less = [&](std::int32_t a, std::int32_t b) {
            return key[static_cast<std::size_t>(a)] < key[static_cast<std::size_t>(b)];
        };
        WinnerTree tree;
        tree.build(n, less);
        for (int step = 0; step < 100; ++step) {
            const std::size_t player = random() % n;
            key[player] = static_cast<int>(random() % 1000);
            tree.update(player, less);
            CHECK(key[tree.winner()] == *std::min_element(key.begin(), key.end()));
        }
    }
}

// All threads offer to the same few rows.
void top_k_under_contention() {
    constexpr std::size_t kRows = 3, kKept = 8;
    std::vector<Key> keys(kRows * kKept, 0);
    std::vector<std::uint8_t> locks(kRows, 0);
    TopK top{keys.data(), locks.data(), kKept};
    const auto score = [](std::int64_t i) { return static_cast<float>(i * 7919 % 10007); };
    Team(kThreads).run(10000, [&](std::int64_t i) {
        for (std::int32_t row = 0; row < static_cast<std::int32_t>(kRows); ++row)
            top.offer(row, make_key(score(i), static_cast<std::int32_t>(i)));
    });
    std::vector<Key> expected;
    for (std::int64_t i = 0; i < 10000; ++i) expected.push_back(make_key(score(i), static_cast<std::int32_t>(i)));
    std::sort(expected.rbegin(), expected.rend());
    expected.resize(kKept);
    for (std::size_t row = 0; row < kRows; ++row) {
        std::vector<Key> kept(keys.begin() + static_cast<std::ptrdiff_t>(row * kKept),
                              keys.begin() + static_cast<std::ptrdiff_t>((row + 1) * kKept));
        std::sort(kept.rbegin(), kept.rend());
        CHECK(kept == expected);
    }
}

// --- kernels end whatever numbers come in ---

template <typename T>
void matrix_linkage_ends(Linkage linkage, double strange, double weight) {
    const std::size_t n = 40;
    std::mt19937 random(4);
    std::vector<T> distance(n * (n - 1) / 2);
    for (std::size_t e = 0; e < distance.size(); ++e)
        distance[e] = static_cast<T>(e % 5 == 0 ? strange : static_cast<double>(random() % 100));
    const std::vector<double> weights(n, weight);
    Interrupt interrupt(&never);
    HacMatrix<T> hac(distance.data(), n, linkage, weights.data(), 2);
    hac.start(interrupt);
    hac.run(n - 1, interrupt);
    CHECK(hac.alive() == 1);
    CHECK(hac.merges.left.size() == n - 1);
}

void matrix_linkages_end() {
    for (const Linkage linkage : {Linkage::single, Linkage::complete, Linkage::average, Linkage::weighted,
                                  Linkage::ward, Linkage::centroid, Linkage::median})
        for (const double strange : {kNaN, kInf, -kInf, 1e308, 1e30, -1e308})
            for (const double weight : {1.0, 1e308, 1e-310, 0.0, kNaN}) {
                matrix_linkage_ends<float>(linkage, strange, weight);
                matrix_linkage_ends<double>(linkage, strange, weight);
            }
}

void spanning_trees_end() {
    const std::int32_t n = 20;
    Interrupt interrupt(&never);
    for (const double strange : {kNaN, kInf, 1e308, 0.0}) {
        std::vector<std::int32_t> a, b, neighbour;
        std::vector<double> value, distance;
        for (std::int32_t i = 1; i < n; ++i) {
            a.push_back(i - 1);
            b.push_back(i);
            value.push_back(i % 3 == 0 ? strange : 1.0);
        }
        a.push_back(-1);  // an edge that is none
        b.push_back(3);
        value.push_back(0.5);
        CHECK(std::ssize(prim_edges(a, b, value, n, interrupt).target) == n - 1);
        for (std::int32_t i = 0; i < n; ++i)
            for (std::int32_t c = 1; c <= 3; ++c) {
                neighbour.push_back(c == 2 ? -1 : (i + c) % 5);
                distance.push_back(strange);
            }
        ReachForest forest(neighbour.data(), distance.data(), 3, std::vector<double>(n, strange));
        forest.merge(interrupt);
        while (forest.components() > 1) {
            const auto rows = forest.to_search();
            const std::vector<std::int32_t> nothing(rows.size(), -1);
            const std::vector<double> far(rows.size(), kInf);
            forest.set_lists(rows, 1, nothing.data(), far.data());
            forest.merge(interrupt);
        }
        CHECK(std::ssize(forest.edges()) == n - 1);
    }
}

void box_projection_ends() {
    for (const double strange : {kNaN, kInf, -kInf, 1e308, 0.25}) {
        std::vector<double> x(50, 0.1), breaks, open;
        x[7] = strange;
        divide::project_to_box(x, 3.0, breaks, open);
        if (std::abs(strange) <= 1) CHECK(std::abs(std::accumulate(x.begin(), x.end(), 0.0) - 3.0) < 1e-9);
    }
}

#if defined(__x86_64__)
// Height, the smallest leaves of both parts, and the size.
using Merge = std::tuple<double, std::int32_t, std::int32_t, int>;

// All merges of some points, which may come in another order where they are far from each other; every search by int8
// products, of blocks in several threads, or by passes over the means.
std::vector<Merge> merges_of(std::vector<double> mean, std::size_t n, Linkage linkage,
                             const std::vector<double>& weight, bool screened) {
    const std::size_t d = mean.size() / n;
    std::vector<float> mean32(mean.size());
    const std::vector<double> spread(n, 0.0);
    std::vector<std::int32_t> id(n);
    std::iota(id.begin(), id.end(), 0);
    HacReducible clusters(mean.data(), mean32.data(), n, d, linkage, 8, weight.data(), spread.data(), id.data(),
                          id.data(), static_cast<std::int32_t>(n));
    HacSearch search(clusters);
    Team team(kThreads);
    Interrupt interrupt(never);
    const auto by_screen = [&](const std::vector<std::int32_t>& rows, const std::vector<std::int32_t>& columns) {
        const bool both = rows == columns;
        search.begin(rows, columns);
        search.copy();
        search.quantise(0, columns.size());
        search.reach(0, rows.size());
        const std::size_t blocks = (columns.size() + kPanel - 1) / kPanel;
        const auto block = [&](std::int64_t place) {
            std::size_t i = static_cast<std::size_t>(place) / blocks * kPanel;
            const std::size_t j = static_cast<std::size_t>(place) % blocks * kPanel;
            if (both && j < i) return;
            std::size_t some = std::min(kPanel, rows.size() - i);
            const std::size_t others = std::min(kPanel, columns.size() - j);
            const std::size_t done = search.screen(i, some, j, others, both);
            i += done;
            some -= done;
            if (some == 0) return;
            std::vector<float> product(some * others);
            for (std::size_t r = 0; r < some; ++r)
                for (std::size_t c = 0; c < others; ++c)
                    product[r * others + c] = dot(clusters.mean32(rows[i + r]), clusters.mean32(columns[j + c]),
                                                  static_cast<std::int64_t>(d));
            if (both)
                search.scan_both(product.data(), i, some, j, others);
            else
                search.scan(product.data(), i, some, j, others);
        };
        team.run(static_cast<std::int64_t>((rows.size() + kPanel - 1) / kPanel * blocks), block);
    };
    clusters.start();
    if (screened) {
        by_screen(id, id);
        search.settle_all();
    } else {
        search.few(id, team, interrupt);
    }
    while (clusters.alive() > 1) {
        const std::vector<std::int32_t> rows = clusters.run(1, kInf, n, interrupt);
        if (rows.empty()) continue;
        if (screened) by_screen(rows, clusters.near_order());
        if (!screened || !search.settle().empty()) search.few(rows, team, interrupt);
    }
    std::vector<Merge> merges;
    std::vector<std::int32_t> leaf = id;
    std::vector<int> size(n, 1);
    for (std::size_t m = 0; m + 1 < n; ++m) {
        const std::int32_t a = clusters.left[m], b = clusters.right[m];
        leaf.push_back(std::min(leaf[a], leaf[b]));
        size.push_back(size[a] + size[b]);
        merges.emplace_back(clusters.height[m], leaf[a], leaf[b], size.back());
    }
    std::sort(merges.begin(), merges.end());
    return merges;
}

void screened_merges_are_those_of_all_pairs() {
    if (!supports_vnni()) return;
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    for (const Linkage linkage : {Linkage::average, Linkage::ward})
        for (const std::size_t d : {1, 7, 40})
            for (const bool ties : {false, true}) {
                const std::size_t n = 400;
                std::vector<double> mean(n * d), weight(n, 1.0);
                for (double& x : mean) x = ties ? std::round(normal(random)) : normal(random);
                for (std::size_t i = 0; i < n; i += 3) weight[i] = 1.0 + static_cast<double>(i % 5);
                CHECK(merges_of(mean, n, linkage, weight, true) == merges_of(mean, n, linkage, weight, false));
            }
}
#endif

}  // namespace

// --- trees ---

void meets_are_the_lowest_nodes_of_both() {
    std::mt19937 random(3);
    for (const refine::Node n : {1, 2, 3, 17, 64}) {
        // Two nodes that hang nowhere are joined until one is left: at random, or always the last one.
        for (const bool is_path : {false, true}) {
            std::vector<refine::Node> loose(static_cast<std::size_t>(n)), left, right;
            std::iota(loose.begin(), loose.end(), 0);
            while (loose.size() > 1) {
                for (auto* children : {&left, &right}) {
                    const std::size_t at = is_path ? loose.size() - 1 : random() % loose.size();
                    children->push_back(loose[at]);
                    loose.erase(loose.begin() + static_cast<std::ptrdiff_t>(at));
                }
                loose.push_back(n + static_cast<refine::Node>(left.size()) - 1);
            }
            const std::vector<double> size(static_cast<std::size_t>(n), 1.0);
            const refine::BinaryTree tree(n, left.data(), right.data(), size.data());
            const refine::Meets meets(tree);
            for (refine::Node a = 0; a < n; ++a) {
                CHECK(meets.leaf(meets.rank(a)) == a);
                std::vector<char> above(static_cast<std::size_t>(tree.nodes()), 0);
                for (refine::Node v = a; v != refine::kNone; v = tree.parent[v]) above[v] = 1;
                for (refine::Node b = 0; b < n; ++b) {
                    if (meets.rank(a) >= meets.rank(b)) continue;
                    refine::Node v = b;
                    while (!above[v]) v = tree.parent[v];
                    CHECK(meets.at(meets.rank(a), meets.rank(b)) == v);
                }
            }
        }
    }
}

int main() {
    every_piece_runs_once();
    many_short_loops();
    what_a_piece_throws_comes_out();
    an_interrupt_reaches_all_threads();
    a_forked_child_has_its_own_threads();
    union_find_is_a_partition();
    union_find_adds_up_shifts();
    lists_keep_their_values();
    gather_combines_equal_keys();
    radix_sort_sorts();
    winner_tree_knows_the_least();
    top_k_under_contention();
    matrix_linkages_end();
    spanning_trees_end();
#if defined(__x86_64__)
    screened_merges_are_those_of_all_pairs();
#endif
    box_projection_ends();
    meets_are_the_lowest_nodes_of_both();
    std::printf(failures == 0 ? "all passed\n" : "%d failed\n", failures);
    return failures;
}
