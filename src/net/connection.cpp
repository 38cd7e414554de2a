#include "connection.hpp"

#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <thread>

#include "couplet/core/error.hpp"
#include "couplet/core/utf8.hpp"
#include "credentials.hpp"
#include "federation.grpc.pb.h"
#include "grpc_log.hpp"

namespace couplet::net {
namespace {

std::shared_ptr<grpc::Channel> make_channel(const Target& target) {
    quiet_grpc();
    grpc::ChannelArguments arguments;
    // Connections are opened and given up by us, with our own backoff.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    // Also the time that one attempt to connect may take.
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    arguments.SetMaxReceiveMessageSize(static_cast<int>(wire::most_chunk_bytes) + 4096);
    if (!target.credentials) {
        return grpc::CreateCustomChannel(target.address, grpc::InsecureChannelCredentials(), arguments);
    }
    arguments.SetSslTargetNameOverride(coordinator_host);
    return grpc::CreateCustomChannel(target.address, channel_credentials(*target.credentials), arguments);
}

/// A stolen key is as good as its owner's to everything but the list.
void require_unrevoked(const Target& target, const std::string& serial) {
    const auto revoked = load_revoked(target.revoked);
    if (std::find(revoked.begin(), revoked.end(), serial) == revoked.end()) return;
    throw RunError(
        {target.address, "a coordinator's certificate that was revoked", "a valid one",
         "Somebody uses an old key there, or the coordinator still has its old kit; nothing is sent to it."});
}

/// Whoever answers must be the coordinator of this federation: a client of it has a certificate too.
/// Returns the serial number of its certificate.
std::string require_coordinator(const Target& target, const grpc::AuthContext& context) {
    if (!target.credentials) return "";
    const auto shown = peer_certificate(context);
    if (shown && shown->identity.role == Role::coordinator && shown->identity.federation == target.self.federation) {
        require_unrevoked(target, shown->serial);
        return shown->serial;
    }
    throw RunError({target.address,
                    shown ? fmt::format("a certificate of {}", to_uri(shown->identity)) : "no certificate",
                    "the coordinator of this federation", "Something else listens there; nothing was sent to it."});
}

}  // namespace

Target make_target(const Kit& kit, Role role, bool insecure) {
    Target target{kit.coordinator, kit.identity, std::nullopt, kit.file("revoked.txt")};
    if (!insecure) {
        target.credentials = load_credentials(kit, role);
    } else if (!is_loopback(parse_address(kit.coordinator, "coordinator").host)) {
        throw InputError({"`insecure`", "a coordinator at " + kit.coordinator, "one on this machine",
                          "Without TLS anybody could read and change everything; leave it out."});
    }
    return target;
}

struct Connection::Parts {
    Target target;
    Capture capture;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<v1::Federation::Stub> stub;
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::Frame, v1::Frame>> stream;
    std::optional<std::string> reason;
    std::string serial = {};
    bool let_in = false;
};

Connection::Connection(const Target& target, Capture capture)
    : parts_(new Parts{target, std::move(capture), {}, {}, {}, {}, {}, {}, {}}) {
    parts_->channel = make_channel(target);
    parts_->stub = v1::Federation::NewStub(parts_->channel);
    if (!target.credentials) parts_->context.AddMetadata(insecure_name_key, target.self.name);
}

Connection::~Connection() {
    if (!parts_->stream) return;
    parts_->context.TryCancel();
    if (!parts_->reason) reason();
}

bool Connection::open() {
    Parts& parts = *parts_;
    parts.stream = parts.stub->Attend(&parts.context);
    parts.stream->WaitForInitialMetadata();
    const auto identity = parts.context.auth_context();
    if (!identity || !identity->IsPeerAuthenticated()) {
        if (!parts.target.credentials) return true;
        reason();
        return false;
    }
    parts.serial = require_coordinator(parts.target, *identity);
    return true;
}

void Connection::require_unrevoked() const {
    if (!parts_->serial.empty()) net::require_unrevoked(parts_->target, parts_->serial);
}

bool Connection::write(const v1::Frame& frame) {
    if (parts_->capture) parts_->capture(frame.SerializeAsString());
    return parts_->stream->Write(frame);
}

bool Connection::read(v1::Frame& frame) { return parts_->stream->Read(&frame); }

std::string Connection::reason() {
    Parts& parts = *parts_;
    if (!parts.reason) {
        // The status comes after everything that was sent before it.
        for (v1::Frame rest; parts.stream->Read(&rest);) continue;
        const grpc::Status status = parts.stream->Finish();
        const std::string said = plain_text(status.error_message());
        parts.reason = status.ok() ? "the connection was closed" : parts.let_in ? said : handshake_text(said);
    }
    return *parts.reason;
}

void Connection::let_in() { parts_->let_in = true; }

void Connection::finish() {
    parts_->stream->WritesDone();
    reason();
}

const std::string& Connection::serial() const noexcept { return parts_->serial; }

void Connection::cancel() { parts_->context.TryCancel(); }

StatusReport fetch_status(const Kit& kit, bool insecure, std::chrono::milliseconds patience) {
    const Target target = make_target(kit, kit.identity.role, insecure);
    const auto channel = make_channel(target);
    const auto stub = v1::Federation::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + patience);
    if (!target.credentials) context.AddMetadata(insecure_name_key, target.self.name);
    v1::StatusRequest request;
    request.set_protocol(wire::protocol_version);
    v1::StatusReply reply;
    const grpc::Status status = stub->Status(&context, request, &reply);
    if (!status.ok()) {
        throw RunError({target.address, handshake_text(plain_text(status.error_message())),
                        "a coordinator that answers", "Is it running, and is its port open?"});
    }
    require_coordinator(target, *context.auth_context());
    return parse_status(reply.json(), target.address);
}

}  // namespace couplet::net
