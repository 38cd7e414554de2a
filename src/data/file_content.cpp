#include "couplet/data/file_content.hpp"

#include "couplet/io/mapped_file.hpp"

namespace couplet {

FileContent content_of(std::span<const std::byte> bytes) noexcept {
    // Offset basis and prime of the FNV's authors for 64 bits (draft-eastlake-fnv).
    FileContent content{.bytes = static_cast<Index>(bytes.size()), .hash = 0xcbf29ce484222325};
    for (const std::byte byte : bytes) {
        content.hash ^= std::to_integer<std::uint64_t>(byte);
        content.hash *= 0x100000001b3;
    }
    return content;
}

FileContent content_of(const std::filesystem::path& file) {
    const MappedFile mapped(file);
    mapped.expect_stream();
    return content_of(mapped.bytes());
}

}  // namespace couplet
