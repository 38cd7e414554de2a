#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace couplet {

/// Memory of at least `bytes`, 64-byte aligned. Large blocks come in huge pages where the kernel has them: untouched
/// parts cost nothing, touched ones one page fault for every 2 MiB. Throws std::bad_alloc.
void* allocate_memory(std::size_t bytes);

/// Gives back what allocate_memory returned for `bytes`. A large block is kept for the next call that wants one of
/// about its size, so that repeated work has no page faults; the kernel may take its pages at any time. What is kept is
/// at most 256 MiB, and together with what is used not more than what was once used, but for moments in which threads
/// meet.
void release_memory(void* memory, std::size_t bytes) noexcept;

/// Bytes of large blocks that are kept for reuse now, and that were in use together at most.
std::size_t kept_memory() noexcept;
std::size_t most_used_memory() noexcept;

/// Uninitialised, 64-byte aligned memory for `size` elements; moves, never copies by accident.
template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::int64_t size) : data_(allocate(size), {bytes_of(size)}), size_(size) {}

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
    struct Release {
        std::size_t bytes = 0;
        void operator()(T* p) const noexcept { release_memory(p, bytes); }
    };
    static std::size_t bytes_of(std::int64_t size) { return static_cast<std::size_t>(size) * sizeof(T); }
    static T* allocate(std::int64_t size) {
        if (size < 0 || static_cast<std::uint64_t>(size) > (SIZE_MAX / 2) / sizeof(T)) throw std::bad_alloc();
        return static_cast<T*>(allocate_memory(bytes_of(size)));
    }
    std::unique_ptr<T, Release> data_;
    std::int64_t size_ = 0;
};

}  // namespace couplet
