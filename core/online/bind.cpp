// Bindings of the online methods. Leaves are the caller's business: it makes them, in the order in which they come.
#include "common/bind.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "online/buffer.hpp"
#include "online/insert.hpp"
#include "online/levels.hpp"
#include "online/live_tree.hpp"
#include "online/nearby.hpp"
#include "online/perch.hpp"
#include "online/recluster.hpp"

namespace cladify {
namespace {
using live::Node;
using live::Tree;
using online::Steps;

// Leaves that are there; -1 only where it may stand for none.
template <typename Nodes>
void require_leaves(const Tree& tree, const Nodes& nodes, bool or_none = false) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const Node v = nodes.data()[i];
        require((or_none && v == live::kNone) || (tree.is_alive(v) && tree.is_leaf(v)), "that is no leaf of the tree");
    }
}

Steps steps(bool rotate, bool graft, bool restructure, std::int64_t cap, bool single_elimination, bool search_each) {
    return {rotate, graft, restructure, cap, single_elimination, search_each};
}

template <typename Linkage>
std::tuple<std::int64_t, std::int64_t, std::int64_t> insert(Tree& tree, Linkage linkage, const Steps& how,
                                                            In1<Node> leaf, In2<Node> near) {
    online::Inserter<Linkage> inserter(tree, std::move(linkage), how);
    const std::size_t k = near.shape(1);
    for (std::size_t i = 0; i < leaf.size(); ++i) {
        const Node* row = near.data() + i * k;
        inserter.insert(leaf.data()[i], {row, static_cast<std::size_t>(std::find(row, row + k, live::kNone) - row)});
    }
    return {inserter.counts.rotations, inserter.counts.grafts, inserter.counts.swaps};
}

// Signals are left for Python to see after the batch: a batch that stops halfway would leave leaves that hang nowhere.
auto insert_average(Tree& tree, double scale, bool rotate, bool graft, bool restructure, std::int64_t cap, bool single,
                    bool each, In1<Node> leaf, In2<Node> near) {
    nb::gil_scoped_release release;
    return insert(tree, online::AverageLinkage{scale}, steps(rotate, graft, restructure, cap, single, each), leaf,
                  near);
}
auto insert_centroid(Tree& tree, bool rotate, bool graft, bool restructure, std::int64_t cap, bool single, bool each,
                     In1<Node> leaf, In2<Node> near) {
    nb::gil_scoped_release release;
    return insert(tree, online::CentroidCosine{}, steps(rotate, graft, restructure, cap, single, each), leaf, near);
}

std::vector<Node> leaves_below(const Tree& tree, Node v) {
    std::vector<Node> out;
    for (Node u = tree.first_below(v);; u = tree.next_up(u)) {
        if (tree.is_leaf(u)) out.push_back(u);
        if (u == v) return out;
    }
}
online::GivenLinkage given(const nb::callable& function) {
    return {[&function](const Tree& tree, Node a, Node b) {
        return nb::cast<double>(function(to_numpy(leaves_below(tree, a)), to_numpy(leaves_below(tree, b))));
    }};
}
auto insert_given(Tree& tree, nb::callable function, bool rotate, bool graft, bool restructure, std::int64_t cap,
                  bool single, bool each, In1<Node> leaf, In2<Node> near) {
    return insert(tree, given(function), steps(rotate, graft, restructure, cap, single, each), leaf, near);
}

// Every leaf goes beside the most similar of its row of `near`.
using Percher = online::Percher<online::AverageLinkage>;
auto insert_perch(Percher& percher, In1<Node> leaf, In2<Node> near) {
    nb::gil_scoped_release release;
    percher.maskings = percher.balancings = percher.collapses = 0;
    const std::size_t k = near.shape(1);
    for (std::size_t i = 0; i < leaf.size(); ++i) {
        const Node *row = near.data() + i * k, x = leaf.data()[i];
        const auto count = static_cast<std::size_t>(std::find(row, row + k, live::kNone) - row);
        percher.insert(x, percher.nearest(x, {row, count}));
    }
    return std::make_tuple(percher.maskings, percher.balancings, percher.collapses);
}

