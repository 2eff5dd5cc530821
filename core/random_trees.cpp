// Bindings of random_trees.hpp.
#include "random_trees.hpp"

#include "bind.hpp"

namespace ramify {
namespace {

template <typename T>
void project(In2<T> X, In1<T> direction, bool normalize, Out1<double> out) {
    project_rows(X.data(), static_cast<std::int64_t>(X.shape(0)), static_cast<std::int64_t>(X.shape(1)),
                 direction.data(), normalize, out.data());
}

void keys(In1<double> position, Out1<std::uint64_t> key, int threads) {
    line_keys({position.data(), position.size()}, {key.data(), key.size()}, threads);
}

// Parents and heights in place of sorted keys and positions: see RandomCutTree.
void random_cut(std::uint64_t seed, int threads, Out1<std::int64_t> parent, Out1<double> height) {
    const auto n = static_cast<std::int64_t>(parent.size() + 1) / 2;
    line_order({height.data(), static_cast<std::size_t>(n)},
               {reinterpret_cast<std::uint64_t*>(parent.data()) + n - 1, static_cast<std::size_t>(n)}, threads);
    RandomCutTree(n, seed, threads, parent.data(), height.data());
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
    m.def("project_rows", &project<float>, nb::call_guard<nb::gil_scoped_release>());
    m.def("project_rows", &project<double>, nb::call_guard<nb::gil_scoped_release>());
    m.def("line_keys", &keys, nb::call_guard<nb::gil_scoped_release>());
    m.def("random_cut", &random_cut, nb::call_guard<nb::gil_scoped_release>());
    m.def("uniform_tree", &uniform_tree);
}

}  // namespace ramify
