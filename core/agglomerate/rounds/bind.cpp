// Bindings of the contraction of similarity graphs.
#include "common/bind.hpp"

#include <memory>
#include <stdexcept>
#include <type_traits>

#include "agglomerate/hac/linkage.hpp"
#include "agglomerate/rounds/contract.hpp"
#include "agglomerate/rounds/forest.hpp"
#include "agglomerate/rounds/part.hpp"

namespace cladify {

namespace {

// Merges of names 0 to n - 1.
void require_merges(const In1<std::int32_t>& left, const In1<std::int32_t>& right, const In1<double>& similarity,
                    std::int64_t n) {
    require(right.size() == left.size() && similarity.size() == left.size(), "two names and a similarity a merge");
    require_within(view(left), 0, n, "a name that is not there");
    require_within(view(right), 0, n, "a name that is not there");
}

const double* masses_of(const nb::object& mass, std::size_t n) {
    const auto masses = nb::cast<In1<double>>(mass);
    require(masses.size() == n, "one mass a point");
    return masses.data();
}

// Holds the arrays of the graph until no cluster reads them any more.
class GraphContraction {
public:
    template <typename Value>
    GraphContraction(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<Value> weight, double shift, double scale,
                     nb::object mass, Linkage linkage, int threads)
        : indptr_(indptr), indices_(indices), weight_(nb::cast(weight)), mass_(mass) {
        require_graph(view(indptr), view(indices), weight.size());
        const float* narrow = nullptr;
        const double* wide = nullptr;
        if constexpr (std::is_same_v<Value, float>) narrow = weight.data();
        if constexpr (std::is_same_v<Value, double>) wide = weight.data();
        const double* masses = mass.is_none() ? nullptr : masses_of(mass, indptr.size() - 1);
        const SimilarityGraph graph{static_cast<std::int64_t>(indptr.shape(0)) - 1,
                                    indptr.data(),
                                    indices.data(),
                                    narrow,
                                    shift,
                                    scale,
                                    masses,
                                    wide};
        core_ = make(linkage, graph, threads);
    }

    // Goes on from the clusters that another run left; see ClusterState.
    GraphContraction(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<double> value, In1<double> pairs,
                     In1<bool> single, In1<double> size, In1<std::int32_t> nearest, In1<double> best, In1<bool> clean,
                     In1<double> weakest, Linkage linkage, int threads)
        : indptr_(indptr), indices_(indices), weight_(nb::cast(value)), mass_(nb::none()) {
        const std::size_t n = indptr.size() - 1;
        require_graph(view(indptr), view(indices), value.size());
        require(size.size() == n && nearest.size() == n && best.size() == n && clean.size() == n && single.size() == n,
                "one value of each kind a cluster");
        require_within(view(nearest), -1, static_cast<std::int64_t>(n), "the nearest cluster is not there");
        require(pairs.size() == (linkage == Linkage::complete ? value.size() : pairs.size()), "one count an edge");
        require(weakest.size() == 0 || weakest.size() == n, "one weakest link a cluster");
        const SimilarityGraph graph{static_cast<std::int64_t>(indptr.shape(0)) - 1,
                                    indptr.data(),
                                    indices.data(),
                                    nullptr,
                                    0.0,
                                    1.0,
                                    nullptr,
                                    value.data()};
        const auto given = [](const In1<double>& array) { return array.shape(0) > 0 ? array.data() : nullptr; };
        const ClusterState state{size.data(),   best.data(),  nearest.data(), clean.data(),
                                 single.data(), given(pairs), given(weakest)};
        core_ = make(linkage, graph, threads, &state);
    }

    std::int64_t round(double threshold, bool pairs, double epsilon) {
        std::int64_t merged = 0;
        {
            nb::gil_scoped_release release;
            Interrupt interrupt = python_interrupt();
            merged = core_->round({threshold, pairs, epsilon}, interrupt);
        }
        if (!core_->needs_graph()) {
            indices_ = {};
            weight_ = nb::none();
        }
        return merged;
    }

