// Bindings of the hyperbolic kernels.
#include "common/bind.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "hyperbolic/blocks.hpp"
#include "hyperbolic/decode.hpp"
#include "hyperbolic/embed.hpp"
#include "hyperbolic/triplets.hpp"
#include "hyperbolic/ultrametric.hpp"

namespace cladify {
namespace {

using namespace hyperbolic;

template <typename T>
T* data_or_null(const std::optional<Out2<T>>& array) {
    return array ? array->data() : nullptr;
}

template <typename T>
double triplets(In2<T> z, In2<std::int64_t> ids, In2<T> weight, double temperature, std::optional<Out2<T>> grad,
                std::optional<Out2<T>> share, int threads) {
    require(z.shape(1) == 2, "points of the plane");
    require(ids.shape(1) == 3 && weight.shape(1) == 3 && weight.shape(0) == ids.shape(0),
            "three points and weights a triplet");
    require_within(std::span(ids.data(), ids.size()), 0, static_cast<std::int64_t>(z.shape(0)),
                   "a point that is not there");
    require(!grad || (grad->shape(0) == z.shape(0) && grad->shape(1) == 2), "one gradient a point");
    require(!share || share->shape(0) == ids.shape(0), "one share a triplet");
    const TripletBatch<T> batch{z.data(),      static_cast<std::int64_t>(z.shape(0)),   ids.data(),
                                weight.data(), static_cast<std::int64_t>(ids.shape(0)), static_cast<T>(temperature)};
    T *to_grad = data_or_null(grad), *to_share = data_or_null(share);
    nb::gil_scoped_release release;
    Interrupt interrupt = python_interrupt();
    return triplet_loss(batch, to_grad, to_share, threads, interrupt);
}

template <typename Source>
double blocks(const Source& source, std::size_t n_rows, bool wide, In1<std::int64_t> start, In1<std::int64_t> rows,
              In1<std::int64_t> points, In1<double> angle, In1<double> radius, double temperature, Out1<double> grad,
              int threads) {
    nb::gil_scoped_release release;
    const auto n = static_cast<std::int64_t>(angle.size());
    require(grad.size() == angle.size(), "one gradient a point");
    require(radius.size() + 1 == start.size(), "one radius a block");
    require_starts(view(start), points.size(), "the blocks do not lie one after another");
    require(rows.size() == points.size(), "one row a point of a block");
    require_within(view(points), 0, n, "a point that is not there");
    require_within(view(rows), 0, static_cast<std::int64_t>(n_rows), "a row that is not there");
    Interrupt interrupt = python_interrupt();
    const std::span<const std::int64_t> starts(start.data(), start.size());
    return wide ? blocks_loss<double>(source, starts, rows.data(), points.data(), angle.data(), radius.data(),
                                      temperature, grad.data(), threads, interrupt)
                : blocks_loss<float>(source, starts, rows.data(), points.data(), angle.data(), radius.data(),
                                     temperature, grad.data(), threads, interrupt);
}

double feature_blocks(In2<float> features, In1<double> offset, double shift, double scale, bool wide,
                      In1<std::int64_t> start, In1<std::int64_t> rows, In1<std::int64_t> points, In1<double> angle,
                      In1<double> radius, double temperature, Out1<double> grad, int threads) {
    const FeatureSource source{features.data(), static_cast<std::int64_t>(features.shape(1)), offset.data(), shift,
                               scale};
    require(offset.size() == features.shape(0), "one offset a row");
    return blocks(source, features.shape(0), wide, start, rows, points, angle, radius, temperature, grad, threads);
}

double matrix_blocks(In2<float> values, bool wide, In1<std::int64_t> start, In1<std::int64_t> rows,
                     In1<std::int64_t> points, In1<double> angle, In1<double> radius, double temperature,
                     Out1<double> grad, int threads) {
    require(values.shape(0) == values.shape(1), "a square matrix");
    const MatrixSource source{values.data(), static_cast<std::int64_t>(values.shape(0))};
    return blocks(source, values.shape(0), wide, start, rows, points, angle, radius, temperature, grad, threads);
}

double stack_blocks(In2<float> values, bool wide, In1<std::int64_t> start, In1<std::int64_t> rows,
                    In1<std::int64_t> points, In1<double> angle, In1<double> radius, double temperature,
                    Out1<double> grad, int threads) {
    for (std::size_t b = 0; b + 1 < start.size(); ++b)
        require(start.data()[b + 1] - start.data()[b] <= static_cast<std::int64_t>(values.shape(1)),
                "a block is wider than the stack");
    const StackSource source{values.data(), static_cast<std::int64_t>(values.shape(1))};
    return blocks(source, values.shape(0), wide, start, rows, points, angle, radius, temperature, grad, threads);
}

// Depths of pairs of points, and the derivatives by both.
template <typename T>
void pair_depths(In2<T> x, In2<T> y, Out1<T> depth, Out2<T> by_x, Out2<T> by_y) {
    const auto fits = [n = x.shape(0)](const auto& a) { return a.shape(0) == n && a.shape(1) == 2; };
    require(fits(x) && fits(y) && fits(by_x) && fits(by_y) && depth.size() == x.shape(0),
            "pairs of points of the plane");
    for (std::size_t i = 0; i < x.shape(0); ++i) {
        const Lca<T> found = lca(x(i, 0), x(i, 1), y(i, 0), y(i, 1));
        depth(i) = depth_of(found.sinh_depth);
        by_x(i, 0) = found.x0, by_x(i, 1) = found.x1;
        by_y(i, 0) = found.y0, by_y(i, 1) = found.y1;
    }
}

nb::tuple greedy(In1<double> angle) {
    AngleTree tree;
    {
        nb::gil_scoped_release release;
        tree = split_largest_gaps(angle.data(), static_cast<std::int64_t>(angle.size()));
    }
    return nb::make_tuple(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.gap)));
}

