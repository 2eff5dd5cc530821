// Bindings of hac_matrix.hpp.
#include "hac_matrix.hpp"

#include "bind.hpp"

namespace ramify {

namespace {

// Keeps the matrix that it works in alive.
template <typename T>
class Hac {
public:
    Hac(Out1<T> distance, int linkage, In1<double> weight, int threads)
        : distance_(distance),
          hac_(distance_.data(), weight.size(), static_cast<MatrixLinkage>(linkage), weight.data(), threads) {}

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
        .def(nb::init<Out1<T>, int, In1<double>, int>())
        .def("start", &Hac<T>::start, Release())
        .def("run", &Hac<T>::run, Release())
        .def_prop_ro("alive", &Hac<T>::alive)
        .def("merges", [](const Hac<T>& hac) {
            const MergeList& merges = hac.merges();
            return nb::make_tuple(to_numpy(merges.left), to_numpy(merges.right), to_numpy(merges.height));
        });
}

}  // namespace

void bind_hac_matrix(nb::module_& m) {
    bind<float>(m, "MatrixHac32");
    bind<double>(m, "MatrixHac64");
}

}  // namespace ramify
