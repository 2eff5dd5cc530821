// Bindings of topk.hpp.
#include "data/topk.hpp"

#include "common/bind.hpp"

namespace cladify {

namespace {
void offer(Out2<std::uint64_t> keys, Out1<std::uint8_t> locks, In2<float> score, In1<std::int32_t> row_id,
           In1<std::int32_t> column_id, In1<std::int32_t> row_group, In1<std::int32_t> column_group,
           In1<float> row_bias, In1<float> column_bias, bool both, bool unique) {
    const TopK top{keys.data(), locks.data(), keys.shape(1), unique};
    const ScoreBlock block{score.data(),     score.shape(0),      score.shape(1),  row_id.data(),     column_id.data(),
                           row_group.data(), column_group.data(), row_bias.data(), column_bias.data()};
    both ? offer_block<true>(top, block) : offer_block<false>(top, block);
}

void best(In2<std::uint64_t> keys, Out2<std::int32_t> id, Out2<float> score) {
    const std::size_t capacity = keys.shape(1), k = id.shape(1);
    for (std::size_t i = 0; i < keys.shape(0); ++i)
        best_of(keys.data() + i * capacity, capacity, k, id.data() + i * k, score.data() + i * k);
}
}  // namespace

void bind_topk(nb::module_& m) {
    m.def("offer", &offer, nb::call_guard<nb::gil_scoped_release>(), nb::arg("keys"), nb::arg("locks"),
          nb::arg("score"), nb::arg("row_id"), nb::arg("column_id"), nb::arg("row_group"), nb::arg("column_group"),
          nb::arg("row_bias"), nb::arg("column_bias"), nb::arg("both"), nb::arg("unique"));
    m.def("best", &best, nb::call_guard<nb::gil_scoped_release>(), nb::arg("keys"), nb::arg("id"), nb::arg("score"));
}

}  // namespace cladify
