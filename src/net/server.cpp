#include "server.hpp"

#include <fmt/format.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <semaphore>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "audit_trail.hpp"
#include "couplet/core/error.hpp"
#include "crash_point.hpp"
#include "credentials.hpp"
#include "doorman.hpp"
#include "entrance.hpp"
#include "exchange.hpp"
#include "federation.grpc.pb.h"
#include "gate.hpp"
#include "grpc_log.hpp"
#include "health.hpp"
#include "unary_reply.hpp"
#include "watchdog.hpp"

namespace couplet::net {
namespace {

using Stream = grpc::ServerReaderWriter<v1::Frame, v1::Frame>;

constexpr int streams_per_connection = 8;
constexpr int largest_frame = static_cast<int>(wire::most_chunk_bytes) + 4096;
constexpr int stream_window = 512 << 10;
constexpr std::size_t bytes_per_answer = 32;  ///< that whoever reads them sends one byte for, as windows
// A chunk on its way takes a megabyte of buffers; so many are, however many clients there are. Whoever takes longer
// than a moment for one gives its slot back and goes on without: the slots are for those who send.
constexpr std::ptrdiff_t chunks_at_once = 8;
constexpr std::chrono::milliseconds slot_patience{1000};
using Slots = std::counting_semaphore<chunks_at_once>;
constexpr std::chrono::milliseconds patience{200};
// Whoever opens a stream says at once who it is.
constexpr std::chrono::milliseconds join_patience{5000};
// How long all clients together may take to hear why the job has failed.
constexpr std::chrono::milliseconds failure_patience{2000};

/// The server's end of one stream. Every read that has to come is watched.
class WatchedStream final : public FrameStream {
  public:
    WatchedStream(Stream& stream, grpc::ServerContext& context, Gate& gate, Watchdog& watchdog, Slots& slots,
                  std::chrono::milliseconds stall)
        : stream_(stream),
          context_(context),
          gate_(gate),
          address_(plain_address(context.peer())),
          watchdog_(watchdog),
          slots_(slots),
          stall_(stall),
          patience_(std::min(stall, join_patience)) {}
    ~WatchedStream() override { watchdog_.disarm(this); }
    WatchedStream(const WatchedStream&) = delete;
    WatchedStream& operator=(const WatchedStream&) = delete;

    bool write(const v1::Frame& frame) override {
        const Slot slot(frame.has_chunk() ? &slots_ : nullptr, watchdog_);
        watch();
        const bool good = stream_.Write(frame);
        watchdog_.disarm(this);
        gate_.credit(address_, frame.ByteSizeLong() / bytes_per_answer);
        return good;
    }
    bool read(v1::Frame& frame) override {
        const bool good = read_watched(frame);
        if (good) gate_.credit(address_, frame.ByteSizeLong());
        return good;
    }
    void expect_at_leisure() { at_leisure_ = true; }
    /// Whether chunks are what comes next: only they take a slot, so that nobody who is silent holds one for long.
    void expect_chunks(bool expected) { in_bulk_ = expected; }
    /// From here on the pauses within a message are those of the kit.
    void trust() { patience_ = stall_; }
    bool stalled() const { return stalled_; }
    /// Says why nothing more is wanted to a client that is awaited at leisure, from another thread; otherwise whoever
    /// runs the stream says it. Whoever gives no window for it is cut off at `until`.
    void tell(const wire::Message& refusal, std::chrono::steady_clock::time_point until) {
        const std::lock_guard lock(leisure_mutex_);
        if (!awaited_) return;
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        watchdog_.arm(&awaited_, left, [this] { context_.TryCancel(); });
        try {
            send_message(*this, refusal);
        } catch (...) {
            // It will not hear why, whether it is gone or memory is: it is the end of the job either way.
        }
        watchdog_.disarm(&awaited_);
    }
    double patience_seconds() const { return static_cast<double>(patience_.count()) / 1000; }

  private:
    class Slot {
      public:
        Slot(Slots* slots, Watchdog& watchdog) : slots_(slots), watchdog_(watchdog) {
            if (slots_ == nullptr) return;
            slots_->acquire();
            watchdog_.arm(this, slot_patience, [this] { give_back(); });
        }
        ~Slot() {
            if (slots_ == nullptr) return;
            watchdog_.disarm(this);
            give_back();
        }
        Slot(const Slot&) = delete;
        Slot& operator=(const Slot&) = delete;

