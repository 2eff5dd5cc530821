// Bindings of the top-down methods.
#include "common/bind.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>

#include "divide/bisect.hpp"
#include "divide/features.hpp"
#include "divide/graph.hpp"
#include "divide/kmeans.hpp"
#include "divide/matrix.hpp"

namespace cladify {
namespace {

using namespace divide;

nb::tuple arrays(GrownTree tree) {
    return nb::make_tuple(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.height)));
}

// Which of n points is where.
void require_places(const Out1<std::int64_t>& index, std::size_t n) {
    require(n >= 1 && index.size() == n, "one place a point");
    require_within(std::span<const std::int64_t>(index.data(), n), 0, static_cast<std::int64_t>(n),
                   "a point that is not there");
}

// Reports the number of finished points to Python, a few times a second.
class Report {
public:
    explicit Report(nb::callable on_leaves) : on_leaves_(std::move(on_leaves)) {}
    void operator()(std::int64_t done) {
        const auto now = Clock::now();
        if (now < next_) return;
        next_ = now + std::chrono::milliseconds(200);
        nb::gil_scoped_acquire gil;
        on_leaves_(done);
    }

private:
    using Clock = std::chrono::steady_clock;
    nb::callable on_leaves_;
    Clock::time_point next_ = Clock::now();
};

// Parts of up to so many rows are left to one thread: small enough for all threads to find some and for Ctrl-C to be
// heard, large enough that threads seldom wait for each other.
std::int64_t small_part(std::int64_t n, std::int64_t row_cost) {
    return std::clamp<std::int64_t>(n / 8, (1 << 16) / row_cost + 1, (1 << 22) / row_cost + 1);
}

nb::tuple kmeans(Out2<float> z, Out1<std::int64_t> index, nb::object weight, bool spherical, int n_init, int max_iter,
                 double tolerance, std::int64_t leaf_size, std::int64_t max_splits, std::uint64_t seed, int threads,
                 nb::callable on_leaves) {
    std::vector<double> weights;
    if (!weight.is_none()) {
        const auto array = nb::cast<In1<double>>(weight);
        require(array.size() == z.shape(0), "one weight a row");
        weights.assign(array.data(), array.data() + array.size());
    }
    require_places(index, z.shape(0));
    Report report(on_leaves);
    GrownTree tree;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        Team team(threads);
        const auto n = static_cast<std::int64_t>(z.shape(0)), k = static_cast<std::int64_t>(z.shape(1));
        KMeansSplitter splitter({z.data(), index.data(), n, k, {}}, weights.empty() ? nullptr : &weights,
                                {spherical, n_init, max_iter, tolerance, leaf_size, seed}, team, interrupt);
        const double value = splitter.inertia_of_all(team);
        const Growth growth{std::max(leaf_size, small_part(n, k)), max_splits};
        tree = Grower<KMeansSplitter>(splitter, n, growth, team, interrupt, std::ref(report)).grow(index.data(), value);
    }
    return arrays(std::move(tree));
}

template <typename Weights, typename Make>
nb::tuple bisect(const BisectParameters& parameters, int threads, nb::callable on_leaves, Make make) {
    Report report(on_leaves);
    GrownTree tree;
    double inside;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        Team team(threads);
        Weights weights = make(team);
        BisectSplitter<Weights> splitter(weights, parameters, threads, interrupt);
        inside = splitter.inside();
        const Growth growth{std::max(parameters.leaf_size, small_part(weights.size(), weights.row_cost()))};
        tree = Grower<BisectSplitter<Weights>>(splitter, weights.size(), growth, team, interrupt, std::ref(report))
                   .grow(weights.index(), 0.0);
    }
    return nb::make_tuple(to_numpy(std::move(tree.parent)), to_numpy(std::move(tree.height)), inside);
}

// Each takes the weights in an order of its own: `index` says which point is where, and both are rearranged.
nb::tuple bisect_features(Out2<float> z, Out1<std::int64_t> index, In1<double> offset, double scale, double shift,
                          const BisectParameters& parameters, int threads, nb::callable on_leaves) {
    require_places(index, z.shape(0));
    require(offset.size() == z.shape(0), "one offset a row");
    return bisect<SplitFeatures>(parameters, threads, on_leaves, [&](Team& team) {
        const auto n = static_cast<std::int64_t>(z.shape(0)), k = static_cast<std::int64_t>(z.shape(1));
        return SplitFeatures({z.data(), index.data(), n, k, {}}, {offset.data(), offset.data() + n}, scale, shift,
                             team);
    });
}

