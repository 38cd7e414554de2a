#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/ctt/blocks.hpp"
#include "embedded.hpp"

namespace couplet::cli {

struct EmbeddedResult {
    Json json;                                  ///< what --json would print
    nlohmann::json metadata = {};               ///< what features.npz would hold of the result
    std::optional<Features> features = {};      ///< nothing for a method without shared features
    std::vector<Matrix<double>> personal = {};  ///< G_1 of each client, I1 x R1; none in a dry run
    Labels feature_labels = {};                 ///< empty, or one per feature mode
};

/// `couplet simulate` in the process of another program. Throws as run_embedded() does.
EmbeddedResult run_simulation(EmbeddedCall call);

/// A flag that the call's arguments may hold.
struct EmbeddedFlag {
    std::string name;          ///< without dashes in front
    bool takes_value = false;  ///< false: a switch
};
std::vector<EmbeddedFlag> simulation_flags();

}  // namespace couplet::cli
