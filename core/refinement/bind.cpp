// Bindings of the local search on trees.
#include "common/bind.hpp"

#include <nanobind/stl/pair.h>

#include "refinement/features.hpp"
#include "refinement/graph.hpp"
#include "refinement/matrix.hpp"
#include "refinement/parts.hpp"

namespace cladify {
namespace {
using refine::BinaryTree;
using refine::Control;
using refine::Node;

// Inner node n + i joins left[i] and right[i]; each node but the root is joined once.
BinaryTree make_tree(In1<Node> left, In1<Node> right, In1<double> weight) {
    const std::size_t n = weight.size();
    require(n >= 1 && left.size() == n - 1 && right.size() == n - 1, "two children an inner node");
    std::vector<std::uint8_t> joined(2 * n - 1, 0);
    for (std::size_t i = 0; i + 1 < n; ++i)
        for (const Node child : {left.data()[i], right.data()[i]})
            require(child >= 0 && static_cast<std::size_t>(child) < 2 * n - 1 && !std::exchange(joined[child], 1),
                    "each node but the root is joined once");
    return BinaryTree(static_cast<Node>(weight.size()), left.data(), right.data(), weight.data());
}

// The arrays behind the source are kept alive by the Python object that holds this one.
template <typename Source>
class PyRefiner {
public:
    PyRefiner(BinaryTree tree, Source source) : refiner_(std::move(tree), std::move(source)) {}

    // The number of moves, and their gain.
    std::pair<std::int64_t, double> pass(Node limit, Node first, double tolerance, double largest, int threads,
                                         double seconds, nb::callable report) {
        return controlled(seconds, report, [&](Control& control) {
            return refiner_.pass(limit, first, tolerance, largest, threads, control);
        });
    }
    std::pair<std::int64_t, double> restart(Node limit, int starts, std::uint64_t seed, double tolerance, int threads,
                                            double seconds, nb::callable report) {
        return controlled(seconds, report, [&](Control& control) {
            return refiner_.restart(limit, starts, seed, tolerance, threads, control);
        });
    }
    nb::tuple links() const {
        const BinaryTree& t = refiner_.tree();
        const auto inner = [&](const auto& values) {
            return to_numpy(std::vector(values.begin() + t.leaves, values.end()));
        };
        return nb::make_tuple(inner(t.left), inner(t.right), inner(t.cross), inner(t.size));
    }
    double objective() const { return refiner_.tree().objective(); }
    double mean_depth() const { return refiner_.tree().mean_depth(); }

private:
    template <typename Work>
    std::pair<std::int64_t, double> controlled(double seconds, const nb::callable& report, Work&& work) {
        Control control(seconds, [&](std::int64_t done, std::int64_t total) {
            nb::gil_scoped_acquire gil;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
            report(done, total);
        });
        nb::gil_scoped_release release;
        const refine::Outcome o = work(control);
        return {o.moves, o.gained};
    }

    refine::Refiner<Source> refiner_;
};

template <typename Source>
auto bind_refiner(nb::module_& m, const char* name) {
    using R = PyRefiner<Source>;
    return nb::class_<R>(m, name)
        .def("run", &R::pass, nb::arg("limit"), nb::arg("first"), nb::arg("tolerance"), nb::arg("largest"),
             nb::arg("threads"), nb::arg("seconds"), nb::arg("report"))
        .def("restart", &R::restart, nb::arg("limit"), nb::arg("starts"), nb::arg("seed"), nb::arg("tolerance"),
             nb::arg("threads"), nb::arg("seconds"), nb::arg("report"))
        .def("links", &R::links)
        .def("objective", &R::objective)
        .def("mean_depth", &R::mean_depth);
}

template <typename T>
void bind_features(nb::module_& m, const char* name) {
    using Source = refine::FeatureSource<T>;
    bind_refiner<Source>(m, name).def(
        "__init__",
        [](PyRefiner<Source>* self, In1<Node> left, In1<Node> right, In1<double> weight, In2<T> rows,
           In1<double> centre, In1<double> row_scale, In1<double> offset, double scale, double shift) {
            const std::size_t n = weight.size();
            require(rows.shape(0) == n, "one row a leaf");
            require((centre.size() == 0 || centre.size() == rows.shape(1)) &&
                        (row_scale.size() == 0 || row_scale.size() == n) && (offset.size() == 0 || offset.size() == n),
                    "one value a row or a column");
            const refine::FeatureMap<T> map{rows.data(),  rows.shape(0), rows.shape(1), view(centre), view(row_scale),
                                            view(weight), view(offset),  scale,         shift};
            nb::gil_scoped_release release;
            Interrupt interrupt = python_interrupt();
            new (self) PyRefiner<Source>(make_tree(left, right, weight), Source(map, interrupt));
        },
        nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(),
        nb::keep_alive<1, 8>(), nb::arg("left"), nb::arg("right"), nb::arg("weight"), nb::arg("rows"),
        nb::arg("centre"), nb::arg("row_scale"), nb::arg("offset"), nb::arg("scale"), nb::arg("shift"));
}

template <typename T>
void bind_graphs(nb::module_& m, const char* name) {
    using Source = refine::GraphSource<T>;
    bind_refiner<Source>(m, name).def(
        "__init__",
        [](PyRefiner<Source>* self, In1<Node> left, In1<Node> right, In1<double> weight, In1<std::int64_t> start,
           In1<Node> to, In1<T> value, double sign) {
            nb::gil_scoped_release release;
            require(start.size() == weight.size() + 1, "one list of neighbours a leaf");
            require_graph(view(start), view(to), value.size());
            new (self)
                PyRefiner<Source>(make_tree(left, right, weight),
                                  Source(refine::Graph<T>{view(start), view(to), value.data(), view(weight), sign}));
        },
        nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(), nb::arg("left"),
        nb::arg("right"), nb::arg("weight"), nb::arg("start"), nb::arg("to"), nb::arg("value"), nb::arg("sign"));
}

template <typename T>
void bind_matrices(nb::module_& m, const char* name) {
    using Source = refine::MatrixSource<T>;
    bind_refiner<Source>(m, name).def(
        "__init__",
        [](PyRefiner<Source>* self, In1<Node> left, In1<Node> right, In1<double> weight, In2<T> value, double sign) {
            nb::gil_scoped_release release;
            require(value.shape(0) == weight.size() && value.shape(1) == weight.size(),
                    "one row and one column a leaf");
            new (self) PyRefiner<Source>(make_tree(left, right, weight),
                                         Source(refine::Matrix<T>{value.data(), value.shape(0), view(weight), sign}));
        },
        nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::arg("left"), nb::arg("right"), nb::arg("weight"),
        nb::arg("value"), nb::arg("sign"));
}
}  // namespace

void bind_refinement(nb::module_& m) {
    bind_features<float>(m, "RefineFeatures32");
    bind_features<double>(m, "RefineFeatures64");
    bind_graphs<float>(m, "RefineGraph32");
    bind_graphs<double>(m, "RefineGraph64");
    bind_matrices<float>(m, "RefineMatrix32");
    bind_matrices<double>(m, "RefineMatrix64");
}

}  // namespace cladify
