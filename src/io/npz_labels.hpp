#pragma once

#include <span>
#include <string>

#include "couplet/io/npz.hpp"

namespace couplet {

/// What an archive says of its modes: mode_names, labels_<n> and units_<n>, where n counts from `first_mode` over
/// `modes` modes. Empty where it says nothing. Throws InputError, naming `where`, for another number of names.
Labels read_npz_labels(const NpzReader& archive, Index first_mode, Index modes, const std::string& where);
void add_npz_labels(NpzWriter& archive, const Labels& labels, Index first_mode);

}  // namespace couplet