      private:
        void give_back() {
            if (!std::exchange(given_back_, true)) slots_->release();
        }
        Slots* slots_;
        Watchdog& watchdog_;
        bool given_back_ = false;  ///< under the watchdog's lock, or after disarm()
    };
    bool read_watched(v1::Frame& frame) {
        // The first frame of an answer takes as long as the client computes; the job's deadline watches that.
        if (std::exchange(at_leisure_, false)) return read_at_leisure(frame);
        const Slot slot(in_bulk_ ? &slots_ : nullptr, watchdog_);
        watch();
        const bool good = stream_.Read(&frame);
        watchdog_.disarm(this);
        return good;
    }
    bool read_at_leisure(v1::Frame& frame) {
        set_awaited(true);
        const bool good = stream_.Read(&frame);
        set_awaited(false);
        return good;
    }
    void set_awaited(bool awaited) {
        const std::lock_guard lock(leisure_mutex_);
        awaited_ = awaited;
    }
    void watch() {
        watchdog_.arm(this, patience_, [this] {
            stalled_ = true;
            context_.TryCancel();
        });
    }
    Stream& stream_;
    grpc::ServerContext& context_;
    Gate& gate_;
    std::string address_;
    Watchdog& watchdog_;
    Slots& slots_;
    std::chrono::milliseconds stall_;
    std::chrono::milliseconds patience_;  ///< with the frame that is due
    bool at_leisure_ = false;
    bool in_bulk_ = false;
    std::mutex leisure_mutex_;
    bool awaited_ = false;  ///< nobody writes meanwhile but tell()
    std::atomic<bool> stalled_{false};
};

/// The streams of each client: one that has joined and one that is about to. A newer one ends the older, which may be
/// waiting for what will never come: nobody holds more threads than two.
class Seats {
  public:
    /// While it lives, the stream is known by the name in its certificate.
    class Stay {
      public:
        Stay(Seats& seats, std::string name, grpc::ServerContext& context)
            : seats_(seats), name_(std::move(name)), context_(context) {
            const std::lock_guard lock(seats_.mutex_);
            replace(seats_.streams_[name_].joining);
        }
        ~Stay() {
            const std::lock_guard lock(seats_.mutex_);
            Streams& mine = seats_.streams_[name_];
            if (mine.joining == &context_) mine.joining = nullptr;
            if (mine.joined == &context_) mine.joined = nullptr;
            if (mine.joining == nullptr && mine.joined == nullptr) seats_.streams_.erase(name_);
        }
        Stay(const Stay&) = delete;
        Stay& operator=(const Stay&) = delete;

        void join() {
            const std::lock_guard lock(seats_.mutex_);
            Streams& mine = seats_.streams_[name_];
            if (mine.joining == &context_) mine.joining = nullptr;
            replace(mine.joined);
        }

      private:
        void replace(grpc::ServerContext*& other) const {
            if (other != nullptr) other->TryCancel();
            other = &context_;
        }
        Seats& seats_;
        std::string name_;
        grpc::ServerContext& context_;
    };

  private:
    struct Streams {
        grpc::ServerContext* joining = nullptr;
        grpc::ServerContext* joined = nullptr;
    };
    std::mutex mutex_;
    std::map<std::string, Streams> streams_;
};

/// Streams that are open, for a last word to all of them.
class OpenStreams {
  public:
    /// While it lives, the stream can be told something.
    class Listed {
      public:
        Listed(OpenStreams& list, WatchedStream& stream) : list_(list), stream_(stream) {
            const std::lock_guard lock(list_.mutex_);
            list_.streams_.insert(&stream_);
        }
        ~Listed() {
            std::unique_lock lock(list_.mutex_);
            list_.changed_.wait(lock, [this] { return !list_.told_.contains(&stream_); });
            list_.streams_.erase(&stream_);
        }
        Listed(const Listed&) = delete;
        Listed& operator=(const Listed&) = delete;

      private:
        OpenStreams& list_;
        WatchedStream& stream_;
    };
    /// To all side by side: nobody waits for another that does not read, neither to hear it nor to come or go, and all
    /// of it has an end.
    void tell(const wire::Message& message) {
        const auto until = std::chrono::steady_clock::now() + failure_patience;
        std::set<WatchedStream*> all;
        {
            const std::lock_guard lock(mutex_);
            all = streams_;
            told_.insert(all.begin(), all.end());
        }
        std::vector<std::thread> tellers;
        tellers.reserve(all.size());
        for (WatchedStream* stream : all) {
            try {
                tellers.emplace_back([this, stream, &message, until] {
                    stream->tell(message, until);
                    release(stream);
                });
            } catch (const std::system_error&) {
                release(stream);  // no thread is left for it: it hears that the connection ended
            }
        }
        for (std::thread& teller : tellers) teller.join();
    }

