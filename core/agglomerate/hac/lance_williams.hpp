// Distances of the union of two clusters, from those of its parts.
#pragma once
#include <algorithm>
#include <type_traits>

#include "agglomerate/hac/linkage.hpp"

namespace cladify {

// Calls use(combine, grows) with combine(D(A, k), D(B, k), weight of k) = D(A u B, k), where A and B weigh `a` and `b`
// and are `apart`. Ward, centroid and median linkage work on squared distances. `grows` is a std::bool_constant: false
// where the result lies between the two distances, so that it needs no check.
template <class Use>
void with_lance_williams(Linkage linkage, double a, double b, double apart, const Use& use) {
    constexpr std::false_type between;
    constexpr std::true_type grows;
    switch (linkage) {
        case Linkage::single:
            return use([](double x, double y, double) { return std::min(x, y); }, between);
        case Linkage::complete:
            return use([](double x, double y, double) { return std::max(x, y); }, between);
        case Linkage::average:
            return use([p = a / (a + b), q = b / (a + b)](double x, double y, double) { return p * x + q * y; },
                       between);
        case Linkage::weighted:
            return use([](double x, double y, double) { return 0.5 * (x + y); }, between);
        case Linkage::ward:
            return use(
                [=](double x, double y, double k) { return ((a + k) * x + (b + k) * y - k * apart) / (a + b + k); },
                grows);
        case Linkage::centroid:
            return use([p = a / (a + b), q = b / (a + b), c = a * b * apart / ((a + b) * (a + b))](
                           double x, double y, double) { return p * x + q * y - c; },
                       grows);
        case Linkage::median:
            return use([c = 0.25 * apart](double x, double y, double) { return 0.5 * (x + y) - c; }, grows);
    }
}

}  // namespace cladify
