// Random numbers: a small generator, and numbers that depend on their index alone, so that threads cannot change them.
#pragma once
#include <cmath>
#include <cstdint>

namespace cladify {

// The finaliser of SplitMix64: neighbouring inputs give unrelated outputs.
inline std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

// The i-th number of the stream of a seed.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) {
    return mix(seed + (i + 1) * 0x9e3779b97f4a7c15ULL);
}

// Uniform in (0, 1), from 53 bits.
inline double open_unit(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

// SplitMix64, seeded from NumPy's generator.
class SplitMix {
public:
    explicit SplitMix(std::uint64_t seed) : state_(seed) {}
    std::uint64_t operator()() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }
    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>((static_cast<unsigned __int128>((*this)()) * static_cast<std::uint64_t>(n)) >>
                                         64);
    }
    double unit() { return open_unit((*this)()); }
    // Standard normal, by Box and Muller; the second number of a pair is not kept.
    double normal() {
        const double radius = std::sqrt(-2.0 * std::log(unit()));
        return radius * std::cos(6.283185307179586 * unit());
    }

private:
    std::uint64_t state_;
};

}  // namespace cladify
