#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "couplet/secure/norm_histogram.hpp"

namespace couplet {

/// Classes of clients' sizes, an eighth of a doubling wide, from one patient to 2^40.
inline constexpr std::size_t size_classes = 8 * 40 + 1;
inline constexpr std::size_t census_length = norm_classes + size_classes + 1;

/// What one client adds to the first sum of a secure job: its record norms in classes, a one in the class of its number
/// of patients, and that number; of patients as count_patients() counts them. Throws InputError for more patients than
/// there are classes for, and for norms that have no class; both name `who`.
std::vector<std::uint64_t> take_census(const TensorView<const double>& x, const std::string& who = "data");

/// How many patients a client has, as its class says.
struct ClientSize {
    Index least = 0;
    Index most = 0;
};

/// What the sum over all clients says.
struct Census {
    Index patients = 0;                    ///< whose records are not empty, and differ within a client
    Index largest = 0;                     ///< client, at most so many patients
    double longest = 0;                    ///< record norm, at most
    double usual = 0;                      ///< norm at which records are clipped
    Index records = 0;                     ///< that are not empty, copies included; at least the patients
    std::vector<ClientSize> clients = {};  ///< that were counted, the smallest first
};
/// Throws InputError unless there are census_length counts that clients with patients can have.
Census read_census(std::span<const std::uint64_t> counts, double clip_quantile);

/// Patients of honest clients in a sum that is of `survivors` of `clients`, whichever they are, at least: the largest
/// are those that were lost, or that collude. Whoever was not counted may be in the sum, with nobody.
Index fewest_honest(const Census& census, Index clients, Index survivors, Index colluders);

}  // namespace couplet