nb::tuple bisect_graph(In1<std::int64_t> indptr, Out1<std::int32_t> neighbour, Out1<float> weight,
                       Out1<std::int64_t> index, const BisectParameters& parameters, int threads,
                       nb::callable on_leaves) {
    require(indptr.size() == index.size() + 1, "one list of neighbours a point");
    require_places(index, index.size());
    require_graph(view(indptr), std::span<const std::int32_t>(neighbour.data(), neighbour.size()), weight.size());
    return bisect<SplitGraph>(parameters, threads, on_leaves, [&](Team&) {
        return SplitGraph(indptr.data(), neighbour.data(), weight.data(), index.data(),
                          static_cast<std::int64_t>(index.shape(0)));
    });
}

nb::tuple bisect_matrix(Out2<float> weight, Out1<std::int64_t> index, const BisectParameters& parameters, int threads,
                        nb::callable on_leaves) {
    require_places(index, weight.shape(0));
    require(weight.shape(0) == weight.shape(1), "a square matrix");
    return bisect<SplitMatrix>(parameters, threads, on_leaves, [&](Team&) {
        return SplitMatrix(weight.data(), index.data(), static_cast<std::int64_t>(index.shape(0)));
    });
}

void box(Out1<double> x, double total) {
    std::vector<double> breaks, open;
    project_to_box({x.data(), x.size()}, total, breaks, open);
}

}  // namespace

void bind_divide(nb::module_& m) {
    nb::class_<BisectParameters>(m, "BisectParameters")
        .def(nb::init<>())
        .def_rw("sign", &BisectParameters::sign)
        .def_rw("delta", &BisectParameters::delta)
        .def_rw("inside", &BisectParameters::inside)
        .def_rw("random_rounding", &BisectParameters::random_rounding)
        .def_rw("noise", &BisectParameters::noise)
        .def_rw("rates", &BisectParameters::rates)
        .def_rw("n_init", &BisectParameters::n_init)
        .def_rw("n_iter", &BisectParameters::n_iter)
        .def_rw("n_improve", &BisectParameters::n_improve)
        .def_rw("n_full", &BisectParameters::n_full)
        .def_rw("n_sample", &BisectParameters::n_sample)
        .def_rw("n_groups", &BisectParameters::n_groups)
        .def_rw("leaf_size", &BisectParameters::leaf_size)
        .def_rw("height_shift", &BisectParameters::height_shift)
        .def_rw("height_scale", &BisectParameters::height_scale)
        .def_rw("seed", &BisectParameters::seed);
    m.def("bisect_features", &bisect_features, nb::arg("z"), nb::arg("index"), nb::arg("offset"), nb::arg("scale"),
          nb::arg("shift"), nb::arg("parameters"), nb::arg("threads"), nb::arg("on_leaves"));
    m.def("bisect_graph", &bisect_graph, nb::arg("indptr"), nb::arg("neighbour"), nb::arg("weight"), nb::arg("index"),
          nb::arg("parameters"), nb::arg("threads"), nb::arg("on_leaves"));
    m.def("bisect_matrix", &bisect_matrix, nb::arg("weight"), nb::arg("index"), nb::arg("parameters"),
          nb::arg("threads"), nb::arg("on_leaves"));
    m.def("project_to_box", &box, nb::call_guard<nb::gil_scoped_release>(), nb::arg("x"), nb::arg("total"));
    m.def("divide_kmeans", &kmeans, nb::arg("z"), nb::arg("index"), nb::arg("weight").none(), nb::arg("spherical"),
          nb::arg("n_init"), nb::arg("max_iter"), nb::arg("tolerance"), nb::arg("leaf_size"), nb::arg("max_splits"),
          nb::arg("seed"), nb::arg("threads"), nb::arg("on_leaves"));
}

}  // namespace cladify
