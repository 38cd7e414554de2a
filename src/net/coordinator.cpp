#include "couplet/net/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>

#include "audit_trail.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/privacy/shamir.hpp"
#include "couplet/secure/secure_coordinator.hpp"
#include "couplet/secure/shield_plan.hpp"
#include "couplet/wire/encoder.hpp"
#include "couplet/wire/star_job.hpp"
#include "crash_point.hpp"
#include "http_server.hpp"
#include "kit_lock.hpp"
#include "notary.hpp"
#include "room.hpp"
#include "server.hpp"
#include "spool.hpp"
#include "versions.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// A job of the longest roster, with names and reports of everybody.
constexpr std::uintmax_t largest_job_file = 64 << 20;

/// Too few clients are left; the job cannot go on.
struct TooFew {
    std::string text;
    std::string refusals;  ///< of others: not for the clients' ears
};
/// A member did not answer in time; these did.
struct Lost {
    std::vector<Index> left;
};

void require_loopback(const Kit& kit) {
    if (is_loopback(parse_address(kit.listen, "listen").host)) return;
    throw InputError({"`insecure`", "listening on " + kit.listen, "a loopback address",
                      "Without TLS anybody could read and change everything; leave it out."});
}

std::string names(const std::vector<std::string>& roster, const std::vector<Index>& places) {
    std::string text;
    for (const Index place : places) text += (text.empty() ? "" : ", ") + roster[static_cast<std::size_t>(place)];
    return text;
}

std::vector<std::string> name_list(const std::vector<std::string>& roster, const std::vector<Index>& places) {
    std::vector<std::string> result;
    for (const Index place : places) result.push_back(roster[static_cast<std::size_t>(place)]);
    return result;
}

/// Clients may be added to the roster between runs, at its end.
void extend_roster(JobFile& job, const Kit& kit) {
    const bool prefix =
        job.roster.size() <= kit.roster.size() && std::equal(job.roster.begin(), job.roster.end(), kit.roster.begin());
    if (!prefix) {
        throw InputError({kit.file("job").string(), "a job of other clients", "the roster of the kit",
                          "Remove that folder to begin a new job."});
    }
    job.roster = kit.roster;
}

std::string resumed_name(std::size_t i) { return fmt::format("resumed-{}.msg", i); }

JobFile new_job(const Kit& kit, const CoordinatorOptions& options) {
    JobFile job;
    job.id = wire::parse_job_id(random_hex());
    job.version = version();
    job.spec = options.spec;
    job.roster = kit.roster;
    job.schema = options.schema;
    if (options.resume) {
        job.schema = options.resume->schema;
        for (const Contribution& contribution : options.resume->contributions) {
            job.resumed.push_back(contribution.client);
        }
    }
    return job;
}

/// The job in the kit, if it is to go on: one that is not closed, or one that can still give somebody its result.
std::optional<JobFile> unfinished_job(const Kit& kit, const CoordinatorOptions& options) {
    const fs::path file = kit.file("job") / "job.json";
    std::error_code failed;
    if (!fs::exists(file, failed)) {
        if (!failed) return std::nullopt;
        throw InputError({kit.file("job").string(), failed.message(), "the folder of this kit's job",
                          "Check its owner and permissions."});
    }
    JobFile job = parse_job_file(read_text(file, largest_job_file), file.string());
    if (!work_together(job.version, version())) {
        // One that is done needs nothing from this version but to be put aside.
        if (job.phase == Phase::closed) return std::nullopt;
        throw InputError(
            {kit.file("job").string(),
             fmt::format("a job begun by couplet {}", job.version.empty() ? "of an older version" : job.version),
             fmt::format("one begun by the minor version of {}", version()),
             "Finish it with that version, or remove that folder to begin a new job."});
    }
    extend_roster(job, kit);
    std::string other = difference(job.spec, options.spec);
    if (options.schema && job.schema != options.schema) other += (other.empty() ? "" : ", ") + std::string("`schema`");
    const bool lacking = !job.unreported().empty();
    const bool meant = job.phase != Phase::closed || (options.late_merge && (lacking || !job.absent().empty()));
    if (meant && !other.empty()) {
        throw InputError({kit.file("job").string(), "a job with other flags: " + other, "the flags it was begun with",
                          "Give those again to continue it, or remove that folder to begin a new job."});
    }
    if (meant || (lacking && other.empty())) return job;
    return std::nullopt;
}

/// Makes room for a new job. The one before is kept until the next: it may be wanted for clients that come late.
void put_aside(const Kit& kit) {
    const fs::path folder = kit.file("job");
    if (fs::exists(folder / "job.json")) {
        fs::remove_all(kit.file("job.old"));
        fs::rename(folder, kit.file("job.old"));
    }
    fs::remove_all(folder);
    fs::create_directories(folder);
}

/// The job to run: see the constructor of Coordinator. Nothing is changed before on_job() has agreed.
JobFile open_job(const Kit& kit, const CoordinatorOptions& options) {
    const auto agree = [&](const JobFile& job) {
        if (options.on_job) options.on_job(wire::to_hex(job.id));
    };
    if (auto unfinished = unfinished_job(kit, options)) {
        agree(*unfinished);
        return std::move(*unfinished);
    }
    JobFile job = new_job(kit, options);
    agree(job);
    put_aside(kit);
    if (!options.resume) return job;
    for (std::size_t i = 0; i < options.resume->contributions.size(); ++i) {
        Contribution copy = options.resume->contributions[i].clone();
        save_message(kit.file("job") / resumed_name(i), {{}, std::move(copy.state)});
    }
    return job;
}

}  // namespace

struct Coordinator::Parts {
    Parts(const Kit& k, CoordinatorOptions o, Log& l)
        : kit(k),
          options(std::move(o)),
          log(l),
          lock(lock_kit(kit)),
          audit(kit.file("audit.jsonl"), log.spelling()),
          room(open_job(kit, options), {kit.file("job"), options.late_merge}, log) {}

