#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// How the entries of a personal factor matrix are drawn: uniform on [0, 1) or standard normal.
enum class PersonalFactor { uniform, gaussian };

/// What the first size of the shape counts: the patients of all clients together, or those of each client.
enum class PatientCount { total, each };

/// A federation of CP tensors X_k = [[A_1^k, A_2, ..., A_N]] + noise with the paper's sparse feature matrices.
struct SyntheticSpec {
    Shape shape = {};
    PatientCount patients = PatientCount::total;
    Index cp_rank = 20;
    /// Probability that an entry of A_2, ..., A_N is not zero. Unset: the paper's, 0.4 up to order 3 and 0.1 above.
    std::optional<double> density = {};
    PersonalFactor personal = PersonalFactor::uniform;
    double noise = 0;  ///< standard deviation, relative to the root mean square of the entries without noise
    std::uint64_t seed = 0;
    friend bool operator==(const SyntheticSpec&, const SyntheticSpec&) = default;
};

/// The density, or its default for the order.
double feature_density(const SyntheticSpec& spec);

/// Throws InputError unless the order is at least 2, sizes and rank are positive, 0 < density <= 1, and noise >= 0.
void check_synthetic(const SyntheticSpec& spec);

/// Reads "200x30x30" or "SHAPE:option=value,...". Options: rank=20, density=0.4, personal=uniform|gaussian, noise=0.01,
/// patients=total|each. "20x30x30:patients=each" gives every client 20 patients. Throws InputError for anything else.
SyntheticSpec parse_synthetic(std::string_view text, std::uint64_t seed = 0);

/// The text that parse_synthetic() reads back, every option written out; without the seed.
std::string to_string(const SyntheticSpec& spec);

}  // namespace couplet
