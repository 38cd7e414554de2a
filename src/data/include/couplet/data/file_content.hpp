#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// What tells a file from another one of the same name. Against accidents, not against forgers.
struct FileContent {
    Index bytes = 0;
    std::uint64_t hash = 0;  ///< FNV-1a, 64 bits
    friend bool operator==(const FileContent&, const FileContent&) = default;
};

FileContent content_of(std::span<const std::byte> bytes) noexcept;

/// Of the file as it lies there, a packed one unopened. Reads all of it. Throws InputError for a file that cannot be
/// read.
FileContent content_of(const std::filesystem::path& file);

}  // namespace couplet
