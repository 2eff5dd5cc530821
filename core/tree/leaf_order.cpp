// Bindings of leaf_order.hpp.
#include "tree/leaf_order.hpp"

#include "common/bind.hpp"

namespace cladify {
namespace {

using Int = In1<std::int64_t>;

IdSpan ids(const Int& a) { return {a.data(), a.size()}; }

Array1<std::int64_t> near_order(Int parent, Int start, Int child, std::int64_t n_leaves, In2<float> rows, int width) {
    Interrupt interrupt = python_interrupt();
    Ids out;
    {
        nb::gil_scoped_release release;
        const Children children{Ids(start.data(), start.data() + start.size()),
                                Ids(child.data(), child.data() + child.size())};
        LeafOrder search(ids(parent), children, n_leaves, rows.data(), static_cast<std::int64_t>(rows.shape(1)), width);
        out = search.order(interrupt);
    }
    return to_numpy(std::move(out));
}

nb::tuple layout_of(Int parent, Int size, Int order) {
    Ids first, last;
    std::int64_t broken = -1;
    {
        nb::gil_scoped_release release;
        broken = place_nodes(ids(parent), ids(size), ids(order), first, last);
    }
    return nb::make_tuple(broken, to_numpy(std::move(first)), to_numpy(std::move(last)));
}

Array1<std::int64_t> pair_order(Int pair, Int size, std::int64_t n_leaves) {
    Ids out;
    {
        nb::gil_scoped_release release;
        out = order_of_pairs(ids(pair), ids(size), n_leaves);
    }
    return to_numpy(std::move(out));
}

}  // namespace

void bind_leaf_order(nb::module_& m) {
    m.def("tree_near_order", &near_order, nb::arg("parent"), nb::arg("start"), nb::arg("child"), nb::arg("n_leaves"),
          nb::arg("rows"), nb::arg("width"));
    m.def("tree_layout_of", &layout_of, nb::arg("parent"), nb::arg("size"), nb::arg("order"));
    m.def("tree_pair_order", &pair_order, nb::arg("pair"), nb::arg("size"), nb::arg("n_leaves"));
}

}  // namespace cladify
