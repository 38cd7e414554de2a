#include "couplet/net/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <tuple>
#include <utility>

#include "audit_trail.hpp"
#include "connection.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/net/backoff.hpp"
#include "couplet/net/doubts.hpp"
#include "couplet/secure/secure_client.hpp"
#include "couplet/secure/shield_report.hpp"
#include "couplet/wire/encoder.hpp"
#include "crash_point.hpp"
#include "job_file.hpp"
#include "kit_lock.hpp"
#include "notary.hpp"
#include "peer_work.hpp"
#include "sum_memory.hpp"
#include "watchdog.hpp"

namespace couplet::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_wait{100};
constexpr std::chrono::milliseconds longest_wait{5000};
constexpr int most_jobs = 8;
// With the result in hand and reported, only the last word is missing.
constexpr std::chrono::milliseconds last_word_patience{10000};
// How long the coordinator may take to hear why it is refused.
constexpr std::chrono::milliseconds refusal_patience{2000};
constexpr const char* coordinator = "coordinator";
constexpr const char* policy_name = "this site's policy";
/// What a coordinator may send to a client with such features, decoded: a few bytes could ask for any memory otherwise.
/// The last word names everybody.
wire::Limits limits_for(const Tensor<double>& x) {
    const auto sizes = x.shape().sizes();
    const Shape features(
        std::vector<Index>(sizes.begin() + std::min<std::ptrdiff_t>(1, std::ssize(sizes)), sizes.end()));
    constexpr auto counts = static_cast<Index>(census_length * sizeof(std::uint64_t));
    return {.max_payload_bytes = largest_payload_bytes(features) + counts, .max_head_bytes = wire::most_chunk_bytes};
}

/// The coordinator's last word against us.
struct TurnedAway {
    std::string reason;
};

/// What a job of secure sums needs besides the data.
struct SecureTools {
    std::optional<Notary> notary;  ///< nothing: no certificates
    SumMemory memory;
    SumDemands demands;
    std::function<void(const ShieldPlan&, const std::string& job)> vet_plan;
    std::function<void(const MaskedSum&, const std::string& job)> vet_sum;
};

/// What a client says of its data where only sums are seen: neither how many patients there are nor how long.
Hello veiled(Hello hello) {
    hello.rows = 1;
    hello.norm2 = 0;
    return hello;
}

/// A client's work on one job, across connections.
class Work {
  public:
    Work(const wire::Message& welcome, std::shared_ptr<const Tensor<double>> x, SecureTools& tools)
        : job_(welcome.route.job),
          tools_(tools),
          spec_(std::get<wire::Welcome>(welcome.body).spec),
          place_(std::get<wire::Welcome>(welcome.body).place) {
        const Stopwatch watch(seconds_);
        if (spec_.missing) {
            filled_.emplace(spec_, std::move(x), place_);
            show();
        } else {
            x_ = x;
            schema_ = feature_schema(*x_, "client");
            star_.emplace(spec_.job, prepare_complete(std::move(x), spec_.preparation));
        }
        hello_ = star_->hello();
    }

    const wire::JobId& job() const { return job_; }
    const wire::JobSpec& spec() const { return spec_; }
    wire::Message hello() const {
        return {{wire::protocol_version, job_, 0, 0}, spec_.shield ? veiled(hello_) : hello_};
    }
    const std::string& reordered() const {
        if (filled_) return filled_->reordered();
        return spec_.centring.any() ? reordered_ : star_->reordered();
    }

