// Bindings of LLAMA and of soft groups.
#include "common/bind.hpp"

#include <nanobind/stl/string.h>

#include <memory>
#include <string>

#include "overlap/llama.hpp"
#include "overlap/soft.hpp"

namespace cladify {

namespace {

class LlamaRounds {
public:
    LlamaRounds(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<float> weight, double shift, double scale,
                const std::string& linkage, std::int64_t max_parents, bool merge_equal, int threads) {
        const SimilarityGraph graph{static_cast<std::int64_t>(indptr.shape(0)) - 1,
                                    indptr.data(),
                                    indices.data(),
                                    weight.data(),
                                    shift,
                                    scale,
                                    nullptr};
        const OverlapLinkage kind = linkage == "single"          ? OverlapLinkage::single
                                    : linkage == "exact-average" ? OverlapLinkage::exact_average
                                                                 : OverlapLinkage::average;
        require_graph(view(indptr), view(indices), weight.size());
        nb::gil_scoped_release release;
        core_ = std::make_unique<Llama>(graph, kind, max_parents, merge_equal, threads);
    }

    std::int64_t round(std::int64_t max_links) {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        return core_->round(max_links, interrupt);
    }

    nb::tuple finish() {
        OverlapDag dag;
        {
            nb::gil_scoped_release release;
            Interrupt interrupt = python_interrupt();
            dag = core_->finish(interrupt);
            core_.reset();
        }
        return nb::make_tuple(to_numpy(std::move(dag.parent_start)), to_numpy(std::move(dag.parent)),
                              to_numpy(std::move(dag.size)), to_numpy(std::move(dag.similarity)),
                              to_numpy(std::move(dag.span_node)), to_numpy(std::move(dag.span_first)),
                              to_numpy(std::move(dag.span_last)));
    }

    std::int64_t n_clusters() const { return core_->n_clusters(); }
    std::int64_t n_nodes() const { return core_->n_nodes(); }
    bool is_full() const { return core_->is_full(); }

private:
    std::unique_ptr<Llama> core_;
};

nb::tuple soft(In1<std::int32_t> parent, In1<std::int32_t> lowest, In1<std::int64_t> indptr, In1<std::int32_t> indices,
               In1<float> weight, double least, int threads) {
    SoftGroups found;
    {
        nb::gil_scoped_release release;
        const auto groups = static_cast<std::int64_t>(parent.size());
        require(indptr.size() == lowest.size() + 1, "one lowest group a point");
        require_graph(view(indptr), view(indices), weight.size());
        require_within(view(lowest), -1, groups, "a group that is not there");
        bool holds = true;  // parents have larger numbers, or the way up would not end
        for (std::int64_t g = 0; g < groups; ++g) {
            const std::int64_t up = parent.data()[g];
            holds &= (up == -1) | ((up > g) & (up < groups));
        }
        require(holds, "the parent of a group has a larger number");
        Interrupt interrupt = python_interrupt();
        found = soft_groups({parent.data(), parent.shape(0), lowest.data()}, indptr.data(), indices.data(),
                            weight.data(), lowest.shape(0), least, threads, interrupt);
    }
    return nb::make_tuple(to_numpy(std::move(found.own)), to_numpy(std::move(found.start)),
                          to_numpy(std::move(found.group)), to_numpy(std::move(found.share)));
}

}  // namespace

void bind_overlap(nb::module_& m) {
    nb::class_<LlamaRounds>(m, "LlamaRounds")
        .def(nb::init<In1<std::int64_t>, In1<std::int32_t>, In1<float>, double, double, const std::string&,
                      std::int64_t, bool, int>(),
             nb::arg("indptr"), nb::arg("indices"), nb::arg("weight"), nb::arg("shift"), nb::arg("scale"),
             nb::arg("linkage"), nb::arg("max_parents"), nb::arg("merge_equal"), nb::arg("threads"))
        .def("round", &LlamaRounds::round, nb::arg("max_links"))
        .def("finish", &LlamaRounds::finish)
        .def_prop_ro("n_clusters", &LlamaRounds::n_clusters)
        .def_prop_ro("n_nodes", &LlamaRounds::n_nodes)
        .def_prop_ro("is_full", &LlamaRounds::is_full);
    m.def("soft_groups", &soft, nb::arg("parent"), nb::arg("lowest"), nb::arg("indptr"), nb::arg("indices"),
          nb::arg("weight"), nb::arg("least"), nb::arg("threads"));
}

}  // namespace cladify
