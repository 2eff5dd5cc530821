// Bindings of random_trees.hpp.
#include "random_trees.hpp"

#include "bind.hpp"

namespace ramify {
namespace {

template <typename T>
void project(In2<T> X, In1<double> direction, bool normalize, Out1<double> out) {
    project_rows(X.data(), static_cast<std::int64_t>(X.shape(0)), static_cast<std::int64_t>(X.shape(1)),
                 direction.data(), normalize, out.data());
}

nb::tuple random_cut(In1<double> position, In1<std::int64_t> leaf, std::uint64_t seed, int threads) {
    RandomTreeArrays out;
    {
        nb::gil_scoped_release release;
        out = random_cut_tree({position.data(), position.size()}, {leaf.data(), leaf.size()}, seed, threads);
    }
    return nb::make_tuple(to_numpy(std::move(out.parent)), to_numpy(std::move(out.height)));
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
    m.def("random_cut", &random_cut);
    m.def("uniform_tree", &uniform_tree);
}

}  // namespace ramify