  private:
    void release(WatchedStream* stream) {
        const std::lock_guard lock(mutex_);
        told_.erase(stream);
        changed_.notify_all();
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::set<WatchedStream*> streams_;
    std::set<WatchedStream*> told_;  ///< those that are being told, and stay for it
};

/// One client's visit.
class Visit {
  public:
    Visit(Room& room, AuditTrail& audit, Seats& seats, WatchedStream& stream, grpc::ServerContext& context,
          Caller caller, wire::Limits limits)
        : room_(room),
          audit_(audit),
          seat_(seats, caller.name, context),
          stream_(stream),
          context_(context),
          caller_(std::move(caller)),
          name_(caller_.name),
          limits_(limits) {}
    ~Visit() {
        if (entered_) room_.leave(ticket_);
    }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    /// Throws InputError to turn the client away, Disconnected when it is gone.
    grpc::Status attend() {
        const auto join = receive<wire::Join>();
        const auto& said = std::get<wire::Join>(join.message.body);
        ticket_ = room_.enter(name_, said);
        entered_ = true;
        room_.count(ticket_, false, wire::Kind::join, {}, join.bytes);
        // The port is another one with every connection.
        const std::string host = caller_.address.substr(0, caller_.address.rfind(':'));
        audit_.write_once(name_, "joined",
                          {{"job", job()},
                           {"party", name_},
                           {"serial", caller_.serial},
                           {"address", host},
                           {"version", said.version}});
        seat_.join();
        stream_.trust();
        send(room_.welcome(ticket_));
        crash_point("welcomed");
        stream_.expect_at_leisure();
        room_.greet(ticket_, receive<Hello>().message);
        wire::Route cursor;
        for (;;) {
            const Room::Next next = room_.next(ticket_, cursor, patience);
            if (next.what == Room::What::over) return {grpc::StatusCode::UNAVAILABLE, next.reason};
            if (context_.IsCancelled()) throw Disconnected{};
            if (next.what == Room::What::nothing) continue;
            send(*next.message);
            cursor = next.message->route;
            if (next.wants_reply) take_reply();
            if (next.message->kind() == wire::Kind::features && !next.wants_reply && !is_base(*next.message)) {
                return take_report();
            }
        }
    }

  private:
    std::string who() const { return "client " + name_; }
    std::string job() const { return wire::to_hex(room_.id()); }
    void record(const char* event, wire::Kind kind, const wire::Route& route, const Passed& passed) {
        audit_.write_once(name_, event,
                          {{"job", job()},
                           {"party", name_},
                           {"kind", wire::to_string(kind)},
                           {"attempt", route.attempt},
                           {"step", route.step},
                           {"bytes", passed.bytes},
                           {"hash", passed.hash}});
        if (entered_) room_.count(ticket_, std::string_view(event) == sent_event, kind, route, passed.bytes);
    }
    /// Features to fill from, of which the answer is here already.
    static bool is_base(const wire::Message& message) {
        const auto& filling = std::get<FeaturesMessage>(message.body).filling;
        return filling && !filling->last;
    }
    void send(const wire::Message& message) {
        const Passed passed = send_message(stream_, message);
        record(sent_event, message.kind(), message.route, passed);
        if (message.kind() == wire::Kind::start) crash_point("start-sent");
        if (message.kind() == wire::Kind::secure_request) crash_point("secure-asked");
        if (message.kind() == wire::Kind::sum_request) crash_point("request-sent");
        if (message.kind() == wire::Kind::centring) crash_point("centring-sent");
        if (message.kind() == wire::Kind::features) crash_point("features-sent");
    }
    template <class T>
    Received receive() {
        Received received = receive_message(stream_, who(), {.max_payload_bytes = 0});
        record(received_event, received.message.kind(), received.message.route, {received.bytes, received.hash});
        if (const auto* refusal = std::get_if<wire::Refusal>(&received.message.body)) {
            throw InputError({who(), "refused: " + refusal->reason, "a client that agrees to the job", ""});
        }
        if (!std::holds_alternative<T>(received.message.body)) {
            throw InputError(
                {who(), fmt::format("{}", wire::to_string(received.message.kind())), "another message now", ""});
        }
        return received;
    }
    void take_reply() {
        stream_.expect_at_leisure();
        std::optional<wire::Route> kept;
        std::optional<std::filesystem::path> where;
        wire::Kind kind = wire::Kind::upload;
        wire::Route route;
        const auto on_head = [&](const wire::Head& head) {
            auto path = room_.accept(ticket_, head);
            kind = head.kind;
            route = head.route;
            if (path) kept = head.route;
            where = path;
            stream_.expect_chunks(true);
            return path;
        };
        const Passed passed = [&] {
            try {
                return receive_to_file(stream_, who(), limits_, on_head);
            } catch (const InputError&) {
                room_.spoiled(ticket_);
                throw;
            }
        }();
        stream_.expect_chunks(false);
        crash_point("upload-spooled");
        record(received_event, kind, route, passed);
        if (kind == wire::Kind::refusal) room_.declined(ticket_, *where);
        if (kept) room_.arrived(ticket_, *kept);
    }
    grpc::Status take_report() {
        stream_.expect_at_leisure();
        room_.report(ticket_, receive<wire::Report>().message);
        send(room_.bye(ticket_));
        return grpc::Status::OK;
    }