    // What the job computes at its end, kept for the result.
    struct Outcome {
        FeaturesMessage features;
        std::vector<Index> personal_ranks;
        Traffic traffic;
        Index rounds = 0;
        std::vector<Index> cohort = {};           ///< of secure sums: whose numbers are in them
        std::optional<ShieldReport> shield = {};  ///< likewise
    };

    Room::Deadline deadline() const {
        if (!options.deadline) return std::nullopt;
        return Clock::now() + *options.deadline;
    }
    Index least() const { return options.min_clients.value_or(static_cast<Index>(room.roster().size())); }
    const Job& job() const { return room.spec().job; }
    bool stacks() const { return job().aggregate == Aggregate::stack; }

    void require_enough(const std::vector<Index>& there, const char* what) const {
        if (static_cast<Index>(there.size()) >= least()) return;
        throw TooFew{
            fmt::format("{} of {} clients {} before the deadline{}{}; at least {} must", there.size(),
                        room.roster().size(), what, there.empty() ? "" : ": ", names(room.roster(), there), least()),
            room.refusal_text()};
    }

    /// Fixes who takes part, before anybody is told.
    void fix_members(std::vector<Index> members) {
        room.update([&](JobFile& file) {
            file.phase = Phase::running;
            ++file.attempt;
            file.members = members;
            file.completing = {};
            file.centred = {};
            file.rounds = 0;
            file.traffic = {};
        });
        crash_point("members-fixed");
        log.info("running", fmt::format("{} of {} clients take part: {}", members.size(), room.roster().size(),
                                        names(room.roster(), members)));
    }

    /// One question to all members and the answers in their order, each from disk when it is its turn.
    void ask(StarCoordinator& star, ToClient question, const std::vector<Index>& members, Outcome& outcome) {
        const auto clients = static_cast<double>(members.size());
        if (const auto* start = std::get_if<Start>(&question)) {
            const bool wants = job().aggregate != Aggregate::subspace;
            room.publish(wire::StartNotice{*start, false, prepared()}, wants);
            if (!wants) return;
        } else {
            auto& request = std::get<SumRequest>(question);
            const Index numbers = request.pass == 0 ? 0 : request.basis.size();
            outcome.traffic.numbers_down += clients * static_cast<double>(numbers);
            outcome.traffic.bytes_down += clients * static_cast<double>(serialised_bytes(request));
            const Index wanted = star.sum_length();
            room.publish(std::move(request), true, wanted);
        }
        collect(members, [&](std::size_t i, wire::Message reply) { take(star, i, std::move(reply), outcome); });
    }

    using Take = std::function<void(std::size_t at, wire::Message reply)>;
    /// The answers of all members, in their order. When one cannot be used its sender is out, and the others begin
    /// again: throws Lost.
    void collect(const std::vector<Index>& members, const Take& take_one) {
        const auto until = deadline();
        std::optional<Index> rejected;
        bool complete = true;
        for (std::size_t i = 0; complete && i < members.size(); ++i) {
            complete = room.await_reply(members[i], until) || room.is_unwilling(members[i]);
            if (!complete) continue;
            if (room.is_unwilling(members[i])) rejected = members[i];
            if (rejected) continue;
            try {
                take_one(i, room.take_reply(members[i]));
            } catch (const InputError& error) {
                room.reject(members[i], fmt::format("{}; expected {}", error.parts().found, error.parts().expected));
                rejected = members[i];
            }
        }
        if (complete && !rejected) return;
        Lost lost{room.replied()};
        if (rejected) std::erase(lost.left, *rejected);  // it may have answered once more
        throw lost;
    }

    void take(StarCoordinator& star, std::size_t at, wire::Message reply, Outcome& outcome) {
        if (auto* upload = std::get_if<Upload>(&reply.body)) {
            outcome.traffic.numbers_up += static_cast<double>(upload->block->numbers());
            outcome.traffic.bytes_up += static_cast<double>(serialised_bytes(*upload));
            receive(star, at, std::move(*upload));
        } else {
            auto& sum = body_as<SumReply>(reply, "reply", fmt::format("member {}", at + 1));
            outcome.traffic.numbers_up += static_cast<double>(sum.sum->size());
            outcome.traffic.bytes_up += static_cast<double>(serialised_bytes(sum));
            receive(star, at, std::move(sum));
        }
    }

    /// Whether the members' tensors are no longer as they joined with them: filled or centred since.
    bool prepared() const {
        const JobFile file = room.job();
        return file.completing.base != 0 || file.centred.attempt != 0;
    }

    /// What a member says of its data now: as it greeted, or as it has filled or centred it since.
    Hello hello(std::size_t at, Index place) const {
        Hello hello = room.hello(place);
        const JobFile file = room.job();
        const std::vector<double>& norm2 = file.centred.attempt != 0 ? file.centred.norm2 : file.completing.norm2;
        if (norm2.empty()) return hello;
        hello.norm2 = norm2[at];
        hello.labels = room.schema().modes;
        return hello;
    }

