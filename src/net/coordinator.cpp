#include "couplet/net/coordinator.hpp"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "centring_round.hpp"
#include "contributions.hpp"
#include "coordinator_result.hpp"
#include "coordinator_trail.hpp"
#include "couplet/core/error.hpp"
#include "crash_point.hpp"
#include "filling_round.hpp"
#include "http_server.hpp"
#include "job_desk.hpp"
#include "kit_lock.hpp"
#include "notary.hpp"
#include "open_job.hpp"
#include "room.hpp"
#include "roster.hpp"
#include "secure_merge.hpp"
#include "server.hpp"
#include "star_merge.hpp"
#include "status_pages.hpp"

namespace couplet::net {

/// How long the end of a job waits for clients that may not have heard it.
static constexpr std::chrono::milliseconds farewell{5000};

using Clock = std::chrono::steady_clock;

struct Coordinator::Parts {
    Parts(const Kit& k, CoordinatorOptions o, Log& l)
        : kit(k),
          options(std::move(o)),
          log(l),
          lock(lock_kit(kit)),
          trail(kit, log.spelling()),
          room(make_room()),
          desk(room, log, {options.deadline, options.min_clients}) {}

    Room make_room() {
        JobFile job = open_job(kit, options);
        Room::Options how{.folder = kit.file("job"), .late_merge = options.late_merge};
        how.counted = counted_messages(trail.audit().file(), wire::to_hex(job.id));
        return Room(std::move(job), std::move(how), log);
    }

    // ---- from joining to features

    /// Attempts repeat with fewer clients until nobody is lost.
    void compute() {
        if (room.job().phase == Phase::joining) {
            const auto there = room.gather(desk.until());
            desk.require_enough(there, "came");
            fix_members(there);
        }
        while (room.job().phase == Phase::running) {
            const JobFile job = room.job();
            room.begin(job.attempt, job.members, base());
            try {
                run_attempt(job);
            } catch (const Lost& lost) {
                desk.require_enough(lost.left, "answered");
                log.warn("lost", fmt::format("{} of {} clients answered before the deadline; beginning again with them",
                                             lost.left.size(), job.members.size()));
                fix_members(lost.left);
            }
        }
    }

