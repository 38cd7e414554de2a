#include "peer_vetting.hpp"

#include <utility>

namespace couplet::net {

void PeerVetting::message(const wire::Message& message) {
    if (!options_.vet) return;
    const std::lock_guard lock(mutex_);
    options_.vet(message);
}

void PeerVetting::plan(const ShieldPlan& plan, const std::string& run) {
    if (!options_.vet_plan) return;
    const std::lock_guard lock(mutex_);
    options_.vet_plan(plan, run);
}

void PeerVetting::sum(MaskedSum sum, const std::string& run) {
    if (!options_.vet_sum) return;
    const std::lock_guard lock(mutex_);
    for (const bool agreed : {false, true}) {
        sum.agreed = agreed;
        options_.vet_sum(sum, run);
    }
}

}  // namespace couplet::net
