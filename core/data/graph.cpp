// Bindings of graph.hpp and symmetrize.hpp.
#include "data/graph.hpp"

#include "common/bind.hpp"
#include "data/symmetrize.hpp"

namespace cladify {

namespace {
template <typename T>
Array1<T> hand_over(Raw<T> values) {
    T* data = values.data.release();
    return Array1<T>(data, {values.size}, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<T*>(p); }));
}

template <typename Value>
nb::tuple both_directions(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<Value> value, int how, int threads) {
    Edges<Value> edges;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        edges = Symmetrize<Value>(indptr.data(), indices.data(), value.data(), indptr.shape(0) - 1,
                                  static_cast<Combine>(how), threads)
                    .run(interrupt);
    }
    return nb::make_tuple(hand_over(std::move(edges.indptr)), hand_over(std::move(edges.indices)),
                          hand_over(std::move(edges.value)));
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

template <typename Value>
void sort(Out2<std::int32_t> indices, Out2<Value> value) {
    sort_rows(indices.data(), value.data(), indices.shape(0), indices.shape(1));
}
}  // namespace

void bind_graph(nb::module_& m) {
    m.def("symmetrize", &both_directions<float>, nb::arg("indptr"), nb::arg("indices"), nb::arg("value"),
          nb::arg("how"), nb::arg("threads"));
    m.def("symmetrize", &both_directions<double>, nb::arg("indptr"), nb::arg("indices"), nb::arg("value"),
          nb::arg("how"), nb::arg("threads"));
    m.def("components", &component_labels, nb::arg("indptr"), nb::arg("indices"));
    m.def("sort_rows", &sort<float>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("indices"), nb::arg("value"));
    m.def("sort_rows", &sort<double>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("indices"), nb::arg("value"));
}

}  // namespace cladify
