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
    audit_.write("job", {{"job", wire::to_hex(welcome.route.job)},
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
