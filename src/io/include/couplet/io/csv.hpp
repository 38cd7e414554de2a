#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/io/line_reader.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Streams the rows of a comma-separated file (RFC 4180), plain or gzip; another separator may be given. Quoted fields
/// may hold separators, line ends and doubled quotes. Blank lines are skipped. Every row must have as many fields as
/// the first.
///
///     CsvReader csv("patients.csv.gz");
///     csv.read_header();
///     const Index age = csv.column("age");
///     for (std::vector<std::string_view> row; csv.next(row);) sum += csv.number(row, age);
class CsvReader {
  public:
    explicit CsvReader(const std::filesystem::path& path, char separator = ',') : lines_(path), separator_(separator) {}
    /// Reads bytes that the caller keeps alive; `name` stands for the file in messages.
    CsvReader(std::span<const std::byte> bytes, std::string name, char separator = ',')
        : lines_(bytes, std::move(name)), separator_(separator) {}

    /// The next row; its fields are valid until the next call. False at the end. Empty lines are skipped, but for a
    /// file of one column, where they are missing cells unless nothing follows them. Throws InputError for a row of
    /// another length than the first, and for a quote that does not close or closes early.
    bool next(std::vector<std::string_view>& row);
    /// Takes the next row as the names of the columns. Throws InputError when there is none.
    const std::vector<std::string>& read_header();
    const std::vector<std::string>& header() const noexcept { return header_; }
    /// Position of a column, from 0; throws InputError that lists the columns when the header has no such
    /// name.
    Index column(std::string_view name) const;
    /// A field as a number (see parse_number(); empty is NaN); throws InputError that names line and column.
    double number(std::span<const std::string_view> row, Index column) const;
    /// The same; throws InputError too for a whole number of at most 19 digits that float64 would round.
    double exact_number(std::span<const std::string_view> row, Index column) const;
    /// Line on which the row last returned starts, from 1.
    Index line_number() const noexcept { return row_line_; }
    const std::string& name() const noexcept { return lines_.name(); }

  private:
    void split(std::string_view line, std::vector<std::string_view>& row) const;
    void split_quoted(std::string_view line, std::vector<std::string_view>& row);
    bool append_line();

    LineReader lines_;
    char separator_;
    std::vector<std::string> header_;
    std::string record_;               ///< the row last returned, unescaped, when it has quotes
    Index empty_rows_ = 0;             ///< of a single column, before the line that is held
    std::optional<std::string> held_;  ///< read, and not returned yet
    std::string held_line_;            ///< the row last returned, when it was held
    Index row_line_ = 0;
    std::size_t fields_ = 0;  ///< of the first row
    Index first_line_ = 0;
};

/// All rows as a matrix of numbers. The first row is a header when it has text and no number: it then labels
/// the indices of mode 2, with a unit where it says "systolic [mmHg]" (after a blank). Throws InputError for a file
/// without numbers, a bad cell, or more than `max_bytes` of numbers.
Tensor<double> read_csv(CsvReader& csv, Index max_bytes);

}  // namespace couplet