// Every leaf goes beside the first of its row of `near`, and all above it is put together again.
void insert_recluster(Tree& tree, double scale, In1<Node> leaf, In2<Node> near) {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < leaf.size(); ++i) {
        const Node x = leaf.data()[i], at = near.data()[i * near.shape(1)];
        if (x != tree.root) online::recluster(tree, online::AverageLinkage{scale}, x, at);
    }
}

template <typename F>
Array1<double> of_nodes(In1<Node> nodes, F&& f) {
    std::vector<double> out(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) out[i] = f(nodes.data()[i]);
    return to_numpy(std::move(out));
}

// A leaf for each row; they hang nowhere until they are inserted.
Array1<Node> make_leaves(Tree& tree, In2<double> rows, In1<double> weight) {
    if (rows.shape(1) != tree.width()) throw nb::value_error("the rows have another length than the sums");
    std::vector<Node> out(rows.shape(0));
    for (std::size_t i = 0; i < out.size(); ++i)
        out[i] = tree.make_leaf(weight.data()[i], rows.data() + i * tree.width());
    return to_numpy(std::move(out));
}
void remove_leaves(Tree& tree, In1<Node> leaf) {
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < leaf.size(); ++i) tree.remove(leaf.data()[i]);
}

// Runs f(leaf, near, weight) for every row of neighbours, which ends where -1 stands.
template <typename F>
void each_row(In1<Node> leaf, In2<Node> near, In2<float> weight, F&& f) {
    const std::size_t k = near.shape(1);
    for (std::size_t i = 0; i < leaf.size(); ++i) {
        const Node* row = near.data() + i * k;
        const auto count = static_cast<std::size_t>(std::find(row, row + k, live::kNone) - row);
        f(leaf.data()[i], std::span(row, count), std::span(weight.data() + i * k, count));
    }
}

// Leaves and weights of all nearest neighbours of these leaves, one row each.
template <typename Lists>
auto directed(const Lists& lists, In1<Node> leaf) {
    std::vector<Node> from, to;
    std::vector<float> weight;
    for (std::size_t i = 0; i < leaf.size(); ++i)
        for (const auto& e : lists[leaf.data()[i]])
            if (e.mine) {
                from.push_back(leaf.data()[i]);
                to.push_back(e.to);
                weight.push_back(e.weight);
            }
    return nb::make_tuple(to_numpy(std::move(from)), to_numpy(std::move(to)), to_numpy(std::move(weight)));
}

// Removes leaves; returns which had one of them among their nearest, and how many have so few left that they need new
// ones.
template <typename Graph>
auto remove_from(Graph& g, In1<Node> leaf) {
    std::vector<Node> others;
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < leaf.size(); ++i) {
            for (const auto& edge : g.lists()[leaf.data()[i]])
                if (edge.theirs) others.push_back(edge.to);
            g.remove(leaf.data()[i]);
        }
        std::sort(others.begin(), others.end());
        others.erase(std::unique(others.begin(), others.end()), others.end());
    }
    return nb::make_tuple(to_numpy(std::move(others)), g.lists().waiting());
}

// For each of these leaves, others near it that its list has not, and their scores; `slot` says where a leaf's row is.
template <typename Graph>
void nearby(const Graph& g, In1<Node> leaf, In1<std::int32_t> slot, In2<float> rows, In1<float> bias, Out2<Node> near,
            Out2<float> score) {
    nb::gil_scoped_release release;
    online::Nearby search(g.lists(), {rows.data(), rows.shape(1), bias.data(), nullptr}, slot.data());
    const std::size_t k = near.shape(1);
    for (std::size_t i = 0; i < leaf.size(); ++i)
        search.find(leaf.data()[i], near.data() + i * k, score.data() + i * k);
}

