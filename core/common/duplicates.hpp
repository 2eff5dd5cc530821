// Which rows of a matrix are the same.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cladify {

// For every row the first one equal to it; 0 and -0 are equal, there are no NaN.
template <typename T>
std::vector<std::int32_t> first_equal_rows(const T* data, std::size_t rows, std::size_t columns) {
    const auto hash = [&](std::size_t i) {
        std::uint64_t h = 0x9E3779B97F4A7C15u;
        for (const T* x = data + i * columns; x != data + (i + 1) * columns; ++x) {
            h = (h ^ std::bit_cast<std::uint64_t>(static_cast<double>(*x) + 0.0)) * 0xFF51AFD7ED558CCDu;
            h ^= h >> 32;
        }
        return h;
    };
    const auto equal = [&](std::size_t i, std::size_t j) {
        for (std::size_t k = 0; k < columns; ++k)
            if (data[i * columns + k] != data[j * columns + k]) return false;
        return true;
    };
    const std::size_t mask = std::bit_ceil(2 * rows + 1) - 1;
    std::vector<std::int32_t> table(mask + 1, -1), first(rows);
    std::vector<std::uint64_t> hashes(rows);
    for (std::size_t i = 0; i < rows; ++i) {
        hashes[i] = hash(i);
        std::size_t place = hashes[i] & mask;
        while (table[place] >= 0 && !(hashes[table[place]] == hashes[i] && equal(table[place], i)))
            place = (place + 1) & mask;
        if (table[place] < 0) table[place] = static_cast<std::int32_t>(i);
        first[i] = table[place];
    }
    return first;
}

}  // namespace cladify