    /// The answer to a question, from before if it was asked before; null when none is wanted.
    const wire::Message* answer(const wire::Message& question) {
        const bool known = answer_ && answer_->route == question.route;
        if (const auto* features = std::get_if<FeaturesMessage>(&question.body)) {
            return known ? &*answer_ : fill(question.route, *features);
        }
        if (const auto* request = std::get_if<SecureRequest>(&question.body)) {
            return known ? &*answer_ : answer_secure(question.route, *request);
        }
        if (const auto* centring = std::get_if<wire::CentringRequest>(&question.body)) {
            return known ? &*answer_ : centre(question.route, *centring);
        }
        const auto* notice = std::get_if<wire::StartNotice>(&question.body);
        if (notice != nullptr && spec_.shield) {
            star_->follow(notice->start);
            join_secure(notice->start.clients);
            return nullptr;
        }
        if (notice != nullptr) begin(question.route.attempt, *notice);
        if (notice != nullptr) all_norm2_ = notice->start.norm2;
        if (notice != nullptr && spec_.missing) {
            const Stopwatch watch(seconds_);
            filled_->follow(*notice);
            show();
            if (notice->received) return nullptr;
        }
        if (notice != nullptr && spec_.centring.any()) {
            follow_raw(*notice);
            if (!notice->refilled) return nullptr;  // the sums come first
        }
        if (notice != nullptr && notice->received) {
            // Only the printed method needs here what it computed at the start.
            if (!known && spec_.job.aggregate == Aggregate::average) compute(*notice);
            star_->follow(notice->start);
            return nullptr;
        }
        if (known) return &*answer_;
        const Stopwatch watch(seconds_);
        std::optional<FromClient> reply;
        if (notice != nullptr) {
            reply = star_->receive(notice->start);
        } else {
            reply = star_->receive(complete(std::get<SumRequest>(question.body)));
        }
        if (!reply) return nullptr;
        if (auto* upload = std::get_if<Upload>(&*reply)) {
            count(static_cast<double>(upload->block->numbers()), serialised_bytes(*upload));
            sent_rank_ = upload->block->rows();
            answer_.emplace(wire::Message{question.route, std::move(*upload)});
        } else {
            auto& sum = std::get<SumReply>(*reply);
            count(static_cast<double>(sum.sum->size()), serialised_bytes(sum));
            answer_.emplace(wire::Message{question.route, std::move(sum)});
        }
        return &*answer_;
    }

    void fit(FeaturesMessage message) {
        if (result_.personal_rank > 0) return;  // told again
        const Stopwatch watch(seconds_);
        report_ =
            wire::take_final(std::move(message), spec_, *star_, filled_ ? &*filled_ : nullptr, sent_rank_, result_);
        result_.reordered = reordered();
        if (!filled_) {
            result_.centring = centring_;
            result_.data = star_->data();
        }
        const double error2 = report_.error2;
        if (spec_.shield) report_ = {result_.personal_rank, 0, 0, 0, 0, 0};
        if (spec_.shield) describe_secure();
        if (result_.rel_error_bound && contradicts(error2, *result_.rel_error_bound, all_norm2_)) {
            result_.doubt = fmt::format(
                "this client's error alone is {:.3g} of all norms together, where the bound is "
                "{:.3g}: what was merged is not what it sent, or somebody's norm is not true",
                std::sqrt(error2 / all_norm2_), *result_.rel_error_bound);
            result_.rel_error_bound.reset();
        }
    }

    wire::Message report() {
        report_.seconds = seconds_;
        return {{wire::protocol_version, job_, 0, 0}, report_};
    }
    ClientResult& result() {
        result_.job = wire::to_hex(job_);
        result_.spec = spec_;
        result_.seconds_client = seconds_;
        return result_;
    }

  private:
    PreparedClient prepare_complete(std::shared_ptr<const Tensor<double>> x, const Preparation& how) const {
        try {
            return prepare_client(std::move(x), how, spec_.job.seed, place_);
        } catch (const InputError& error) {
            ErrorParts parts = error.parts();
            if (parts.found.starts_with("NaN")) {
                parts.remedy =
                    "Ask for a coordinator with `missing` impute, or replace or remove missing values first.";
            }
            throw InputError(std::move(parts));
        }
    }

    // ---- secure sums

