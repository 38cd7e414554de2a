#pragma once

#include <deque>
#include <memory>

#include "couplet/io/line_reader.hpp"
#include "couplet/table/records.hpp"

namespace couplet {

/// One JSON object a line. A column is a path into it, with numbers for places in lists: `subject.reference`,
/// `code.coding.0.code`. What is not there is an empty cell.
class JsonLinesReader : public RecordReader {
  public:
    JsonLinesReader(const std::filesystem::path& path, std::span<const std::string> wanted);
    JsonLinesReader(std::span<const std::byte> bytes, std::string name, std::span<const std::string> wanted);
    ~JsonLinesReader() override;
    bool next(std::vector<std::string_view>& row) override;
    Index line() const noexcept override { return lines_.line_number(); }

  private:
    struct Parser;
    LineReader lines_;
    std::unique_ptr<Parser> parser_;
    std::vector<std::vector<std::string>> paths_;
    std::vector<std::string> cells_;
};

}  // namespace couplet