    /// What those in the result say of their data, in their order.
    std::vector<Claim> claims(const std::vector<Index>& places) const {
        const JobFile file = room.job();
        std::vector<Claim> result;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const Index place = places[i];
            // Nobody is merged late into a job that centres: these are its members.
            const double norm2 = file.centred.attempt != 0 ? file.centred.norm2[i] : room.hello(place).norm2;
            Claim claim{file.roster[static_cast<std::size_t>(place)], norm2, {}, {}};
            if (const auto report = file.reports.find(place); report != file.reports.end()) {
                claim.error2 = report->second.error2;
                claim.reported_norm2 = report->second.norm2;
            }
            result.push_back(std::move(claim));
        }
        return result;
    }

    /// A certificate that a client's norm makes meaningless is none.
    void withdraw_certificate(const std::vector<Index>& members, FeaturesMessage& features) {
        if (!features.rel_error_bound || room.spec().missing) return;
        const auto doubts = norm_doubts(claims(members));
        if (doubts.empty()) return;
        features.rel_error_bound.reset();
        for (const Doubt& doubt : doubts) {
            log.warn("doubt", fmt::format("no certificate for this job: client {}: {}", doubt.client, doubt.reason),
                     {{"client", doubt.client}});
        }
    }

    /// What speaks against the certificate, as far as is known now.
    std::vector<Doubt> doubts(const JobFile& file, const std::optional<double>& bound) const {
        if (!stacks() || file.spec.missing) return {};
        std::vector<Index> in = file.members;
        in.insert(in.end(), file.late.begin(), file.late.end());
        auto result = norm_doubts(claims(in));
        // Errors of those who came before are not those of the features that came after.
        if (!bound || !file.late.empty() || !file.resumed.empty()) return result;
        for (Doubt& doubt : error_doubts(claims(in), *bound)) result.push_back(std::move(doubt));
        return result;
    }

    std::optional<ToClient> step(StarCoordinator& star) {
        const Stopwatch watch(server_seconds);
        return star.next();
    }
    void receive(StarCoordinator& star, std::size_t client, FromClient message) {
        const Stopwatch watch(server_seconds);
        star.receive(static_cast<Index>(client), std::move(message));
    }

    /// The state machine from the hellos to the features. Throws Lost.
    Outcome merge(const std::vector<Index>& members, std::vector<MergeState> earlier) {
        StarCoordinator star(job(), static_cast<Index>(members.size()));
        star.require_schema(room.schema());
        if (stacks()) star.resume(std::move(earlier));
        for (std::size_t i = 0; i < members.size(); ++i) {
            star.receive(static_cast<Index>(i), hello(i, members[i]));
        }
        Outcome outcome;
        for (;;) {
            std::optional<ToClient> question = step(star);
            if (!question) throw RunError({"job", "answers that lead nowhere", "those to the last question", ""});
            if (auto* features = std::get_if<FeaturesMessage>(&*question)) {
                wire::require_finite(features->features);
                withdraw_certificate(members, *features);
                crash_point("merged");
                const auto clients = static_cast<double>(members.size());
                outcome.traffic.numbers_down += clients * static_cast<double>(features->features.numbers());
                if (room.spec().missing) features->filling.emplace();  // of this size, whatever it says
                outcome.traffic.bytes_down += clients * static_cast<double>(serialised_bytes(*features));
                outcome.features = std::move(*features);
                outcome.personal_ranks = star.personal_ranks();
                outcome.rounds = star.rounds();
                return outcome;
            }
            ask(star, std::move(*question), members, outcome);
        }
    }

    // ---- secure sums

    /// Who answers the step in time, and what they say; those who answer what cannot be used are turned away.
    std::vector<Index> step_answers(SecureCoordinator& secure, Outcome& outcome) {
        std::map<Index, wire::Body> questions;
        for (const Party party : secure.asked()) {
            wire::Message message{{}, secure.request(party)};
            outcome.traffic.bytes_down += static_cast<double>(wire::encoded_bytes(message));
            questions.emplace(party, std::move(message.body));
        }
        const std::vector<Index> asked(secure.asked().begin(), secure.asked().end());
        room.publish_each(std::move(questions), static_cast<Index>(secure.number_bytes()));
        const auto until = deadline();
        for (const Index place : asked) room.await_reply(place, until);
        std::vector<Index> answered;
        for (const Index place : room.replied()) {
            if (take_secure(secure, place, outcome)) answered.push_back(place);
        }
        if (answered.size() < asked.size()) {
            std::vector<Index> lost;
            std::set_difference(asked.begin(), asked.end(), answered.begin(), answered.end(), std::back_inserter(lost));
            log.warn("lost", fmt::format("no {} of {}", secure.step_text(), names(room.roster(), lost)));
        }
        return answered;
    }
    bool take_secure(SecureCoordinator& secure, Index place, Outcome& outcome) {
        try {
            const Stopwatch watch(server_seconds);
            wire::Message reply = room.take_reply(place);
            outcome.traffic.bytes_up += static_cast<double>(wire::encoded_bytes(reply));
            secure.take(static_cast<Party>(place), std::move(body_as<SecureReply>(reply, "reply", room.who(place))));
            return true;
        } catch (const InputError& error) {
            room.reject(place, fmt::format("{}; expected {}", error.parts().found, error.parts().expected));
            return false;
        }
    }

    /// From the counts to the features. What was closed before an interruption is taken from the spool, in the same
    /// order, so that it leads to the same place.
    Outcome merge_secure(const std::vector<Index>& members) {
        SecureCoordinator::Options how{.job = room.id(),
                                       .terms = *room.spec().shield,
                                       .notary = make_notary(kit, load_credentials(kit, Role::coordinator)),
                                       .names = {},
                                       .least = options.min_clients.value_or(0)};
        std::vector<Hello> hellos;
        for (const Index place : members) {
            how.names[static_cast<Party>(place)] = room.roster()[static_cast<std::size_t>(place)];
            hellos.push_back(room.hello(place));
        }
        room.publish(wire::StartNotice{start_job(job(), hellos, room.schema()), false, false}, false);
        SecureCoordinator secure(job(), room.schema().features, std::move(how));
        // Where nobody is counted the plan is known from the beginning.
        if (secure.plan() != nullptr) announce(*secure.plan(), secure);
        Outcome outcome;
        const auto clients = static_cast<double>(members.size());
        for (std::size_t step = 0; !secure.finished(); ++step) {
            const auto closed = room.job().closed;
            const Index sum = secure.sum();
            if (step < closed.size()) {
                room.pass_over();
                for (const Index place : closed[step]) take_secure(secure, place, outcome);
            } else {
                const auto answered = step_answers(secure, outcome);
                room.update([&](JobFile& file) { file.closed.push_back(answered); });
                crash_point("step-closed");
            }
            const bool planned = secure.plan() != nullptr;
            close_step(secure);
            if (!planned && secure.plan() != nullptr) announce(*secure.plan(), secure);
            if (secure.sum() != sum || secure.finished())
                log.info("summed", fmt::format("sum {} is complete", sum + 1));
        }
        const ShieldPlan& plan = *secure.plan();
        if (!secure.shortened().empty()) log.warn("shortened", secure.shortened());
        outcome.cohort.assign(secure.cohort().begin(), secure.cohort().end());
        outcome.features = {secure.features().clone(), std::nullopt};
        wire::require_finite(outcome.features.features);
        crash_point("merged");
        outcome.traffic.numbers_up = clients * secure.numbers_up();
        outcome.traffic.numbers_down =
            clients * (secure.numbers_down() + static_cast<double>(outcome.features.features.numbers()));
        outcome.traffic.bytes_down += clients * static_cast<double>(serialised_bytes(outcome.features));
        const Index p = room.schema().features.size();
        outcome.personal_ranks.assign(outcome.cohort.size(), std::min(plan.job.rank.value_or(p), p));
        outcome.rounds = plan.sums + 5 * secure.sums_done();
        outcome.shield = secure.report();
        return outcome;
    }
    /// A job that has lost too many, or whose patients are too few, has nothing to continue.
    void close_step(SecureCoordinator& secure) {
        const Stopwatch watch(server_seconds);
        try {
            secure.close();
        } catch (const Error&) {
            room.abandon();
            throw;
        }
    }
    void announce(const ShieldPlan& plan, const SecureCoordinator& secure) {
        for (const auto& change : plan.changes) log.info("policy", "policy: " + change);
        for (const auto& warning : plan.warnings) log.warn("policy", warning);
        log.info("plan",
                 fmt::format("{} sums over the data of {} clients, {} directions; {} clients must stay to the end "
                             "of each",
                             plan.sums, room.job().members.size(), plan.directions, secure.threshold()));
        if (!plan.noise) return;
        log.info("noise",
                 fmt::format("noise of standard deviation {:.3g} in every number of {} sums: RSE rises by at most "
                             "about {} where {:.0f} patients take part, and by more the fewer there are",
                             plan.noise->in_sum, plan.sums, acceptable_loss, *secure.report().patients_needed));
    }

    /// Everything that was merged, by client and in the order of merging, as the job file has it.
    std::vector<Contribution> contributions(const JobFile& file) const {
        std::vector<Contribution> result;
        if (!stacks()) return result;
        for (const std::size_t i : file.still_resumed()) {
            result.push_back({file.resumed[i], load_body<MergeState>(room.file(resumed_name(i)), "saved merge")});
        }
        const auto add = [&](std::uint32_t attempt, Index place) {
            result.push_back({file.roster[static_cast<std::size_t>(place)], room.contribution(attempt, place)});
        };
        if (file.result != 0) {
            for (const Index place : file.members) add(file.result, place);
        }
        for (std::size_t i = 0; i < file.late.size(); ++i) add(file.late_results[i], file.late[i]);
        return result;
    }
    /// The same without what clients of these places contributed: they send again.
    std::vector<MergeState> earlier(const std::vector<Index>& places) const {
        const JobFile file = room.job();
        std::vector<MergeState> result;
        for (Contribution& contribution : contributions(file)) {
            const bool again = std::any_of(places.begin(), places.end(), [&](Index place) {
                return file.roster[static_cast<std::size_t>(place)] == contribution.client;
            });
            if (!again) result.push_back(std::move(contribution.state));
        }
        return result;
    }
    SavedMerge saved() const {
        return {job(), room.spec().preparation.scale_clients, room.schema(), contributions(room.job())};
    }

    static std::string features_name(std::uint32_t attempt) { return fmt::format("features-{}.msg", attempt); }

    /// Makes an outcome durable. job.json, written last, decides: what lies there for another attempt is as if not
    /// there.
    void keep(Outcome& outcome, std::uint32_t attempt, const std::function<void(JobFile&)>& change) {
        save_message(room.file(features_name(attempt)), {{}, clone(outcome.features)});
        crash_point("outcome-saved");
        room.update(change);
        crash_point("outcome-kept");
    }

    static FeaturesMessage clone(const FeaturesMessage& message) {
        return {message.features.clone(), message.rel_error_bound, message.filling};
    }

    void hand_over(const FeaturesMessage& features) {
        if (options.on_features) {
            const Schema schema = room.schema();
            const Centring moved = centring();
            const std::string id = wire::to_hex(room.id());
            options.on_features({features, schema, moved, id});
        }
        crash_point("features-written");
    }

    CompletionCourse course() const {
        CompletionCourse result(*room.spec().missing);
        for (const FillSums& sums : room.job().completing.history) result.take(sums);
        return result;
    }

    /// What the members' tensors are made by, for those who have forgotten: features to fill them from, or a centring.
    std::optional<wire::Body> base() const {
        if (Centring moved = centring(); !moved.empty()) return wire::CentringRequest{std::move(moved), true};
        const std::uint32_t attempt = room.job().completing.base;
        if (attempt == 0) return std::nullopt;
        FeaturesMessage features = load_features(attempt);
        features.filling->answered = true;
        return features;
    }

    static std::string centring_name(std::uint32_t attempt) { return fmt::format("centring-{}.msg", attempt); }
    /// That of the members' data; empty: none is wanted, or it is not known yet.
    Centring centring() const {
        const std::uint32_t attempt = room.job().centred.attempt;
        if (attempt == 0) return {};
        return load_body<wire::CentringRequest>(room.file(centring_name(attempt)), "centring").centring;
    }

    /// Sums over all members, each member's added in its turn.
    FeatureSums sum_features(const std::vector<Index>& members) {
        const CentringOptions& how = room.spec().centring;
        room.publish(wire::CentringRequest{}, true, sums_length(room.hello(members.front()).features.size(), how));
        FeatureSums sums;
        collect(members, [&](std::size_t i, wire::Message reply) {
            const Hello& said = room.hello(members[i]);
            CentredParty party{said.rows, said.features.size(), said.norm2};
            if (room.spec().preparation.scale_clients) party.norm2.reset();
            const Stopwatch watch(server_seconds);
            sums.add(arrived_sums(body_as<SumReply>(reply, "reply", room.who(members[i])).sum.get(), how, party,
                                  room.who(members[i])));
        });
        return sums;
    }

    /// A squared norm that centred data can have.
    double centred_norm2(wire::Message& reply, Index place) const {
        const double norm2 = body_as<SumReply>(reply, "reply", room.who(place)).sum->front();
        const bool scaled = room.spec().preparation.scale_clients && norm2 != 0;
        if (!(norm2 >= 0 && norm2 <= largest_norm2) || (scaled && std::abs(norm2 - 1) > unit_tolerance)) {
            throw InputError({room.who(place), fmt::format("a squared norm of {} after centring", norm2),
                              scaled ? "1, as `scale_clients` norm makes it" : "one from 0 to 1e150", ""});
        }
        return norm2;
    }

    /// Has the members centre and scale their data by sums over all of them, and begins the next attempt with what
    /// comes of it. Throws Lost.
    void centre(const std::vector<Index>& members, std::uint32_t attempt) {
        const CentringOptions& how = room.spec().centring;
        publish_start(members);
        const Centring moved = centring_of(sum_features(members), how);
        room.publish(wire::CentringRequest{moved}, true, 1);
        std::vector<double> norm2;
        collect(members,
                [&](std::size_t i, wire::Message reply) { norm2.push_back(centred_norm2(reply, members[i])); });
        save_message(room.file(centring_name(attempt)), {{}, wire::CentringRequest{moved, true}});
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
        log.info("centred", fmt::format("the features of all {} clients are {}", members.size(),
                                        !how.scale    ? "centred"
                                        : !how.centre ? "scaled"
                                                      : "centred and scaled"));
    }

    /// Has the members fill their missing entries from the features of this attempt, and begins the next one. The
    /// last one has nothing to merge: its features are those of the one before, final.
    void fill(Outcome outcome, const std::vector<Index>& members, std::uint32_t attempt) {
        CompletionCourse so_far = course();
        outcome.features.filling = so_far.filling();
        room.publish(clone(outcome.features), true);
        FillSums sums;
        std::vector<double> norm2;
        collect(members, [&](std::size_t i, wire::Message reply) {
            const auto& own = body_as<FillSums>(reply, "reply", room.who(members[i]));
            sums.add(own);
            norm2.push_back(own.norm2);
        });
        so_far.take(sums);
        const MissingReport report = so_far.report();
        log.info("filled", fmt::format("iteration {}: the filled values moved by {:.1e} of the norm", report.iterations,
                                       report.change));
        const bool done = so_far.finished();
        if (done) {
            outcome.features.filling = so_far.final_filling();
            outcome.features.rel_error_bound.reset();  // it was one of filled tensors
            const auto clients = static_cast<double>(members.size());
            outcome.rounds += 1;
            outcome.traffic.numbers_down += clients * static_cast<double>(outcome.features.features.train.parameters());
            outcome.traffic.bytes_down += clients * static_cast<double>(serialised_bytes(outcome.features));
        }
        const std::uint32_t saved_as = done ? attempt + 1 : attempt;
        const std::uint32_t before = room.job().completing.base;
        keep(outcome, saved_as, [&](JobFile& file) {
            file.attempt = attempt + 1;
            file.completing.base = attempt;
            file.completing.norm2 = norm2;
            file.completing.history.push_back(sums);
            file.rounds += outcome.rounds;
            file.traffic += outcome.traffic;
            if (!done) return;
            file.phase = Phase::delivering;
            file.result = saved_as;
            file.personal_ranks = outcome.personal_ranks;
        });
        std::error_code ignored;
        if (before != 0) fs::remove(room.file(features_name(before)), ignored);
        room.remove_replies({});
    }

    /// A job of secure sums has one attempt: what was summed is never summed again with fewer clients.
    void compute_secure(const std::vector<Index>& members, std::uint32_t attempt) {
        Outcome outcome = merge_secure(members);
        keep(outcome, attempt, [&](JobFile& file) {
            file.phase = Phase::delivering;
            file.result = attempt;
            file.members = outcome.cohort;
            file.rounds = outcome.rounds;
            file.personal_ranks = outcome.personal_ranks;
            file.traffic = outcome.traffic;
            file.closed.clear();
            file.shield = outcome.shield;
        });
        remove_replies();
    }

    /// From joining to features; attempts repeat with fewer clients until nobody is lost.
    void compute() {
        if (room.job().phase == Phase::joining) {
            const auto there = room.gather(deadline());
            require_enough(there, "came");
            fix_members(there);
        }
        for (;;) {
            const std::vector<Index> members = room.job().members;
            const std::uint32_t attempt = room.job().attempt;
            room.begin(attempt, members, base());
            if (room.spec().shield) {
                compute_secure(members, attempt);
                return;
            }
            try {
                if (room.spec().centring.any() && room.job().centred.attempt == 0) {
                    centre(members, attempt);
                    continue;
                }
                Outcome outcome = merge(members, earlier(members));
                if (room.spec().missing) {
                    fill(std::move(outcome), members, attempt);
                    if (room.job().phase == Phase::delivering) return;
                    continue;
                }
                keep(outcome, attempt, [&](JobFile& file) {
                    file.phase = Phase::delivering;
                    file.result = attempt;
                    file.rounds += outcome.rounds;
                    file.personal_ranks = outcome.personal_ranks;
                    file.traffic += outcome.traffic;
                });
                remove_replies();
                return;
            } catch (const Lost& lost) {
                require_enough(lost.left, "answered");
                log.warn("lost", fmt::format("{} of {} clients answered before the deadline; beginning again with them",
                                             lost.left.size(), members.size()));
                fix_members(lost.left);
            }
        }
    }

    /// What was contributed stays: a merge can then be made again with one client more, or another upload of one.
    void remove_replies() {
        const JobFile file = room.job();
        std::set<std::pair<std::uint32_t, Index>> keep;
        if (stacks()) {
            for (const Index place : file.members) keep.emplace(file.result, place);
            for (std::size_t i = 0; i < file.late.size(); ++i) keep.emplace(file.late_results[i], file.late[i]);
        }
        room.remove_replies(keep);
    }

    FeaturesMessage load_features(std::uint32_t attempt) const {
        return load_body<FeaturesMessage>(room.file(features_name(attempt)), "features");
    }

    /// What the members' attempt began from.
    std::vector<MergeState> resumed_before(const std::vector<Index>& members) const {
        JobFile file = room.job();
        file.members = members;
        file.late.clear();
        file.late_results.clear();
        file.result = 0;
        std::vector<MergeState> result;
        for (Contribution& contribution : contributions(file)) result.push_back(std::move(contribution.state));
        return result;
    }

    /// A start that asks for nothing: a client that comes back only computes what it needs itself.
    void publish_start(const std::vector<Index>& members) {
        StarCoordinator star(job(), static_cast<Index>(members.size()));
        star.require_schema(room.schema());
        if (stacks()) star.resume(resumed_before(members));
        for (std::size_t i = 0; i < members.size(); ++i) {
            star.receive(static_cast<Index>(i), hello(i, members[i]));
        }
        room.publish(wire::StartNotice{std::get<Start>(*star.next()), true, prepared()}, false);
    }

    /// Puts the features before everybody who is in the result: members get theirs, those merged late each its own.
    void offer() {
        const JobFile file = room.job();
        if (!began || room.spec().missing) {
            // Features to fill from are told with the last ones.
            room.begin(file.result, file.members, room.spec().missing ? std::nullopt : base());
            publish_start(file.members);
        }
        room.publish(load_features(file.result), false);
        for (std::size_t i = 0; i < file.late.size(); ++i) {
            const Index place = file.late[i];
            if (file.reports.contains(place)) continue;
            room.begin_late(file.late_results[i], place);
            room.publish(wire::StartNotice{start_job(job(), {room.hello(place)}, room.schema()), true}, false);
            room.publish(load_features(file.late_results[i]), false);
        }
    }

    /// Closes the job when all members have reported, or at the deadline.
    void deliver() {
        hand_over(load_features(room.job().newest()));
        // Filled or centred tensors are not what a client contributes to a later merge.
        if (options.on_state && stacks() && !room.spec().missing && !room.spec().centring.any()) {
            options.on_state(saved());
        }
        offer();
        if (room.job().phase == Phase::closed) return;
        if (!room.await_reports(room.job().members, deadline())) {
            log.warn("undelivered",
                     "some clients have not fetched the features; they get them from a coordinator that is started "
                     "again with the same flags");
        }
        record_end(result());  // before it is closed: a job whose end is not recorded is taken up again
        room.update([](JobFile& file) { file.phase = Phase::closed; });
        crash_point("closed");
    }

    /// One merge for one client that was not there; nobody else is needed.
    void merge_late(Index place) {
        const std::uint32_t attempt = room.job().attempt + 1;
        room.update([&](JobFile& file) { file.attempt = attempt; });
        room.begin_late(attempt, place);
        log.info("late", fmt::format("{} is merged late", room.who(place)));
        Outcome outcome = merge({place}, earlier({place}));
        keep(outcome, attempt, [&](JobFile& file) {
            file.late.push_back(place);
            file.late_results.push_back(attempt);
            file.personal_ranks.push_back(outcome.personal_ranks.front());
            file.traffic += outcome.traffic;
        });
        remove_replies();
        hand_over(outcome.features);
        if (options.on_state) options.on_state(saved());
        room.publish(clone(outcome.features), false);
    }

    /// Until everybody has the result who may have it, or nobody came for the time of a deadline.
    void welcome_latecomers() {
        while (const auto place = room.await_latecomer(deadline())) {
            try {
                merge_late(*place);
            } catch (const Lost&) {
                log.warn("lost", fmt::format("{} gave no answer that can be merged", room.who(*place)));
                room.give_up(*place);
            }
        }
    }

    CoordinatorResult result() const {
        const JobFile file = room.job();
        CoordinatorResult r;
        r.job = wire::to_hex(file.id);
        r.spec = file.spec;
        r.members = name_list(file.roster, file.members);
        r.late = name_list(file.roster, file.late);
        r.missing = name_list(file.roster, file.absent());
        const FeaturesMessage features = load_features(file.newest());
        r.rel_error_bound = features.rel_error_bound;
        r.doubts = doubts(file, r.rel_error_bound);
        if (!r.doubts.empty()) r.rel_error_bound.reset();
        r.ranks = features.features.train.ranks();
        r.personal_ranks = file.personal_ranks;
        r.rounds = file.rounds;
        if (file.spec.missing) r.imputed = course().report();
        r.shield = file.shield;
        r.schema = room.schema();
        const auto still = file.still_resumed();
        r.resumed_clients = static_cast<Index>(still.size());
        for (std::size_t i = 0; i < file.resumed.size(); ++i) {
            if (std::find(still.begin(), still.end(), i) == still.end()) r.replaced.push_back(file.resumed[i]);
        }
        add_reports(file, r);
        const double clients = static_cast<double>(file.members.size() + file.late.size());
        r.numbers_up_per_client = file.traffic.numbers_up / clients;
        r.numbers_down_per_client = file.traffic.numbers_down / clients;
        r.numbers_total = file.traffic.numbers_up + file.traffic.numbers_down;
        r.bytes_up = file.traffic.bytes_up;
        r.bytes_down = file.traffic.bytes_down;
        r.seconds_server = server_seconds;
        r.seconds_total = std::chrono::duration<double>(Clock::now() - begun).count();
        return r;
    }

    static void add_reports(const JobFile& file, CoordinatorResult& r) {
        wire::Report sum;
        bool complete = true;
        const auto add = [&](Index place, Index late_merges) {
            const auto found = file.reports.find(place);
            complete = complete && found != file.reports.end();
            if (found == file.reports.end()) return;
            const wire::Report& report = found->second;
            r.rse_per_client.push_back(report.norm2 > 0 ? report.error2 / report.norm2 : 0);
            r.rse_late_merges.push_back(late_merges);
            sum.error2 += report.error2;
            sum.norm2 += report.norm2;
            sum.heldout_error2 += report.heldout_error2;
            sum.heldout_norm2 += report.heldout_norm2;
            r.seconds_clients_sum += report.seconds;
            r.seconds_clients_max = std::max(r.seconds_clients_max, report.seconds);
        };
        for (const Index place : file.members) add(place, 0);
        for (std::size_t i = 0; i < file.late.size(); ++i) add(file.late[i], static_cast<Index>(i) + 1);
        if (!complete) {
            r.rse_per_client.clear();
            r.rse_late_merges.clear();
        }
        // Nobody reports how well the features fit its own patients where only sums are seen.
        if (file.spec.shield) {
            r.rse_per_client.clear();
            r.rse_late_merges.clear();
            return;
        }
        // Members fitted features that a late merge has changed since: errors of several features have no sum.
        if (!complete || !file.late.empty()) return;
        r.rse = sum.norm2 > 0 ? sum.error2 / sum.norm2 : 0;
        if (file.spec.preparation.heldout > 0) {
            r.rse_heldout = sum.heldout_norm2 > 0 ? sum.heldout_error2 / sum.heldout_norm2 : 0;
        }
    }

    /// A job that was closed is only taken up for those who lack its result.
    void require_progress(const JobFile& before) const {
        const JobFile file = room.job();
        if (file.late.size() + file.reports.size() > before.late.size() + before.reports.size()) return;
        std::vector<Index> missing = file.unreported();
        if (options.late_merge) {
            const std::vector<Index> absent = file.absent();
            missing.insert(missing.end(), absent.begin(), absent.end());
        }
        throw RunError({"job", "nobody came before the deadline", "one of " + names(file.roster, missing),
                        "Start it again to go on waiting, or remove the folder job in the kit to begin a new job."});
    }

    /// What is known only after everybody has the features: the file that is left says no more than is true.
    void take_back_certificate(const std::vector<Doubt>& why) {
        for (const Doubt& doubt : why) {
            log.warn("doubt", fmt::format("not certified: client {}: {}", doubt.client, doubt.reason),
                     {{"client", doubt.client}});
        }
        FeaturesMessage features = load_features(room.job().newest());
        if (!features.rel_error_bound) return;
        features.rel_error_bound.reset();
        hand_over(features);
    }

    // ---- for whoever asks later

    void record_job() {
        const JobFile file = room.job();
        audit.write("job", {{"job", wire::to_hex(file.id)},
                            {"role", "coordinator"},
                            {"party", kit.identity.name},
                            {"version", version()},
                            {"begun_by", file.version},
                            {"phase", to_string(file.phase)},
                            {"roster", file.roster},
                            {"spec", spec_json(file.spec)}});
    }
    void record_end(const CoordinatorResult& r) {
        AuditTrail::Fields fields{
            {"job", r.job},         {"outcome", "done"},
            {"members", r.members}, {"late", r.late},
            {"missing", r.missing}, {"features", result_hash(load_features(room.job().newest()).features)}};
        if (r.rel_error_bound) fields["rel_error_bound"] = *r.rel_error_bound;
        for (const Doubt& doubt : r.doubts)
            fields["doubts"].push_back({{"client", doubt.client}, {"reason", doubt.reason}});
        add_unwritten(fields);
        audit.write("ended", fields);
    }
    /// Called on the way out with an error, which stays the one that is told.
    void record_failure(const std::string& reason) noexcept {
        try {
            AuditTrail::Fields fields{{"job", wire::to_hex(room.id())}, {"outcome", "failed"}, {"reason", reason}};
            add_unwritten(fields);
            audit.write("ended", fields);
        } catch (const std::exception& error) {
            log.warn("audit", error.what());
        }
    }
    void add_unwritten(AuditTrail::Fields& fields) const {
        for (const auto& [party, count] : audit.unwritten()) fields["repeated"][party] = count;
    }

    CoordinatorResult run() {
        if (room.job().phase == Phase::joining || room.job().phase == Phase::running) {
            compute();
            began = true;
        }
        const JobFile before = room.job();
        deliver();
        if (before.phase == Phase::closed || options.late_merge) welcome_latecomers();
        if (before.phase == Phase::closed) require_progress(before);
        CoordinatorResult done = result();
        if (before.phase == Phase::closed || options.late_merge) record_end(done);
        if (!done.doubts.empty()) take_back_certificate(done.doubts);
        return done;
    }

    Kit kit;
    CoordinatorOptions options;
    Log& log;
    FileLock lock;
    AuditTrail audit;
    Room room;
    std::unique_ptr<Server> server;
    std::unique_ptr<HttpServer> http;
    std::mutex deaf_mutex;
    std::string deaf;  ///< why nobody can connect any more
    double server_seconds = 0;
    bool began = false;  ///< the members' attempt ran in this process
    Clock::time_point begun = Clock::now();
};

