// Bindings of reading.hpp.
#include "tree/reading.hpp"

#include "common/bind.hpp"

namespace cladify {
namespace {

using Int = In1<std::int64_t>;
using Real = In1<double>;

IdSpan ids(const Int& a) { return {a.data(), a.size()}; }

std::int64_t min_size_for(Int parent, Int size, std::int64_t n_clusters, std::int64_t most) {
    nb::gil_scoped_release release;
    return largest_min_size(ids(parent), ids(size), n_clusters, most);
}

std::int64_t part_count(Int parent, Int size, std::int64_t min_size) {
    nb::gil_scoped_release release;
    return count_parts(ids(parent), ids(size), min_size);
}

nb::tuple condense(Int parent, Int size, Real priority, std::int64_t n_leaves, std::int64_t min_size,
                   std::int64_t max_children) {
    Derived out;
    {
        nb::gil_scoped_release release;
        const RealSpan values{priority.data(), priority.size()};
        out = Condenser(ids(parent), ids(size), values, n_leaves, min_size, max_children).condense();
    }
    return nb::make_tuple(to_numpy(std::move(out.parent)), to_numpy(std::move(out.source)));
}

nb::tuple list_parts(Int parent, Int size, Real scale, std::int64_t n_leaves, std::int64_t min_size) {
    PartList out;
    {
        nb::gil_scoped_release release;
        out = parts_of(ids(parent), ids(size), {scale.data(), scale.size()}, n_leaves, min_size);
    }
    return nb::make_tuple(to_numpy(std::move(out.node)), to_numpy(std::move(out.above)), to_numpy(std::move(out.end)),
                          to_numpy(std::move(out.lifetime)));
}

}  // namespace

void bind_reading(nb::module_& m) {
    m.def("tree_min_size_for", &min_size_for, nb::arg("parent"), nb::arg("size"), nb::arg("n_clusters"),
          nb::arg("most"));
    m.def("tree_condense", &condense, nb::arg("parent"), nb::arg("size"), nb::arg("priority"), nb::arg("n_leaves"),
          nb::arg("min_size"), nb::arg("max_children"));
    m.def("tree_part_count", &part_count, nb::arg("parent"), nb::arg("size"), nb::arg("min_size"));
    m.def("tree_parts", &list_parts, nb::arg("parent"), nb::arg("size"), nb::arg("scale"), nb::arg("n_leaves"),
          nb::arg("min_size"));
}

}  // namespace cladify
