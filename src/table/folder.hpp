#pragma once

#include "combine.hpp"
#include "couplet/io/made_folder.hpp"

namespace couplet {

/// The folder of a table while it is made: what exists is refused unless `overwrite`, and then too where no table was
/// written there before: files of the same names are somebody else's. Folders that were made for it and stay empty are
/// removed.
class TableFolder {
  public:
    TableFolder(std::filesystem::path folder, bool overwrite);
    const std::filesystem::path& path() const noexcept { return folder_.path(); }
    bool overwrite() const noexcept { return overwrite_; }

  private:
    MadeFolder folder_;
    bool overwrite_;
};

/// Writes all files, the manifest last, and fills in what the report says of them.
void write_table(const TableFolder& folder, const Gathered& gathered, const Placement& placement,
                 const TableOptions& options, TableReport& report);

}  // namespace couplet
