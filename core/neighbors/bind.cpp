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
        const std::size_t n = queries.shape(0);
        require(queries.shape(1) == rows.shape(1) && query_bias.size() == n && keys.shape(0) == n && locks.size() == n,
                "one bias and one heap a query, as wide as the rows");
        require(bias.size() == rows.shape(0) && (!back || reach.size() == rows.shape(0)), "one bias a row");
        require(first <= last && last <= lists.cells() && start.size() > last, "one list of queries a cell");
        bool holds = true;
        for (std::size_t c = first; c < last; ++c)
            holds &= start.data()[c] >= 0 && start.data()[c] <= start.data()[c + 1];
        require(holds && start.data()[last] <= std::ssize(view(query)), "the queries do not lie one after another");
        const std::int64_t from = start.data()[first], to = start.data()[last];
        require_within(view(query).subspan(from, first < last ? to - from : 0), 0, static_cast<std::int64_t>(n),
                       "a query that is not there");
        CellScan work({rows.data(), rows.shape(1), bias.data(), reach.data()}, {queries.data(), query_bias.data()},
                      {keys.data(), locks.data(), keys.shape(1)}, back ? &reached : nullptr);
        for (std::size_t c = first; c < last; ++c) {
            const auto begin = static_cast<std::size_t>(start.data()[c]),
                       end = static_cast<std::size_t>(start.data()[c + 1]);
            work.scan(lists[c], {query.data() + begin, end - begin});
        }
    }
    return pairs(std::move(reached));
}

auto reached(In2<float> score, In1<float> row_bias, In1<float> reach) {
    ReachedPairs out;
    {
        nb::gil_scoped_release release;
        require(row_bias.size() == score.shape(0) && reach.size() == score.shape(1),
                "one bias a row, one reach a column");
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
                require(cell.size() == slots.size(), "one cell a slot");
                require_within(view(slots), 0, std::int64_t{1} << 31, "a slot has a number of at least 0");
                require_within(view(cell), 0, static_cast<std::int64_t>(lists.cells()), "a cell that is not there");
                for (std::size_t i = 0; i < slots.size(); ++i) {
                    require(!lists.has(slots.data()[i]), "a slot that is in a cell already");
                    lists.add(slots.data()[i], cell.data()[i]);
                }
            },
            nb::arg("slots"), nb::arg("cell"))
        .def(
            "remove",
            [](CellLists& lists, Slots slots) {
                for (std::size_t i = 0; i < slots.size(); ++i) {
                    require(lists.has(slots.data()[i]), "a slot that is in no cell");
                    lists.remove(slots.data()[i]);
                }
            },
            nb::arg("slots"))
        .def("members",
             [](const CellLists& lists, std::size_t c) {
                 require(c < lists.cells(), "a cell that is not there");
                 return to_numpy(std::vector(lists[c]));
             })
        .def("sizes",
             [](const CellLists& lists) {
                 std::vector<std::int64_t> out(lists.cells());
                 for (std::size_t c = 0; c < out.size(); ++c) out[c] = std::ssize(lists[c]);
                 return to_numpy(std::move(out));
             })
        .def("cells_of",
             [](const CellLists& lists, Slots slots) {
                 std::vector<std::int32_t> out(slots.size());
                 for (std::size_t i = 0; i < out.size(); ++i)
                     out[i] = lists.has(slots.data()[i]) ? lists.cell_of(slots.data()[i]) : -1;
                 return to_numpy(std::move(out));
             })
        .def("scan", &scan, nb::arg("rows"), nb::arg("bias"), nb::arg("reach"), nb::arg("queries"),
             nb::arg("query_bias"), nb::arg("query"), nb::arg("start"), nb::arg("first"), nb::arg("last"),
             nb::arg("keys"), nb::arg("locks"), nb::arg("back"));
    m.def("reached", &reached, nb::arg("score"), nb::arg("row_bias"), nb::arg("reach"));
}

}  // namespace cladify
