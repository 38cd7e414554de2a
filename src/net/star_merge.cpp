#include "star_merge.hpp"

#include <fmt/format.h>

#include <utility>

#include "centred_data.hpp"
#include "contributions.hpp"
#include "coordinator_result.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/wire/star_job.hpp"
#include "crash_point.hpp"
#include "spool.hpp"

namespace couplet::net {
namespace {

/// Whether the members' tensors are no longer as they joined with them: filled or centred since.
bool is_prepared(const JobFile& job) { return job.completing.base != 0 || job.centred.attempt != 0; }

/// What a member says of its data now: as it greeted, or as it has filled or centred it since.
Hello hello_now(const Room& room, std::size_t at, Index place) {
    Hello hello = room.hello(place);
    const JobFile job = room.job();
    const std::vector<double>& norm2 = job.centred.attempt != 0 ? job.centred.norm2 : job.completing.norm2;
    if (norm2.empty()) return hello;
    hello.norm2 = norm2[at];
    hello.labels = room.schema().modes;
    return hello;
}

StarCoordinator greeted_star(const JobDesk& desk, const std::vector<Index>& members,
                             std::vector<Contribution> earlier) {
    const auto clients = static_cast<Index>(members.size());
    StarCoordinator star(paid_job(desk.spec(), desk.room().schema().features, clients), clients);
    star.require_schema(desk.room().schema());
    std::vector<MergeState> states;
    for (Contribution& contribution : earlier) states.push_back(std::move(contribution.state));
    if (desk.stacks()) star.resume(std::move(states));
    for (std::size_t i = 0; i < members.size(); ++i) {
        star.receive(static_cast<Index>(i), hello_now(desk.room(), i, members[i]));
    }
    return star;
}

/// One merge while it is made.
class StarMerge {
  public:
    StarMerge(JobDesk& desk, const std::vector<Index>& members, std::vector<Contribution> earlier)
        : desk_(desk),
          members_(members),
          earlier_(claims_of(earlier)),
          clients_(static_cast<double>(members.size())),
          star_(greeted_star(desk, members, std::move(earlier))) {}

    MergeOutcome run() {
        for (;;) {
            std::optional<ToClient> question = step();
            if (!question) throw RunError({"job", "answers that lead nowhere", "those to the last question", ""});
            if (auto* features = std::get_if<FeaturesMessage>(&*question)) return finish(std::move(*features));
            if (const auto* start = std::get_if<Start>(&*question)) {
                ask_start(*start);
            } else {
                ask_sum(std::move(std::get<SumRequest>(*question)));
            }
        }
    }

  private:
    std::optional<ToClient> step() {
        const Stopwatch watch(desk_.seconds());
        return star_.next();
    }
    void ask_start(const Start& start) {
        const bool wants_reply = desk_.job().aggregate != Aggregate::subspace;
        desk_.room().publish(wire::StartNotice{start, false, is_prepared(desk_.room().job())}, wants_reply);
        if (wants_reply) collect();
    }
    void ask_sum(SumRequest request) {
        const Index numbers = request.pass == 0 ? 0 : request.basis.size();
        outcome_.traffic.numbers_down += clients_ * static_cast<double>(numbers);
        outcome_.traffic.bytes_down += clients_ * static_cast<double>(serialised_bytes(request));
        desk_.room().publish(std::move(request), true, star_.sum_length());
        collect();
    }
    void collect() {
        desk_.collect(members_, [&](std::size_t i, wire::Message reply) { take(i, std::move(reply)); });
    }
    void take(std::size_t at, wire::Message reply) {
        if (auto* upload = std::get_if<Upload>(&reply.body)) {
            outcome_.traffic.numbers_up += static_cast<double>(upload->block->numbers());
            outcome_.traffic.bytes_up += static_cast<double>(serialised_bytes(*upload));
            receive(at, std::move(*upload));
        } else {
            auto& sum = body_as<SumReply>(reply, "reply", fmt::format("member {}", at + 1));
            outcome_.traffic.numbers_up += static_cast<double>(sum.sum->size());
            outcome_.traffic.bytes_up += static_cast<double>(serialised_bytes(sum));
            receive(at, std::move(sum));
        }
    }
    void receive(std::size_t at, FromClient message) {
        const Stopwatch watch(desk_.seconds());
        star_.receive(static_cast<Index>(at), std::move(message));
    }
    MergeOutcome finish(FeaturesMessage features) {
        wire::require_finite(features.features);
        withdraw_certificate(features);
        crash_point("merged");
        outcome_.traffic.numbers_down += clients_ * static_cast<double>(features.features.numbers());
        if (desk_.spec().missing) features.filling.emplace();  // of this size, whatever it says
        outcome_.traffic.bytes_down += clients_ * static_cast<double>(serialised_bytes(features));
        outcome_.features = std::move(features);
        outcome_.personal_ranks = star_.personal_ranks();
        outcome_.rounds = star_.rounds();
        return std::move(outcome_);
    }
    /// A certificate that a client's norm makes meaningless is none.
    void withdraw_certificate(FeaturesMessage& features) const {
        if (!features.rel_error_bound || desk_.spec().missing) return;
        const auto doubts = doubted_norms(desk_.room().job(), members_, desk_.room().norms(), earlier_);
        if (doubts.empty()) return;
        features.rel_error_bound.reset();
        for (const Doubt& doubt : doubts) {
            desk_.log().warn("doubt",
                             fmt::format("no certificate for this job: client {}: {}", doubt.client, doubt.reason),
                             {{"client", doubt.client}});
        }
    }

    JobDesk& desk_;
    const std::vector<Index>& members_;
    std::vector<Claim> earlier_;
    double clients_;
    StarCoordinator star_;
    MergeOutcome outcome_;
};

}  // namespace

MergeOutcome merge_star(JobDesk& desk, const std::vector<Index>& members, std::vector<Contribution> earlier) {
    return StarMerge(desk, members, std::move(earlier)).run();
}

Start publish_start(const JobDesk& desk, const std::vector<Index>& members) {
    Room& room = desk.room();
    const JobFile job = room.job();
    auto earlier = desk.stacks() ? contributions_before(job, room.folder(), members) : std::vector<Contribution>{};
    StarCoordinator star = greeted_star(desk, members, std::move(earlier));
    Start start = std::get<Start>(*star.next());
    room.publish(wire::StartNotice{start, true, is_prepared(job)}, false);
    return start;
}

}  // namespace couplet::net
