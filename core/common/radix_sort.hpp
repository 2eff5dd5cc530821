// Radix sort: four passes over the numbers whatever they are, where a comparison sort costs a branch misprediction
// every other time.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace cladify {

// Sorts in rising order; `spare` is overwritten.
inline void radix_sort(std::vector<std::uint32_t>& keys, std::vector<std::uint32_t>& spare) {
    constexpr int kDigits = 4;
    const auto digit = [](std::uint32_t key, int d) { return key >> (8 * d) & 255u; };
    std::array<std::array<std::uint32_t, 256>, kDigits> next{};  // how many keys have each digit; then where they go
    for (const std::uint32_t key : keys)
        for (int d = 0; d < kDigits; ++d) ++next[d][digit(key, d)];
    spare.resize(keys.size());
    for (int d = 0; d < kDigits; ++d) {
        std::uint32_t before = 0;
        for (std::uint32_t& count : next[d]) {
            const std::uint32_t first = before;
            before += count;
            count = first;
        }
        for (const std::uint32_t key : keys) spare[next[d][digit(key, d)]++] = key;
        keys.swap(spare);
    }
}

}  // namespace cladify
