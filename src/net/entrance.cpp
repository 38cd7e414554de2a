#include "entrance.hpp"

#include <fmt/format.h>
#include <grpcpp/server_context.h>

#include "couplet/core/error.hpp"
#include "credentials.hpp"

namespace couplet::net {

/// Refusing a call costs as much as answering it: whoever goes on calling loses its connections, and for a while gets
/// no new one. Streams that are opened and given up in the same breath (CVE-2023-44487) come here too, many at once:
/// what they cost is what came before the first of them was counted.
void Entrance::limit_rate(const std::string& caller, const std::string& serial, const std::string& peer) {
    try {
        doorman_.limit_rate(caller, Doorman::Clock::now());
    } catch (const InputError& error) {
        gate_.dismiss(peer);
        if (serial.empty()) throw;
        gate_.dismiss_all(serial);
        ErrorParts parts = error.parts();
        parts.remedy =
            fmt::format("It may connect again in {} s.", doorman_.bar(serial, Doorman::Clock::now()).count());
        throw InputError(std::move(parts));
    }
}

CertificateInfo Entrance::read(const std::string& certificate) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(certificate); found != known_.end()) return found->second;
    if (certificate.empty()) throw InputError({"caller", "a certificate of nobody", "one of a party", ""});
    constexpr std::size_t most_known = 1024;
    if (known_.size() >= most_known) known_.clear();
    try {
        return known_[certificate] = read_certificate(certificate, "certificate");
    } catch (const InputError&) {
        known_.erase(certificate);
        throw InputError({"caller", "a certificate of nobody", "one of a party", ""});
    }
}

Doorman::Place Entrance::place_for(const Caller& caller) {
    return doorman_.take_place(fmt::format("{} {}", caller.name, caller.serial));
}

Doorman::Place Entrance::place_for_refusal() { return doorman_.take_place(""); }

Caller Entrance::identify(const grpc::ServerContextBase& context) {
    Caller caller;
    caller.address = plain_address(context.peer());
    if (secure_) {
        const CertificateInfo certificate = read(shown_certificate(*context.auth_context()));
        // A coordinator may ask its own server for the status.
        caller.name = certificate.identity.name;
        caller.role = certificate.identity.role;
        caller.serial = certificate.serial;
        // Before the list of the revoked is read: they call too, and not at the cost of who has the name now.
        limit_rate(fmt::format("{} {}", caller.name, caller.serial), caller.serial, context.peer());
        doorman_.let_in(certificate, caller.role == Role::coordinator ? Role::coordinator : Role::client);
    } else {
        const auto& said = context.client_metadata();
        const auto at = said.find(insecure_name_key);
        if (at == said.end()) throw InputError({"caller", "no name", "a client with `insecure`", ""});
        caller.name = std::string(at->second.data(), at->second.size());
        require_party_name(caller.name, "caller");
        limit_rate(caller.name, "", context.peer());
    }
    gate_.admit(context.peer(), caller.name, caller.serial);
    return caller;
}

}  // namespace couplet::net
