// Bindings of hierarchical agglomeration: of matrices, of vectors in linear memory, and by mutual reachability.
#include "common/bind.hpp"

#include "agglomerate/hac/centroid.hpp"
#include "agglomerate/hac/condense.hpp"
#include "agglomerate/hac/distances.hpp"
#include "agglomerate/hac/growing_tree.hpp"
#include "agglomerate/hac/matrix.hpp"
#include "agglomerate/hac/mst.hpp"
#include "agglomerate/hac/prim.hpp"
#include "agglomerate/hac/reach.hpp"
#include "agglomerate/hac/reducible.hpp"
#include "agglomerate/hac/search.hpp"
#include "agglomerate/hac/single.hpp"
#include "common/cpu.hpp"
#include "common/duplicates.hpp"

namespace cladify {
namespace {

// Edges between the nodes 0 to n - 1.
void require_edges(const In1<std::int32_t>& a, const In1<std::int32_t>& b, const In1<double>& length, std::int32_t n) {
    require(b.size() == a.size() && length.size() == a.size(), "two ends and a length an edge");
    require_within(view(a), 0, n, "an edge starts at no node");
    require_within(view(b), 0, n, "an edge leads to no node");
}

// Keeps the matrix that it works in alive.
template <typename T>
class Hac {
public:
    Hac(Out1<T> distance, Linkage linkage, In1<double> weight, int threads)
        : distance_(distance),
          hac_(checked(distance_, weight.size()), weight.size(), linkage, weight.data(), threads) {}

    void start() {
        Interrupt interrupt = python_interrupt();
        hac_.start(interrupt);
    }

    void run(std::size_t merges) {
        Interrupt interrupt = python_interrupt();
        hac_.run(merges, interrupt);
    }

    std::size_t alive() const { return hac_.alive(); }
    const MergeList& merges() const { return hac_.merges; }

private:
    static T* checked(const Out1<T>& distance, std::size_t n) {
        require(n >= 1 && distance.size() == n * (n - 1) / 2, "one distance a pair");
        return distance.data();
    }

    Out1<T> distance_;
    HacMatrix<T> hac_;
};

template <typename T>
void bind(nb::module_& m, const char* name) {
    using Release = nb::call_guard<nb::gil_scoped_release>;
    nb::class_<Hac<T>>(m, name)
        .def(nb::init<Out1<T>, Linkage, In1<double>, int>(), nb::arg("distance"), nb::arg("linkage"), nb::arg("weight"),
             nb::arg("threads"))
        .def("start", &Hac<T>::start, Release())
        .def("run", &Hac<T>::run, Release(), nb::arg("merges"))
        .def_prop_ro("alive", &Hac<T>::alive)
        .def("merges", [](const Hac<T>& hac) {
            const MergeList& merges = hac.merges();
            return nb::make_tuple(to_numpy(merges.left), to_numpy(merges.right), to_numpy(merges.height));
        });
}

template <typename T>
void write_block(In2<double> product, std::size_t row, std::size_t column, In1<double> row_square,
                 In1<double> column_square, bool squared, std::size_t n, Out1<T> distance) {
    const std::size_t rows = product.shape(0), columns = product.shape(1);
    require(row_square.size() == rows && column_square.size() == columns, "one squared length a row and a column");
    require(row <= n && rows <= n - row && column <= n && columns <= n - column, "no such block");
    require(n >= 1 && distance.size() == n * (n - 1) / 2, "one distance a pair");
    write_distances<T>({product.data(), row, rows, column, columns, row_square.data(), column_square.data(), squared},
                       n, distance.data());
}

template <typename T>
std::int32_t add_row(GrowingTree& tree, std::int32_t at, In1<T> row) {
    nb::gil_scoped_release release;
    return tree.add(at, row.data());
}

using Release = nb::call_guard<nb::gil_scoped_release>;

// The clusters and the search for them in one object, which keeps the arrays that it works in alive.
class VectorHac {
public:
    VectorHac(Out2<double> mean, Out2<float> mean32, Linkage linkage, std::size_t list_size, In1<double> weight,
              In1<double> spread, In1<std::int32_t> id, In1<std::int32_t> leaf, std::int32_t first_id, int threads)
        : mean_(mean), mean32_(mean32), team_(threads) {
        const std::size_t n = mean.shape(0);
        require(mean32.shape(0) == n && mean32.shape(1) == mean.shape(1), "the means twice");
        require(weight.size() == n && spread.size() == n && id.size() == n && leaf.size() == n, "one value a cluster");
        const auto make = [&]<class Kind>(Kind*) -> std::unique_ptr<HacClusters> {
            return std::make_unique<Kind>(mean_.data(), mean32_.data(), mean_.shape(0), mean_.shape(1), linkage,
                                          list_size, weight.data(), spread.data(), id.data(), leaf.data(), first_id);
        };
        switch (linkage) {
            case Linkage::single:
                clusters = make(static_cast<HacSingle*>(nullptr));
                break;
            case Linkage::centroid:
            case Linkage::median:
                clusters = make(static_cast<HacCentroid*>(nullptr));
                break;
            case Linkage::average:
            case Linkage::weighted:
            case Linkage::ward:
                clusters = make(static_cast<HacReducible*>(nullptr));
                break;
            case Linkage::complete:
                throw std::invalid_argument("complete linkage of vectors needs a matrix");
        }
        search = std::make_unique<HacSearch>(*clusters);
    }