    std::int64_t n_clusters() const { return core_->n_clusters(); }

    // All n - 1 merges; what no round merged is joined at the similarity `floor`.
    nb::tuple finish(double floor) {
        core_->join(floor);
        RoundMerges& m = core_->merges();
        return nb::make_tuple(to_numpy(std::move(m.left)), to_numpy(std::move(m.right)),
                              to_numpy(std::move(m.similarity)), to_numpy(std::move(m.round)));
    }

private:
    template <typename Kind>
    static std::unique_ptr<Contraction> make_of(const SimilarityGraph& graph, int threads, const ClusterState* state) {
        if (state != nullptr) return std::make_unique<ContractionOf<Kind>>(graph, *state, threads);
        return std::make_unique<ContractionOf<Kind>>(graph, threads);
    }

    static std::unique_ptr<Contraction> make(Linkage linkage, const SimilarityGraph& graph, int threads,
                                             const ClusterState* state = nullptr) {
        switch (linkage) {
            case Linkage::average:
                return make_of<AverageLinkage>(graph, threads, state);
            case Linkage::single:
                return make_of<SingleLinkage>(graph, threads, state);
            case Linkage::weighted:
                return make_of<WeightedLinkage>(graph, threads, state);
            case Linkage::complete:
                return make_of<CompleteLinkage>(graph, threads, state);
            default:
                throw std::invalid_argument("graphs have average, single, weighted and complete linkage");
        }
    }

    In1<std::int64_t> indptr_;
    In1<std::int32_t> indices_;
    nb::object weight_;
    nb::object mass_;
    std::unique_ptr<Contraction> core_;
};

// The merges of one round from the pairs it selected: components of them or, with `matching`, pairs of clusters that
// are still free; names are 0 to n - 1. Returns the place of each merge's candidate, and what it joined.
nb::tuple unite_candidates(In1<std::int32_t> left, In1<std::int32_t> right, In1<double> similarity, std::int64_t n,
                           bool matching) {
    std::vector<std::int64_t> place;
    std::vector<std::int32_t> low, high;
    {
        nb::gil_scoped_release release;
        require_merges(left, right, similarity, n);
        std::vector<std::pair<SelectedPair, std::int64_t>> order;
        order.reserve(left.shape(0));
        for (std::size_t i = 0; i < left.shape(0); ++i)
            order.push_back({{similarity.data()[i], left.data()[i], right.data()[i]}, static_cast<std::int64_t>(i)});
        std::sort(order.begin(), order.end());
        UnionFind<> names(static_cast<std::size_t>(n));
        std::vector<bool> taken(matching ? static_cast<std::size_t>(n) : 0, false);
        for (const auto& [candidate, i] : order) {
            const auto l = static_cast<std::size_t>(candidate.left), r = static_cast<std::size_t>(candidate.right);
            if (matching && (taken[l] || taken[r])) continue;
            if (matching) taken[l] = taken[r] = true;
            const std::int32_t a = names.find(candidate.left), b = names.find(candidate.right);
            if (a == b) continue;
            names.unite_smaller(a, b);
            place.push_back(i);
            low.push_back(std::min(a, b));
            high.push_back(std::max(a, b));
        }
    }
    return nb::make_tuple(to_numpy(std::move(place)), to_numpy(std::move(low)), to_numpy(std::move(high)));
}

// The edges of one part's clusters between two rounds; see part.hpp. `lists` are tuples (key, value, pairs).
class PartOfGraph {
public:
    template <typename Value>
    PartOfGraph(In1<std::int32_t> indices, In1<Value> weight, double shift, double scale, nb::object mass,
                nb::list lists, Linkage linkage)
        : indices_(indices), weight_(nb::cast(weight)), mass_(mass), lists_(lists), linkage_(linkage) {
        graph_ = {0, nullptr, indices.data(), nullptr, shift, scale, nullptr, nullptr};
        if constexpr (std::is_same_v<Value, float>) graph_.weight = weight.data();
        if constexpr (std::is_same_v<Value, double>) graph_.weight64 = weight.data();
        require(weight.size() == indices.size(), "a graph has one value an edge");
        sizes_.push_back(static_cast<std::int64_t>(indices.size()));
        if (!mass.is_none()) {
            const auto masses = nb::cast<In1<double>>(mass);
            graph_.mass = masses.data();
            n_masses_ = static_cast<std::int64_t>(masses.size());
        }
        for (nb::handle each : lists) {
            const auto key = nb::cast<In1<std::int32_t>>(each[0]);
            const auto value = nb::cast<In1<double>>(each[1]), pairs = nb::cast<In1<double>>(each[2]);
            require(value.size() == key.size(), "a list has one value an edge");
            require(linkage != Linkage::complete || pairs.size() == key.size(), "a list has one count an edge");
            edges_.push_back({key.data(), value.data(), pairs.data()});
            keys_.push_back(view(key));
            sizes_.push_back(static_cast<std::int64_t>(key.size()));
        }
    }