template <typename Graph>
void set_whole(Graph& g, In1<Node> leaf) {
    for (std::size_t i = 0; i < leaf.size(); ++i) g.grown_lists().set_whole(leaf.data()[i]);
}

// One of the methods that take a leaf and its nearest leaves, for many leaves.
template <class G, auto method>
void of_lists(G& g, In1<Node> leaf, In2<Node> near, In2<float> weight) {
    nb::gil_scoped_release release;
    each_row(leaf, near, weight, [&](Node v, auto n, auto w) { (g.*method)(v, n, w); });
}

// Row i of `near` are the nearest of leaf i; `back` has, one leaf after another, those that may have it among theirs.
template <class G>
void insert_into(G& g, In1<Node> leaf, In2<Node> near, In2<float> weight, In1<std::int64_t> start, In1<Node> back,
                 In1<float> back_weight) {
    nb::gil_scoped_release release;
    std::size_t i = 0;
    each_row(leaf, near, weight, [&](Node v, auto n, auto w) {
        const auto first = static_cast<std::size_t>(start.data()[i]),
                   last = static_cast<std::size_t>(start.data()[i + 1]);
        g.insert(v, n, w, {back.data() + first, last - first}, {back_weight.data() + first, last - first});
        ++i;
    });
}

// The weight above which a leaf is among the nearest of each of these.
template <class G>
Array1<float> reaches(const G& g, In1<Node> leaf) {
    std::vector<float> out(leaf.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = g.lists().reach(leaf.data()[i]);
    return to_numpy(std::move(out));
}

// All lists of neighbours of a tree as arrays.
template <class G>
auto keep_lists(const G& g, const Tree& tree) {
    auto kept = g.lists().keep(tree.capacity());
    return nb::make_tuple(to_numpy(std::move(kept.from)), to_numpy(std::move(kept.to)),
                          to_numpy(std::move(kept.weight)), to_numpy(std::move(kept.mine)),
                          to_numpy(std::move(kept.theirs)), to_numpy(std::move(kept.lost)));
}
// What was done to the lists since the last call; None where that is not known.
template <class G>
nb::object list_steps(G& g) {
    auto steps = g.grown_lists().take_steps();
    if (!steps) return nb::none();
    return nb::make_tuple(to_numpy(std::move(steps->leaf)), to_numpy(std::move(steps->to)),
                          to_numpy(std::move(steps->weight)), to_numpy(std::move(steps->what)));
}
// All lists as they stand in memory: where each begins, the edges, and which lists are not whole.
template <class G>
auto raw_lists(G& g, const Tree& tree) {
    const auto& lists = g.grown_lists();
    std::vector<std::int64_t> start{0};
    std::vector<std::uint8_t> edges;
    std::vector<std::int8_t> lost;
    for (Node v = 0; v < tree.capacity(); ++v) {
        start.push_back(start.back() + std::ssize(lists[v]));
        lost.push_back(lists.lost(v));
    }
    edges.resize(static_cast<std::size_t>(start.back()) * sizeof(online::Edge));
    for (Node v = 0; v < tree.capacity(); ++v)
        if (!lists[v].empty())
            std::memcpy(edges.data() + start[v] * sizeof(online::Edge), lists[v].data(),
                        lists[v].size() * sizeof(online::Edge));
    return nb::make_tuple(to_numpy(std::move(start)), to_numpy(std::move(edges)), to_numpy(std::move(lost)));
}
// Empty lists become stretches of these edges, and then take steps: tuples of columns, the oldest first.
template <class G>
void restore_lists(G& g, const Tree& tree, In1<std::int64_t> start, In1<std::uint8_t> edges, In1<std::int8_t> lost,
                   nb::list changes, int threads) {
    auto& lists = g.grown_lists();
    std::vector<std::tuple<In1<Node>, In1<Node>, In1<float>, In1<std::uint8_t>>> later;
    for (const auto& change : changes) {
        const auto t = nb::cast<nb::tuple>(change);
        later.emplace_back(nb::cast<In1<Node>>(t[0]), nb::cast<In1<Node>>(t[1]), nb::cast<In1<float>>(t[2]),
                           nb::cast<In1<std::uint8_t>>(t[3]));
    }
    nb::gil_scoped_release release;
    const std::int64_t nodes = tree.capacity();
    const char* const unfit = "the columns of the lists of neighbours do not fit each other";
    const std::size_t count = edges.size() / sizeof(online::Edge);
    require(count * sizeof(online::Edge) == edges.size() &&
                reinterpret_cast<std::uintptr_t>(edges.data()) % alignof(online::Edge) == 0 &&
                lost.size() + 1 == start.size() && std::ssize(view(lost)) <= nodes,
            unfit);
    require_starts(view(start), count, unfit);
    lists.hold(view(start), {reinterpret_cast<const online::Edge*>(edges.data()), count});
    std::vector<std::int8_t> has_lost(nodes, 0);
    std::copy_n(lost.data(), lost.size(), has_lost.begin());
    for (const auto& [leaf, to, weight, what] : later) {
        require(to.size() == leaf.size() && weight.size() == leaf.size() && what.size() == leaf.size(), unfit);
        require_within(view(leaf), 0, nodes, "a list of neighbours belongs to no leaf");
        for (std::size_t i = 0; i < leaf.size(); ++i)
            lists.take(leaf.data()[i], to.data()[i], weight.data()[i], what.data()[i], has_lost);
    }
    Team team(threads);
    std::random_device device;
    lists.check_restored(tree, (std::uint64_t{device()} << 32) | device(), team);
    for (Node v = 0; v < nodes; ++v) lists.restore(v, tree.is_leaf(v) && has_lost[v] != 0);
}

void bind_live_tree(nb::module_& m) {
    using G = online::LiveTree;
    nb::class_<G>(m, "OnlineLiveTree")
        .def(nb::init<Tree&, int, int, int, Node>(), nb::keep_alive<1, 2>(), nb::arg("tree"), nb::arg("neighbors"),
             nb::arg("rank"), nb::arg("tries"), nb::arg("largest"))
        .def("load", &of_lists<G, &G::load>)
        .def("insert", &insert_into<G>)
        .def("reach", &reaches<G>)
        .def("lists", &keep_lists<G>)
        .def("raw_lists", &raw_lists<G>)
        .def("list_steps", &list_steps<G>)
        .def("restore_lists", &restore_lists<G>, nb::keep_alive<1, 4>(), nb::arg("tree"), nb::arg("start"),
             nb::arg("edges"), nb::arg("lost"), nb::arg("changes"), nb::arg("threads"))
        .def("mend", &of_lists<G, &G::mend>)
        .def("remove", &remove_from<G>)
        .def("nearby", &nearby<G>)
        .def("short", [](G& g) { return to_numpy(g.grown_lists().short_ones()); })
        .def("set_whole", &set_whole<G>)
        .def("settle",
             [](G& g, double seconds) {
                 nb::gil_scoped_release release;
                 Interrupt interrupt = python_interrupt();
                 const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
                 g.settle([&] {
                     interrupt();
                     return std::chrono::steady_clock::now() >= end;
                 });
             })
        .def("refresh", nb::overload_cast<double>(&G::refresh), nb::call_guard<nb::gil_scoped_release>())
        .def("rescale", &G::rescale_all, nb::call_guard<nb::gil_scoped_release>())
        .def("has_lost",
             [](const G& g, In1<Node> leaf) {
                 std::vector<std::uint8_t> out(leaf.size());
                 for (std::size_t i = 0; i < out.size(); ++i) out[i] = g.lists().lost(leaf.data()[i]);
                 return to_numpy(std::move(out));
             })
        .def("ranked_distances",
             [](G& g, In1<Node> leaf) {
                 std::vector<double> out(leaf.size());
                 for (std::size_t i = 0; i < out.size(); ++i) out[i] = g.raw_scale(leaf.data()[i]);
                 return to_numpy(std::move(out));
             })
        .def("scales", [](G& g) { return to_numpy(std::vector(g.scales())); })
        .def("tried", [](const G& g) { return to_numpy(std::vector(g.tried())); })
        .def("awake", [](const G& g) { return to_numpy(g.awake()); })
        .def("restore",
             [](G& g, double least, In1<double> scales, In1<double> tried, In1<Node> awake) {
                 g.restore(least, {scales.data(), scales.size()}, {tried.data(), tried.size()},
                           {awake.data(), awake.size()});
             })
        .def("broken_rule", &G::broken_rule)
        .def("cost", &G::cost)
        .def("neighbors", [](const G& g, In1<Node> leaf) { return directed(g.lists(), leaf); });
}

void bind_levels(nb::module_& m) {
    using L = online::LevelTree;
    nb::class_<L>(m, "OnlineLevels")
        .def(
            "__init__",
            [](L* self, Tree& tree, int neighbors, In1<double> thresholds) {
                new (self) L(tree, neighbors, {thresholds.data(), thresholds.data() + thresholds.size()});
            },
            nb::keep_alive<1, 2>(), nb::arg("tree"), nb::arg("neighbors"), nb::arg("thresholds"))
        .def("load", &of_lists<L, &L::load>)
        .def("insert", &insert_into<L>)
        .def("reach", &reaches<L>)
        .def("lists", &keep_lists<L>)
        .def("raw_lists", &raw_lists<L>)
        .def("restore_lists", &restore_lists<L>, nb::keep_alive<1, 4>(), nb::arg("tree"), nb::arg("start"),
             nb::arg("edges"), nb::arg("lost"), nb::arg("changes"), nb::arg("threads"))
        .def("mend", &of_lists<L, &L::mend>)
        .def("remove", &remove_from<L>)
        .def("nearby", &nearby<L>)
        .def("short", [](L& g) { return to_numpy(g.grown_lists().short_ones()); })
        .def("set_whole", &set_whole<L>)
        .def("update", &L::update, nb::call_guard<nb::gil_scoped_release>())
        .def("neighbors", [](const L& g, In1<Node> leaf) { return directed(g.lists(), leaf); })
        .def("broken_rule", &L::broken_rule)
        .def_prop_ro("decisions", [](const L& g) { return g.decisions; })
        .def("levels", [](const L& g) { return to_numpy(std::vector(g.level)); })
        .def("best", [](const L& g) { return to_numpy(std::vector(g.best)); })
        .def("restore", [](L& g, In1<std::int32_t> level, In1<Node> best) {
            g.restore({level.data(), level.size()}, {best.data(), best.size()});
        });
}
}  // namespace

