#pragma once

#include <memory>
#include <string>
#include <vector>

#include "couplet/tensor/tensor.hpp"
#include "session.hpp"

namespace couplet::cli {

/// An audit in the process of another program, such as Python: everything that `couplet audit` takes and does, on
/// clients in memory.
struct EmbeddedAudit {
    std::vector<std::string> arguments = {};                          ///< as written after `couplet audit`
    std::vector<std::shared_ptr<const Tensor<double>>> clients = {};  ///< with their labels; empty: the arguments say
    std::vector<std::string> names = {};                              ///< of the clients; empty: client 1, ...
    Listener listener = {};
};

/// What --json would print. Throws InputError for arguments that the command line would refuse, in the same words.
Json run_audit(EmbeddedAudit audit);

}  // namespace couplet::cli
