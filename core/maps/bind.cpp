// Bindings of the layout of points in the plane.
#include "common/bind.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "maps/forces.hpp"
#include "maps/weights.hpp"

namespace cladify {
namespace {

template <typename Value>
void map_weights(In1<std::int64_t> indptr, In1<Value> distance, Out1<float> weight, int threads) {
    require_starts(view(indptr), distance.size(), "indptr must rise from 0 to the number of edges");
    require(weight.size() == distance.size(), "one weight an edge");
    nb::gil_scoped_release release;
    Interrupt interrupt = python_interrupt();
    maps::all_weights(indptr.data(), distance.data(), static_cast<std::int64_t>(indptr.size()) - 1, weight.data(),
                      threads, interrupt);
}

// The arrays of the graph are kept alive by the Python object that holds this one.
class MapForces {
public:
    MapForces(In1<std::int64_t> indptr, In1<std::int32_t> indices, In1<float> weight, In2<float> start,
              In1<std::uint8_t> fixed, float a, float b, float push, float gravity, float momentum, std::uint64_t seed,
              int threads)
        : indptr_(indptr), indices_(indices), weight_(weight) {
        require_graph(view(indptr), view(indices), weight.size());
        const std::size_t n = indptr.size() - 1;
        require(start.shape(0) == n && start.shape(1) == 2, "two coordinates a point");
        require(fixed.size() == 0 || fixed.size() == n, "one flag a point, or none");
        std::vector<maps::Point> points(n);
        for (std::size_t i = 0; i < n; ++i) points[i] = {start.data()[2 * i], start.data()[2 * i + 1]};
        forces_ = std::make_unique<maps::Forces>(
            maps::Graph{static_cast<std::int64_t>(n), indptr.data(), indices.data(), weight.data()},
            maps::Settings{a, b, push, gravity, momentum, seed}, std::move(points),
            std::vector<std::uint8_t>(fixed.data(), fixed.data() + fixed.size()), threads);
    }

    void steps(In1<float> rates) {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        for (std::size_t s = 0; s < rates.size(); ++s) forces_->step(rates.data()[s], interrupt);
    }

    void read(Out2<float> into) const {
        const auto& points = forces_->points();
        require(into.shape(0) == points.size() && into.shape(1) == 2, "two coordinates a point");
        for (std::size_t i = 0; i < points.size(); ++i) {
            into.data()[2 * i] = points[i].x;
            into.data()[2 * i + 1] = points[i].y;
        }
    }

private:
    In1<std::int64_t> indptr_;
    In1<std::int32_t> indices_;
    In1<float> weight_;
    std::unique_ptr<maps::Forces> forces_;
};

}  // namespace

void bind_layout(nb::module_& m) {
    m.def("map_weights", &map_weights<float>, nb::arg("indptr"), nb::arg("distance"), nb::arg("weight"),
          nb::arg("threads"));
    m.def("map_weights", &map_weights<double>, nb::arg("indptr"), nb::arg("distance"), nb::arg("weight"),
          nb::arg("threads"));
    nb::class_<MapForces>(m, "MapForces")
        .def(nb::init<In1<std::int64_t>, In1<std::int32_t>, In1<float>, In2<float>, In1<std::uint8_t>, float, float,
                      float, float, float, std::uint64_t, int>(),
             nb::arg("indptr"), nb::arg("indices"), nb::arg("weight"), nb::arg("start"), nb::arg("fixed"), nb::arg("a"),
             nb::arg("b"), nb::arg("push"), nb::arg("gravity"), nb::arg("momentum"), nb::arg("seed"),
             nb::arg("threads"))
        .def("steps", &MapForces::steps, nb::arg("rates"))
        .def("read", &MapForces::read, nb::arg("into"));
}

}  // namespace cladify
