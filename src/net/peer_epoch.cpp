#include "peer_epoch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "couplet/privacy/secure_sum.hpp"

namespace couplet::net {
namespace {

std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

std::optional<Index> PeerEpoch::place_of(Index peer) const {
    const auto member = std::lower_bound(members.begin(), members.end(), peer);
    if (member == members.end() || *member != peer) return std::nullopt;
    return static_cast<Index>(member - members.begin());
}

PeerEpoch agreed_epoch(const PeerNetwork& network, const Membership& membership) {
    PeerEpoch epoch{membership.epoch().number, membership.members()};
    epoch.place = epoch.place_of(network.self()).value();
    return epoch;
}

std::string epoch_text(const PeerNetwork& network, const Membership& membership, const wire::JobId& job) {
    const wire::Epoch& epoch = membership.epoch();
    std::string text = fmt::format("{} {} {}", network.kit().identity.federation, wire::to_hex(job), epoch.number);
    for (const wire::Incarnation member : epoch.members) text += fmt::format(" {}", member);
    return text;
}

Schema schema_of_members(const PeerNetwork& network, const Membership& membership, const PeerEpoch& epoch,
                         const PeerOptions& options, const Schema& own) {
    std::vector<Hello> hellos;
    std::vector<SchemaPrint> prints;
    for (const Index k : epoch.members) {
        const wire::PeerRecord& record = membership.member(k);
        hellos.push_back({record.features, record.rows, 0});
        prints.push_back(record.schema);
    }
    start_job(options.spec.job, hellos);
    if (options.schema && options.schema->named()) return *options.schema;
    return peer_schema(own, prints, network.names(epoch.members), options.spec.job.unnamed);
}

MaskedEpoch make_masked_epoch(const Membership& membership, const PeerEpoch& epoch, const std::string& text,
                              const std::string& key, const SumDemands& demands) {
    std::vector<std::string> certificates;
    for (const Index k : epoch.members) certificates.push_back(membership.member(k).certificate);
    MaskedEpoch all{.sign =
                        [key](Bytes bytes) {
                            const std::string signature = sign_text(key, text_of(bytes));
                            return Signature(signature.begin(), signature.end());
                        },
                    .verify =
                        [certificates = std::move(certificates)](Party party, Bytes bytes, const Signature& signature) {
                            const auto at = static_cast<std::size_t>(party);
                            return at < certificates.size() &&
                                   is_signed(certificates[at], text_of(bytes),
                                             std::string(signature.begin(), signature.end()));
                        },
                    .demands = demands};
    std::string name = "couplet masked epoch " + text;
    // In what order somebody computes follows from these: nobody may have told two members two of them.
    for (const Index k : epoch.members) {
        const SchemaPrint& print = membership.member(k).schema;
        name += fmt::format(" {:x} {:x} {:x} {:x}", print.labels, print.order, print.names, print.units);
    }
    all.session = hash_bytes({reinterpret_cast<const std::uint8_t*>(name.data()), name.size()});
    return all;
}

void SharedEpoch::begin(std::uint64_t number, std::vector<Index> members, const wire::JobId& run) {
    const std::lock_guard lock(mutex_);
    number_ = number;
    cohort_.members = std::move(members);
    cohort_.run = wire::to_hex(run);
}

void SharedEpoch::set_order(std::string order) {
    const std::lock_guard lock(mutex_);
    cohort_.order = std::move(order);
}

std::optional<Index> SharedEpoch::member(std::uint64_t number, Index place) const {
    const std::lock_guard lock(mutex_);
    if (number != number_) return std::nullopt;
    return cohort_.members[static_cast<std::size_t>(place)];
}

SharedEpoch::Cohort SharedEpoch::cohort() const {
    const std::lock_guard lock(mutex_);
    return cohort_;
}

}  // namespace couplet::net
