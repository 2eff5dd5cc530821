// Bindings of reach.hpp, prim.hpp and condense.hpp.
#include "agglomerate/hac/reach.hpp"

#include "agglomerate/hac/condense.hpp"
#include "agglomerate/hac/mst.hpp"
#include "agglomerate/hac/prim.hpp"
#include "common/bind.hpp"

namespace cladify {
namespace {

template <typename T>
std::span<const T> view(const In1<T>& a) {
    return {a.data(), a.size()};
}

// `rows` and `columns` are empty where products are all there is.
template <typename T>
void scan(In2<T> product, In1<T> row_square, In1<T> column_square, In1<std::int32_t> row_group,
          In1<std::int32_t> column_group, In1<std::int32_t> column_id, In1<double> column_core, double scale,
          double margin, In2<double> rows, In2<double> columns, Out2<double> value, Out2<std::int32_t> id,
          Out2<std::int32_t> group) {
    nb::gil_scoped_release release;
    const bool dense = rows.shape(0) > 0;
    const ReachBlock<T> block{product.data(),
                              product.shape(0),
                              product.shape(1),
                              row_square.data(),
                              column_square.data(),
                              row_group.data(),
                              column_group.data(),
                              column_id.data(),
                              column_core.data(),
                              scale,
                              margin,
                              dense ? rows.data() : nullptr,
                              dense ? columns.data() : nullptr,
                              rows.shape(1)};
    reach_scan(block, value.shape(1), value.data(), id.data(), group.data());
}

nb::tuple edges(const ReachForest& forest) {
    std::vector<std::int32_t> low, high;
    std::vector<double> value;
    for (const ReachForest::Edge& edge : forest.edges()) {
        low.push_back(edge.low);
        high.push_back(edge.high);
        value.push_back(edge.value);
    }
    return nb::make_tuple(to_numpy(std::move(low)), to_numpy(std::move(high)), to_numpy(std::move(value)));
}

nb::tuple prim(In1<std::int32_t> a, In1<std::int32_t> b, In1<double> value, std::size_t n) {
    TreeEdges tree;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        tree = prim_edges(view(a), view(b), view(value), n, interrupt);
    }
    return nb::make_tuple(to_numpy(std::move(tree.source)), to_numpy(std::move(tree.target)),
                          to_numpy(std::move(tree.value)));
}

nb::tuple merge_ordered(In1<std::int32_t> a, In1<std::int32_t> b, In1<double> length, In1<std::int32_t> order,
                        std::int32_t first) {
    MergeList merges;
    {
        nb::gil_scoped_release release;
        merges = merge_in_order(a.data(), b.data(), length.data(), view(order), first);
    }
    return nb::make_tuple(to_numpy(std::move(merges.left)), to_numpy(std::move(merges.right)),
                          to_numpy(std::move(merges.height)));
}

nb::tuple condense(In1<std::int64_t> parent, In1<double> size, In1<double> height, std::int64_t n_leaves,
                   double min_size) {
    CondensedRows rows;
    {
        nb::gil_scoped_release release;
        rows = condense_tree(view(parent), view(size), view(height), n_leaves, min_size);
    }
    return nb::make_tuple(to_numpy(std::move(rows.parent)), to_numpy(std::move(rows.child)),
                          to_numpy(std::move(rows.lambda)), to_numpy(std::move(rows.size)));
}

}  // namespace

void bind_reach(nb::module_& m) {
    m.def("reach_scan", &scan<float>, nb::arg("product"), nb::arg("row_square"), nb::arg("column_square"),
          nb::arg("row_group"), nb::arg("column_group"), nb::arg("column_id"), nb::arg("column_core"), nb::arg("scale"),
          nb::arg("margin"), nb::arg("rows"), nb::arg("columns"), nb::arg("value"), nb::arg("id"), nb::arg("group"));
    m.def("reach_scan", &scan<double>, nb::arg("product"), nb::arg("row_square"), nb::arg("column_square"),
          nb::arg("row_group"), nb::arg("column_group"), nb::arg("column_id"), nb::arg("column_core"), nb::arg("scale"),
          nb::arg("margin"), nb::arg("rows"), nb::arg("columns"), nb::arg("value"), nb::arg("id"), nb::arg("group"));
    m.def("prim_edges", &prim, nb::arg("a"), nb::arg("b"), nb::arg("value"), nb::arg("n"));
    m.def("merge_in_order", &merge_ordered, nb::arg("a"), nb::arg("b"), nb::arg("length"), nb::arg("order"),
          nb::arg("first"));
    m.def("condense_tree", &condense, nb::arg("parent"), nb::arg("size"), nb::arg("height"), nb::arg("n_leaves"),
          nb::arg("min_size"));
    nb::class_<ReachForest>(m, "ReachForest")
        .def(
            "__init__",
            [](ReachForest* self, In2<std::int32_t> neighbour, In2<double> distance, In1<double> core) {
                nb::gil_scoped_release release;
                new (self) ReachForest(neighbour.data(), distance.data(), neighbour.shape(1), view(core));
            },
            nb::arg("neighbour"), nb::arg("distance"), nb::arg("core"))
        // The number of components that are left.
        .def("merge",
             [](ReachForest& self) {
                 nb::gil_scoped_release release;
                 Interrupt interrupt = python_interrupt();
                 self.merge(interrupt);
                 return self.components();
             })
        .def("to_search", [](ReachForest& self) { return to_numpy(self.to_search()); })
        .def("bound", [](const ReachForest& self) { return to_numpy(std::vector(self.bound())); })
        .def("label", [](const ReachForest& self) { return to_numpy(std::vector(self.label())); })
        .def(
            "set_lists",
            [](ReachForest& self, In1<std::int32_t> rows, In2<std::int32_t> found, In2<double> distance) {
                nb::gil_scoped_release release;
                self.set_lists(view(rows), found.shape(1), found.data(), distance.data());
            },
            nb::arg("rows"), nb::arg("found"), nb::arg("distance"))
        .def("edges", &edges);
}

}  // namespace cladify
