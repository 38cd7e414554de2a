#pragma once

#include <cstdint>

#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// What an entry that nobody knows is written as: NaN, or zero as in the paper's experiment.
enum class MissingAs { nan, zero };

struct HiddenEntries {
    double fraction = 0;  ///< probability that an entry is missing, 0 <= fraction <= 1
    MissingAs as = MissingAs::nan;
    std::uint64_t seed = 0;
    Index first_patient = 0;  ///< number of the first index of mode 1 among those of all clients
};

/// Overwrites entries at random, each with the same probability. Every patient has a random stream of its own: one seed
/// hides the same entries however many clients share the patients, and a larger fraction hides those of a smaller one
/// and more. Throws InputError for a fraction outside [0, 1].
void hide_entries(TensorView<double> x, const HiddenEntries& how);

}  // namespace couplet
