// Bindings of the contraction of similarity graphs.
#include "contract.hpp"

#include <memory>
#include <string>

#include <nanobind/stl/string.h>

#include "bind.hpp"

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

    nb::tuple merges() const {
        const Merges& m = core_->merges();
        return nb::make_tuple(to_numpy(m.left), to_numpy(m.right), to_numpy(m.similarity), to_numpy(m.round));
    }

private:
    In1<std::int64_t> indptr_;
    In1<std::int32_t> indices_;
    In1<float> weight_;
    nb::object mass_;
    std::unique_ptr<Contraction> core_;
};

}  // namespace

void bind_contract(nb::module_& m) {
    nb::class_<GraphContraction>(m, "GraphContraction")
        .def(nb::init<In1<std::int64_t>, In1<std::int32_t>, In1<float>, double, double, nb::object, const std::string&,
                      int>(),
             nb::arg("indptr"), nb::arg("indices"), nb::arg("weight"), nb::arg("shift"), nb::arg("scale"),
             nb::arg("mass").none(), nb::arg("linkage"), nb::arg("threads"))
        .def("round", &GraphContraction::round, nb::arg("threshold"), nb::arg("pairs"), nb::arg("epsilon"))
        .def_prop_ro("n_clusters", &GraphContraction::n_clusters)
        .def("merges", &GraphContraction::merges);
}

}  // namespace ramify
