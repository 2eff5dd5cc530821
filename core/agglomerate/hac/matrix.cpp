// Bindings of matrix.hpp, and of the spanning trees of matrices (growing_tree.hpp).
#include "agglomerate/hac/matrix.hpp"

#include "agglomerate/hac/growing_tree.hpp"
#include "common/bind.hpp"

namespace cladify {

namespace {

// Keeps the matrix that it works in alive.
template <typename T>
class Hac {
public:
    Hac(Out1<T> distance, Linkage linkage, In1<double> weight, int threads)
        : distance_(distance), hac_(distance_.data(), weight.size(), linkage, weight.data(), threads) {}

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
std::int32_t add_row(GrowingTree& tree, std::int32_t at, In1<T> row) {
    nb::gil_scoped_release release;
    return tree.add(at, row.data());
}

}  // namespace

void bind_hac_matrix(nb::module_& m) {
    bind<float>(m, "MatrixHac32");
    bind<double>(m, "MatrixHac64");
    nb::class_<GrowingTree>(m, "GrowingTree")
        .def(nb::init<std::size_t>(), nb::arg("n"))
        .def("add", &add_row<float>, nb::arg("at"), nb::arg("row"))
        .def("add", &add_row<double>, nb::arg("at"), nb::arg("row"))
        .def("edges", [](const GrowingTree& tree) {
            return nb::make_tuple(to_numpy(tree.a), to_numpy(tree.b), to_numpy(tree.length));
        });
}

}  // namespace cladify