    nb::tuple copy(In1<std::int32_t> source, In1<std::int32_t> owner, In1<std::int64_t> start,
                   In1<std::int64_t> count) {
        CombinedEdges out;
        {
            nb::gil_scoped_release release;
            require_spans(source, owner, start, count);
            with([&](const auto& edges) {
                edges.copy({source.shape(0), source.data(), owner.data(), start.data(), count.data()}, out);
            });
        }
        return nb::make_tuple(to_numpy(std::move(out.key)), to_numpy(std::move(out.value)),
                              to_numpy(std::move(out.pairs)));
    }

    nb::tuple combine(In1<std::int32_t> label, In1<double> size, In1<std::int32_t> home, In1<std::int64_t> first,
                      In1<bool> keep, In1<std::int32_t> source, In1<std::int32_t> owner, In1<std::int64_t> start,
                      In1<std::int64_t> count) {
        CombinedEdges out;
        {
            nb::gil_scoped_release release;
            const auto n = static_cast<std::int64_t>(label.size());
            require(size.size() == label.size(), "one size a name");
            require_within(view(label), 0, n, "a name that is not there");
            require_within(view(home), 0, n, "a name that is not there");
            require(keep.size() == home.size() && first.size() == home.size() + 1, "one start and one mark a cluster");
            require_starts(view(first), source.size(), "the spans do not lie one after another");
            require_spans(source, owner, start, count);
            for (std::size_t s = 0; s < source.size(); ++s)
                require_within(ends_of(source.data()[s], start.data()[s], count.data()[s]), 0, n,
                               "an edge leads to no name");
            with([&](const auto& edges) {
                edges.combine(label.data(), size.data(), static_cast<std::int64_t>(label.shape(0)), home.shape(0),
                              home.data(), first.data(), keep.data(),
                              {source.shape(0), source.data(), owner.data(), start.data(), count.data()}, out);
            });
        }
        return nb::make_tuple(to_numpy(std::move(out.length)), to_numpy(std::move(out.key)),
                              to_numpy(std::move(out.value)), to_numpy(std::move(out.pairs)),
                              to_numpy(std::move(out.best)), to_numpy(std::move(out.nearest)));
    }

private:
    In1<std::int32_t> indices_;
    nb::object weight_, mass_;
    nb::list lists_;
    Linkage linkage_;
    SimilarityGraph graph_{};
    std::vector<EdgeLists> edges_;
    std::vector<std::span<const std::int32_t>> keys_;  // of the lists
    std::vector<std::int64_t> sizes_;                  // edges of the graph, then of each list
    std::int64_t n_masses_ = 0;

    std::span<const std::int32_t> ends_of(std::int32_t source, std::int64_t start, std::int64_t count) const {
        if (count == 0) return {};
        const auto ends = source == 0 ? view(indices_) : keys_[static_cast<std::size_t>(source) - 1];
        return ends.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(count));
    }

