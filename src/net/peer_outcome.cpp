#include "peer_outcome.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "couplet/net/doubts.hpp"
#include "peer_job.hpp"

namespace couplet::net {
namespace {

double ratio(double error2, double norm2) { return norm2 > 0 ? error2 / norm2 : 0; }

const wire::PeerReport& report_of(const DecidedEpoch& decided, Index member) {
    return *decided.membership.member(member).report;
}

/// Of the members and their processes, so that no other result has it.
std::string result_id(const DecidedEpoch& decided) {
    const wire::Epoch& epoch = decided.membership.epoch();
    std::string text = decided.network.kit().identity.federation;
    for (const wire::Incarnation member : epoch.members) text += fmt::format(" {}", member);
    return wire::to_hex(id_of(fmt::format("{} {}", text, epoch.number)));
}

void add_members(PeerResult& r, const DecidedEpoch& decided) {
    const auto& members = decided.members;
    r.members = decided.network.names(members);
    r.missing = decided.network.names(decided.network.others_than(members));
    r.place =
        static_cast<Index>(std::lower_bound(members.begin(), members.end(), decided.network.self()) - members.begin());
    const Graph used = links_among(members, decided.membership.links());
    r.links.assign(used.edges().begin(), used.edges().end());
}

void add_output(PeerResult& r, const PeerOutput& output) {
    r.features = output.features.clone();
    r.schema = output.schema;
    r.reordered = output.reordered;
    r.personal = Matrix<double>::copy(output.personal.view());
    r.rel_error_bound = output.rel_error_bound;
    r.rounds = output.rounds;
    r.lambda2 = output.lambda2;
    r.iterations = output.iterations;
    r.own_rse = output.own_rse;
    r.own_rse_heldout = output.own_rse_heldout;
    r.shield = output.shield;
    r.numbers_sent = output.report.numbers;
}

void add_reports(PeerResult& r, const DecidedEpoch& decided) {
    double error2 = 0;
    double norm2 = 0;
    double heldout_error2 = 0;
    double heldout_norm2 = 0;
    Index used = 0;
    for (const Index k : decided.members) {
        const wire::PeerReport& report = report_of(decided, k);
        r.rse_per_client.push_back(ratio(report.error2, report.norm2));
        r.personal_ranks.push_back(report.rank);
        error2 += report.error2;
        norm2 += report.norm2;
        heldout_error2 += report.heldout_error2;
        heldout_norm2 += report.heldout_norm2;
        r.numbers_total += report.numbers;
        r.bytes_total += report.bytes;
        used += report.links;
        r.seconds_max = std::max(r.seconds_max, report.seconds);
        r.seconds_sum += report.seconds;
    }
    r.numbers_per_link = used > 0 ? r.numbers_total / static_cast<double>(used) : 0;
    if (decided.spec.shield) {
        r.rse_per_client.clear();
        return;
    }
    r.rse = ratio(error2, norm2);
    if (decided.spec.preparation.heldout > 0) r.rse_heldout = ratio(heldout_error2, heldout_norm2);
}

void add_doubts(PeerResult& r, const DecidedEpoch& decided) {
    std::vector<Claim> claims;
    for (const Index k : decided.members) {
        const std::string& name = decided.network.name(k);
        const wire::PeerReport& report = report_of(decided, k);
        claims.push_back({name, report.norm2, report.error2, report.norm2});
        const bool scaled = decided.spec.preparation.scale_clients && report.norm2 != 0;
        if (scaled && std::abs(report.norm2 - 1) > 1e-6) {
            r.doubts.push_back(
                {name, fmt::format("a squared norm of {:.6g}; `scale_clients` norm makes it 1", report.norm2)});
        }
    }
    for (Doubt& doubt : norm_doubts(claims)) r.doubts.push_back(std::move(doubt));
    if (r.rel_error_bound) {
        for (Doubt& doubt : error_doubts(claims, *r.rel_error_bound)) r.doubts.push_back(std::move(doubt));
    }
    if (!r.doubts.empty()) r.rel_error_bound.reset();
}

RunError left_out(const PeerNetwork& network, const Membership& membership) {
    std::vector<Index> others;
    for (Index k = 0; k < network.size(); ++k) {
        if (membership.others().members[static_cast<std::size_t>(k)] != 0) others.push_back(k);
    }
    return RunError({fmt::format("peer {}", network.own_name()),
                     fmt::format("the job goes on without it, with {}", fmt::join(network.names(others), ", ")),
                     "to be there from the beginning to the end", "It can take part in the next job."});
}

/// What is known of a peer that cannot be reached: of those that are no neighbours only what others tell.
std::string whereabouts(const PeerNetwork& network, const Membership& membership, Index peer) {
    if (membership.ever_seen(peer)) return "lost";
    if (const auto hearers = membership.hearers(peer); !hearers.empty()) {
        return fmt::format("seen by {}, not from here", fmt::join(network.names(hearers), ", "));
    }
    const auto neighbours = network.neighbours();
    const bool near = std::find(neighbours.begin(), neighbours.end(), peer) != neighbours.end();
    return near ? "never seen" : "no neighbour, and nobody told of it";
}

}  // namespace

bool all_reported(const Membership& membership, const std::vector<Index>& members) {
    return std::all_of(members.begin(), members.end(),
                       [&](Index k) { return membership.is_known(k) && membership.member(k).report.has_value(); });
}

PeerResult make_peer_result(const DecidedEpoch& decided) {
    PeerResult r;
    r.spec = decided.spec;
    r.graph = decided.network.kit().graph;
    r.job = result_id(decided);
    add_members(r, decided);
    add_output(r, decided.output);
    if (!all_reported(decided.membership, decided.members)) return r;
    add_reports(r, decided);
    if (decided.spec.job.aggregate == Aggregate::stack) add_doubts(r, decided);
    return r;
}

RunError no_result(const PeerNetwork& network, const Membership& membership,
                   const std::map<Index, std::string>& refusals, std::chrono::milliseconds deadline) {
    if (*membership.failure() == Membership::Failure::left_out) return left_out(network, membership);
    const std::vector<Index> here = membership.reachable();
    std::vector<std::string> absent;
    for (const Index k : network.others_than(here)) {
        const auto refusal = refusals.find(k);
        absent.push_back(
            fmt::format("{} ({})", network.name(k),
                        refusal != refusals.end() ? refusal->second : whereabouts(network, membership, k)));
    }
    const std::string seen = fmt::format("reached: {}; not reached: {}", fmt::join(network.names(here), ", "),
                                         absent.empty() ? "nobody" : fmt::format("{}", fmt::join(absent, ", ")));
    const bool enough = 2 * here.size() > static_cast<std::size_t>(network.size());
    const double seconds = static_cast<double>(deadline.count()) / 1000;
    const std::string expected = enough
                                     ? fmt::format("a result within {} s", seconds)
                                     : fmt::format("more than half of {} peers within {} s", network.size(), seconds);
    return RunError(
        {fmt::format("peer {}", network.own_name()), seen, expected,
         enough ? "Allow more time with `deadline`." : "Start the others and see that they can be reached."});
}

}  // namespace couplet::net
