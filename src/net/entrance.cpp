#include "entrance.hpp"

#include <fmt/format.h>
#include <grpcpp/server_context.h>

#include "couplet/core/error.hpp"
#include "credentials.hpp"

namespace couplet::net {

/// Refusing a call costs as much as answering it: whoever goes on calling loses the connection.
void Entrance::limit_rate(const std::string& caller, const std::string& peer) {
    try {
        doorman_.limit_rate(caller, Doorman::Clock::now());
    } catch (const InputError&) {
        gate_.dismiss(peer);
        throw;
    }
}

Caller Entrance::identify(const grpc::ServerContextBase& context) {
    Caller caller;
    caller.address = plain_address(context.peer());
    if (secure_) {
        const auto certificate = peer_certificate(*context.auth_context());
        if (!certificate) throw InputError({"caller", "a certificate of nobody", "one of a party", ""});
        // A coordinator may ask its own server for the status.
        caller.name = certificate->identity.name;
        caller.role = certificate->identity.role;
        caller.serial = certificate->serial;
        // Before the list of the revoked is read: they call too, and not at the cost of who has the name now.
        limit_rate(fmt::format("{} {}", caller.name, caller.serial), context.peer());
        doorman_.let_in(*certificate, caller.role == Role::coordinator ? Role::coordinator : Role::client);
    } else {
        const auto& said = context.client_metadata();
        const auto at = said.find(insecure_name_key);
        if (at == said.end()) throw InputError({"caller", "no name", "a client with --insecure", ""});
        caller.name = std::string(at->second.data(), at->second.size());
        require_party_name(caller.name, "caller");
        limit_rate(caller.name, context.peer());
    }
    gate_.admit(context.peer(), caller.name, caller.serial);
    return caller;
}

}  // namespace couplet::net