    void require_spans(const In1<std::int32_t>& source, const In1<std::int32_t>& owner, const In1<std::int64_t>& start,
                       const In1<std::int64_t>& count) const {
        require(owner.size() == source.size() && start.size() == source.size() && count.size() == source.size(),
                "one owner, start and count a span");
        require_within(view(source), 0, std::ssize(sizes_), "a span of a list that is not there");
        if (graph_.mass != nullptr) require_within(view(owner), 0, n_masses_, "an edge starts at no point");
        bool holds = true;
        for (std::size_t s = 0; s < source.size(); ++s) {
            const std::int64_t from = start.data()[s], length = count.data()[s];
            const std::int64_t size = sizes_[static_cast<std::size_t>(source.data()[s])];
            holds &= length >= 0 && (length == 0 || (from >= 0 && from <= size && length <= size - from));
        }
        require(holds, "a span leaves its list");
        if (graph_.mass == nullptr) return;
        for (std::size_t s = 0; s < source.size(); ++s)
            if (source.data()[s] == 0)
                require_within(ends_of(0, start.data()[s], count.data()[s]), 0, n_masses_, "an edge leads to no point");
    }

    template <typename Body>
    void with(const Body& body) const {
        switch (linkage_) {
            case Linkage::average:
                return body(PartEdges<AverageLinkage>(graph_, edges_));
            case Linkage::single:
                return body(PartEdges<SingleLinkage>(graph_, edges_));
            case Linkage::complete:
                return body(PartEdges<CompleteLinkage>(graph_, edges_));
            default:
                throw std::invalid_argument("graphs in parts have average, single and complete linkage");
        }
    }
};

void apply_merges_to(In1<std::int32_t> low, In1<std::int32_t> high, Out1<std::int32_t> label, Out1<double> size) {
    nb::gil_scoped_release release;
    const auto n = static_cast<std::int64_t>(label.size());
    require(high.size() == low.size() && size.size() == label.size(), "two names a merge, one size a name");
    require_within(view(low), 0, n, "a name that is not there");
    require_within(view(high), 0, n, "a name that is not there");
    require_within(std::span<const std::int32_t>(label.data(), label.size()), 0, n, "a name that is not there");
    apply_merges(low.data(), high.data(), low.shape(0), label.data(), size.data(), label.shape(0));
}

nb::tuple round_tree_arrays(In1<std::int32_t> left, In1<std::int32_t> right, In1<double> similarity,
                            In1<std::int32_t> round) {
    RoundTree tree;
    {
        nb::gil_scoped_release release;
        require_merges(left, right, similarity, static_cast<std::int64_t>(left.size()) + 1);
        require(round.size() == left.size(), "one round a merge");
        // Names lead to smaller ones, or looking for the last would not end.
        bool holds = true;
        for (std::size_t i = 0; i < left.size(); ++i) holds &= left.data()[i] < right.data()[i];
        require(holds, "a merge joins a name into a smaller one");
        tree = round_tree(left.data(), right.data(), similarity.data(), round.data(), left.shape(0) + 1);
    }
    return nb::make_tuple(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.level)),
                          to_numpy(std::move(tree.similarity)));
}

nb::tuple merge_node_ids(In1<std::int32_t> left, In1<std::int32_t> right, In1<double> similarity) {
    require_merges(left, right, similarity, static_cast<std::int64_t>(left.size()) + 1);
    MergeNodes nodes = merge_nodes(left.data(), right.data(), similarity.data(), left.shape(0) + 1);
    return nb::make_tuple(to_numpy(std::move(nodes.left)), to_numpy(std::move(nodes.right)),
                          to_numpy(std::move(nodes.similarity)));
}

// The single-linkage merges of a symmetric graph, as names; see forest.hpp.
template <typename Value>
nb::tuple single_linkage(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<Value> value, double sign,
                         double floor, int threads) {
    RoundMerges m;
    {
        nb::gil_scoped_release release;
        require_graph(view(indptr), view(indices), value.size());
        Interrupt interrupt = python_interrupt();
        const std::size_t n = indptr.shape(0) - 1;
        m = forest_merges(spanning_forest(indptr.data(), indices.data(), value.data(), n, threads, interrupt), n, sign,
                          floor);
    }
    return nb::make_tuple(to_numpy(std::move(m.left)), to_numpy(std::move(m.right)), to_numpy(std::move(m.similarity)),
                          to_numpy(std::move(m.round)));
}

}  // namespace