    // As HacClusters::run, with the searches that are too small for matrix products.
    Array1<std::int32_t> run(std::size_t until, double limit, std::size_t merges) {
        constexpr std::size_t kFew = 8;
        std::vector<std::int32_t> rows;
        {
            nb::gil_scoped_release release;
            Interrupt interrupt = python_interrupt();
            const std::size_t stop = clusters->height.size() + merges;
            while (true) {
                rows = clusters->run(until, limit, stop - clusters->height.size(), interrupt);
                if (rows.empty() || rows.size() > kFew) break;
                search->few(std::move(rows), team_, interrupt);
            }
        }
        return to_numpy(std::move(rows));
    }

#if defined(__x86_64__)
    void copy_for_screen() {
        constexpr std::size_t kRows = 256;
        Interrupt interrupt = python_interrupt();
        const auto in_parts = [&](std::size_t count, const auto& work) {
            const auto parts = static_cast<std::int64_t>((count + kRows - 1) / kRows);
            const auto one = [&](std::int64_t part) {
                const std::size_t first = static_cast<std::size_t>(part) * kRows;
                work(first, std::min(count, first + kRows));
            };
            team_.run(parts, one, &interrupt);
        };
        search->copy();
        in_parts(search->columns(), [&](std::size_t first, std::size_t last) { search->quantise(first, last); });
        in_parts(search->rows(), [&](std::size_t first, std::size_t last) { search->reach(first, last); });
    }
#endif