    void join_secure(Index clients) {
        if (secure_ && clients == secure_clients_) return;
        if (secure_) {
            throw InputError({coordinator, fmt::format("a job of {} clients now", clients),
                              fmt::format("{}, as it began", secure_clients_), ""});
        }
        if (!tools_.notary) {
            throw InputError(
                {coordinator, "secure sums without TLS", "certificates, whose keys sign", "Leave `insecure` out."});
        }
        secure_clients_ = clients;
        SecureClient::Options how{.job = job_,
                                  .self = static_cast<Party>(place_),
                                  .clients = clients,
                                  .demands = tools_.demands,
                                  .terms = *spec_.shield,
                                  .notary = *tools_.notary,
                                  .record = tools_.memory.of(job_),
                                  .on_record = [this](const SumRecord& record) { tools_.memory.keep(job_, record); },
                                  .on_plan = [this](const ShieldPlan& plan) { agree(plan); },
                                  .on_sum = [this](const MaskedSum& sum) { agree(sum); }};
        secure_ = std::make_unique<SecureClient>(spec_.job, star_->data().training->view(), std::move(how));
    }
    void agree(const ShieldPlan& plan) const {
        if (tools_.vet_plan) tools_.vet_plan(plan, wire::to_hex(job_));
    }
    void agree(const MaskedSum& sum) const {
        if (tools_.vet_sum) tools_.vet_sum(sum, wire::to_hex(job_));
    }
    const wire::Message* answer_secure(const wire::Route& route, const SecureRequest& request) {
        if (!secure_) throw InputError({coordinator, "a request of a secure sum", "the start of such a job", ""});
        const Stopwatch watch(seconds_);
        SecureReply reply = secure_->answer(request);
        if (const auto* ask = std::get_if<AskKeys>(&request.ask)) {
            result_.numbers_down += static_cast<double>(ask->basis.size());
        }
        if (const auto* masked = std::get_if<MaskedNumbers>(&reply.answer); masked != nullptr && request.sum > 0) {
            const auto bits = static_cast<std::size_t>(secure_->plan()->how.ring.bits());
            result_.numbers_up += static_cast<double>(masked->bytes.size() * 8 / bits);
        }
        answer_.emplace(wire::Message{route, std::move(reply)});
        result_.bytes_up += static_cast<double>(wire::encoded_bytes(*answer_));
        return &*answer_;
    }
    void describe_secure() {
        ShieldReport report = report_of(*spec_.shield, secure_ ? secure_->plan() : nullptr);
        if (secure_) report.threshold = secure_threshold(*spec_.shield, secure_clients_);
        result_.shield = std::move(report);
    }

    void show() { star_.emplace(spec_.job, filled_->prepared()); }

    /// Fits what is known to the features and fills the rest.
    const wire::Message* fill(const wire::Route& route, const FeaturesMessage& message) {
        if (!filled_) {
            throw InputError({coordinator, "features to fill entries from", "a job with `missing` impute", ""});
        }
        const Stopwatch watch(seconds_);
        if (!message.filling->answered) {
            result_.numbers_down += static_cast<double>(message.features.train.parameters());
            result_.bytes_down += static_cast<double>(serialised_bytes(message));
        }
        const FillSums sums = filled_->fill(message);
        show();
        if (message.filling->answered) {
            answer_.reset();  // what it was answered from is as it was before
            return nullptr;
        }
        answer_.emplace(wire::Message{route, sums});
        return &*answer_;
    }

    /// Puts the data, as it is before any centring, in the job's order.
    void follow_raw(const wire::StartNotice& notice) {
        const Schema job{hello_.features, notice.start.labels};
        PreparedClient data{schema_, x_, nullptr, 1};
        std::string moved = follow_schema(data, job, spec_.job.unnamed, "client");
        schema_ = job;
        if (moved.empty()) return;
        reordered_ = std::move(moved);
        x_ = std::move(data.training);
        centring_ = {};
    }

    /// Tells sums over the patients who take part, or moves the data by those over everybody's and tells its norm.
    const wire::Message* centre(const wire::Route& route, const wire::CentringRequest& request) {
        const Stopwatch watch(seconds_);
        if (request.centring.empty()) {
            const Preparation training{.scale_clients = false, .heldout = spec_.preparation.heldout};
            const PreparedClient data = prepare_complete(x_, training);
            answer_.emplace(
                wire::Message{route, SumReply{0, release_sums(feature_sums(data.training->view()), spec_.centring)}});
            return &*answer_;
        }
        // Told again, nothing changes: what was computed from it stays.
        if (centring_ != request.centring) {
            Tensor<double> moved = centred(x_->view(), request.centring, coordinator);
            if (!schema_.modes.empty()) {
                Labels labels{ModeLabels{}};
                labels.insert(labels.end(), schema_.modes.begin(), schema_.modes.end());
                moved.set_labels(std::move(labels));
            }
            star_.emplace(spec_.job, prepare_complete(std::make_shared<const Tensor<double>>(std::move(moved)),
                                                      spec_.preparation));
            centring_ = request.centring;
            answer_.reset();
        }
        if (request.answered) return nullptr;
        const CentringTraffic cost = centring_traffic(hello_.features.size(), spec_.centring);
        result_.numbers_up += cost.numbers_up;
        result_.numbers_down += cost.numbers_down;
        result_.bytes_up += cost.bytes_up;
        result_.bytes_down += cost.bytes_down;
        answer_.emplace(wire::Message{route, SumReply{1, release_norm2(star_->hello().norm2)}});
        return &*answer_;
    }