void bind_online(nb::module_& m) {
    bind_live_tree(m);
    bind_levels(m);
    nb::class_<Percher>(m, "OnlinePerch")
        .def(
            "__init__",
            [](Percher* self, Tree& tree, double scale, bool balance, std::int64_t most) {
                new (self) Percher(tree, online::AverageLinkage{scale}, balance, most);
            },
            nb::keep_alive<1, 2>(), nb::arg("tree"), nb::arg("scale"), nb::arg("balance"), nb::arg("most"))
        .def("insert", &insert_perch, nb::arg("leaf"), nb::arg("near"))
        .def("state",
             [](const Percher& percher) {
                 std::vector<double> similarity;
                 std::vector<Node> node;
                 for (auto pairs = percher.pairs(); !pairs.empty(); pairs.pop()) {
                     similarity.push_back(pairs.top().first);
                     node.push_back(-pairs.top().second);
                 }
                 return nb::make_tuple(to_numpy(std::move(node)), to_numpy(std::move(similarity)));
             })
        .def("restore", [](Percher& percher, In1<Node> node, In1<double> similarity) {
            require(node.size() == similarity.size(), "columns are of unequal length");
            Percher::Pairs pairs;
            for (std::size_t i = 0; i < node.size(); ++i) {
                require(node.data()[i] >= 0, "a pair is nowhere");
                pairs.emplace(similarity.data()[i], -node.data()[i]);
            }
            percher.restore(std::move(pairs));
        });
    m.def("online_recluster", &insert_recluster);
    using B = online::Buffer<online::AverageLinkage>;
    nb::class_<B>(m, "OnlineBuffer")
        .def(
            "__init__",
            [](B* self, Tree& tree, double scale, std::size_t room) {
                new (self) B(tree, online::AverageLinkage{scale}, room);
            },
            nb::keep_alive<1, 2>(), nb::arg("tree"), nb::arg("scale"), nb::arg("room"))
        .def("insert",
             [](B& buffer, In1<Node> leaf) {
                 nb::gil_scoped_release release;
                 for (std::size_t i = 0; i < leaf.size(); ++i) buffer.insert(leaf.data()[i]);
             })
        .def("state",
             [](const B& buffer) {
                 std::vector<Node> node;
                 std::vector<std::int64_t> best;
                 std::vector<double> similarity;
                 for (const auto& s : buffer.slots()) {
                     node.push_back(s.node);
                     best.push_back(static_cast<std::int64_t>(s.best));
                     similarity.push_back(s.similarity);
                 }
                 return nb::make_tuple(to_numpy(std::move(node)), to_numpy(std::move(best)),
                                       to_numpy(std::move(similarity)));
             })
        .def("restore", [](B& buffer, In1<Node> node, In1<std::int64_t> best, In1<double> similarity) {
            require(node.size() == best.size() && node.size() == similarity.size(), "columns are of unequal length");
            std::vector<B::Slot> slots;
            for (std::size_t i = 0; i < node.size(); ++i)
                slots.push_back({node.data()[i], static_cast<std::size_t>(best.data()[i]), similarity.data()[i]});
            buffer.restore(std::move(slots));
        });
    m.def("online_agglomerate", [](Tree& tree, double scale, In1<Node> leaf) {
        nb::gil_scoped_release release;
        tree.root = online::agglomerate(tree, online::AverageLinkage{scale}, {leaf.data(), leaf.data() + leaf.size()});
    });
    m.def("online_clusters", [](const Tree& tree) { return to_numpy(B::clusters(tree)); });
    m.def("online_build", [](Tree& tree, In1<std::int64_t> parent, In1<double> weight) {
        tree.build({parent.data(), parent.size()}, {weight.data(), weight.size()});
    });
    m.def("online_replace_top", [](Tree& tree, In1<Node> bottom, In1<std::int64_t> parent) {
        tree.replace_top({bottom.data(), bottom.size()}, {parent.data(), parent.size()});
    });
    m.def("online_average", &insert_average);
    m.def("online_centroid", &insert_centroid);
    m.def("online_given", &insert_given);
    m.def("online_make_leaves", &make_leaves);
    m.def("online_remove_leaves", &remove_leaves);
    m.def("online_heights_average", [](const Tree& tree, double scale, In1<Node> nodes) {
        const online::AverageLinkage linkage{scale};
        return of_nodes(nodes, [&](Node v) { return linkage.among_children(tree, v); });
    });
    m.def("online_heights_centroid", [](const Tree& tree, In1<Node> nodes) {
        return of_nodes(nodes, [&](Node v) { return online::CentroidCosine{}(tree, tree.left[v], tree.right[v]); });
    });
    m.def("online_heights_given", [](const Tree& tree, nb::callable function, In1<Node> nodes) {
        const auto linkage = given(function);
        return of_nodes(nodes, [&](Node v) { return linkage(tree, tree.left[v], tree.right[v]); });
    });
}

}  // namespace cladify
