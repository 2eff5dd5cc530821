// Bindings of LLAMA and of passes over graphs of clusters.
#include "common/bind.hpp"

#include <nanobind/stl/string.h>

#include <memory>
#include <string>

#include "overlap/llama.hpp"
#include "overlap/soft.hpp"
#include "tree/dag.hpp"

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

DagChildren children_of(const In1<std::int64_t>& start, const In1<std::int64_t>& child, std::int64_t n_leaves) {
    return {static_cast<std::size_t>(n_leaves), start.data(), child.data(), start.shape(0) - 1};
}

nb::tuple check(In1<std::int64_t> start, In1<std::int64_t> parent) {
    const DagCheck found = check_dag(start.data(), parent.data(), start.shape(0) - 1);
    return nb::make_tuple(found.rule, found.node, found.n_leaves);
}

nb::tuple children(In1<std::int64_t> start, In1<std::int64_t> parent, std::int64_t n_leaves) {
    auto [from, child] =
        dag_children(start.data(), parent.data(), start.shape(0) - 1, static_cast<std::size_t>(n_leaves));
    return nb::make_tuple(to_numpy(std::move(from)), to_numpy(std::move(child)));
}

Array1<std::int64_t> ancestors(In1<std::int64_t> start, In1<std::int64_t> parent, std::int64_t v) {
    return to_numpy(dag_reach(static_cast<std::size_t>(v), start.shape(0) - 1, [&](std::size_t u, auto visit) {
        for (std::int64_t at = start.data()[u]; at < start.data()[u + 1]; ++at)
            visit(static_cast<std::size_t>(parent.data()[at]));
    }));
}

Array1<std::int64_t> descendants(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves,
                                 std::int64_t v) {
    const DagChildren dag = children_of(start, child, n_leaves);
    return to_numpy(
        dag_reach(static_cast<std::size_t>(v), dag.n_nodes(), [&](std::size_t u, auto visit) { dag.each(u, visit); }));
}

Array1<std::int64_t> sizes(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves) {
    const DagChildren dag = children_of(start, child, n_leaves);
    std::vector<std::int64_t> size(dag.n_nodes());
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        visit_members(dag, interrupt, [&](std::size_t v, const std::int32_t*, std::size_t count) {
            size[v] = static_cast<std::int64_t>(count);
        });
    }
    return to_numpy(std::move(size));
}

// Points of the nodes that `wanted` marks, node after node, ascending.
Array1<std::int32_t> memberships(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves,
                                 In1<std::uint8_t> wanted, std::int64_t total) {
    std::vector<std::int32_t> points;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        points.reserve(static_cast<std::size_t>(total));
        visit_members(children_of(start, child, n_leaves), interrupt,
                      [&](std::size_t v, const std::int32_t* mine, std::size_t count) {
                          if (!wanted.data()[v]) return;
                          points.insert(points.end(), mine, mine + count);
                          std::sort(points.end() - static_cast<std::ptrdiff_t>(count), points.end());
                      });
    }
    return to_numpy(std::move(points));
}

nb::tuple jaccard(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves,
                  In1<std::int64_t> label_start, In1<std::int64_t> label, In1<std::int64_t> label_size,
                  In1<std::int32_t> group, std::int64_t n_groups) {
    DagJaccard best;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        best = dag_jaccard(children_of(start, child, n_leaves), label_start.data(), label.data(), label_size.data(),
                           label_size.shape(0), group.data(), static_cast<std::size_t>(n_groups), interrupt);
    }
    return nb::make_tuple(to_numpy(std::move(best.node)), to_numpy(std::move(best.label)));
}

Array1<std::int64_t> equal_sets(In1<std::int64_t> start, In1<std::int64_t> child, std::int64_t n_leaves) {
    std::vector<std::int64_t> first;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        first = dag_equal_sets(children_of(start, child, n_leaves), interrupt);
    }
    return to_numpy(std::move(first));
}

Array1<std::uint8_t> direct_edges(In1<std::int64_t> start, In1<std::int64_t> parent) {
    std::vector<std::uint8_t> direct;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        direct = dag_direct_edges(start.data(), parent.data(), start.shape(0) - 1, interrupt);
    }
    return to_numpy(std::move(direct));
}

nb::tuple soft(In1<std::int32_t> parent, In1<std::int32_t> lowest, In1<std::int64_t> indptr, In1<std::int32_t> indices,
               In1<float> weight, double least, int threads) {
    SoftGroups found;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        found = soft_groups({parent.data(), parent.shape(0), lowest.data()}, indptr.data(), indices.data(),
                            weight.data(), lowest.shape(0), least, threads, interrupt);
    }
    return nb::make_tuple(to_numpy(std::move(found.own)), to_numpy(std::move(found.start)),
                          to_numpy(std::move(found.group)), to_numpy(std::move(found.share)));
}

// Heights that never fall towards the root: each at least that of every child.
void raise(In1<std::int64_t> start, In1<std::int64_t> parent, Out1<double> height) {
    const std::size_t m = start.shape(0) - 1;
    for (std::size_t v = 0; v < m; ++v)
        for (std::int64_t at = start.data()[v]; at < start.data()[v + 1]; ++at) {
            double& above = height.data()[parent.data()[at]];
            above = std::max(above, height.data()[v]);
        }
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
    m.def("dag_check", &check, nb::arg("start"), nb::arg("parent"));
    m.def("dag_children", &children, nb::arg("start"), nb::arg("parent"), nb::arg("n_leaves"));
    m.def("dag_ancestors", &ancestors, nb::arg("start"), nb::arg("parent"), nb::arg("node"));
    m.def("dag_descendants", &descendants, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"), nb::arg("node"));
    m.def("dag_sizes", &sizes, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"));
    m.def("dag_memberships", &memberships, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"), nb::arg("wanted"),
          nb::arg("total"));
    m.def("dag_jaccard", &jaccard, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"), nb::arg("label_start"),
          nb::arg("label"), nb::arg("label_size"), nb::arg("group"), nb::arg("n_groups"));
    m.def("dag_equal_sets", &equal_sets, nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"));
    m.def("dag_direct_edges", &direct_edges, nb::arg("start"), nb::arg("parent"));
    m.def("soft_groups", &soft, nb::arg("parent"), nb::arg("lowest"), nb::arg("indptr"), nb::arg("indices"),
          nb::arg("weight"), nb::arg("least"), nb::arg("threads"));
    m.def("dag_raise", &raise, nb::arg("start"), nb::arg("parent"), nb::arg("height"));
}

}  // namespace cladify