    /// Fixes who takes part, before anybody is told.
    void fix_members(const std::vector<Index>& members) {
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
                                        list_of(room.roster(), members)));
    }

    /// One attempt of the job as it stands: the job then delivers, or goes on with the next one. Throws Lost.
    void run_attempt(const JobFile& job) {
        if (job.spec.shield) return run_secure(job);
        if (job.spec.centring.any() && job.centred.attempt == 0) {
            return centre_members(desk, job.members, job.attempt);
        }
        MergeOutcome outcome = merge_star(desk, job.members, contributions_of_others(job, room.folder(), job.members));
        if (job.spec.missing) return fill_members(desk, std::move(outcome), job.members, job.attempt);
        desk.keep(outcome.features, job.attempt, [&](JobFile& file) {
            file.phase = Phase::delivering;
            file.result = job.attempt;
            file.rounds += outcome.rounds;
            file.personal_ranks = outcome.personal_ranks;
            file.traffic += outcome.traffic;
        });
        room.remove_replies(merged_uploads(room.job()));
    }

    /// A job of secure sums has one attempt: what was summed is never summed again with fewer clients.
    void run_secure(const JobFile& job) {
        const MergeOutcome outcome =
            merge_secure(desk, job.members, make_notary(kit, load_credentials(kit, Role::coordinator)),
                         options.min_clients.value_or(0));
        desk.keep(outcome.features, job.attempt, [&](JobFile& file) {
            file.phase = Phase::delivering;
            file.result = job.attempt;
            file.members = outcome.cohort;
            file.rounds = outcome.rounds;
            file.personal_ranks = outcome.personal_ranks;
            file.traffic = outcome.traffic;
            file.closed.clear();
            file.shield = outcome.shield;
        });
        room.remove_replies(merged_uploads(room.job()));
    }

    /// What the members' tensors are made by, for those who have forgotten: features to fill them from, or a centring.
    std::optional<wire::Body> base() const {
        if (Centring moved = centring_of_job(room); !moved.empty())
            return wire::CentringRequest{std::move(moved), true};
        const std::uint32_t attempt = room.job().completing.base;
        if (attempt == 0) return std::nullopt;
        FeaturesMessage features = room.folder().features(attempt);
        features.filling->answered = true;
        return features;
    }

    // ---- from features to everybody who is in them

    FeaturesMessage newest_features() const { return room.folder().features(room.job().newest()); }

    void hand_over(const FeaturesMessage& features) {
        if (options.on_features) {
            const Schema schema = room.schema();
            const Centring moved = centring_of_job(room);
            const std::string id = wire::to_hex(room.id());
            options.on_features({features, schema, moved, id});
        }
        crash_point("features-written");
    }

    /// Filled or centred tensors are not what a client contributes to a later merge.
    void hand_over_state() {
        const wire::JobSpec& spec = room.spec();
        if (!options.on_state || !desk.stacks() || spec.missing || spec.centring.any()) return;
        options.on_state(
            {spec.job, spec.preparation.scale_clients, room.schema(), contributions(room.job(), room.folder())});
    }

    /// Closes the job when all members have reported, or at the deadline.
    void deliver() {
        hand_over(newest_features());
        hand_over_state();
        offer();
        if (room.job().phase == Phase::closed) return;
        if (!room.await_reports(room.job().members, desk.until())) {
            log.warn("undelivered",
                     "some clients have not fetched the features; they get them from a coordinator that is started "
                     "again with the same flags");
        }
        record_end(result());  // before it is closed: a job whose end is not recorded is taken up again
        room.update([](JobFile& file) { file.phase = Phase::closed; });
        crash_point("closed");
    }

    /// Puts the features before everybody who is in the result: members get theirs, those merged late each its own.
    void offer() {
        const JobFile job = room.job();
        if (!began || job.spec.missing) {
            // Features to fill from are told with the last ones.
            room.begin(job.result, job.members, job.spec.missing ? std::nullopt : base());
            publish_start(desk, job.members);
        }
        room.publish(room.folder().features(job.result), false);
        for (std::size_t i = 0; i < job.late.size(); ++i) {
            const Index place = job.late[i];
            if (job.reports.contains(place)) continue;
            room.begin_late(job.late_results[i], place);
            Start start = start_job(job.spec.job, {room.hello(place)}, room.schema());
            for (const Contribution& before : contributions_before_late(job, room.folder(), i)) {
                start.clients += before.state.ledger.clients;
                start.earlier_norm2 += before.state.ledger.norm2;
            }
            room.publish(wire::StartNotice{std::move(start), true}, false);
            room.publish(room.folder().features(job.late_results[i]), false);
        }
    }

    // ---- those who come later

    /// Until everybody has the result who may have it, or nobody came for the time of a deadline.
    void welcome_latecomers() {
        while (const auto place = room.await_latecomer(desk.until())) {
            try {
                merge_late(*place);
            } catch (const Lost&) {
                log.warn("lost", fmt::format("{} gave no answer that can be merged", room.who(*place)));
                room.give_up(*place);
            }
        }
    }

    /// One merge for one client that was not there; nobody else is needed.
    void merge_late(Index place) {
        const std::uint32_t attempt = room.job().attempt + 1;
        room.update([&](JobFile& file) { file.attempt = attempt; });
        room.begin_late(attempt, place);
        log.info("late", fmt::format("{} is merged late", room.who(place)));
        const MergeOutcome outcome =
            merge_star(desk, {place}, contributions_of_others(room.job(), room.folder(), {place}));
        desk.keep(outcome.features, attempt, [&](JobFile& file) {
            file.late.push_back(place);
            file.late_results.push_back(attempt);
            file.personal_ranks.push_back(outcome.personal_ranks.front());
            file.traffic += outcome.traffic;
        });
        room.remove_replies(merged_uploads(room.job()));
        hand_over(outcome.features);
        hand_over_state();
        room.publish(copy_of(outcome.features), false);
    }

    /// A job that was closed is only taken up for those who lack its result.
    void require_progress(const JobFile& before) const {
        const JobFile job = room.job();
        if (job.late.size() + job.reports.size() > before.late.size() + before.reports.size()) return;
        std::vector<Index> missing = job.unreported();
        if (options.late_merge) {
            const std::vector<Index> absent = job.absent();
            missing.insert(missing.end(), absent.begin(), absent.end());
        }
        throw RunError({"job", "nobody came before the deadline", "one of " + list_of(job.roster, missing),
                        "Start it again to go on waiting, or remove the folder job in the kit to begin a new job."});
    }

    // ---- how it ends

    /// What the doubts are about; only a stack has a certificate.
    Statements statements(const JobFile& job) const {
        Statements said{room.norms(), {}, {}};
        if (!desk.stacks()) return said;
        const JobFolder& folder = room.folder();
        for (std::size_t i = 0; i < job.resumed.size(); ++i) said.resumed.push_back(folder.resumed(i).ledger.norm2);
        said.bounds.push_back(folder.features(job.result).rel_error_bound);
        for (const std::uint32_t attempt : job.late_results) {
            said.bounds.push_back(folder.features(attempt).rel_error_bound);
        }
        return said;
    }

    CoordinatorResult result() {
        const JobFile job = room.job();
        CoordinatorResult r = make_coordinator_result({job, newest_features(), room.schema(), statements(job)});
        add_messages(room.counted(), r);
        r.seconds_server = desk.seconds();
        r.seconds_total = std::chrono::duration<double>(Clock::now() - begun).count();
        return r;
    }

    /// What is known only after everybody has the features: the file that is left says no more than is true.
    void take_back_certificate(const std::vector<Doubt>& why) {
        for (const Doubt& doubt : why) {
            log.warn("doubt", fmt::format("not certified: client {}: {}", doubt.client, doubt.reason),
                     {{"client", doubt.client}});
        }
        FeaturesMessage features = newest_features();
        if (!features.rel_error_bound) return;
        features.rel_error_bound.reset();
        hand_over(features);
    }

    void record_end(const CoordinatorResult& r) { trail.end(r, newest_features().features); }
    /// Called on the way out with an error, which stays the one that is told.
    void record_failure(const std::string& reason) noexcept {
        try {
            trail.fail(wire::to_hex(room.id()), reason);
        } catch (const std::exception& error) {
            log.warn("audit", error.what());
        }
    }
    /// The same for clients, who would wait in vain.
    void tell_failure(const std::string& reason) {
        room.fail(reason);
        server->tell_failure();
    }

    CoordinatorResult run() {
        if (room.job().phase == Phase::joining || room.job().phase == Phase::running) {
            compute();
            began = true;
        }
        const JobFile before = room.job();
        deliver();
        if (before.phase == Phase::closed || options.late_merge) welcome_latecomers();
        room.see_off(farewell);
        if (before.phase == Phase::closed) require_progress(before);
        CoordinatorResult done = result();
        if (before.phase == Phase::closed || options.late_merge) record_end(done);
        if (!done.doubts.empty()) take_back_certificate(done.doubts);
        return done;
    }

    // ---- who can reach it

    void listen(const std::optional<Credentials>& credentials) {
        server =
            std::make_unique<Server>(kit, credentials, room, trail.audit(), log, [this](const std::string& reason) {
                {
                    const std::lock_guard guard(deaf_mutex);
                    deaf = reason;
                }
                room.stop();
            });
        const JobFile job = room.job();
        log.info("listening", fmt::format("listening on {} for {} clients, job {}", kit.listen, kit.roster.size(),
                                          wire::to_hex(job.id)));
        if (const std::string broken = broken_trail_text(trail.audit().file()); !broken.empty()) {
            log.warn("audit", broken);
        }
        trail.begin(job);
        if (job.phase != Phase::closed) return;
        const std::size_t in = job.members.size() + job.late.size();
        log.info("continued", fmt::format("that job is done and is offered again; {} of {} clients in its result have "
                                          "it. Remove the folder job in the kit to begin a new one",
                                          in - job.unreported().size(), in));
    }

    void show_status() {
        if (kit.http_port < 0) return;
        try {
            http = std::make_unique<HttpServer>(kit.http_port, [this](const std::string& path) {
                return status_reply(path, {room.status(), log.tail(), server->trouble()});
            });
            log.info("status", fmt::format("status page on http://127.0.0.1:{}/", http->port()));
        } catch (const RunError& error) {
            log.warn("status", fmt::format("no status page: {}", error.what()));
        }
    }

    Kit kit;
    CoordinatorOptions options;
    Log& log;
    FileLock lock;
    CoordinatorTrail trail;
    Room room;
    JobDesk desk;
    std::unique_ptr<Server> server;
    std::unique_ptr<HttpServer> http;
    std::mutex deaf_mutex;
    std::string deaf;    ///< why nobody can connect any more
    bool began = false;  ///< the members' attempt ran in this process
    Clock::time_point begun = Clock::now();
};

Coordinator::Coordinator(const Kit& kit, CoordinatorOptions options, Log& log) {
    check_options(kit, options);
    std::optional<Credentials> credentials;
    if (options.insecure) {
        log.warn("insecure", "no TLS: everybody on this machine can read and change what is sent");
    } else {
        credentials = load_credentials(kit, Role::coordinator);
    }
    parts_ = std::make_unique<Parts>(kit, std::move(options), log);
    crash_point("job-opened");
    parts_->listen(credentials);
    parts_->show_status();
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
        parts.tell_failure(few.text);
        throw fail(
            {"job", few.text + few.refusals, "enough clients", "Start it again with the same flags to go on waiting."});
    } catch (const std::exception& error) {
        parts.tell_failure(error.what());
        parts.record_failure(error.what());
        throw;
    }
}

void Coordinator::stop() { parts_->room.stop(); }

StatusReport Coordinator::status() const { return parts_->room.status(); }

}  // namespace couplet::net
