#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "couplet/io/mapped_file.hpp"

namespace couplet {

/// What a text may be: bombs are refused while they are read.
struct LineLimits {
    /// A longer line is refused: no table of numbers has one.
    std::size_t longest_line = std::size_t{64} << 20;
    /// A gzip file is refused as soon as its text exceeds `free_text` and `most_expansion` times its own size: tables
    /// shrink by a factor of 3 to 30, zeros and equal lines by a thousand.
    std::size_t free_text = std::size_t{32} << 20;
    std::size_t most_expansion = 100;
};

/// The lines of a text file, plain or gzip (recognised by its first bytes), one at a time. Plain files are
/// not copied; compressed ones need memory for the longest line only. Lines end in LF or CRLF, the last one
/// may end without; a UTF-8 byte order mark is skipped.
class LineReader {
  public:
    explicit LineReader(const std::filesystem::path& path);
    /// Reads bytes that the caller keeps alive; `name` stands for the file in messages.
    LineReader(std::span<const std::byte> bytes, std::string name, const LineLimits& limits = {});
    ~LineReader();
    LineReader(LineReader&&) noexcept;
    LineReader& operator=(LineReader&&) noexcept;

    /// The next line without its end, valid until the next call; false at the end of the file.
    /// Throws InputError for a damaged gzip stream and for a line or a text beyond the limits.
    bool next(std::string_view& line);
    /// Number of the line last returned, from 1.
    Index line_number() const noexcept { return line_number_; }
    const std::string& name() const noexcept { return name_; }

  private:
    class Inflater;
    void open(std::span<const std::byte> bytes);
    bool refill();

    std::string name_;
    LineLimits limits_;
    MappedFile file_;
    std::unique_ptr<Inflater> inflater_;  ///< empty for plain text
    std::string_view pending_;            ///< read but not yet returned
    Index line_number_ = 0;
};

}  // namespace couplet
