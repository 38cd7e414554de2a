#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "couplet/tensor/tensor.hpp"
#include "session.hpp"

namespace couplet::cli {

/// A verb in the process of another program, such as Python: everything that the command line takes, on clients in
/// memory.
struct EmbeddedCall {
    std::vector<std::string> arguments = {};                          ///< as written after the verb
    std::vector<std::shared_ptr<const Tensor<double>>> clients = {};  ///< with their labels; empty: the arguments say
    std::vector<std::string> names = {};                              ///< of the clients; empty: client 1, ...
    Listener listener = {};
};

/// Reads the call's arguments by the options that `add` gives to the verb, and does `act` with that verb: the session
/// is the call's. Throws InputError for arguments that the command line would refuse, in the same words, but that they
/// speak of parameters, as the library does. Sets no thread count: that is the program's to decide.
void run_embedded(const std::string& verb, EmbeddedCall& call, const std::function<void(Command&)>& add,
                  const std::function<void(const Command&, const Session&)>& act);

}  // namespace couplet::cli