Coordinator::Coordinator(const Kit& kit, CoordinatorOptions options, Log& log) {
    const auto roster = static_cast<Index>(kit.roster.size());
    if (options.min_clients && (*options.min_clients < 1 || *options.min_clients > roster)) {
        throw InputError({"`min_clients`", std::to_string(*options.min_clients),
                          fmt::format("a number from 1 to {}, the clients on the roster", roster), ""});
    }
    if (options.spec.shield && options.insecure) {
        throw InputError({"`insecure`", "given with `secure`", "one or the other",
                          "Keys of secure sums are signed with the certificates of the kits."});
    }
    if (options.spec.shield && (roster < 3 || roster > most_shares)) {
        throw InputError({"`secure`", fmt::format("{} clients on the roster", roster),
                          fmt::format("3 to {}", most_shares), "A sum over fewer would show what each has."});
    }
    if (options.spec.shield) require_private_preparation(options.spec.shield->guarantee, options.spec.preparation);
    if (options.spec.centring.any() &&
        (options.resume || options.late_merge || options.spec.missing || options.spec.shield)) {
        throw InputError({options.spec.centring.centre ? "`centre`" : "`scale`",
                          "given with clients that are merged at another time, with missing entries or secure sums",
                          "members who are all there, with complete data", "Leave one or the other out."});
    }
    // What rounding changes from one attempt to the next must stay below what counts as settled.
    if (options.spec.missing) options.spec.job.precision = Precision::f64;
    std::optional<Credentials> credentials;
    if (options.insecure) {
        require_loopback(kit);
        log.warn("insecure", "no TLS: everybody on this machine can read and change what is sent");
    } else {
        credentials = load_credentials(kit, Role::coordinator);
    }
    parts_ = std::make_unique<Parts>(kit, std::move(options), log);
    crash_point("job-opened");
    Parts& parts = *parts_;
    parts.server =
        std::make_unique<Server>(kit, credentials, parts.room, parts.audit, log, [&parts](const std::string& reason) {
            {
                const std::lock_guard guard(parts.deaf_mutex);
                parts.deaf = reason;
            }
            parts.room.stop();
        });
    log.info("listening", fmt::format("listening on {} for {} clients, job {}", kit.listen, roster,
                                      wire::to_hex(parts.room.job().id)));
    parts.record_job();
    if (const JobFile job = parts.room.job(); job.phase == Phase::closed) {
        log.info("continued", fmt::format("that job is done and is offered again; {} of {} clients in its result have "
                                          "it. Remove the folder job in the kit to begin a new one",
                                          job.members.size() + job.late.size() - job.unreported().size(),
                                          job.members.size() + job.late.size()));
    }
    if (kit.http_port < 0) return;
    const auto as_text = [](const nlohmann::ordered_json& json) {
        return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    };
    const auto page = [&parts, as_text](const std::string& path) -> HttpReply {
        const StatusReport status = parts.room.status();
        if (path == "/") return {200, "text/html; charset=utf-8", status_page(status, parts.log.tail())};
        if (path == "/metrics") return {200, "text/plain; version=0.0.4; charset=utf-8", status_metrics(status)};
        if (path == "/status.json") return {200, "application/json", as_text(status_json(status))};
        if (path == "/healthz") {
            const std::string trouble = parts.server->trouble();
            return {trouble.empty() ? 200 : 503, "text/plain; charset=utf-8",
                    (trouble.empty() ? "ok" : trouble) + "\n"};
        }
        return {404, "text/plain; charset=utf-8", "there are /, /metrics, /status.json and /healthz\n"};
    };
    try {
        parts.http = std::make_unique<HttpServer>(kit.http_port, page);
        log.info("status", fmt::format("status page on http://127.0.0.1:{}/", parts.http->port()));
    } catch (const RunError& error) {
        log.warn("status", fmt::format("no status page: {}", error.what()));
    }
}

