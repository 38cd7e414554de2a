#pragma once

#include "combine.hpp"

namespace couplet {

/// The folder of a table while it is made: what exists is refused unless `overwrite`, and then too where no table was
/// written there before: files of the same names are somebody else's. Folders that were made for it and stay empty are
/// removed.
class TableFolder {
  public:
    TableFolder(std::filesystem::path folder, bool overwrite);
    ~TableFolder();
    TableFolder(const TableFolder&) = delete;
    TableFolder& operator=(const TableFolder&) = delete;
    const std::filesystem::path& path() const noexcept { return folder_; }
    bool overwrite() const noexcept { return overwrite_; }

  private:
    void remove_made() const;
    std::filesystem::path folder_;
    bool overwrite_;
    std::vector<std::filesystem::path> made_;  ///< innermost first
};

/// Writes all files, the manifest last, and fills in what the report says of them.
void write_table(const TableFolder& folder, const Gathered& gathered, const Placement& placement,
                 const TableOptions& options, TableReport& report);

}  // namespace couplet
