#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace couplet {

/// Two lines of Python that bring in a file of another program (Excel, Stata, Feather, pickle, MATLAB, HDF5, AnnData,
/// Parquet, Zarr, JSON), by its name, as a remedy says it: to x.npy as a tensor, or to x.csv as a table. Nothing for
/// other names.
std::optional<std::string> tensor_import(const std::filesystem::path& file);
std::optional<std::string> table_import(const std::filesystem::path& file);
/// The same for the arrays that scipy.sparse.save_npz writes.
std::string sparse_import(const std::filesystem::path& file);

}  // namespace couplet
