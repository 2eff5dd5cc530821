// Bindings of the contraction of similarity graphs.
#include "contract.hpp"

#include <nanobind/stl/string.h>

#include <memory>
#include <string>

#include "bind.hpp"
#include "forest.hpp"

namespace ramify {

namespace {

// Holds the arrays of the graph until no cluster reads them any more.
class GraphContraction {
public:
    GraphContraction(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<float> weight, double shift, double scale,
                     nb::object mass, const std::string& linkage, int threads)
        : indptr_(indptr), indices_(indices), weight_(weight), mass_(mass) {
        const double* masses = mass.is_none() ? nullptr : nb::cast<In1<double>>(mass).data();
        const SimilarityGraph graph{static_cast<std::int64_t>(indptr.shape(0)) - 1,
                                    indptr.data(),
                                    indices.data(),
                                    weight.data(),
                                    shift,
                                    scale,
                                    masses};
        if (linkage == "average") core_ = std::make_unique<ContractionOf<AverageLinkage>>(graph, threads);
        if (linkage == "single") core_ = std::make_unique<ContractionOf<SingleLinkage>>(graph, threads);
        if (linkage == "weighted") core_ = std::make_unique<ContractionOf<WeightedLinkage>>(graph, threads);
        if (linkage == "complete") core_ = std::make_unique<ContractionOf<CompleteLinkage>>(graph, threads);
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
            weight_ = {};
        }
        return merged;
    }

    std::int64_t n_clusters() const { return core_->n_clusters(); }

    // All n - 1 merges; what no round merged is joined at the similarity `floor`.
    nb::tuple finish(double floor) {
        core_->join(floor);
        Merges& m = core_->merges();
        return nb::make_tuple(to_numpy(std::move(m.left)), to_numpy(std::move(m.right)),
                              to_numpy(std::move(m.similarity)), to_numpy(std::move(m.round)));
    }

private:
    In1<std::int64_t> indptr_;
    In1<std::int32_t> indices_;
    In1<float> weight_;
    nb::object mass_;
    std::unique_ptr<Contraction> core_;
};

nb::tuple round_tree_arrays(In1<std::int32_t> left, In1<std::int32_t> right, In1<double> similarity,
                            In1<std::int32_t> round) {
    RoundTree tree;
    {
        nb::gil_scoped_release release;
        tree = round_tree(left.data(), right.data(), similarity.data(), round.data(), left.shape(0) + 1);
    }
    return nb::make_tuple(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.level)),
                          to_numpy(std::move(tree.similarity)));
}

nb::tuple merge_node_ids(In1<std::int32_t> left, In1<std::int32_t> right, In1<double> similarity) {
    MergeNodes nodes = merge_nodes(left.data(), right.data(), similarity.data(), left.shape(0) + 1);
    return nb::make_tuple(to_numpy(std::move(nodes.left)), to_numpy(std::move(nodes.right)),
                          to_numpy(std::move(nodes.similarity)));
}

// The single-linkage merges of a symmetric graph, as names; see forest.hpp.
template <typename Value>
nb::tuple single_linkage(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<Value> value, double sign,
                         double floor, int threads) {
    Merges m;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        const std::size_t n = indptr.shape(0) - 1;
        m = forest_merges(spanning_forest(indptr.data(), indices.data(), value.data(), n, threads, interrupt), n, sign,
                          floor);
    }
    return nb::make_tuple(to_numpy(std::move(m.left)), to_numpy(std::move(m.right)), to_numpy(std::move(m.similarity)),
                          to_numpy(std::move(m.round)));
}

}  // namespace

void bind_contract(nb::module_& m) {
    m.def("round_tree", &round_tree_arrays, nb::arg("left"), nb::arg("right"), nb::arg("similarity"), nb::arg("round"));
    m.def("merge_nodes", &merge_node_ids, nb::arg("left"), nb::arg("right"), nb::arg("similarity"));
    m.def("single_linkage", &single_linkage<float>, nb::arg("indptr"), nb::arg("indices"), nb::arg("value"),
          nb::arg("sign"), nb::arg("floor"), nb::arg("threads"));
    m.def("single_linkage", &single_linkage<double>, nb::arg("indptr"), nb::arg("indices"), nb::arg("value"),
          nb::arg("sign"), nb::arg("floor"), nb::arg("threads"));
    nb::class_<GraphContraction>(m, "GraphContraction")
        .def(nb::init<In1<std::int64_t>, In1<std::int32_t>, In1<float>, double, double, nb::object, const std::string&,
                      int>(),
             nb::arg("indptr"), nb::arg("indices"), nb::arg("weight"), nb::arg("shift"), nb::arg("scale"),
             nb::arg("mass").none(), nb::arg("linkage"), nb::arg("threads"))
        .def("round", &GraphContraction::round, nb::arg("threshold"), nb::arg("pairs"), nb::arg("epsilon"))
        .def_prop_ro("n_clusters", &GraphContraction::n_clusters)
        .def("finish", &GraphContraction::finish, nb::arg("floor"));
}

}  // namespace ramify