    Room& room_;
    AuditTrail& audit_;
    Seats::Stay seat_;
    WatchedStream& stream_;
    grpc::ServerContext& context_;
    Caller caller_;
    std::string name_;
    wire::Limits limits_;
    Room::Ticket ticket_;
    bool entered_ = false;
};

class FederationService final : public v1::Federation::WithCallbackMethod_Status<v1::Federation::Service> {
  public:
    FederationService(const Kit& kit, Entrance& entrance, Gate& gate, Watchdog& watchdog, Room& room, AuditTrail& audit,
                      Log& log)
        : limits_{.max_payload_bytes = kit.limits.max_message_mib << 20},
          stall_(static_cast<long>(1000 * kit.limits.stall_seconds)),
          entrance_(entrance),
          gate_(gate),
          room_(room),
          audit_(audit),
          log_(log),
          watchdog_(watchdog) {}

    grpc::Status Attend(grpc::ServerContext* context, Stream* raw) override {
        Caller caller;
        Doorman::Place place;
        WatchedStream stream(*raw, *context, gate_, watchdog_, slots_, stall_);
        try {
            caller = entrance_.identify(*context);
            place = entrance_.place_for(caller);
            if (!place) return too_many(caller.name);
            if (caller.role != Role::client) {
                throw InputError({caller.name, "a certificate of a coordinator", "a client's", ""});
            }
            // The client waits for it, to look at our certificate before it says anything.
            raw->SendInitialMetadata();
            const OpenStreams::Listed listed(open_, stream);
            return Visit(room_, audit_, seats_, stream, *context, caller, limits_).attend();
        } catch (const InputError& error) {
            // Whoever does not wait for the answer is told nothing: there may be thousands of them.
            if (context->IsCancelled()) {
                room_.refused(caller.name, error.what());
                return {grpc::StatusCode::CANCELLED, "gone already"};
            }
            // Who was not let in and does not read why holds no more than a few threads, with however many
            // certificates.
            if (!place) place = entrance_.place_for_refusal();
            if (!place) {
                room_.refused(caller.name, error.what());
                return {grpc::StatusCode::PERMISSION_DENIED, error.what()};
            }
            return turn_away(stream, caller.name, error.what());
        } catch (const Disconnected&) {
            if (stream.stalled()) {
                const std::string reason = fmt::format("client {}: nothing for {} s in the middle of a message",
                                                       caller.name, stream.patience_seconds());
                room_.refused(caller.name, reason);
                return {grpc::StatusCode::DEADLINE_EXCEEDED, reason};
            }
            log_.paced("gone " + caller.name, "disconnected", fmt::format("client {} is gone", caller.name),
                       {{"client", caller.name}}, false);
            return {grpc::StatusCode::CANCELLED, "the client is gone"};
        } catch (const std::exception& error) {
            log_.paced("failed " + caller.name, "failed", fmt::format("client {}: {}", caller.name, error.what()),
                       {{"client", caller.name}});
            return {grpc::StatusCode::INTERNAL, "the coordinator could not keep what was sent"};
        }
    }

    /// To those from whom something is awaited.
    void tell_failure() {
        const std::string failure = room_.failure();
        if (!failure.empty()) open_.tell({{}, wire::Refusal{failure}});
    }

    grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context, const v1::StatusRequest*,
                                     v1::StatusReply* reply) override {
        return UnaryReply::finish(*context, watchdog_, tell_status(*context, *reply));
    }