Coordinator::~Coordinator() {
    if (!parts_) return;
    parts_->room.stop();
    parts_->http.reset();
    parts_->server.reset();
}

int Coordinator::http_port() const noexcept { return parts_->http ? parts_->http->port() : 0; }

CoordinatorResult Coordinator::run() {
    Parts& parts = *parts_;
    const auto fail = [&](ErrorParts why) {
        RunError error(std::move(why));
        parts.record_failure(error.what());
        return error;
    };
    try {
        return parts.run();
    } catch (const Stopped&) {
        const std::lock_guard guard(parts.deaf_mutex);
        if (!parts.deaf.empty()) {
            throw fail({"coordinator", parts.deaf, "a listener that accepts connections",
                        "Start it again with the same flags to continue."});
        }
        throw fail({"coordinator", "stopped before the job was done", "time to finish it",
                    "Start it again with the same flags to continue."});
    } catch (const TooFew& few) {
        parts.room.fail(few.text);
        throw fail(
            {"job", few.text + few.refusals, "enough clients", "Start it again with the same flags to go on waiting."});
    } catch (const Error& error) {
        parts.room.fail(error.what());
        parts.record_failure(error.what());
        throw;
    }
}

void Coordinator::stop() { parts_->room.stop(); }

StatusReport Coordinator::status() const { return parts_->room.status(); }

}  // namespace couplet::net