void bind_rounds(nb::module_& m) {
    m.def("round_tree", &round_tree_arrays, nb::arg("left"), nb::arg("right"), nb::arg("similarity"), nb::arg("round"));
    m.def("unite_candidates", &unite_candidates, nb::arg("left"), nb::arg("right"), nb::arg("similarity"), nb::arg("n"),
          nb::arg("matching"));
    m.def("merge_nodes", &merge_node_ids, nb::arg("left"), nb::arg("right"), nb::arg("similarity"));
    m.def("single_linkage", &single_linkage<float>, nb::arg("indptr"), nb::arg("indices"), nb::arg("value"),
          nb::arg("sign"), nb::arg("floor"), nb::arg("threads"));
    m.def("single_linkage", &single_linkage<double>, nb::arg("indptr"), nb::arg("indices"), nb::arg("value"),
          nb::arg("sign"), nb::arg("floor"), nb::arg("threads"));
    m.def("apply_merges", &apply_merges_to, nb::arg("low"), nb::arg("high"), nb::arg("label"), nb::arg("size"));
    nb::class_<PartOfGraph>(m, "PartOfGraph")
        .def(nb::init<In1<std::int32_t>, In1<float>, double, double, nb::object, nb::list, Linkage>(),
             nb::arg("indices"), nb::arg("weight"), nb::arg("shift"), nb::arg("scale"), nb::arg("mass").none(),
             nb::arg("lists"), nb::arg("linkage"))
        .def(nb::init<In1<std::int32_t>, In1<double>, double, double, nb::object, nb::list, Linkage>(),
             nb::arg("indices"), nb::arg("weight"), nb::arg("shift"), nb::arg("scale"), nb::arg("mass").none(),
             nb::arg("lists"), nb::arg("linkage"))
        .def("copy", &PartOfGraph::copy, nb::arg("source"), nb::arg("owner"), nb::arg("start"), nb::arg("count"))
        .def("combine", &PartOfGraph::combine, nb::arg("label"), nb::arg("size"), nb::arg("home"), nb::arg("first"),
             nb::arg("keep"), nb::arg("source"), nb::arg("owner"), nb::arg("start"), nb::arg("count"));
    nb::class_<GraphContraction>(m, "GraphContraction")
        .def(nb::init<In1<std::int64_t>, In1<std::int32_t>, In1<float>, double, double, nb::object, Linkage, int>(),
             nb::arg("indptr"), nb::arg("indices"), nb::arg("weight"), nb::arg("shift"), nb::arg("scale"),
             nb::arg("mass").none(), nb::arg("linkage"), nb::arg("threads"))
        .def(nb::init<In1<std::int64_t>, In1<std::int32_t>, In1<double>, double, double, nb::object, Linkage, int>(),
             nb::arg("indptr"), nb::arg("indices"), nb::arg("weight"), nb::arg("shift"), nb::arg("scale"),
             nb::arg("mass").none(), nb::arg("linkage"), nb::arg("threads"))
        .def(nb::init<In1<std::int64_t>, In1<std::int32_t>, In1<double>, In1<double>, In1<bool>, In1<double>,
                      In1<std::int32_t>, In1<double>, In1<bool>, In1<double>, Linkage, int>(),
             nb::arg("indptr"), nb::arg("indices"), nb::arg("value"), nb::arg("pairs"), nb::arg("single"),
             nb::arg("size"), nb::arg("nearest"), nb::arg("best"), nb::arg("clean"), nb::arg("weakest"),
             nb::arg("linkage"), nb::arg("threads"))
        .def("round", &GraphContraction::round, nb::arg("threshold"), nb::arg("pairs"), nb::arg("epsilon"))
        .def_prop_ro("n_clusters", &GraphContraction::n_clusters)
        .def("finish", &GraphContraction::finish, nb::arg("floor"));
}

}  // namespace cladify