    /// The first basis comes from the seed and does not travel.
    SumRequest complete(const SumRequest& request) {
        auto basis = Matrix<double>::copy(request.basis.view());
        if (request.pass == 0 && request.want == SubspaceIteration::Want::sketch) {
            const SubspaceIteration first(spec_.job, hello_.features);
            basis = Matrix<double>::copy(first.basis().view());
        }
        if (request.want != SubspaceIteration::Want::gram && basis.rows() != hello_.features.size()) {
            throw InputError({coordinator, fmt::format("a basis of {} rows", basis.rows()),
                              std::to_string(hello_.features.size()), ""});
        }
        result_.numbers_down += request.pass == 0 ? 0 : static_cast<double>(request.basis.size());
        result_.bytes_down += static_cast<double>(serialised_bytes(request));
        return {request.pass, request.want, std::move(basis)};
    }
    void compute(const wire::StartNotice& notice) {
        const Stopwatch watch(seconds_);
        star_->receive(notice.start);
    }
    /// An attempt that begins anew leaves nothing of the one before in the result, and its bytes do not count: the
    /// coordinator's figures are those of the same messages.
    void begin(std::uint32_t attempt, const wire::StartNotice& notice) {
        if (std::exchange(attempt_, attempt) == attempt || notice.refilled) return;
        result_.numbers_up = result_.numbers_down = 0;
        result_.bytes_up = result_.bytes_down = 0;
    }
    void count(double numbers, Index bytes) {
        result_.numbers_up += numbers;
        result_.bytes_up += static_cast<double>(bytes);
    }

    wire::JobId job_;
    SecureTools& tools_;
    wire::JobSpec spec_;
    Index place_ = 0;
    double seconds_ = 0;
    std::optional<StarClient> star_;
    std::shared_ptr<const Tensor<double>> x_;  ///< in the job's order, not centred
    Schema schema_;                            ///< of x_
    std::string reordered_;                    ///< what of it was put in that order; star_ says so otherwise
    Centring centring_;                        ///< of what star_ holds
    std::optional<wire::FilledData> filled_;   ///< of a job with missing entries
    Hello hello_;
    std::uint32_t attempt_ = 0;
    double all_norm2_ = 0;  ///< of everybody's data, as the start says
    Index sent_rank_ = 0;
    std::optional<wire::Message> answer_;
    wire::Report report_;
    ClientResult result_;
    std::unique_ptr<SecureClient> secure_;
    Index secure_clients_ = 0;
};

}  // namespace

struct Client::Parts {
    Target target;
    std::shared_ptr<const Tensor<double>> x;
    ClientOptions options;
    Log& log;
    FileLock kit_lock;
    std::mutex mutex = {};
    std::condition_variable changed = {};
    bool stopping = false;
    AuditTrail audit;
    SecureTools tools;
    Connection* open = nullptr;  ///< what stop() cancels
    std::optional<Work> work = {};
    Backoff backoff{first_wait, longest_wait, static_cast<std::uint64_t>(Clock::now().time_since_epoch().count())};
    Clock::time_point last_progress = Clock::now();
    std::optional<wire::Route> newest = {};  ///< of the messages so far
    int jobs = 0;                            ///< that were told of
    std::atomic<bool> cut_off = false;       ///< the deadline came in the middle of a connection
    Watchdog watchdog = {};
    std::optional<wire::Route> answered = {};
    bool reported = false;
    bool shielded = false;  ///< the job's sums are masked
    bool told_order = false;
    Clock::time_point begun = Clock::now();

    /// Makes a connection known to stop() while it lives.
    class Visible {
      public:
        Visible(Parts& parts, Connection& connection) : parts_(parts) {
            const std::lock_guard lock(parts_.mutex);
            parts_.open = &connection;
            if (parts_.stopping) connection.cancel();
        }
        ~Visible() {
            const std::lock_guard lock(parts_.mutex);
            parts_.open = nullptr;
        }
        Visible(const Visible&) = delete;
        Visible& operator=(const Visible&) = delete;

