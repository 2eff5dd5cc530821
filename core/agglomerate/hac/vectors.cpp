// Bindings of the agglomeration of vectors in linear memory (the headers of this folder).
#include "agglomerate/hac/centroid.hpp"
#include "agglomerate/hac/mst.hpp"
#include "agglomerate/hac/reducible.hpp"
#include "agglomerate/hac/search.hpp"
#include "agglomerate/hac/single.hpp"
#include "common/bind.hpp"
#include "common/duplicates.hpp"

namespace cladify {

namespace {

using Release = nb::call_guard<nb::gil_scoped_release>;

// The clusters and the search for them in one object, which keeps the arrays that it works in alive.
class VectorHac {
public:
    VectorHac(Out2<double> mean, Out2<float> mean32, Linkage linkage, std::size_t list_size, In1<double> weight,
              In1<double> spread, In1<std::int32_t> id, In1<std::int32_t> leaf, std::int32_t first_id, int threads)
        : mean_(mean), mean32_(mean32), team_(threads) {
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

    std::unique_ptr<HacClusters> clusters;
    std::unique_ptr<HacSearch> search;

private:
    Out2<double> mean_;
    Out2<float> mean32_;
    Team team_;
};

// A method of HacSearch that takes a block of products, its first row and its first column.
template <auto Scan>
void scan(VectorHac& hac, In2<float> product, std::size_t row, std::size_t column) {
    (*hac.search.*Scan)(product.data(), row, product.shape(0), column, product.shape(1));
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

}  // namespace

void bind_hac(nb::module_& m) {
    nb::class_<VectorHac>(m, "VectorHac")
        .def(nb::init<Out2<double>, Out2<float>, Linkage, std::size_t, In1<double>, In1<double>, In1<std::int32_t>,
                      In1<std::int32_t>, std::int32_t, int>(),
             nb::arg("mean"), nb::arg("mean32"), nb::arg("linkage"), nb::arg("list_size"), nb::arg("weight"),
             nb::arg("spread"), nb::arg("id"), nb::arg("leaf"), nb::arg("first_id"), nb::arg("threads"))
        .def_prop_ro("alive", [](const VectorHac& h) { return h.clusters->alive(); })
        .def_prop_ro("slots", [](const VectorHac& h) { return h.clusters->slots(); })
        .def("run", &VectorHac::run, nb::arg("until"), nb::arg("limit"), nb::arg("merges"))
        .def("groups", [](const VectorHac& h) { return to_numpy(h.clusters->groups()); })
        .def(
            "begin",
            [](VectorHac& h, In1<std::int32_t> rows) { h.search->begin({rows.data(), rows.data() + rows.size()}); },
            nb::arg("rows"))
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
            MergeList merges = merge_edges(a.data(), b.data(), length.data(), a.size(), first);
            return nb::make_tuple(to_numpy(std::move(merges.left)), to_numpy(std::move(merges.right)),
                                  to_numpy(std::move(merges.height)));
        },
        nb::arg("a"), nb::arg("b"), nb::arg("length"), nb::arg("first"));
    m.def("first_equal_rows", &first_equal<double>, nb::arg("data"));
    m.def("first_equal_rows", &first_equal<float>, nb::arg("data"));
}

}  // namespace cladify
