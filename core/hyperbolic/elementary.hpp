// Logarithm and exponential without branches or calls, so that loops over them become vector instructions. Both are
// within a few units of the last place, and the same on every run.
#pragma once
#include <bit>
#include <cstdint>

namespace cladify::hyperbolic {

template <typename T>
struct Format;
template <>
struct Format<float> {
    using Bits = std::uint32_t;
    static constexpr int mantissa = 23, bias = 127;
    static constexpr float whole = 8388608.0f;  // 2^23: its last bit counts ones
    static constexpr float lowest = -87.0f;     // e^lowest is still a normal number
    static constexpr float log2_high = 0.693359375f, log2_low = -2.12194440e-4f;
    static constexpr int log_terms = 5, exp_terms = 7;
};
template <>
struct Format<double> {
    using Bits = std::uint64_t;
    static constexpr int mantissa = 52, bias = 1023;
    static constexpr double whole = 4503599627370496.0;  // 2^52
    static constexpr double lowest = -708.0;
    static constexpr double log2_high = 0.693145751953125, log2_low = 1.42860682030941723212e-6;
    static constexpr int log_terms = 12, exp_terms = 13;
};

// The logarithm of a normal number above 0: m·2^e with m in [√½, √2), and log m = 2 artanh((m − 1) / (m + 1)).
template <typename T>
inline T log_of(T x) {
    using F = Format<T>;
    using Bits = typename F::Bits;
    constexpr Bits half_root = std::bit_cast<Bits>(static_cast<T>(0.70710678118654752));
    constexpr Bits fraction = (Bits{1} << F::mantissa) - 1;
    const Bits shifted = std::bit_cast<Bits>(x) - half_root + (Bits{F::bias} << F::mantissa);
    const T m = std::bit_cast<T>(static_cast<Bits>((shifted & fraction) + half_root));
    // The exponent as a number: put into the last bits of 2^mantissa, which is then taken off.
    const Bits exponent = (shifted >> F::mantissa) | std::bit_cast<Bits>(F::whole);
    const T e = std::bit_cast<T>(exponent) - (F::whole + F::bias);
    const T f = (m - 1) / (m + 1), f2 = f * f;
    T series = T{1} / (2 * F::log_terms - 1);
    for (int k = F::log_terms - 2; k >= 0; --k) series = series * f2 + T{1} / (2 * k + 1);
    return e * F::log2_high + (e * F::log2_low + 2 * f * series);
}

// e^x for x ≤ 0; results below the smallest normal number count as that number.
template <typename T>
inline T exp_of(T x) {
    using F = Format<T>;
    using Bits = typename F::Bits;
    x = x < F::lowest ? F::lowest : x;
    const T magic = F::whole * T{1.5};  // adding it rounds to a whole number, in the last bits
    const T shifted = x * static_cast<T>(1.44269504088896340736) + magic;
    const T k = shifted - magic;
    const T r = (x - k * F::log2_high) - k * F::log2_low;
    T series = 1;
    for (int i = F::exp_terms; i >= 1; --i) series = series * r * (T{1} / i) + 1;
    const Bits scale = (std::bit_cast<Bits>(shifted) + F::bias) << F::mantissa;
    return series * std::bit_cast<T>(scale);
}

}  // namespace cladify::hyperbolic