    std::unique_ptr<HacClusters> clusters;
    std::unique_ptr<HacSearch> search;

private:
    Out2<double> mean_;
    Out2<float> mean32_;
    Team team_;
};

void require_part(std::size_t first, std::size_t count, std::size_t all) {
    require(first <= all && count <= all - first, "no such part of the search");
}

// The slots that search, and those that may be found.
void begin(VectorHac& hac, In1<std::int32_t> rows, In1<std::int32_t> columns) {
    const auto slots = static_cast<std::int64_t>(hac.clusters->slots());
    require_within(view(rows), 0, slots, "a slot that is not there searches");
    require_within(view(columns), 0, slots, "a slot that is not there is searched");
    hac.search->begin({rows.data(), rows.data() + rows.size()}, {columns.data(), columns.data() + columns.size()});
}

void set_near_order(VectorHac& hac, In1<std::int32_t> slots) {
    const auto count = static_cast<std::int64_t>(hac.clusters->slots());
    require(static_cast<std::int64_t>(slots.size()) == count, "all slots in their order");
    require_within(view(slots), 0, count, "a slot that is not there");
    hac.clusters->set_near_order({slots.data(), slots.data() + slots.size()});
}

// A method of HacSearch that takes a block of products, its first row and its first column.
template <auto Scan>
void scan(VectorHac& hac, In2<float> product, std::size_t row, std::size_t column) {
    require_part(row, product.shape(0), hac.search->rows());
    require_part(column, product.shape(1), hac.search->columns());
    if (product.size() == 0) return;
    (*hac.search.*Scan)(product.data(), row, product.shape(0), column, product.shape(1));
}

std::size_t screen(VectorHac& hac, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns,
                   bool both) {
    require(supports_vnni(), "this processor has no int8 products");
    require_part(row, rows, hac.search->rows());
    require_part(column, columns, hac.search->columns());
    require(column % kPanel == 0, "blocks of whole panels");
    require(!both || hac.search->rows() == hac.search->columns(), "all clusters search among all");
#if defined(__x86_64__)
    require(hac.search->copied(), "copy_for_screen comes first");
    return hac.search->screen(row, rows, column, columns, both);
#else
    return 0;
#endif
}

// Makes the int8 copies of the columns, and says what the rows have to beat; all rows are among the columns.
void copy_for_screen(VectorHac& hac) {
    require(supports_vnni(), "this processor has no int8 products");
#if defined(__x86_64__)
    hac.copy_for_screen();
#endif
}

template <typename T>
Array1<std::int32_t> first_equal(In2<T> data) {
    std::vector<std::int32_t> first;
    {
        nb::gil_scoped_release release;
        first = first_equal_rows(data.data(), data.shape(0), data.shape(1));
    }
    return to_numpy(std::move(first));
}

// `rows` and `columns` are empty where products are all there is.
template <typename T>
void scan_reach(In2<T> product, In1<T> row_square, In1<T> column_square, In1<std::int32_t> row_group,
                In1<std::int32_t> column_group, In1<std::int32_t> column_id, In1<double> column_core, double scale,
                double margin, In2<double> rows, In2<double> columns, Out2<double> value, Out2<std::int32_t> id,
                Out2<std::int32_t> group) {
    nb::gil_scoped_release release;
    const bool dense = rows.shape(0) > 0;
    const ReachBlock<T> block{product.data(),
                              product.shape(0),
                              product.shape(1),
                              row_square.data(),
                              column_square.data(),
                              row_group.data(),
                              column_group.data(),
                              column_id.data(),
                              column_core.data(),
                              scale,
                              margin,
                              dense ? rows.data() : nullptr,
                              dense ? columns.data() : nullptr,
                              rows.shape(1)};
    reach_scan(block, value.shape(1), value.data(), id.data(), group.data());
}

nb::tuple edges(const ReachForest& forest) {
    std::vector<std::int32_t> low, high;
    std::vector<double> value;
    for (const ReachForest::Edge& edge : forest.edges()) {
        low.push_back(edge.low);
        high.push_back(edge.high);
        value.push_back(edge.value);
    }
    return nb::make_tuple(to_numpy(std::move(low)), to_numpy(std::move(high)), to_numpy(std::move(value)));
}

nb::tuple prim(In1<std::int32_t> a, In1<std::int32_t> b, In1<double> value, std::size_t n) {
    TreeEdges tree;
    {
        nb::gil_scoped_release release;
        Interrupt interrupt = python_interrupt();
        require(b.size() == a.size() && value.size() == a.size() && n >= 1, "two ends and a value an edge");
        require_within(view(a), -1, static_cast<std::int64_t>(n), "an edge starts at no point");
        require_within(view(b), -1, static_cast<std::int64_t>(n), "an edge leads to no point");
        tree = prim_edges(view(a), view(b), view(value), n, interrupt);
    }
    return nb::make_tuple(to_numpy(std::move(tree.source)), to_numpy(std::move(tree.target)),
                          to_numpy(std::move(tree.value)));
}

nb::tuple merge_ordered(In1<std::int32_t> a, In1<std::int32_t> b, In1<double> length, In1<std::int32_t> order,
                        std::int32_t first) {
    MergeList merges;
    {
        nb::gil_scoped_release release;
        require_edges(a, b, length, first);
        require_within(view(order), 0, static_cast<std::int64_t>(a.size()), "an edge that is not there");
        merges = merge_in_order(a.data(), b.data(), length.data(), view(order), first);
    }
    return nb::make_tuple(to_numpy(std::move(merges.left)), to_numpy(std::move(merges.right)),
                          to_numpy(std::move(merges.height)));
}

nb::tuple condense(In1<std::int64_t> parent, In1<double> size, In1<double> height, std::int64_t n_leaves,
                   double min_size) {
    CondensedRows rows;
    {
        nb::gil_scoped_release release;
        require_parents(view(parent), n_leaves);
        require(size.size() == parent.size() && height.size() == parent.size(), "one size and one height a node");
        rows = condense_tree(view(parent), view(size), view(height), n_leaves, min_size);
    }
    return nb::make_tuple(to_numpy(std::move(rows.parent)), to_numpy(std::move(rows.child)),
                          to_numpy(std::move(rows.lambda)), to_numpy(std::move(rows.size)));
}

}  // namespace

void bind_hac(nb::module_& m) {
    nb::enum_<Linkage>(m, "Linkage")
        .value("single", Linkage::single)
        .value("complete", Linkage::complete)
        .value("average", Linkage::average)
        .value("weighted", Linkage::weighted)
        .value("ward", Linkage::ward)
        .value("centroid", Linkage::centroid)
        .value("median", Linkage::median);
    bind<float>(m, "MatrixHac32");
    bind<double>(m, "MatrixHac64");
    m.def("write_distances", &write_block<float>, Release(), nb::arg("product"), nb::arg("row"), nb::arg("column"),
          nb::arg("row_square"), nb::arg("column_square"), nb::arg("squared"), nb::arg("n"), nb::arg("distance"));
    m.def("write_distances", &write_block<double>, Release(), nb::arg("product"), nb::arg("row"), nb::arg("column"),
          nb::arg("row_square"), nb::arg("column_square"), nb::arg("squared"), nb::arg("n"), nb::arg("distance"));
    nb::class_<GrowingTree>(m, "GrowingTree")
        .def(nb::init<std::size_t>(), nb::arg("n"))
        .def("add", &add_row<float>, nb::arg("at"), nb::arg("row"))
        .def("add", &add_row<double>, nb::arg("at"), nb::arg("row"))
        .def("edges", [](const GrowingTree& tree) {
            return nb::make_tuple(to_numpy(tree.a), to_numpy(tree.b), to_numpy(tree.length));
        });
    nb::class_<VectorHac>(m, "VectorHac")
        .def(nb::init<Out2<double>, Out2<float>, Linkage, std::size_t, In1<double>, In1<double>, In1<std::int32_t>,
                      In1<std::int32_t>, std::int32_t, int>(),
             nb::arg("mean"), nb::arg("mean32"), nb::arg("linkage"), nb::arg("list_size"), nb::arg("weight"),
             nb::arg("spread"), nb::arg("id"), nb::arg("leaf"), nb::arg("first_id"), nb::arg("threads"))
        .def_prop_ro("alive", [](const VectorHac& h) { return h.clusters->alive(); })
        .def_prop_ro("slots", [](const VectorHac& h) { return h.clusters->slots(); })
        .def("run", &VectorHac::run, nb::arg("until"), nb::arg("limit"), nb::arg("merges"))
        .def("groups", [](const VectorHac& h) { return to_numpy(h.clusters->groups()); })
        .def("bias",
             [](const VectorHac& h) {
                 return to_numpy(std::vector(h.clusters->bias(), h.clusters->bias() + h.clusters->slots()));
             })
        .def("set_near_order", &set_near_order, nb::arg("slots"))
        .def("near_order", [](const VectorHac& h) { return to_numpy(h.clusters->near_order()); })
        .def("begin", &begin, nb::arg("rows"), nb::arg("columns"))
        .def("copy_for_screen", &copy_for_screen, Release())
        .def("screen", &screen, Release(), nb::arg("row"), nb::arg("rows"), nb::arg("column"), nb::arg("columns"),
             nb::arg("both"))
        .def("scan", &scan<&HacSearch::scan>, Release(), nb::arg("product"), nb::arg("row"), nb::arg("column"))
        .def("scan_both", &scan<&HacSearch::scan_both>, Release(), nb::arg("product"), nb::arg("row"),
             nb::arg("column"))
        .def("scan_again", &scan<&HacSearch::scan_again>, Release(), nb::arg("product"), nb::arg("row"),
             nb::arg("column"))
        .def(
            "settle_all", [](VectorHac& h) { h.search->settle_all(); }, Release())
        .def("settle", [](VectorHac& h) { return to_numpy(h.search->settle()); })
        .def(
            "settle_again", [](VectorHac& h) { h.search->settle_again(); }, Release())
        .def("merges", [](const VectorHac& h) {
            return nb::make_tuple(to_numpy(h.clusters->left), to_numpy(h.clusters->right),
                                  to_numpy(h.clusters->height));
        });
    m.def(
        "merge_edges",
        [](In1<std::int32_t> a, In1<std::int32_t> b, In1<double> length, std::int32_t first) {
            require_edges(a, b, length, first);
            MergeList merges = merge_edges(a.data(), b.data(), length.data(), a.size(), first);
            return nb::make_tuple(to_numpy(std::move(merges.left)), to_numpy(std::move(merges.right)),
                                  to_numpy(std::move(merges.height)));
        },
        nb::arg("a"), nb::arg("b"), nb::arg("length"), nb::arg("first"));
    m.def("first_equal_rows", &first_equal<double>, nb::arg("data"));
    m.def("first_equal_rows", &first_equal<float>, nb::arg("data"));
    m.def("reach_scan", &scan_reach<float>, nb::arg("product"), nb::arg("row_square"), nb::arg("column_square"),
          nb::arg("row_group"), nb::arg("column_group"), nb::arg("column_id"), nb::arg("column_core"), nb::arg("scale"),
          nb::arg("margin"), nb::arg("rows"), nb::arg("columns"), nb::arg("value"), nb::arg("id"), nb::arg("group"));
    m.def("reach_scan", &scan_reach<double>, nb::arg("product"), nb::arg("row_square"), nb::arg("column_square"),
          nb::arg("row_group"), nb::arg("column_group"), nb::arg("column_id"), nb::arg("column_core"), nb::arg("scale"),
          nb::arg("margin"), nb::arg("rows"), nb::arg("columns"), nb::arg("value"), nb::arg("id"), nb::arg("group"));
    m.def("prim_edges", &prim, nb::arg("a"), nb::arg("b"), nb::arg("value"), nb::arg("n"));
    m.def("merge_in_order", &merge_ordered, nb::arg("a"), nb::arg("b"), nb::arg("length"), nb::arg("order"),
          nb::arg("first"));
    m.def("condense_tree", &condense, nb::arg("parent"), nb::arg("size"), nb::arg("height"), nb::arg("n_leaves"),
          nb::arg("min_size"));
    nb::class_<ReachForest>(m, "ReachForest")
        .def(
            "__init__",
            [](ReachForest* self, In2<std::int32_t> neighbour, In2<double> distance, In1<double> core) {
                nb::gil_scoped_release release;
                require(neighbour.shape(0) == core.size() && distance.shape(0) == core.size() &&
                            distance.shape(1) == neighbour.shape(1),
                        "one list and one distance a point");
                require_within(std::span(neighbour.data(), neighbour.size()), -1,
                               static_cast<std::int64_t>(core.size()), "a neighbour that is not there");
                new (self) ReachForest(neighbour.data(), distance.data(), neighbour.shape(1), view(core));
            },
            nb::arg("neighbour"), nb::arg("distance"), nb::arg("core"))
        // The number of components that are left.
        .def("merge",
             [](ReachForest& self) {
                 nb::gil_scoped_release release;
                 Interrupt interrupt = python_interrupt();
                 self.merge(interrupt);
                 return self.components();
             })
        .def("to_search", [](ReachForest& self) { return to_numpy(self.to_search()); })
        .def("bound", [](const ReachForest& self) { return to_numpy(std::vector(self.bound())); })
        .def("label", [](const ReachForest& self) { return to_numpy(std::vector(self.label())); })
        .def(
            "set_lists",
            [](ReachForest& self, In1<std::int32_t> rows, In2<std::int32_t> found, In2<double> distance) {
                nb::gil_scoped_release release;
                const auto n = static_cast<std::int64_t>(self.label().size());
                require(found.shape(0) == rows.size() && distance.shape(0) == rows.size() &&
                            distance.shape(1) == found.shape(1),
                        "one list a row");
                require_within(view(rows), 0, n, "a row that is not there");
                require_within(std::span(found.data(), found.size()), -1, n, "a neighbour that is not there");
                self.set_lists(view(rows), found.shape(1), found.data(), distance.data());
            },
            nb::arg("rows"), nb::arg("found"), nb::arg("distance"))
        .def("edges", &edges);
}

}  // namespace cladify
