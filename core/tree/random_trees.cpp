// Bindings of random_trees.hpp.
#include "tree/random_trees.hpp"

#include "common/bind.hpp"

namespace cladify {
namespace {

template <typename T>
void project(In2<T> X, In1<T> direction, bool normalize, Out1<double> out) {
    project_rows(X.data(), static_cast<std::int64_t>(X.shape(0)), static_cast<std::int64_t>(X.shape(1)),
                 direction.data(), normalize, out.data());
}

void keys(In1<double> position, Out1<std::uint64_t> key, int threads) {
    Team team(threads);
    line_keys({position.data(), position.size()}, {key.data(), key.size()}, team);
}

// Parents and heights in place of sorted keys and positions: see RandomCutTree.
void random_cut(std::uint64_t seed, int threads, Out1<std::int64_t> parent, Out1<double> height) {
    const auto n = static_cast<std::int64_t>(parent.size() + 1) / 2;
    Team team(threads);
    line_order({height.data(), static_cast<std::size_t>(n)},
               {reinterpret_cast<std::uint64_t*>(parent.data()) + n - 1, static_cast<std::size_t>(n)}, team);
    RandomCutTree(n, seed, team, parent.data(), height.data());
}

Array1<std::int64_t> uniform_tree(std::int64_t n, std::uint64_t seed) {
    std::vector<std::int64_t> parent;
    {
        nb::gil_scoped_release release;
        parent = uniform_binary_tree(n, seed);
    }
    return to_numpy(std::move(parent));
}

}  // namespace

void bind_random_trees(nb::module_& m) {
    m.def("project_rows", &project<float>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("X"), nb::arg("direction"),
          nb::arg("normalize"), nb::arg("out"));
    m.def("project_rows", &project<double>, nb::call_guard<nb::gil_scoped_release>(), nb::arg("X"),
          nb::arg("direction"), nb::arg("normalize"), nb::arg("out"));
    m.def("line_keys", &keys, nb::call_guard<nb::gil_scoped_release>(), nb::arg("position"), nb::arg("key"),
          nb::arg("threads"));
    m.def("random_cut", &random_cut, nb::call_guard<nb::gil_scoped_release>(), nb::arg("seed"), nb::arg("threads"),
          nb::arg("parent"), nb::arg("height"));
    m.def("uniform_tree", &uniform_tree, nb::arg("n"), nb::arg("seed"));
}

}  // namespace cladify
