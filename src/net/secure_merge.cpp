#include "secure_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/secure/secure_coordinator.hpp"
#include "couplet/secure/shield_plan.hpp"
#include "couplet/wire/job_print.hpp"
#include "couplet/wire/star_job.hpp"
#include "crash_point.hpp"
#include "roster.hpp"
#include "spool.hpp"

namespace couplet::net {
namespace {

class SecureMerge {
  public:
    SecureMerge(JobDesk& desk, const std::vector<Index>& members, Notary notary, Index least)
        : desk_(desk),
          room_(desk.room()),
          members_(members),
          start_(make_start()),
          secure_(desk.job(), room_.schema().features, options(std::move(notary), least)) {}

    MergeOutcome run() {
        publish_start();
        // Where nobody is counted the plan is known from the beginning.
        if (secure_.plan() != nullptr) announce();
        for (std::size_t step = 0; !secure_.finished(); ++step) {
            const Index sum = secure_.sum();
            take_step(step);
            const bool planned = secure_.plan() != nullptr;
            close_step();
            if (!planned && secure_.plan() != nullptr) announce();
            if (secure_.sum() != sum || secure_.finished()) {
                desk_.log().info("summed", sum == 0
                                               ? "the patients are counted"
                                               : fmt::format("sum {} of {} is complete", sum, secure_.plan()->sums));
            }
        }
        if (!secure_.shortened().empty()) desk_.log().warn("shortened", secure_.shortened());
        return finish();
    }

  private:
    SecureCoordinator::Options options(Notary notary, Index least) const {
        SecureCoordinator::Options how{.job = room_.id(),
                                       .told = wire::job_print(desk_.spec(), start_),
                                       .terms = *desk_.spec().shield,
                                       .notary = std::move(notary),
                                       .names = {},
                                       .least = least};
        for (const Index place : members_) {
            how.names[static_cast<Party>(place)] = room_.roster()[static_cast<std::size_t>(place)];
        }
        return how;
    }
    Start make_start() const {
        std::vector<Hello> hellos;
        for (const Index place : members_) hellos.push_back(room_.hello(place));
        return start_job(desk_.job(), hellos, room_.schema());
    }
    void publish_start() { room_.publish(wire::StartNotice{start_, false, false}, false); }
    void take_step(std::size_t step) {
        const auto closed = room_.job().closed;
        if (step < closed.size()) {
            room_.pass_over();
            for (const Index place : closed[step]) take(place);
            return;
        }
        const auto answered = ask();
        room_.update([&](JobFile& file) { file.closed.push_back(answered); });
        crash_point("step-closed");
    }
    /// Who answers the step in time what can be used; the others are lost to it.
    std::vector<Index> ask() {
        std::map<Index, wire::Body> questions;
        for (const Party party : secure_.asked()) {
            questions.emplace(party, secure_.request(party));
        }
        const std::vector<Index> asked(secure_.asked().begin(), secure_.asked().end());
        room_.publish_each(std::move(questions), static_cast<Index>(secure_.number_bytes()));
        const auto until = desk_.until();
        for (const Index place : asked) room_.await_reply(place, until);
        std::vector<Index> answered;
        for (const Index place : room_.replied()) {
            if (take(place)) answered.push_back(place);
        }
        std::vector<Index> lost;
        std::set_difference(asked.begin(), asked.end(), answered.begin(), answered.end(), std::back_inserter(lost));
        if (!lost.empty()) {
            desk_.log().warn("lost", fmt::format("no {} of {}", secure_.step_text(), list_of(room_.roster(), lost)));
        }
        return answered;
    }
    /// False when the answer cannot be used: its sender is turned away.
    bool take(Index place) {
        try {
            const Stopwatch watch(desk_.seconds());
            wire::Message reply = room_.take_reply(place);
            secure_.take(static_cast<Party>(place), std::move(body_as<SecureReply>(reply, "reply", room_.who(place))));
            return true;
        } catch (const InputError& error) {
            room_.reject(place, fmt::format("{}; expected {}", error.parts().found, error.parts().expected));
            return false;
        }
    }
    void close_step() {
        const Stopwatch watch(desk_.seconds());
        try {
            secure_.close();
        } catch (const Error&) {
            room_.abandon();
            throw;
        }
    }
    void announce() const {
        const ShieldPlan& plan = *secure_.plan();
        Log& log = desk_.log();
        for (const auto& change : plan.changes) log.info("policy", "policy: " + change);
        for (const auto& warning : plan.warnings) log.warn("policy", warning);
        log.info("plan",
                 fmt::format("{} sums over the data of {} clients, {} directions; {} clients must stay to the end "
                             "of each",
                             plan.sums, room_.job().members.size(), plan.directions, secure_.threshold()));
        if (!plan.noise) return;
        if (plan.mu) {
            log.info("budget", fmt::format("every patient spends mu {:.3g}, which is epsilon {:.3g} at delta {:.0e}",
                                           *plan.mu, plan.noise->guarantee.epsilon, plan.noise->guarantee.delta));
            return;
        }
        log.info("noise",
                 fmt::format("noise of standard deviation {:.3g} in every number of {} sums: if all records are as "
                             "long as the clip, RSE rises by at most about {} with {:.0f} patients; records half as "
                             "long need four times as many",
                             plan.noise->in_sum, plan.sums, acceptable_loss, *secure_.report().patients_needed));
    }
    MergeOutcome finish() {
        const auto clients = static_cast<double>(members_.size());
        outcome_.cohort.assign(secure_.cohort().begin(), secure_.cohort().end());
        outcome_.features = {secure_.features().clone(), std::nullopt};
        wire::require_finite(outcome_.features.features);
        crash_point("merged");
        outcome_.traffic.numbers_up = clients * secure_.numbers_up();
        outcome_.traffic.numbers_down =
            clients * (secure_.numbers_down() + static_cast<double>(outcome_.features.features.numbers()));
        outcome_.personal_ranks.assign(outcome_.cohort.size(), outcome_.features.features.train.left_rank());
        outcome_.rounds = secure_.rounds();
        outcome_.shield = secure_.report();
        return std::move(outcome_);
    }

    JobDesk& desk_;
    Room& room_;
    const std::vector<Index>& members_;
    Start start_;
    SecureCoordinator secure_;
    MergeOutcome outcome_;
};

}  // namespace

MergeOutcome merge_secure(JobDesk& desk, const std::vector<Index>& members, Notary notary, Index least) {
    return SecureMerge(desk, members, std::move(notary), least).run();
}

}  // namespace couplet::net
