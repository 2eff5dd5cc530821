// Bindings of the local search on trees.
#include <nanobind/stl/vector.h>

#include "bind.hpp"
#include "refine_features.hpp"
#include "refine_parts.hpp"

namespace ramify {
namespace {
using refine::BinaryTree;
using refine::Control;
using refine::Node;

BinaryTree make_tree(In1<Node> left, In1<Node> right, In1<double> weight) {
    return BinaryTree(static_cast<Node>(weight.size()), left.data(), right.data(), weight.data());
}

std::span<const double> span(const In1<double>& a) { return {a.data(), a.size()}; }

// The arrays behind the source are kept alive by the Python object that holds this one.
template <typename Source>
class PyRefiner {
public:
    PyRefiner(BinaryTree tree, Source source) : refiner_(std::move(tree), std::move(source)) {}

    // Moves, subtrees looked at, nodes visited.
    std::vector<std::int64_t> pass(Node limit, Node first, double tolerance, int threads, double seconds,
                                   nb::callable report) {
        Control control(seconds, [&](std::int64_t done) {
            nb::gil_scoped_acquire gil;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            report(done);
        });
        nb::gil_scoped_release release;
        const auto o = refiner_.pass(limit, first, tolerance, threads, control);
        return {o.moves, o.scanned, o.visited};
    }
    nb::tuple links() const {
        const BinaryTree& t = refiner_.tree();
        const auto inner = [&](const auto& values) {
            return to_numpy(std::vector(values.begin() + t.leaves, values.end()));
        };
        return nb::make_tuple(inner(t.left), inner(t.right), inner(t.cross), inner(t.size));
    }
    double objective() const { return refiner_.tree().objective(); }

private:
    refine::Refiner<Source> refiner_;
};

template <typename Source>
auto bind_refiner(nb::module_& m, const char* name) {
    using R = PyRefiner<Source>;
    return nb::class_<R>(m, name)
        .def("run", &R::pass, nb::arg("limit"), nb::arg("first"), nb::arg("tolerance"), nb::arg("threads"),
             nb::arg("seconds"), nb::arg("report"))
        .def("links", &R::links)
        .def("objective", &R::objective);
}

template <typename T>
void bind_features(nb::module_& m, const char* name) {
    using Source = refine::FeatureSource<T>;
    bind_refiner<Source>(m, name).def(
        "__init__",
        [](PyRefiner<Source>* self, In1<Node> left, In1<Node> right, In1<double> weight, In2<T> rows,
           In1<double> centre, In1<double> row_scale, In1<double> offset, double scale, double shift) {
            const refine::FeatureMap<T> map{rows.data(),  rows.shape(0), rows.shape(1), span(centre), span(row_scale),
                                            span(weight), span(offset),  scale,         shift};
            nb::gil_scoped_release release;
            new (self) PyRefiner<Source>(make_tree(left, right, weight), Source(map));
        },
        nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(),
        nb::keep_alive<1, 8>());
}
}  // namespace

void bind_refine(nb::module_& m) {
    bind_features<float>(m, "RefineFeatures32");
    bind_features<double>(m, "RefineFeatures64");
}

}  // namespace ramify
