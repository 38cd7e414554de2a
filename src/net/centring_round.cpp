#include "centring_round.hpp"

#include <fmt/format.h>

#include <utility>

#include "couplet/core/stopwatch.hpp"
#include "crash_point.hpp"
#include "plausible.hpp"
#include "spool.hpp"
#include "star_merge.hpp"

namespace couplet::net {
namespace {

/// Sums over all members, each member's added in its turn.
FeatureSums sum_features(JobDesk& desk, const std::vector<Index>& members) {
    Room& room = desk.room();
    const CentringOptions& how = desk.spec().centring;
    room.publish(wire::CentringRequest{}, true, sums_length(room.hello(members.front()).features.size(), how));
    FeatureSums sums;
    desk.collect(members, [&](std::size_t i, wire::Message reply) {
        const Hello& said = room.hello(members[i]);
        CentredParty party{said.rows, said.features.size(), said.norm2};
        if (desk.spec().preparation.scale_clients) party.norm2.reset();
        const Stopwatch watch(desk.seconds());
        const std::string who = room.who(members[i]);
        sums.add(arrived_sums(body_as<SumReply>(reply, "reply", who).sum.get(), how, party, who));
    });
    return sums;
}

/// Tells the members how to move their data, and hears the squared norms that come of it.
std::vector<double> move_members(JobDesk& desk, const std::vector<Index>& members, const Centring& by) {
    Room& room = desk.room();
    room.publish(wire::CentringRequest{by}, true, 1);
    std::vector<double> norm2;
    desk.collect(members, [&](std::size_t i, wire::Message reply) {
        const std::string who = room.who(members[i]);
        const double said = body_as<SumReply>(reply, "reply", who).sum->front();
        require_plausible_norm2(desk.spec(), said, who);
        norm2.push_back(said);
    });
    return norm2;
}

}  // namespace

void centre_members(JobDesk& desk, const std::vector<Index>& members, std::uint32_t attempt) {
    Room& room = desk.room();
    const CentringOptions& how = desk.spec().centring;
    publish_start(desk, members);
    const Centring moved = centring_of(sum_features(desk, members), how);
    const std::vector<double> norm2 = move_members(desk, members, moved);
    room.folder().keep_centring(attempt, moved);
    crash_point("centring-saved");
    const CentringTraffic each = centring_traffic(room.hello(members.front()).features.size(), how);
    const auto clients = static_cast<double>(members.size());
    room.update([&](JobFile& file) {
        file.attempt = attempt + 1;
        file.centred = {attempt, norm2};
        file.rounds = centring_rounds;
        file.traffic = {clients * each.numbers_up, clients * each.numbers_down, clients * each.bytes_up,
                        clients * each.bytes_down};
    });
    room.remove_replies({});
    desk.log().info("centred", fmt::format("the features of all {} clients are {}", members.size(),
                                           !how.scale    ? "centred"
                                           : !how.centre ? "scaled"
                                                         : "centred and scaled"));
}

Centring centring_of_job(const Room& room) {
    const std::uint32_t attempt = room.job().centred.attempt;
    return attempt == 0 ? Centring{} : room.folder().centring(attempt);
}

}  // namespace couplet::net
