#pragma once

#include <filesystem>

#include "couplet/io/npy_header.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// Writes a C-ordered .npy file (version 1) atomically; see AtomicFile for `overwrite` and the errors.
/// open_tensor() reads it back.
void write_npy(const std::filesystem::path& path, const TensorView<const float>& tensor, bool overwrite);
void write_npy(const std::filesystem::path& path, const TensorView<const double>& tensor, bool overwrite);

}  // namespace couplet
