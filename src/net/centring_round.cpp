#include "centring_round.hpp"

#include <fmt/format.h>

#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/tensor/any_label.hpp"
#include "crash_point.hpp"
#include "plausible.hpp"
#include "spool.hpp"
#include "star_merge.hpp"

namespace couplet::net {
namespace {

/// Sums over all members, each member's added in its turn.
FeatureSums sum_features(JobDesk& desk, const std::vector<Index>& members, const CentringOptions& how) {
    Room& room = desk.room();
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

/// With where each mode of the job has the label of every patient.
CentringOptions settled(CentringOptions how, const Schema& schema) {
    if (how.weight == Weight::none) return how;
    how.any_at = find_any(schema);
    if (!how.any_at.empty()) return how;
    throw InputError({"`weight`",
                      fmt::format("{} for data without a label {} in every mode", to_string(how.weight), any_label),
                      "tables with that label at all sites", "Build the tables with `any` on, or leave `weight` out."});
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
    const Schema schema{room.hello(members.front()).features, publish_start(desk, members).labels};
    const CentringOptions how = settled(desk.spec().centring, schema);
    Centring moved = centring_of(sum_features(desk, members, how), how);
    if (moved.weighted()) {
        moved.mean = without_small_cells(std::move(moved.mean), schema.features, moved.any_at, moved.patients);
    }
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
                                           moved.weighted() ? "weighted"
                                           : !how.scale     ? "centred"
                                           : !how.centre    ? "scaled"
                                                            : "centred and scaled"));
}

Centring centring_of_job(const Room& room) {
    const std::uint32_t attempt = room.job().centred.attempt;
    return attempt == 0 ? Centring{} : room.folder().centring(attempt);
}

}  // namespace couplet::net
