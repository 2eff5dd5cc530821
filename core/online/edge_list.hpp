// The edges of one leaf: its own, or, until they change, those of a file that somebody else holds in memory.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "mutable/tree.hpp"

namespace cladify::online {

using live::kNone;
using live::Node;

// As it stands in a file.
struct Edge {
    Node to;
    float weight;
    bool mine, theirs;  // whether the owner counts `to` among its nearest, and the other way round
    std::uint16_t unused = 0;
};
static_assert(sizeof(Edge) == 12);

class EdgeList {
public:
    EdgeList() = default;
    // These edges, which stay where they are and outlive the list.
    explicit EdgeList(std::span<const Edge> held)
        : edges_(const_cast<Edge*>(held.data())), size_(static_cast<std::uint32_t>(held.size())) {}
    EdgeList(const EdgeList& other) : EdgeList(std::span(other.begin(), other.size())) { own(size_); }
    EdgeList(EdgeList&& other) noexcept { swap(other); }
    EdgeList& operator=(EdgeList other) noexcept {
        swap(other);
        return *this;
    }
    ~EdgeList() {
        if (room_) delete[] edges_;
    }

    const Edge* begin() const { return edges_; }
    const Edge* end() const { return edges_ + size_; }
    const Edge* data() const { return edges_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const Edge& back() const { return edges_[size_ - 1]; }

    // To be changed.
    Edge* find(Node to) {
        if (!room_) own(size_ + size_ / 8 + 2);
        return std::find_if(edges_, edges_ + size_, [&](const Edge& e) { return e.to == to; });
    }
    void push_back(const Edge& edge) {
        if (size_ >= room_) own(size_ + size_ / 4 + 2);
        edges_[size_++] = edge;
    }
    void pop_back() { --size_; }

private:
    void own(std::uint32_t room) {
        if (room == 0) return;
        std::unique_ptr<Edge[]> mine(new Edge[room]);
        std::copy_n(edges_, size_, mine.get());
        if (room_) delete[] edges_;
        edges_ = mine.release();
        room_ = room;
    }
    void swap(EdgeList& other) noexcept {
        std::swap(edges_, other.edges_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
    }

    Edge* edges_ = nullptr;
    std::uint32_t size_ = 0, room_ = 0;  // no room: the edges are not its own
};

}  // namespace cladify::online
