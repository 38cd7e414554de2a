#include "couplet/net/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/linalg/products.hpp"
#include "crash_point.hpp"
#include "http_server.hpp"
#include "room.hpp"
#include "server.hpp"
#include "spool.hpp"
#include "stopwatch.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Too few clients are left; the job cannot go on.
struct TooFew {
    std::string text;
};
/// A member did not answer in time; these did.
struct Lost {
    std::vector<Index> left;
};

void require_loopback(const Kit& kit) {
    if (is_loopback(parse_address(kit.listen, "listen").host)) return;
    throw InputError({"--insecure", "listening on " + kit.listen, "a loopback address",
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

/// Whatever clients send, nobody is given features that are none.
void require_finite(const Features& features) {
    for (Index n = 0; n < features.train.order(); ++n) {
        const auto core = features.train.core(n).unfold(0);
        if (std::isfinite(max_magnitude<double>(core))) continue;
        throw RunError({"job", "NaN or infinity in the features", "finite numbers",
                        "The data of a client may be too large; use --scale-clients norm."});
    }
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

JobFile new_job(const Kit& kit, const CoordinatorOptions& options) {
    JobFile job;
    job.id = wire::parse_job_id(random_hex());
    job.spec = options.spec;
    job.roster = kit.roster;
    if (options.resume) job.resumed_clients = options.resume->ledger.clients;
    return job;
}

/// Whether a closed job is taken up again for those who are not in it.
bool lacks_clients(const JobFile& job) {
    return job.members.size() + job.late.size() < job.roster.size() || job.reports.size() < job.members.size();
}

/// The job to run: see the constructor of Coordinator.
JobFile open_job(const Kit& kit, const CoordinatorOptions& options) {
    const fs::path folder = kit.file("job");
    if (fs::exists(folder / "job.json")) {
        JobFile job = parse_job_file(read_text(folder / "job.json"), (folder / "job.json").string());
        extend_roster(job, kit);
        const bool again = job.phase != Phase::closed || (options.late_merge && lacks_clients(job));
        const std::string other = difference(job.spec, options.spec);
        if (again && !other.empty()) {
            throw InputError({folder.string(), "a job with other flags: " + other, "the flags it was begun with",
                              "Give those again to continue it, or remove that folder to begin a new job."});
        }
        if (again) return job;
        fs::remove(folder / "job.json");
    }
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    fs::create_directories(folder);
    const JobFile job = new_job(kit, options);
    if (options.resume) {
        save_message(folder / "resume.msg",
                     {{}, MergeState{FeatureBlock(block_train(options.resume->block)), options.resume->ledger}});
    }
    return job;
}

}  // namespace

struct Coordinator::Parts {
    Parts(const Kit& k, CoordinatorOptions o, Log& l)
        : kit(k),
          options(std::move(o)),
          log(l),
          room(open_job(kit, options), {kit.file("job"), options.late_merge}, log) {}

    // What the job computes at its end, kept for the result.
    struct Outcome {
        FeaturesMessage features;
        std::vector<Index> personal_ranks;
        Traffic traffic;
        Index rounds = 0;
        std::optional<MergeState> state;
    };

    Room::Deadline deadline() const {
        if (!options.deadline) return std::nullopt;
        return Clock::now() + *options.deadline;
    }
    Index least() const { return options.min_clients.value_or(static_cast<Index>(room.job().roster.size())); }
    const Job& job() const { return room.job().spec.job; }
    bool stacks() const { return job().aggregate == Aggregate::stack; }

    void require_enough(const std::vector<Index>& there, const char* what) const {
        if (static_cast<Index>(there.size()) >= least()) return;
        throw TooFew{fmt::format("{} of {} clients {} before the deadline{}{}; at least {} must", there.size(),
                                 room.job().roster.size(), what, there.empty() ? "" : ": ",
                                 names(room.job().roster, there), least())};
    }

    /// Fixes who takes part, before anybody is told.
    void fix_members(std::vector<Index> members) {
        room.update([&](JobFile& file) {
            file.phase = Phase::running;
            ++file.attempt;
            file.members = members;
        });
        crash_point("members-fixed");
        log.info("running", fmt::format("{} of {} clients take part: {}", members.size(), room.job().roster.size(),
                                        names(room.job().roster, members)));
    }

    /// One question to all members and the answers in their order, each from disk when it is its turn.
    void ask(StarCoordinator& star, ToClient question, const std::vector<Index>& members, Outcome& outcome) {
        const auto clients = static_cast<double>(members.size());
        if (const auto* start = std::get_if<Start>(&question)) {
            const bool wants = job().aggregate != Aggregate::subspace;
            room.publish(wire::StartNotice{*start, false}, wants);
            if (!wants) return;
        } else {
            auto& request = std::get<SumRequest>(question);
            const Index numbers = request.pass == 0 ? 0 : request.basis.size();
            outcome.traffic.numbers_down += clients * static_cast<double>(numbers);
            outcome.traffic.bytes_down += clients * static_cast<double>(serialised_bytes(request));
            const Index wanted = star.sum_length();
            room.publish(std::move(request), true, wanted);
        }
        const auto until = deadline();
        std::optional<Index> rejected;
        bool complete = true;
        for (std::size_t i = 0; complete && i < members.size(); ++i) {
            complete = room.await_reply(members[i], until);
            if (complete && !rejected && !take(star, i, members[i], outcome)) rejected = members[i];
        }
        if (complete && !rejected) return;
        Lost lost{room.replied()};
        if (rejected) std::erase(lost.left, *rejected);  // it may have answered once more
        throw lost;
    }

    /// False when the answer cannot be used: then its sender is out, and the others begin again.
    bool take(StarCoordinator& star, std::size_t at, Index place, Outcome& outcome) {
        try {
            wire::Message reply = room.take_reply(place);
            if (auto* upload = std::get_if<Upload>(&reply.body)) {
                outcome.traffic.numbers_up += static_cast<double>(upload->block->numbers());
                outcome.traffic.bytes_up += static_cast<double>(serialised_bytes(*upload));
                receive(star, at, std::move(*upload));
            } else {
                auto& sum = std::get<SumReply>(reply.body);
                outcome.traffic.numbers_up += static_cast<double>(sum.sum->size());
                outcome.traffic.bytes_up += static_cast<double>(serialised_bytes(sum));
                receive(star, at, std::move(sum));
            }
            return true;
        } catch (const InputError& error) {
            room.reject(place, fmt::format("{}; expected {}", error.parts().found, error.parts().expected));
            return false;
        }
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
    Outcome merge(const std::vector<Index>& members, std::optional<MergeState> resume) {
        StarCoordinator star(job(), static_cast<Index>(members.size()));
        if (resume) star.resume(std::move(*resume));
        for (std::size_t i = 0; i < members.size(); ++i) {
            star.receive(static_cast<Index>(i), room.hello(members[i]));
        }
        Outcome outcome;
        for (;;) {
            std::optional<ToClient> question = step(star);
            if (!question) throw RunError({"job", "answers that lead nowhere", "those to the last question", ""});
            if (auto* features = std::get_if<FeaturesMessage>(&*question)) {
                require_finite(features->features);
                crash_point("merged");
                const auto clients = static_cast<double>(members.size());
                outcome.traffic.numbers_down += clients * static_cast<double>(features->features.train.parameters());
                outcome.traffic.bytes_down += clients * static_cast<double>(serialised_bytes(*features));
                if (stacks()) outcome.state = star.state();
                outcome.features = std::move(*features);
                outcome.personal_ranks = star.personal_ranks();
                outcome.rounds = star.rounds();
                return outcome;
            }
            ask(star, std::move(*question), members, outcome);
        }
    }

    std::optional<MergeState> load_resume() const {
        if (!fs::exists(room.file("resume.msg"))) return std::nullopt;
        return std::get<MergeState>(load_message(room.file("resume.msg"), "saved merge").body);
    }

    static std::string features_name(std::uint32_t attempt) { return fmt::format("features-{}.msg", attempt); }
    static std::string state_name(std::uint32_t attempt) { return fmt::format("state-{}.msg", attempt); }

    /// Makes an outcome durable. job.json, written last, decides: what lies there for another attempt is as if not
    /// there.
    void keep(Outcome& outcome, std::uint32_t attempt, const std::function<void(JobFile&)>& change) {
        save_message(room.file(features_name(attempt)), {{}, clone(outcome.features)});
        if (outcome.state) {
            // As a state file has it, so that a later merge gives the bits of simulate --resume.
            MergeState state{FeatureBlock(block_train(outcome.state->block)), outcome.state->ledger};
            save_message(room.file(state_name(attempt)), {{}, std::move(state)});
        }
        crash_point("outcome-saved");
        room.update([&](JobFile& file) {
            change(file);
            if (outcome.state) file.state = attempt;
        });
        crash_point("outcome-kept");
    }

    static FeaturesMessage clone(const FeaturesMessage& message) {
        return {message.features.clone(), message.rel_error_bound};
    }

    void hand_over(const FeaturesMessage& features) {
        if (options.on_features) options.on_features(features, wire::to_hex(room.job().id));
        crash_point("features-written");
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
            room.begin(attempt, members, false);
            try {
                Outcome outcome = merge(members, load_resume());
                keep(outcome, attempt, [&](JobFile& file) {
                    file.phase = Phase::delivering;
                    file.result = attempt;
                    file.rounds = outcome.rounds;
                    file.personal_ranks = outcome.personal_ranks;
                    file.traffic = outcome.traffic;
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

    void remove_replies() {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(room.file(""), ignored)) {
            if (entry.path().filename().string().starts_with("reply-")) fs::remove(entry.path(), ignored);
        }
    }

    FeaturesMessage load_features(std::uint32_t attempt) const {
        return std::get<FeaturesMessage>(load_message(room.file(features_name(attempt)), "features").body);
    }

    /// A start that asks for nothing: a client that comes back only computes what it needs itself.
    void publish_start(const std::vector<Index>& members) {
        StarCoordinator star(job(), static_cast<Index>(members.size()));
        if (auto resume = load_resume()) star.resume(std::move(*resume));
        for (std::size_t i = 0; i < members.size(); ++i) {
            star.receive(static_cast<Index>(i), room.hello(members[i]));
        }
        room.publish(wire::StartNotice{std::get<Start>(*star.next()), true}, false);
    }

    /// Features to all members; ends when they have reported or at the deadline.
    void deliver() {
        const std::vector<Index> members = room.job().members;
        const FeaturesMessage features = load_features(room.job().result);
        hand_over(features);
        if (options.on_state && room.job().state != 0) options.on_state(load_state());
        if (!began) {
            room.begin(room.job().result, members, false);
            publish_start(members);
        }
        room.publish(clone(features), false);
        const bool others = room.job().phase == Phase::closed && !room.absent().empty();
        if (!others && !room.await_reports(members, deadline())) {
            log.warn("undelivered",
                     "some clients have not fetched the features; they get them from a coordinator "
                     "that is started with --late merge");
        }
        if (room.job().phase == Phase::closed) return;
        room.update([](JobFile& file) { file.phase = Phase::closed; });
        crash_point("closed");
    }

    MergeState load_state() const {
        return std::get<MergeState>(load_message(room.file(state_name(room.job().state)), "saved merge").body);
    }

    /// One merge for one client that was not there; nobody else is needed.
    void merge_late(Index place) {
        const std::uint32_t attempt = room.job().attempt + 1;
        room.update([&](JobFile& file) { file.attempt = attempt; });
        room.begin(attempt, {place}, true);
        log.info("late", fmt::format("{} is merged late", room.who(place)));
        Outcome outcome = merge({place}, load_state());
        keep(outcome, attempt, [&](JobFile& file) {
            file.late.push_back(place);
            file.personal_ranks.push_back(outcome.personal_ranks.front());
            const Traffic& more = outcome.traffic;
            file.traffic.numbers_up += more.numbers_up;
            file.traffic.numbers_down += more.numbers_down;
            file.traffic.bytes_up += more.bytes_up;
            file.traffic.bytes_down += more.bytes_down;
        });
        remove_replies();
        hand_over(outcome.features);
        if (options.on_state) options.on_state(load_state());
        room.publish(clone(outcome.features), false);
        room.await_reports({place}, deadline());
    }

    void welcome_latecomers() {
        if (!options.late_merge || room.job().state == 0) return;
        while (!room.absent().empty()) {
            const auto place = room.await_latecomer(deadline());
            if (!place) return;
            try {
                merge_late(*place);
            } catch (const Lost&) {
                log.warn("lost", fmt::format("{} did not answer before the deadline", room.who(*place)));
            }
        }
    }

    CoordinatorResult result() const {
        const JobFile& file = room.job();
        CoordinatorResult r;
        r.job = wire::to_hex(file.id);
        r.spec = file.spec;
        r.members = name_list(file.roster, file.members);
        r.late = name_list(file.roster, file.late);
        r.missing = name_list(file.roster, room.absent());
        const std::uint32_t newest = file.late.empty() ? file.result : file.state;
        const FeaturesMessage features = load_features(newest);
        r.rel_error_bound = features.rel_error_bound;
        r.ranks = features.features.train.ranks();
        r.personal_ranks = file.personal_ranks;
        r.rounds = file.rounds;
        r.resumed_clients = file.resumed_clients;
        add_reports(r);
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

    void add_reports(CoordinatorResult& r) const {
        const JobFile& file = room.job();
        wire::Report sum;
        bool complete = true;
        for (const auto* places : {&file.members, &file.late}) {
            for (const Index place : *places) {
                const auto found = file.reports.find(place);
                complete = complete && found != file.reports.end();
                if (found == file.reports.end()) continue;
                const wire::Report& report = found->second;
                r.rse_per_client.push_back(report.norm2 > 0 ? report.error2 / report.norm2 : 0);
                sum.error2 += report.error2;
                sum.norm2 += report.norm2;
                sum.heldout_error2 += report.heldout_error2;
                sum.heldout_norm2 += report.heldout_norm2;
                r.seconds_clients_sum += report.seconds;
                r.seconds_clients_max = std::max(r.seconds_clients_max, report.seconds);
            }
        }
        if (!complete) return;
        r.rse = sum.norm2 > 0 ? sum.error2 / sum.norm2 : 0;
        if (file.spec.preparation.heldout > 0) {
            r.rse_heldout = sum.heldout_norm2 > 0 ? sum.heldout_error2 / sum.heldout_norm2 : 0;
        }
    }

    CoordinatorResult run() {
        if (room.job().phase == Phase::joining || room.job().phase == Phase::running) {
            compute();
            began = true;
        }
        const bool closed = room.job().phase == Phase::closed;
        const std::size_t before = room.job().late.size() + room.job().reports.size();
        deliver();
        welcome_latecomers();
        if (closed && room.job().late.size() + room.job().reports.size() == before) {
            throw RunError(
                {"job", "nobody came before the deadline",
                 fmt::format("one of {}", names(room.job().roster, room.absent())),
                 "Start it again to go on waiting, or remove the folder job in the kit to begin a new job."});
        }
        return result();
    }

    Kit kit;
    CoordinatorOptions options;
    Log& log;
    Room room;
    std::unique_ptr<Server> server;
    std::unique_ptr<HttpServer> http;
    double server_seconds = 0;
    bool began = false;  ///< the members' attempt ran in this process
    Clock::time_point begun = Clock::now();
};

Coordinator::Coordinator(const Kit& kit, CoordinatorOptions options, Log& log) {
    const auto roster = static_cast<Index>(kit.roster.size());
    if (options.min_clients && (*options.min_clients < 1 || *options.min_clients > roster)) {
        throw InputError({"--min-clients", std::to_string(*options.min_clients),
                          fmt::format("a number from 1 to {}, the clients on the roster", roster), ""});
    }
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
    parts.server = std::make_unique<Server>(kit, credentials, parts.room, log);
    log.info("listening", fmt::format("listening on {} for {} clients, job {}", kit.listen, roster,
                                      wire::to_hex(parts.room.job().id)));
    if (kit.http_port < 0) return;
    const auto page = [&parts](const std::string& path) -> HttpReply {
        const StatusReport status = parts.room.status();
        if (path == "/") return {200, "text/html; charset=utf-8", status_page(status, parts.log.tail())};
        if (path == "/metrics") return {200, "text/plain; version=0.0.4; charset=utf-8", status_metrics(status)};
        if (path == "/status.json") return {200, "application/json", status_json(status).dump() + "\n"};
        if (path == "/healthz") return {200, "text/plain; charset=utf-8", "ok\n"};
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
    parts_->server.reset();
}

int Coordinator::http_port() const noexcept { return parts_->http ? parts_->http->port() : 0; }

CoordinatorResult Coordinator::run() {
    Parts& parts = *parts_;
    try {
        return parts.run();
    } catch (const Stopped&) {
        throw RunError({"coordinator", "stopped before the job was done", "time to finish it",
                        "Start it again with the same flags to continue."});
    } catch (const TooFew& few) {
        parts.room.fail(few.text);
        throw RunError({"job", few.text, "enough clients", "Start it again with the same flags to go on waiting."});
    } catch (const Error& error) {
        parts.room.fail(error.what());
        throw;
    }
}

void Coordinator::stop() { parts_->room.stop(); }

StatusReport Coordinator::status() const { return parts_->room.status(); }

}  // namespace couplet::net
