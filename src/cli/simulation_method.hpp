#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/baselines/run_method.hpp"

namespace couplet::cli {

/// Everything that `simulate --method` runs: ctt, the coupled tensor train of this product; centralized and local, what
/// it is measured against; and the baselines.
std::vector<std::string> simulation_methods();

/// Nothing for a method of this product or a reference. Throws InputError for a name that is none of the above.
std::optional<Method> baseline_named(std::string_view name);
/// Whether it trains a CP model in rounds.
bool trains_cp(std::string_view name);

/// Runs the method of that name on the clients of `source`. What only the CP methods need is ignored by the others.
/// Throws as simulate() and run_method() do.
MethodResult run_simulation(std::string_view name, const ClientSource& source, SimulationOptions options,
                            const BaselineOptions& baseline);

}  // namespace couplet::cli
