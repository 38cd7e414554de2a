#include "client_trail.hpp"

#include "job_file.hpp"

namespace couplet::net {
namespace {

constexpr const char* coordinator = "coordinator";

}  // namespace

ClientTrail::ClientTrail(const Kit& kit, Spelling spelling)
    : self_(kit.identity.name), audit_(kit.file("audit.jsonl"), spelling) {}

void ClientTrail::begin(const wire::Message& welcome, const std::string& serial, const std::string& address) {
    const auto& told = std::get<wire::Welcome>(welcome.body);
    const std::string job = wire::to_hex(welcome.route.job);
    counted_ = counted_messages(audit_.file(), job)[coordinator];
    for (const auto& [kind, bytes] : greetings_) counted_.add(true, kind, {}, bytes);
    audit_.write("job", {{"job", job},
                         {"role", "client"},
                         {"party", self_},
                         {"version", version()},
                         {"coordinator", {{"serial", serial}, {"address", address}}},
                         {"clients", told.clients},
                         {"spec", spec_json(told.spec)}});
}

void ClientTrail::write(const char* event, const wire::Message& message, const Passed& passed) {
    audit_.write_once(coordinator, event,
                      {{"job", wire::to_hex(message.route.job)},
                       {"party", coordinator},
                       {"kind", wire::to_string(message.kind())},
                       {"attempt", message.route.attempt},
                       {"step", message.route.step},
                       {"bytes", passed.bytes},
                       {"hash", passed.hash}});
    if (message.route.job == wire::JobId{}) {
        greetings_[message.kind()] = passed.bytes;
    } else {
        counted_.add(std::string_view(event) == sent_event, message.kind(), message.route, passed.bytes);
    }
}

void ClientTrail::count(ClientResult& result) const {
    result.bytes_overhead = counted_.others().sent + counted_.others().received;
    if (!result.shield) return;
    result.bytes_up = counted_.rounds().sent;
    result.bytes_down = counted_.rounds().received;
}

void ClientTrail::end(const ClientResult& result) {
    AuditTrail::Fields fields{{"job", result.job},
                              {"outcome", "done"},
                              {"members", result.members},
                              {"missing", result.missing},
                              {"features", result_hash(result.features)},
                              {"personal", result_hash(result.personal)}};
    if (result.rel_error_bound) fields["rel_error_bound"] = *result.rel_error_bound;
    if (!result.doubt.empty()) fields["doubt"] = result.doubt;
    audit_.write("ended", fields);
}

void ClientTrail::fail(const std::string& job, const std::string& reason) {
    audit_.write("ended", {{"job", job}, {"outcome", "failed"}, {"reason", reason}});
}

}  // namespace couplet::net