      private:
        Parts& parts_;
    };

    void require_going() {
        const std::lock_guard lock(mutex);
        if (!stopping) return;
        throw RunError(
            {"client", "stopped before the job was done", "time to finish it", "Start it again to continue."});
    }
    /// False when stopped meanwhile.
    void pause(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex);
        changed.wait_for(lock, time, [&] { return stopping; });
    }

    // ---- patience: nothing that the coordinator does makes the client wait longer than its deadline

    /// How long it may still wait for something that brings the job forward; nothing: for ever.
    std::optional<std::chrono::milliseconds> left() const {
        if (!options.deadline) return std::nullopt;
        const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - last_progress);
        return std::max(std::chrono::milliseconds(1), *options.deadline - waited);
    }
    bool is_over() const { return options.deadline && Clock::now() - last_progress >= *options.deadline; }
    /// The job has moved on: by a message that was not there before, or by own work.
    void progress() {
        last_progress = Clock::now();
        backoff.reset();
    }
    /// A message that says what was said before is none: a coordinator that fails and comes back says it every time.
    void note_progress(const wire::Message& message) {
        const wire::Route& route = message.route;
        const bool same_job = newest && newest->job == route.job;
        // Nobody begins so many jobs before one is done, but to keep somebody waiting.
        if (!same_job && ++jobs > most_jobs) return;
        if (same_job && std::tie(newest->attempt, newest->step) >= std::tie(route.attempt, route.step)) return;
        newest = route;
        progress();
    }

    /// Cuts the connection when the deadline comes while it lives.
    class Waiting {
      public:
        Waiting(Parts& parts, Connection& connection) : parts_(parts) {
            if (const auto left = parts_.left()) {
                parts_.watchdog.arm(this, *left, [this, &connection] {
                    parts_.cut_off = true;
                    connection.cancel();
                });
            }
        }
        ~Waiting() { parts_.watchdog.disarm(this); }
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;

      private:
        Parts& parts_;
    };

    // ---- messages

    void record(const char* event, const wire::Message& message, const Passed& passed) {
        audit.write_once(coordinator, event,
                         {{"job", wire::to_hex(message.route.job)},
                          {"party", coordinator},
                          {"kind", wire::to_string(message.kind())},
                          {"attempt", message.route.attempt},
                          {"step", message.route.step},
                          {"bytes", passed.bytes},
                          {"hash", passed.hash}});
    }
    wire::Message receive(Connection& connection) {
        const Waiting waiting(*this, connection);
        Received received = receive_message(connection, coordinator, limits_for(*x));
        record("received", received.message, {received.bytes, received.hash});
        if (const auto* refusal = std::get_if<wire::Refusal>(&received.message.body)) throw TurnedAway{refusal->reason};
        note_progress(received.message);
        return std::move(received.message);
    }
    /// A coordinator that refuses stops listening; why is still to be read.
    void send(Connection& connection, const wire::Message& message) {
        try {
            const Waiting waiting(*this, connection);
            record("sent", message, send_message(connection, message));
        } catch (const Disconnected&) {
            receive(connection);
            throw;
        }
    }
    /// What this site does not agree to is not answered; both ends learn why.
    void vet(Connection& connection, const wire::Message& message) {
        if (!options.vet) return;
        refuse_aloud(connection, message.route, [&] { options.vet(message); });
    }
    /// What the coordinator hears of a refusal. Where only sums are seen it hears no figures of the patients either:
    /// who is to mend it reads them here.
    std::string told_of(const InputError& error) const {
        const ErrorParts& parts = error.parts();
        if (!shielded || parts.where == coordinator) return error.what();
        const std::string elsewhere = "; the client's own log says why";
        if (parts.where != policy_name) return parts.where + ": refused" + elsewhere;
        for (const char* key : {"(min_patients)", "(max_rank_share)", "(max_directions_share)", "(any_cohort)"}) {
            if (parts.expected.find(key) != std::string::npos) {
                return fmt::format("{}: refused {}{}", policy_name, key, elsewhere);
            }
        }
        return error.what();
    }
    template <class Action>
    void refuse_aloud(Connection& connection, const wire::Route& route, const Action& action) {
        try {
            action();
        } catch (const InputError& error) {
            log.warn("refused", error.what());
            try {
                send_message(connection, {route, wire::Refusal{told_of(error)}});
                // A stream that is dropped at once takes along what was said last.
                watchdog.arm(&connection, refusal_patience, [&connection] { connection.cancel(); });
                connection.finish();
                watchdog.disarm(&connection);
            } catch (const Disconnected&) {
                // It will not hear why.
            }
            throw;
        }
    }
    [[noreturn]] static void unexpected(const wire::Message& message) {
        throw InputError({coordinator, fmt::format("{}", wire::to_string(message.kind())), "another message now", ""});
    }

    /// One connection from join to bye. True when the job is done. Throws Disconnected.
    bool attend(Connection& connection) {
        crash_point("connected");
        send(connection, {{}, wire::Join{target.self.name, version()}});
        const wire::Message welcome = receive(connection);
        if (!std::holds_alternative<wire::Welcome>(welcome.body)) unexpected(welcome);
        if (reported && work->job() != welcome.route.job) return true;  // it is on to the next job
        if (!work || work->job() != welcome.route.job) {
            shielded = std::get<wire::Welcome>(welcome.body).spec.shield.has_value();
            vet(connection, welcome);
            if (options.on_join) options.on_join(wire::to_hex(welcome.route.job));
            log.info("joined", fmt::format("joined job {}", wire::to_hex(welcome.route.job)));
            const auto& told = std::get<wire::Welcome>(welcome.body);
            audit.write("job", {{"job", wire::to_hex(welcome.route.job)},
                                {"role", "client"},
                                {"party", target.self.name},
                                {"version", version()},
                                {"coordinator", {{"serial", connection.serial()}, {"address", target.address}}},
                                {"clients", told.clients},
                                {"spec", spec_json(told.spec)}});
            work.emplace(welcome, x, tools);
            if (jobs <= most_jobs) progress();
        }
        crash_point("hello-computed");
        send(connection, work->hello());
        crash_point("hello-sent");
        for (;;) {
            wire::Message message = receive(connection);
            if (message.route.job != work->job()) unexpected(message);
            if (auto* features = std::get_if<FeaturesMessage>(&message.body);
                features != nullptr && wire::is_final(*features)) {
                return conclude(connection, std::move(*features));
            }
            if (message.kind() != wire::Kind::start && message.kind() != wire::Kind::sum_request &&
                message.kind() != wire::Kind::features && message.kind() != wire::Kind::secure_request &&
                message.kind() != wire::Kind::centring) {
                unexpected(message);
            }
            crash_point("question-received");
            vet(connection, message);
            const wire::Message* answer = nullptr;
            refuse_aloud(connection, message.route, [&] { answer = work->answer(message); });
            if (answer != nullptr) vet(connection, *answer);
            crash_point("answer-computed");
            if (answer != nullptr && answered != answer->route) {
                answered = answer->route;
                progress();  // computing takes as long as it takes
            }
            if (const std::string& moved = work->reordered();
                !std::exchange(told_order, !moved.empty()) && told_order) {
                log.info("reordered", fmt::format("this client's data: {}", moved));
            }
            if (answer == nullptr) continue;
            send(connection, *answer);
            crash_point("answer-sent");
            log.info("sent", fmt::format("sent {}", wire::to_string(answer->kind())));
        }
    }

    bool conclude(Connection& connection, FeaturesMessage features) {
        crash_point("features-received");
        work->fit(std::move(features));
        progress();
        ClientResult& result = work->result();
        result.seconds_total = std::chrono::duration<double>(Clock::now() - begun).count();
        if (options.deliver) options.deliver(result);
        crash_point("result-written");
        send(connection, work->report());
        reported = true;
        crash_point("report-sent");
        const wire::Message bye = receive(connection);
        if (!std::holds_alternative<wire::Bye>(bye.body)) unexpected(bye);
        const auto& last = std::get<wire::Bye>(bye.body);
        result.members = last.members;
        result.missing = last.missing;
        result.rounds = last.rounds;
        return true;
    }

    [[noreturn]] void give_up(const std::string& reason) const {
        const double seconds = std::chrono::duration<double>(*options.deadline).count();
        throw RunError({fmt::format("{} at {}", coordinator, target.address), reason,
                        fmt::format("a job that goes on within {} s", seconds),
                        "Is it running, is its port open, does its log say why? `deadline` none waits for ever."});
    }

    /// What was valid at the start may not be any more: nobody lets it in again.
    void require_valid_certificate() const {
        if (!target.credentials) return;
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        check_certificate(target.credentials->own.certificate, target.credentials->authority,
                          std::chrono::duration_cast<std::chrono::seconds>(now).count(), "cert.pem of this kit");
    }

    ClientResult run() {
        for (std::string said;;) {
            require_going();
            Connection connection(target, options.capture);
            const Visible visible(*this, connection);
            std::string reason;
            bool opened = false;
            try {
                {
                    const Waiting waiting(*this, connection);
                    opened = connection.open();
                }
                if (opened && attend(connection)) return std::move(work->result());
                reason = connection.reason();
            } catch (const Disconnected&) {
                reason = connection.reason();
            } catch (const TurnedAway& refusal) {
                if (reported) return std::move(work->result());
                throw RunError({fmt::format("{} at {}", coordinator, target.address), "refused: " + refusal.reason,
                                "to be let in", ""});
            }
            require_going();
            const auto waited = Clock::now() - last_progress;
            if (reported && waited >= std::min(last_word_patience, options.deadline.value_or(last_word_patience))) {
                log.warn("alone",
                         "the coordinator went away after the result was delivered; who else is in it is not known");
                return std::move(work->result());
            }
            if (!opened) require_valid_certificate();
            // Why it was cut off is known better than gRPC says it.
            if (cut_off) reason = said.empty() ? "it says nothing" : said;
            if (is_over()) give_up(opened ? "nothing that brings the job forward: " + reason : reason);
            // Once per reason: a client may wait for days.
            if (reason != said) {
                log.info("waiting",
                         opened ? fmt::format("the coordinator at {} ended the connection: {}; trying again",
                                              target.address, reason)
                                : fmt::format("no coordinator at {}: {}; trying again", target.address, reason));
            }
            said = reason;
            pause(std::min(backoff.next(), left().value_or(longest_wait)));
        }
    }

    void record_end(const ClientResult& r) {
        AuditTrail::Fields fields{{"job", r.job},
                                  {"outcome", "done"},
                                  {"members", r.members},
                                  {"missing", r.missing},
                                  {"features", result_hash(r.features)},
                                  {"personal", result_hash(r.personal)}};
        if (r.rel_error_bound) fields["rel_error_bound"] = *r.rel_error_bound;
        if (!r.doubt.empty()) fields["doubt"] = r.doubt;
        audit.write("ended", fields);
    }
    /// Called on the way out with an error, which stays the one that is told.
    void record_failure(const std::string& reason) noexcept {
        try {
            audit.write("ended",
                        {{"job", work ? wire::to_hex(work->job()) : ""}, {"outcome", "failed"}, {"reason", reason}});
        } catch (const std::exception& error) {
            log.warn("audit", error.what());
        }
    }
};