nb::tuple exact(In2<double> z) {
    DeepestEdges edges;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require(z.shape(1) == 2, "points of the plane");
        edges = deepest_tree(z.data(), static_cast<std::int64_t>(z.shape(0)), interrupt);
    }
    return nb::make_tuple(to_numpy(std::move(edges.source)), to_numpy(std::move(edges.target)),
                          to_numpy(std::move(edges.depth)));
}

nb::tuple prim_matrix(In2<float> matrix) {
    SpanningTree tree;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require(matrix.shape(0) == matrix.shape(1), "a square matrix");
        tree = spanning_tree(matrix.data(), static_cast<std::int64_t>(matrix.shape(0)), interrupt);
    }
    return nb::make_tuple(to_numpy(std::move(tree.source)), to_numpy(std::move(tree.target)),
                          to_numpy(std::move(tree.value)));
}

Array1<double> sums_of_meetings(In2<float> matrix, In1<std::int64_t> order, In1<std::int64_t> first,
                                In1<std::int64_t> last, In1<std::int64_t> left, In1<std::int64_t> right) {
    std::vector<double> sums;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        const auto n = static_cast<std::int64_t>(matrix.shape(0)), m = static_cast<std::int64_t>(first.size());
        require(matrix.shape(0) == matrix.shape(1) && static_cast<std::int64_t>(order.size()) == n, "one place a row");
        require(last.size() == first.size() && right.size() == left.size() &&
                    static_cast<std::int64_t>(left.size()) == n - 1,
                "the arrays of a tree have other lengths");
        require_within(view(order), 0, n, "a leaf that is not there");
        require_within(view(first), 0, n, "a node begins at no leaf");
        require_within(view(last), 1, n + 1, "a node ends at no leaf");
        require_within(view(left), 0, m, "a child that is not there");
        require_within(view(right), 0, m, "a child that is not there");
        sums = meeting_sums(matrix.data(), static_cast<std::int64_t>(matrix.shape(0)), order.data(), first.data(),
                            last.data(), left.data(), right.data(), interrupt);
    }
    return to_numpy(std::move(sums));
}

}  // namespace

void bind_hyperbolic(nb::module_& m) {
    const auto triplets_of = [&](auto function) {
        m.def("triplet_loss", function, nb::arg("z"), nb::arg("ids"), nb::arg("weight"), nb::arg("temperature"),
              nb::arg("grad").none(), nb::arg("share").none(), nb::arg("threads"));
    };
    triplets_of(&triplets<float>);
    triplets_of(&triplets<double>);
    m.def("feature_blocks", &feature_blocks, nb::arg("features"), nb::arg("offset"), nb::arg("shift"), nb::arg("scale"),
          nb::arg("wide"), nb::arg("start"), nb::arg("rows"), nb::arg("points"), nb::arg("angle"), nb::arg("radius"),
          nb::arg("temperature"), nb::arg("grad"), nb::arg("threads"));
    const auto blocks_of = [&](const char* name, auto function) {
        m.def(name, function, nb::arg("values"), nb::arg("wide"), nb::arg("start"), nb::arg("rows"), nb::arg("points"),
              nb::arg("angle"), nb::arg("radius"), nb::arg("temperature"), nb::arg("grad"), nb::arg("threads"));
    };
    blocks_of("matrix_blocks", &matrix_blocks);
    blocks_of("stack_blocks", &stack_blocks);
    const auto depths_of = [&](auto function) {
        m.def("lca_depths", function, nb::arg("x"), nb::arg("y"), nb::arg("depth"), nb::arg("by_x"), nb::arg("by_y"));
    };
    depths_of(&pair_depths<float>);
    depths_of(&pair_depths<double>);
    m.def("decode_angles", &greedy, nb::arg("angle"));
    m.def("deepest_tree", &exact, nb::arg("z"));
    m.def(
        "spread_gaps",
        [](In1<std::int64_t> parent, std::int64_t n, double factor) {
            require_parents(view(parent), n);
            return to_numpy(spread_gaps({parent.data(), parent.size()}, n, factor));
        },
        nb::arg("parent"), nb::arg("n"), nb::arg("factor"));
    m.def("prim_matrix", &prim_matrix, nb::arg("matrix"));
    m.def("meeting_sums", &sums_of_meetings, nb::arg("matrix"), nb::arg("order"), nb::arg("first"), nb::arg("last"),
          nb::arg("left"), nb::arg("right"));
}

}  // namespace cladify
