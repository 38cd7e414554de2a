#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace couplet {

/// Uninitialised, 64-byte aligned memory for `size` elements; moves, never copies by accident.
/// Large buffers come straight from the kernel, so untouched parts cost nothing.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::int64_t size) : data_(allocate(size)), size_(size) {}

    T* data() noexcept { return data_.get(); }
    const T* data() const noexcept { return data_.get(); }
    std::int64_t size() const noexcept { return size_; }

    Buffer(Buffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        data_ = std::move(other.data_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }

  private:
    struct Free {
        void operator()(T* p) const noexcept { std::free(p); }
    };
    static T* allocate(std::int64_t size) {
        constexpr std::size_t alignment = 64;
        if (size < 0 || static_cast<std::uint64_t>(size) > (SIZE_MAX / 2) / sizeof(T)) throw std::bad_alloc();
        const std::size_t bytes = (static_cast<std::size_t>(size) * sizeof(T) + alignment) / alignment * alignment;
        void* p = std::aligned_alloc(alignment, bytes);
        if (p == nullptr) throw std::bad_alloc();
        return static_cast<T*>(p);
    }
    std::unique_ptr<T, Free> data_;
    std::int64_t size_ = 0;
};

}  // namespace couplet
