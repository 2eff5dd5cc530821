// Bindings of graph.hpp.
#include "graph.hpp"

#include "bind.hpp"

namespace ramify {

namespace {
nb::tuple both_directions(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<float> value, int how) {
    Edges edges;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        edges = symmetrize(indptr.data(), indices.data(), value.data(), indptr.shape(0) - 1, static_cast<Combine>(how),
                           interrupt);
    }
    return nb::make_tuple(to_numpy(std::move(edges.indptr)), to_numpy(std::move(edges.indices)),
                          to_numpy(std::move(edges.value)));
}

Array1<std::int32_t> component_labels(In1<std::int64_t> indptr, In1<std::int32_t> indices) {
    std::vector<std::int32_t> label;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        label = components(indptr.data(), indices.data(), indptr.shape(0) - 1, interrupt);
    }
    return to_numpy(std::move(label));
}

void sort(Out2<std::int32_t> indices, Out2<float> value) {
    sort_rows(indices.data(), value.data(), indices.shape(0), indices.shape(1));
}
}  // namespace

void bind_graph(nb::module_& m) {
    m.def("symmetrize", &both_directions);
    m.def("components", &component_labels);
    m.def("sort_rows", &sort, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace ramify
