#include "filling_round.hpp"

#include <fmt/format.h>

#include <utility>

#include "coordinator_result.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "spool.hpp"

namespace couplet::net {
namespace {

struct Filled {
    FillSums sums;              ///< over all members
    std::vector<double> norm2;  ///< of each one's tensor as it is filled now
};

Filled collect_fills(const JobDesk& desk, const std::vector<Index>& members) {
    Filled filled;
    desk.collect(members, [&](std::size_t i, wire::Message reply) {
        const auto& own = body_as<FillSums>(reply, "reply", desk.room().who(members[i]));
        filled.sums.add(own);
        filled.norm2.push_back(own.norm2);
    });
    return filled;
}

/// The features as they are told for the last time.
void finish(MergeOutcome& outcome, const CompletionCourse& course, double clients) {
    outcome.features.filling = course.final_filling();
    outcome.features.rel_error_bound.reset();  // it was one of filled tensors
    outcome.rounds += 1;
    outcome.traffic.numbers_down += clients * static_cast<double>(outcome.features.features.train.parameters());
    outcome.traffic.bytes_down += clients * static_cast<double>(serialised_bytes(outcome.features));
}

}  // namespace

void fill_members(JobDesk& desk, MergeOutcome outcome, const std::vector<Index>& members, std::uint32_t attempt) {
    Room& room = desk.room();
    CompletionCourse course = course_of(room.job());
    outcome.features.filling = course.filling();
    room.publish(copy_of(outcome.features), true);
    const Filled filled = collect_fills(desk, members);
    course.take(filled.sums);
    const MissingReport report = course.report();
    desk.log().info("filled", fmt::format("iteration {}: the filled values moved by {:.1e} of the norm",
                                          report.iterations, report.change));
    const bool done = course.finished();
    if (done) finish(outcome, course, static_cast<double>(members.size()));
    const std::uint32_t saved_as = done ? attempt + 1 : attempt;
    const std::uint32_t before = room.job().completing.base;
    desk.keep(outcome.features, saved_as, [&](JobFile& file) {
        file.attempt = attempt + 1;
        file.completing.base = attempt;
        file.completing.norm2 = filled.norm2;
        file.completing.history.push_back(filled.sums);
        file.rounds += outcome.rounds;
        file.traffic += outcome.traffic;
        if (!done) return;
        file.phase = Phase::delivering;
        file.result = saved_as;
        file.personal_ranks = outcome.personal_ranks;
    });
    if (before != 0) room.folder().remove_features(before);
    room.remove_replies({});
}

}  // namespace couplet::net
