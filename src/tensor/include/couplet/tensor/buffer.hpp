#pragma once

#include <stdlib.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace couplet {

/// Uninitialised, 64-byte aligned memory for `size` elements; moves, never copies by accident.
/// Large buffers come straight from the kernel, in huge pages where it has them: untouched parts cost nothing, touched
/// ones one page fault for every 2 MiB.
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
        constexpr std::size_t huge_page = std::size_t{2} << 20;
        if (size < 0 || static_cast<std::uint64_t>(size) > (SIZE_MAX / 2) / sizeof(T)) throw std::bad_alloc();
        const std::size_t wanted = static_cast<std::size_t>(size) * sizeof(T);
        const std::size_t alignment = wanted >= 2 * huge_page ? huge_page : 64;
        const std::size_t bytes = (wanted + 64) / 64 * 64;
        void* p = nullptr;
        if (::posix_memalign(&p, alignment, bytes) != 0) throw std::bad_alloc();
        // Whether the kernel follows the advice is its business.
        if (alignment == huge_page) ::madvise(p, bytes / huge_page * huge_page, MADV_HUGEPAGE);
        return static_cast<T*>(p);
    }
    std::unique_ptr<T, Free> data_;
    std::int64_t size_ = 0;
};

}  // namespace couplet
