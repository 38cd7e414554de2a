#pragma once

#include <deque>

#include "couplet/io/csv.hpp"
#include "couplet/table/records.hpp"

namespace couplet {

/// csv, tsv and their kin: a separator, optional quotes, a header.
class DelimitedReader : public RecordReader {
  public:
    DelimitedReader(const std::filesystem::path& path, const TextForm& form);
    /// Reads bytes that the caller keeps alive; `name` stands for the file in messages.
    DelimitedReader(std::span<const std::byte> bytes, std::string name, const TextForm& form);
    bool next(std::vector<std::string_view>& row) override;
    Index line() const noexcept override { return csv_.line_number(); }

  private:
    DelimitedReader(std::string name, CsvReader csv, const TextForm& form);
    void read_header();
    void check_text(std::vector<std::string_view>& row);

    CsvReader csv_;
    TextForm form_;
    std::vector<std::string_view> first_;  ///< the first record of a file without header, until it is asked for
    bool waiting_ = false;
    std::deque<std::string> converted_;  ///< cells of the record last returned that were not UTF-8
};

/// The separator of a table from its first line: of comma, semicolon, tab and bar the most frequent outside quotes.
char detect_separator(std::string_view line) noexcept;

}  // namespace couplet