Client::Client(const Kit& kit, std::shared_ptr<const Tensor<double>> x, ClientOptions options, Log& log)
    : parts_(new Parts{.target = make_target(kit, Role::client, options.insecure),
                       .x = std::move(x),
                       .options = std::move(options),
                       .log = log,
                       .kit_lock = lock_kit(kit),
                       .audit = AuditTrail(kit.file("audit.jsonl"), log.spelling()),
                       .tools = {{}, SumMemory(kit.file("sums.json")), {}, {}, {}}}) {
    if (parts_->target.credentials) parts_->tools.notary = make_notary(kit, *parts_->target.credentials);
    parts_->tools.demands = parts_->options.demands;
    parts_->tools.vet_plan = parts_->options.vet_plan;
    parts_->tools.vet_sum = parts_->options.vet_sum;
    if (!parts_->target.credentials) {
        log.warn("insecure", "no TLS: everybody on this machine can read and change what is sent");
    }
}

Client::~Client() = default;

ClientResult Client::run() {
    try {
        ClientResult result = parts_->run();
        parts_->record_end(result);
        return result;
    } catch (const Error& error) {
        parts_->record_failure(error.what());
        throw;
    }
}

void Client::stop() {
    const std::lock_guard lock(parts_->mutex);
    parts_->stopping = true;
    if (parts_->open != nullptr) parts_->open->cancel();
    parts_->changed.notify_all();
}

}  // namespace couplet::net
