#pragma once

#include <cstdint>
#include <string>

#include "couplet/audit/finding.hpp"
#include "couplet/audit/peel_records.hpp"
#include "couplet/audit/views.hpp"

namespace couplet {

/// One view, attacked. Empty records and copies are no patients. `lattice`: how long records are looked for in sums.
Finding attack(View view, const Clients& clients, const TensorView<const double>& controls, const LeakageLimits& limits,
               std::uint64_t seed, const PeelOptions& lattice = {});

/// The counts of record norms that a secure job begins with, attacked: who took part, and which counts rest on few.
Finding attack_counts(std::string mode, const Clients& clients, const TensorView<const double>& controls,
                      const LeakageLimits& limits);

}  // namespace couplet
