// Distances of the union of two clusters, from those of its parts.
#pragma once
#include <algorithm>

#include "hac/linkage.hpp"

namespace ramify {

// Calls use(combine) with combine(D(A, k), D(B, k), weight of k) = D(A u B, k), where A and B weigh `a` and `b` and are
// `apart`. Ward, centroid and median linkage work on squared distances.
template <class Use>
void with_lance_williams(Linkage linkage, double a, double b, double apart, const Use& use) {
    switch (linkage) {
        case Linkage::single:
            return use([](double x, double y, double) { return std::min(x, y); });
        case Linkage::complete:
            return use([](double x, double y, double) { return std::max(x, y); });
        case Linkage::average:
            return use([p = a / (a + b), q = b / (a + b)](double x, double y, double) { return p * x + q * y; });
        case Linkage::weighted:
            return use([](double x, double y, double) { return 0.5 * (x + y); });
        case Linkage::ward:
            return use(
                [=](double x, double y, double k) { return ((a + k) * x + (b + k) * y - k * apart) / (a + b + k); });
        case Linkage::centroid:
            return use([p = a / (a + b), q = b / (a + b), c = a * b * apart / ((a + b) * (a + b))](
                           double x, double y, double) { return p * x + q * y - c; });
        case Linkage::median:
            return use([c = 0.25 * apart](double x, double y, double) { return 0.5 * (x + y) - c; });
    }
}

}  // namespace ramify
