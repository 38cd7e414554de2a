#include "coordinator_trail.hpp"

#include <utility>

namespace couplet::net {

CoordinatorTrail::CoordinatorTrail(const Kit& kit, Spelling spelling)
    : self_(kit.identity.name), audit_(kit.file("audit.jsonl"), spelling) {}

void CoordinatorTrail::begin(const JobFile& job) {
    audit_.write("job", {{"job", wire::to_hex(job.id)},
                         {"role", "coordinator"},
                         {"party", self_},
                         {"version", version()},
                         {"begun_by", job.version},
                         {"phase", to_string(job.phase)},
                         {"roster", job.roster},
                         {"spec", spec_json(job.spec)}});
}

void CoordinatorTrail::end(const CoordinatorResult& result, const Features& features) {
    AuditTrail::Fields fields{{"job", result.job},   {"outcome", "done"},         {"members", result.members},
                              {"late", result.late}, {"missing", result.missing}, {"features", result_hash(features)}};
    if (result.rel_error_bound) fields["rel_error_bound"] = *result.rel_error_bound;
    for (const Doubt& doubt : result.doubts) {
        fields["doubts"].push_back({{"client", doubt.client}, {"reason", doubt.reason}});
    }
    write_end(std::move(fields));
}

void CoordinatorTrail::fail(const std::string& job, const std::string& reason) {
    write_end({{"job", job}, {"outcome", "failed"}, {"reason", reason}});
}

void CoordinatorTrail::write_end(AuditTrail::Fields fields) {
    for (const auto& [party, count] : audit_.unwritten()) fields["repeated"][party] = count;
    audit_.write("ended", fields);
}

}  // namespace couplet::net
