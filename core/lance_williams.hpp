// Distances of the union of two clusters, from those of its parts.
#pragma once
#include <algorithm>

namespace ramify {

enum class MatrixLinkage : int { single, complete, average, weighted, ward, centroid, median };

// Calls use(combine) with combine(D(A, k), D(B, k), weight of k) = D(A u B, k), where A and B weigh `a` and `b` and are
// `apart`. Ward, centroid and median linkage work on squared distances.
template <class Use>
void with_lance_williams(MatrixLinkage linkage, double a, double b, double apart, const Use& use) {
    switch (linkage) {
        case MatrixLinkage::single:
            return use([](double x, double y, double) { return std::min(x, y); });
        case MatrixLinkage::complete:
            return use([](double x, double y, double) { return std::max(x, y); });
        case MatrixLinkage::average:
            return use([p = a / (a + b), q = b / (a + b)](double x, double y, double) { return p * x + q * y; });
        case MatrixLinkage::weighted:
            return use([](double x, double y, double) { return 0.5 * (x + y); });
        case MatrixLinkage::ward:
            return use(
                [=](double x, double y, double k) { return ((a + k) * x + (b + k) * y - k * apart) / (a + b + k); });
        case MatrixLinkage::centroid:
            return use([p = a / (a + b), q = b / (a + b), c = a * b * apart / ((a + b) * (a + b))](
                           double x, double y, double) { return p * x + q * y - c; });
        case MatrixLinkage::median:
            return use([c = 0.25 * apart](double x, double y, double) { return 0.5 * (x + y) - c; });
    }
}

}  // namespace ramify
