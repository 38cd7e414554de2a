#include "couplet/net/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "audit_trail.hpp"
#include "client_trail.hpp"
#include "client_work.hpp"
#include "connection.hpp"
#include "couplet/core/error.hpp"
#include "couplet/net/backoff.hpp"
#include "crash_point.hpp"
#include "kit_lock.hpp"
#include "notary.hpp"
#include "patience.hpp"
#include "peer_work.hpp"
#include "refusal_words.hpp"
#include "watchdog.hpp"

namespace couplet::net {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds first_wait{100};
constexpr std::chrono::milliseconds longest_wait{5000};
// With the result in hand and reported, only the last word is missing.
constexpr std::chrono::milliseconds last_word_patience{10000};
// How long the coordinator may take to hear why it is refused.
constexpr std::chrono::milliseconds refusal_patience{2000};
constexpr const char* coordinator = "coordinator";

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

}  // namespace

struct Client::Parts {
    Target target;
    std::shared_ptr<const Tensor<double>> x;
    Patience patience;
    ClientOptions options;
    Log& log;
    FileLock kit_lock;
    ClientTrail trail;
    MaskingTools tools;
    std::mutex mutex = {};
    std::condition_variable changed = {};
    bool stopping = false;
    Connection* open = nullptr;  ///< what stop() cancels
    std::optional<ClientWork> work = {};
    Backoff backoff{first_wait, longest_wait, static_cast<std::uint64_t>(Clock::now().time_since_epoch().count())};
    std::atomic<bool> cut_off = false;  ///< the deadline came in the middle of a connection
    Watchdog watchdog = {};
    bool reported = false;
    bool told_order = false;
    bool welcomed = false;  ///< by this coordinator, whatever came of it
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
    /// Shorter when stopped meanwhile.
    void pause(std::chrono::milliseconds time) {
        std::unique_lock lock(mutex);
        changed.wait_for(lock, time, [&] { return stopping; });
    }

    /// The job has moved on by own work.
    void progress() {
        patience.work_done(Clock::now());
        backoff.reset();
    }

