#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// The bytes of a regular file, mapped read-only; nothing is copied and pages arrive when first touched.
/// The file must not shrink while it is mapped: the system answers a touch beyond its end with SIGBUS.
class MappedFile {
  public:
    MappedFile() = default;
    /// Throws InputError when the path is missing, not a regular file or not readable; RunError when mapping
    /// fails.
    explicit MappedFile(const std::filesystem::path& path);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;

    std::span<const std::byte> bytes() const noexcept { return bytes_; }
    /// Tells the system that the file will be streamed from front to back, so that it reads ahead.
    void expect_stream() const noexcept;
    /// Lets the system drop the whole pages inside [first, first + count); they are read again when touched.
    void release(Index first, Index count) const noexcept;

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace couplet
