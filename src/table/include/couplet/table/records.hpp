#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet {

enum class Encoding { utf8, latin1 };

/// How the text of a table is to be read.
struct TextForm {
    enum class Kind {
        detect,     ///< by the name: .tsv, .ndjson and .jsonl (with .gz or without), everything else is delimited
        delimited,  ///< csv, tsv and their kin
        ndjson,     ///< one JSON object a line; columns are paths: code.coding.0.code
    };
    Kind kind = Kind::detect;
    char separator = '\0';  ///< NUL: of comma, semicolon, tab and bar the one that is most frequent in the header
    char decimal = '.';
    Encoding encoding = Encoding::utf8;
    bool header = true;  ///< without, columns are called 1, 2, ...
};

/// Records of text cells under named columns, one at a time. Whatever it gives is UTF-8.
class RecordReader {
  public:
    virtual ~RecordReader() = default;
    const std::string& name() const noexcept { return name_; }
    const std::vector<std::string>& columns() const noexcept { return columns_; }
    /// The next record, one cell per column, valid until the next call; false at the end. Throws InputError that names
    /// the line, and the column where it is one cell's fault.
    virtual bool next(std::vector<std::string_view>& row) = 0;
    /// Of the record last returned, from 1.
    virtual Index line() const noexcept = 0;

    bool has_column(std::string_view name) const;
    /// Position of a column, from 0. Throws InputError that lists the columns where there is none of this name, or
    /// several.
    Index column(std::string_view name) const;
    /// "line 12, column 3 (CODE)".
    std::string place(Index column) const;
    /// Throws InputError for a cell of the record last returned.
    [[noreturn]] void refuse(Index column, const std::string& found, const std::string& expected,
                             const std::string& remedy = "") const;

  protected:
    RecordReader(std::string name, std::vector<std::string> columns)
        : name_(std::move(name)), columns_(std::move(columns)) {}
    std::string name_;
    std::vector<std::string> columns_;
};

/// Opens a table of any kind, plain or gzip. A file of FHIR resources (see fhir.hpp) is recognised by its first line.
/// `wanted` are the columns that will be asked for; only files of JSON objects need to know. Throws InputError for an
/// empty file, for binary data and for text in another encoding.
std::unique_ptr<RecordReader> open_records(const std::filesystem::path& path, const TextForm& form,
                                           std::span<const std::string> wanted = {});

/// The name of a table for modes and messages: that of its file without folder and endings.
std::string table_name(const std::filesystem::path& path);

/// Whether a cell is a number, with this sign in front of its decimals.
bool is_number_cell(std::string_view cell, char decimal);
/// A cell as a number. Throws InputError that names the cell for anything else; an empty one is NaN.
double number_cell(const RecordReader& reader, Index column, std::string_view cell, char decimal);

/// Without blanks and tabs at its ends.
std::string_view trimmed(std::string_view text) noexcept;

/// Text of ISO 8859-1 as UTF-8.
std::string latin1_to_utf8(std::string_view text);

}  // namespace couplet