    /// Cuts the connection when the deadline comes while it lives.
    class Waiting {
      public:
        Waiting(Parts& parts, Connection& connection) : parts_(parts) {
            if (const auto left = parts_.patience.left(Clock::now())) {
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

    /// Cuts the connection when a refusal takes longer to be heard than anybody needs.
    class Hurry {
      public:
        Hurry(Watchdog& watchdog, Connection& connection) : watchdog_(watchdog) {
            watchdog_.arm(this, refusal_patience, [&connection] { connection.cancel(); });
        }
        ~Hurry() { watchdog_.disarm(this); }
        Hurry(const Hurry&) = delete;
        Hurry& operator=(const Hurry&) = delete;

      private:
        Watchdog& watchdog_;
    };

    // ---- messages

    wire::Message receive(Connection& connection) {
        const Waiting waiting(*this, connection);
        Received received = receive_message(connection, coordinator, limits_for(*x));
        trail.received(received.message, {received.bytes, received.hash});
        if (const auto* refusal = std::get_if<wire::Refusal>(&received.message.body)) throw TurnedAway{refusal->reason};
        const bool begins = received.message.kind() == wire::Kind::start;
        if (patience.hear(received.message.route, Clock::now(), begins)) backoff.reset();
        return std::move(received.message);
    }
    /// A coordinator that refuses stops listening; why is still to be read.
    void send(Connection& connection, const wire::Message& message) {
        connection.require_unrevoked();
        try {
            const Waiting waiting(*this, connection);
            trail.sent(message, send_message(connection, message));
        } catch (const Disconnected&) {
            receive(connection);
            throw;
        }
    }
    /// What this site does not agree to is not answered; both ends learn why.
    void vet(Connection& connection, const wire::Message& message, bool masked) {
        if (!options.vet) return;
        refuse_aloud(connection, message.route, masked, [&] { options.vet(message); });
    }
    template <class Action>
    void refuse_aloud(Connection& connection, const wire::Route& route, bool masked, const Action& action) {
        try {
            action();
        } catch (const InputError& error) {
            log.warn("refused", error.what());
            try {
                // Whoever gives no window for the refusal does not keep us from ending.
                const Hurry hurry(watchdog, connection);
                send_message(connection, {route, wire::Refusal{words_for_coordinator(error, masked)}});
                // A stream that is dropped at once takes along what was said last.
                connection.finish();
            } catch (const Disconnected&) {
                // It will not hear why.
            }
            throw;
        }
    }
    [[noreturn]] static void unexpected(const wire::Message& message) {
        throw InputError({coordinator, fmt::format("{}", wire::to_string(message.kind())), "another message now", ""});
    }

    static bool is_question(wire::Kind kind) {
        return kind == wire::Kind::start || kind == wire::Kind::sum_request || kind == wire::Kind::features ||
               kind == wire::Kind::secure_request || kind == wire::Kind::centring;
    }

    /// One connection from join to bye. True when the job is done. Throws Disconnected.
    bool attend(Connection& connection) {
        crash_point("connected");
        send(connection, {{}, wire::Join{target.self.name, version()}});
        const wire::Message welcome = receive(connection);
        if (!std::holds_alternative<wire::Welcome>(welcome.body)) unexpected(welcome);
        welcomed = true;
        connection.let_in();
        if (reported && work->job() != welcome.route.job) return true;  // it is on to the next job
        if (!work || work->job() != welcome.route.job) take_up(connection, welcome);
        crash_point("hello-computed");
        send(connection, work->hello());
        crash_point("hello-sent");
        for (;;) {
            wire::Message message = receive(connection);
            if (message.route.job != work->job()) unexpected(message);
            if (auto* features = std::get_if<FeaturesMessage>(&message.body);
                features != nullptr && wire::is_final(*features)) {
                vet(connection, message, work->is_masked());
                return conclude(connection, std::move(*features));
            }
            if (!is_question(message.kind())) unexpected(message);
            crash_point("question-received");
            answer(connection, message);
        }
    }

    /// Begins a job that this site agrees to.
    void take_up(Connection& connection, const wire::Message& welcome) {
        const std::string job = wire::to_hex(welcome.route.job);
        vet(connection, welcome, std::get<wire::Welcome>(welcome.body).spec.shield.has_value());
        if (options.on_join) options.on_join(job);
        log.info("joined", fmt::format("joined job {}", job));
        trail.begin(welcome, connection.serial(), target.address);
        work.emplace(welcome, x, tools);
        told_order = false;
        if (std::get<wire::Welcome>(welcome.body).spec.missing) {
            patience.expect_iterations(CompletionLimits{}.max_iterations);
        }
        if (!patience.is_led_on()) progress();
    }

    void answer(Connection& connection, const wire::Message& question) {
        const bool masked = work->is_masked();
        vet(connection, question, masked);
        const wire::Message* reply = nullptr;
        refuse_aloud(connection, question.route, masked, [&] { reply = work->answer(question); });
        if (reply != nullptr) vet(connection, *reply, masked);
        crash_point("answer-computed");
        if (reply != nullptr && patience.answer(reply->route, Clock::now())) backoff.reset();
        tell_order();
        if (reply == nullptr) return;
        send(connection, *reply);
        crash_point("answer-sent");
        log.info("sent", fmt::format("sent {}", wire::to_string(reply->kind())));
    }

    void tell_order() {
        if (told_order || work->reordered().empty()) return;
        told_order = true;
        log.info("reordered", fmt::format("this client's data: {}", work->reordered()));
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

    /// " for 60 s".
    std::string for_how_long() const {
        const auto left = patience.left(Clock::now());
        if (!left) return " until it is stopped";
        return fmt::format(" for {} s", std::chrono::ceil<std::chrono::seconds>(*left).count());
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
            if (welcomed) connection.let_in();
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
                throw RunError(
                    {fmt::format("{} at {}", coordinator, target.address), "refused: " + refusal.reason, "", ""});
            }
            require_going();
            const auto waited = patience.waited(Clock::now());
            if (reported && waited >= std::min(last_word_patience, options.deadline.value_or(last_word_patience))) {
                log.warn("alone",
                         "the coordinator went away after the result was delivered; who else is in it is not known");
                return std::move(work->result());
            }
            if (!opened) require_valid_certificate();
            // Why it was cut off is known better than gRPC says it.
            if (cut_off) reason = said.empty() ? "it says nothing" : said;
            if (patience.is_over(Clock::now()))
                give_up(opened ? "nothing that brings the job forward: " + reason : reason);
            // Once per reason: a client may wait for days.
            if (reason != said) {
                log.info("waiting", opened
                                        ? fmt::format("the coordinator at {} ended the connection: {}; trying again{}",
                                                      target.address, reason, for_how_long())
                                        : fmt::format("no coordinator at {}: {}; trying again{}", target.address,
                                                      reason, for_how_long()));
            }
            said = reason;
            pause(std::min(backoff.next(), patience.left(Clock::now()).value_or(longest_wait)));
        }
    }

    /// Called on the way out with an error, which stays the one that is told.
    void record_failure(const std::string& reason) noexcept {
        try {
            trail.fail(work ? wire::to_hex(work->job()) : "", reason);
        } catch (const std::exception& error) {
            log.warn("audit", error.what());
        }
    }
};

Client::Client(const Kit& kit, std::shared_ptr<const Tensor<double>> x, ClientOptions options, Log& log)
    : parts_(new Parts{.target = make_target(kit, Role::client, options.insecure),
                       .x = std::move(x),
                       .patience = Patience(options.deadline, Clock::now()),
                       .options = std::move(options),
                       .log = log,
                       .kit_lock = lock_kit(kit),
                       .trail = ClientTrail(kit, log.spelling()),
                       .tools = {{}, SumMemory(kit.file("sums.json"))}}) {
    Parts& parts = *parts_;
    if (parts.target.credentials) parts.tools.notary = make_notary(kit, *parts.target.credentials);
    parts.tools.demands = parts.options.demands;
    parts.tools.vet_plan = parts.options.vet_plan;
    parts.tools.vet_sum = parts.options.vet_sum;
    if (const std::string broken = broken_trail_text(kit.file("audit.jsonl")); !broken.empty()) {
        log.warn("audit", broken);
    }
    if (!parts.target.credentials) {
        log.warn("insecure", "no TLS: everybody on this machine can read and change what is sent");
    }
}

Client::~Client() = default;

ClientResult Client::run() {
    try {
        ClientResult result = parts_->run();
        parts_->trail.count(result);
        parts_->trail.end(result);
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
