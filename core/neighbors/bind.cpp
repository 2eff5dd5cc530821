// Bindings of cell_lists.hpp.
#include "common/bind.hpp"

#include "neighbors/cell_lists.hpp"

namespace cladify {

namespace {
using Slots = In1<std::int32_t>;

auto pairs(ReachedPairs found) {
    return nb::make_tuple(to_numpy(std::move(found.query)), to_numpy(std::move(found.slot)));
}

// Queries `query[start[c]:start[c + 1]]` look into cell c, for the cells from `first` up to `last`.
auto scan(const CellLists& lists, In2<float> rows, In1<float> bias, In1<float> reach, In2<float> queries,
          In1<float> query_bias, Slots query, In1<std::int64_t> start, std::size_t first, std::size_t last,
          Out2<std::uint64_t> keys, Out1<std::uint8_t> locks, bool back) {
    ReachedPairs reached;
    {
        nb::gil_scoped_release release;
        CellScan work({rows.data(), rows.shape(1), bias.data(), reach.data()}, {queries.data(), query_bias.data()},
                      {keys.data(), locks.data(), keys.shape(1)}, back ? &reached : nullptr);
        for (std::size_t c = first; c < last; ++c) {
            const auto from = static_cast<std::size_t>(start.data()[c]),
                       to = static_cast<std::size_t>(start.data()[c + 1]);
            work.scan(lists[c], {query.data() + from, to - from});
        }
    }
    return pairs(std::move(reached));
}

auto reached(In2<float> score, In1<float> row_bias, In1<float> reach) {
    ReachedPairs out;
    {
        nb::gil_scoped_release release;
        find_reached(score.data(), score.shape(0), score.shape(1), row_bias.data(), reach.data(), out);
    }
    return pairs(std::move(out));
}
}  // namespace

void bind_neighbors(nb::module_& m) {
    nb::class_<CellLists>(m, "CellLists")
        .def(nb::init<std::size_t>(), nb::arg("cells"))
        .def("__len__", &CellLists::cells)
        .def("make_cells", &CellLists::make_cells, nb::arg("more"))
        .def(
            "add",
            [](CellLists& lists, Slots slots, Slots cell) {
                for (std::size_t i = 0; i < slots.size(); ++i) lists.add(slots.data()[i], cell.data()[i]);
            },
            nb::arg("slots"), nb::arg("cell"))
        .def(
            "remove",
            [](CellLists& lists, Slots slots) {
                for (std::size_t i = 0; i < slots.size(); ++i) lists.remove(slots.data()[i]);
            },
            nb::arg("slots"))
        .def("members", [](const CellLists& lists, std::size_t c) { return to_numpy(std::vector(lists[c])); })
        .def("sizes",
             [](const CellLists& lists) {
                 std::vector<std::int64_t> out(lists.cells());
                 for (std::size_t c = 0; c < out.size(); ++c) out[c] = std::ssize(lists[c]);
                 return to_numpy(std::move(out));
             })
        .def("cells_of",
             [](const CellLists& lists, Slots slots) {
                 std::vector<std::int32_t> out(slots.size());
                 for (std::size_t i = 0; i < out.size(); ++i) out[i] = lists.cell_of(slots.data()[i]);
                 return to_numpy(std::move(out));
             })
        .def("scan", &scan, nb::arg("rows"), nb::arg("bias"), nb::arg("reach"), nb::arg("queries"),
             nb::arg("query_bias"), nb::arg("query"), nb::arg("start"), nb::arg("first"), nb::arg("last"),
             nb::arg("keys"), nb::arg("locks"), nb::arg("back"));
    m.def("reached", &reached, nb::arg("score"), nb::arg("row_bias"), nb::arg("reach"));
}

}  // namespace cladify
