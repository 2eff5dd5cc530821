// The depth of the hyperbolic lowest common ancestor of two points of the Poincaré disk: the distance between the
// origin and the geodesic from x to y (lemma 4.1 of HypHC), and its derivatives.
//
// The lemma's formula goes through an angle α and a radius R that are unbounded at θ = 0 and θ = π. The altitude of the
// hyperbolic triangle (o, x, y) says the same without them: with D the distance of x and y,
//
//     sinh d = sinh|ox| sinh|oy| sin θ / sinh D = 2 |x × y| / (δ √(δ² + ab)),   δ = |x − y|, a = 1 − |x|², b = 1 −
//     |y|²,
//
// where the foot of the altitude lies between x and y; otherwise the end that is nearer to the origin is the answer.
#pragma once
#include <cmath>
#include <limits>

#include "hyperbolic/elementary.hpp"

namespace cladify::hyperbolic {

template <typename T>
struct Lca {
    T sinh_depth;
    T x0, x1, y0, y1;  // derivatives of the depth
};

template <typename T>
inline T depth_of(T sinh_depth) {
    return log_of(sinh_depth + std::sqrt(1 + sinh_depth * sinh_depth));
}

// No branches: loops over it become vector instructions. Points at the boundary count as just inside it.
template <typename T>
inline Lca<T> lca(T x0, T x1, T y0, T y1) {
    constexpr T eps = std::numeric_limits<T>::epsilon(), tiny = std::numeric_limits<T>::min() * 1024;
    const T xx = x0 * x0 + x1 * x1, yy = y0 * y0 + y1 * y1;
    const T a = 1 - xx > eps ? 1 - xx : eps, b = 1 - yy > eps ? 1 - yy : eps;
    const T u0 = x0 - y0, u1 = x1 - y1;
    const T square = u0 * u0 + u1 * u1;
    const T safe = square > tiny ? square : tiny;
    // From the difference of near points, which has no rounding error, rather than from their products, which have.
    const T cross = u0 * x1 - u1 * x0;
    const T q = safe + a * b;
    const T scale = 2 / std::sqrt(safe * q);
    const T s = scale * std::abs(cross);
    const T turn = std::copysign(scale, cross);

    // Feet beyond x or beyond y: k_x · (k_x − k_y) ≤ 0 in the Klein model, where geodesics are straight. Written with
    // the difference of the points, which near the rim is all that is left of the products.
    const bool at_x = square * (1 + xx) + (xx - yy) * a <= 0, at_y = square * (1 + yy) - (xx - yy) * b <= 0;
    const T r_x = std::sqrt(xx), r_y = std::sqrt(yy);
    const T s_x = 2 * r_x / a, s_y = 2 * r_y / b;
    const T unit_x = 2 / (a * (r_x > tiny ? r_x : tiny)), unit_y = 2 / (b * (r_y > tiny ? r_y : tiny));

    const T on_x = at_x ? T{1} : T{0}, on_y = at_y ? T{1} : T{0};
    const T inside = (1 - on_x) * (1 - on_y), both = on_x * on_y;

    const T c = inside / std::sqrt(1 + s * s);
    const T t = s * c / safe, w = s * c / q, turned = c * turn;
    // At an end the depth grows by 2 / (1 − r²) along the radius; where both ends are one point, each has half of it.
    const T radial_x = (on_x - both / 2) * unit_x + w * b, radial_y = (on_y - both / 2) * unit_y + w * a;
    const T s_end = on_x * s_x + (1 - on_x) * s_y;
    return {inside * s + (1 - inside) * s_end, turned * y1 - (t + w) * u0 + radial_x * x0,
            -turned * y0 - (t + w) * u1 + radial_x * x1, -turned * x1 + (t + w) * u0 + radial_y * y0,
            turned * x0 + (t + w) * u1 + radial_y * y1};
}

}  // namespace cladify::hyperbolic
