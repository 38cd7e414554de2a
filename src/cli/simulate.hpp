#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couplet/ctt/blocks.hpp"
#include "session.hpp"

namespace couplet::cli {

/// A simulation in the process of another program, such as Python: everything that `couplet simulate` takes and does,
/// on clients in memory.
struct EmbeddedSimulation {
    std::vector<std::string> arguments = {};                          ///< as written after `couplet simulate`
    std::vector<std::shared_ptr<const Tensor<double>>> clients = {};  ///< with their labels; empty: the arguments say
    std::vector<std::string> names = {};                              ///< of the clients; empty: client 1, ...
    Listener listener = {};
};

struct EmbeddedResult {
    Json json;                                  ///< what --json would print
    nlohmann::json metadata = {};               ///< what features.npz would hold of the result
    std::optional<Features> features = {};      ///< nothing for a method without shared features
    std::vector<Matrix<double>> personal = {};  ///< G_1 of each client, I1 x R1; none in a dry run
    Labels feature_labels = {};                 ///< empty, or one per feature mode
};

/// Throws InputError for arguments that the command line would refuse, in the same words. Sets no thread count: that is
/// the program's to decide.
EmbeddedResult run_simulation(EmbeddedSimulation simulation);

/// A flag that the arguments of an EmbeddedSimulation may hold.
struct EmbeddedFlag {
    std::string name;          ///< without dashes in front
    bool takes_value = false;  ///< false: a switch
};
std::vector<EmbeddedFlag> simulation_flags();

}  // namespace couplet::cli
