// Combines the values that fall on the same key, keeping the keys in the order in which they first came: the result
// depends on the order of the input alone, never on a hash or on the number of threads.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace cladify {

template <typename Value>
class Gather {
public:
    std::vector<std::int32_t> keys;
    std::vector<Value> values;

    // Prepares for at most `upper` values whose keys lie in [0, n_keys).
    void start(std::int64_t upper, std::int64_t n_keys) {
        keys.clear();
        values.clear();
        direct_ = 2 * upper > n_keys;  // a table over all keys is then no larger than a hash table
        const auto want = static_cast<std::size_t>(n_keys);
        const std::size_t size = direct_ ? want : std::bit_ceil(static_cast<std::size_t>(2 * upper + 2));
        mask_ = size - 1;
        if (slot_.size() < size) slot_.resize(size, kEmpty);
    }

    template <typename Combine>
    void add(std::int32_t key, const Value& value, Combine combine) {
        std::size_t at = home(key);
        while (slot_[at] != kEmpty) {
            const auto index = static_cast<std::size_t>(slot_[at]);
            if (keys[index] == key) {
                combine(values[index], value);
                return;
            }
            at = (at + 1) & mask_;
        }
        slot_[at] = static_cast<std::int32_t>(keys.size());
        keys.push_back(key);
        values.push_back(value);
    }

    // Empties the table; `keys` and `values` stay until the next start.
    void finish() {
        if (direct_) {
            for (const std::int32_t key : keys) slot_[home(key)] = kEmpty;
        } else {
            std::fill_n(slot_.begin(), mask_ + 1, kEmpty);
        }
    }

private:
    static constexpr std::int32_t kEmpty = -1;
    bool direct_ = false;
    std::size_t mask_ = 0;
    std::vector<std::int32_t> slot_;

    std::size_t home(std::int32_t key) const {
        const auto wide = static_cast<std::uint64_t>(static_cast<std::uint32_t>(key));
        return direct_ ? wide : static_cast<std::size_t>((wide * 0x9E3779B97F4A7C15ull) >> 32) & mask_;
    }
};

}  // namespace cladify
