// Storage for many (key, value) lists that are written once, read for a while and dropped, by several threads.
// Lists live in chunks; a chunk is used again, by any thread, as soon as its last list is dropped.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace cladify {

// List c may be touched by one thread at a time; different lists by different threads at once.
template <typename Value>
class ListStore {
public:
    ListStore(std::size_t n, int threads) : lists_(n), open_(static_cast<std::size_t>(threads), nullptr) {}
    ListStore(const ListStore&) = delete;
    ListStore& operator=(const ListStore&) = delete;
    ~ListStore() {
        for (std::size_t c = 0; c < lists_.size(); ++c) release(c);
        for (Chunk* chunk : open_)
            if (chunk != nullptr) drop(chunk, 1);
    }

    bool has(std::size_t c) const { return lists_[c].chunk != nullptr; }
    std::int32_t length(std::size_t c) const { return lists_[c].length; }
    const std::int32_t* keys(std::size_t c) const { return lists_[c].chunk->keys.get() + lists_[c].offset; }
    const Value* values(std::size_t c) const { return lists_[c].chunk->values.get() + lists_[c].offset; }

    // Makes list c (which must be empty) a copy of these; an empty list takes no room and counts as absent.
    void write(int thread, std::size_t c, const std::int32_t* keys, const Value* values, std::int64_t length) {
        if (length == 0) return;
        Chunk*& open = open_[static_cast<std::size_t>(thread)];
        if (open == nullptr || open->used + length > open->capacity) {
            if (open != nullptr) drop(std::exchange(open, nullptr), 1);
            open = make(std::max(kChunk, length));
        }
        lists_[c] = {open, static_cast<std::int32_t>(open->used), static_cast<std::int32_t>(length)};
        std::copy_n(keys, length, open->keys.get() + open->used);
        std::copy_n(values, length, open->values.get() + open->used);
        open->used += length;
        open->live.fetch_add(length, std::memory_order_relaxed);
        live_.fetch_add(length, std::memory_order_relaxed);
    }

    // Replaces list c by one that is not longer, in place.
    void shrink(std::size_t c, const std::vector<std::int32_t>& keys, const std::vector<Value>& values) {
        List& list = lists_[c];
        const auto length = static_cast<std::int32_t>(keys.size());
        std::copy(keys.begin(), keys.end(), list.chunk->keys.get() + list.offset);
        std::copy(values.begin(), values.end(), list.chunk->values.get() + list.offset);
        live_.fetch_sub(list.length - length, std::memory_order_relaxed);
        Chunk* chunk = length == 0 ? std::exchange(list.chunk, nullptr) : list.chunk;
        drop(chunk, std::exchange(list.length, length) - length);
    }

    void release(std::size_t c) {
        List& list = lists_[c];
        if (list.chunk == nullptr) return;
        live_.fetch_sub(list.length, std::memory_order_relaxed);
        drop(list.chunk, list.length);
        list = {};
    }

    // True once holes make up a fifth of what the lists ever needed at once; they shrink as clusters merge, so that
    // less than that is not worth saving later on. For one thread alone.
    bool is_loose() {
        most_ = std::max(most_, live_.load());
        return 4 * allocated_ > 5 * most_ + 16 * kChunk * static_cast<std::int64_t>(open_.size());
    }

    // Moves list c out of a chunk with holes.
    void tighten(int thread, std::size_t c) {
        const List old = lists_[c];
        if (old.chunk == nullptr || 8 * old.chunk->live.load(std::memory_order_relaxed) > 7 * old.chunk->capacity)
            return;
        write(thread, c, keys(c), values(c), old.length);
        live_.fetch_sub(old.length, std::memory_order_relaxed);
        drop(old.chunk, old.length);
    }

private:
    struct Chunk {
        std::unique_ptr<std::int32_t[]> keys;
        std::unique_ptr<Value[]> values;
        std::int64_t capacity = 0;
        std::int64_t used = 0;
        std::atomic<std::int64_t> live{1};  // entries of the lists in it, and one for the thread that writes to it
    };
    struct List {
        Chunk* chunk = nullptr;
        std::int32_t offset = 0;
        std::int32_t length = 0;
    };
    static constexpr std::int64_t kChunk = std::int64_t{1} << 16;
    std::vector<List> lists_;
    std::vector<Chunk*> open_;  // the chunk each thread writes to
    std::atomic<std::int64_t> allocated_{0}, live_{0};
    std::mutex spare_mutex_;
    std::vector<std::unique_ptr<Chunk>> spare_;  // empty ones; a free would leave them to the thread that made them
    std::int64_t most_ = 0;                      // the largest `live_` so far

    Chunk* make(std::int64_t capacity) {
        allocated_.fetch_add(capacity, std::memory_order_relaxed);
        if (capacity == kChunk) {
            const std::lock_guard lock(spare_mutex_);
            if (!spare_.empty()) {
                Chunk* chunk = spare_.back().release();
                spare_.pop_back();
                return chunk;
            }
        }
        auto chunk = std::make_unique<Chunk>();
        chunk->keys = std::make_unique_for_overwrite<std::int32_t[]>(static_cast<std::size_t>(capacity));
        chunk->values = std::make_unique_for_overwrite<Value[]>(static_cast<std::size_t>(capacity));
        chunk->capacity = capacity;
        return chunk.release();
    }

    void drop(Chunk* chunk, std::int64_t entries) noexcept {
        if (chunk->live.fetch_sub(entries, std::memory_order_acq_rel) != entries) return;
        allocated_.fetch_sub(chunk->capacity, std::memory_order_relaxed);
        std::unique_ptr<Chunk> empty(chunk);
        if (empty->capacity != kChunk) return;
        empty->used = 0;
        empty->live = 1;
        const std::lock_guard lock(spare_mutex_);
        try {
            spare_.push_back(std::move(empty));
        } catch (const std::bad_alloc&) {  // then it is not kept
        }
    }
};

}  // namespace cladify