  private:
    grpc::Status tell_status(const grpc::CallbackServerContext& context, v1::StatusReply& reply) {
        Caller caller;
        try {
            caller = entrance_.identify(context);
        } catch (const InputError& error) {
            room_.refused("", error.what());
            return {grpc::StatusCode::PERMISSION_DENIED, error.what()};
        }
        StatusReport status = room_.status();
        if (caller.role != Role::coordinator) status = status_for(std::move(status), caller.name);
        reply.set_protocol(wire::protocol_version);
        reply.set_json(status_json(status).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        return grpc::Status::OK;
    }

    /// Its connections hold what they have; this call ends without a word that it could leave unread.
    grpc::Status too_many(const std::string& name) {
        const std::string reason =
            fmt::format("client {}: more than {} calls at the same time; expected one", name, calls_held);
        room_.refused(name, reason);
        return {grpc::StatusCode::RESOURCE_EXHAUSTED, reason};
    }
    grpc::Status turn_away(FrameStream& stream, const std::string& name, const std::string& reason) {
        room_.refused(name, reason);
        try {
            send_message(stream, {{}, wire::Refusal{reason}});
        } catch (const Disconnected&) {
            // It will not hear why.
        }
        return {grpc::StatusCode::PERMISSION_DENIED, reason};
    }

    wire::Limits limits_;
    std::chrono::milliseconds stall_;
    Entrance& entrance_;
    Gate& gate_;
    Room& room_;
    AuditTrail& audit_;
    Log& log_;
    Watchdog& watchdog_;
    Slots slots_{chunks_at_once};
    Seats seats_;
    OpenStreams open_;
};

void set_limits(grpc::ServerBuilder& builder, std::size_t clients) {
    builder.SetMaxReceiveMessageSize(largest_frame);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, streams_per_connection);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
    // What gRPC holds for a stream that is not read yet; measuring the link would let it grow to megabytes for each.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, stream_window);
    builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, 64 << 10);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
    grpc::ResourceQuota quota("couplet");
    quota.SetMaxThreads(server_threads(clients));
    builder.SetResourceQuota(quota);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
}

}  // namespace

struct Server::Parts {
    Parts(const Kit& kit, bool secure, Room& room, AuditTrail& audit, Log& log,
          std::function<void(const std::string&)> on_deaf)
        : handshakes([&room](const std::string& why) { room.refused("", "a connection: " + why); }),
          doorman(kit.identity, kit.file("revoked.txt")),
          gate({.listen = kit.listen,
                .parties = kit.roster.size() + 1,
                .revoked = kit.file("revoked.txt"),
                .on_deaf = std::move(on_deaf)},
               log),
          entrance(doorman, gate, secure),
          service(kit, entrance, gate, watchdog, room, audit, log),
          health(
              entrance, watchdog, [this] { return gate.trouble(); },
              [&room](const std::string& reason) { room.refused("", reason); }) {}

    GrpcLog handshakes;
    Doorman doorman;
    Gate gate;
    Entrance entrance;
    Watchdog watchdog = {};
    FederationService service;
    HealthService health;
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor = {};
    std::unique_ptr<grpc::Server> server = {};
};

Server::Server(const Kit& kit, const std::optional<Credentials>& credentials, Room& room, AuditTrail& audit, Log& log,
               std::function<void(const std::string&)> on_deaf)
    : parts_(std::make_unique<Parts>(kit, credentials.has_value(), room, audit, log, std::move(on_deaf))) {
    using Builder = grpc::ServerBuilder::experimental_type;
    grpc::ServerBuilder builder;
    set_limits(builder, kit.roster.size());
    parts_->acceptor = builder.experimental().AddExternalConnectionAcceptor(
        Builder::ExternalConnectionType::FROM_FD,
        credentials ? server_credentials(*credentials,
                                         [doorman = &parts_->doorman](const CertificateInfo& shown) {
                                             return doorman->may_connect(shown.serial, Doorman::Clock::now());
                                         })
                    : grpc::InsecureServerCredentials());
    builder.RegisterService(&parts_->service);
    builder.RegisterService(&parts_->health);
    parts_->server = builder.BuildAndStart();
    if (!parts_->server) {
        throw RunError({kit.listen, "gRPC could not be started", "a working gRPC", ""});
    }
    parts_->gate.open([acceptor = parts_->acceptor.get()](int descriptor) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
        connection.fd = descriptor;
        acceptor->HandleNewConnection(&connection);
    });
}

Server::~Server() {
    parts_->gate.close();
    // Streams end by themselves once the room says so; those that wait for a client are cut off.
    parts_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(500));
    parts_->server->Wait();
}

void Server::tell_failure() { parts_->service.tell_failure(); }

std::string Server::trouble() const { return parts_->gate.trouble(); }

}  // namespace couplet::net
