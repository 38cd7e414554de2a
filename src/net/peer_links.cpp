#include "peer_links.hpp"

#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/net/backoff.hpp"
#include "credentials.hpp"
#include "doorman.hpp"
#include "gate.hpp"
#include "grpc_log.hpp"
#include "peers.grpc.pb.h"
#include "watchdog.hpp"

namespace couplet::net {
namespace {

using std::chrono::milliseconds;

constexpr int largest_frame = static_cast<int>(wire::most_chunk_bytes) + 4096;
constexpr int stream_window = 512 << 10;
constexpr std::size_t bytes_per_answer = 32;  ///< that whoever reads them sends one byte for, as windows
constexpr milliseconds first_wait{50};
constexpr milliseconds longest_wait{1000};
constexpr milliseconds glance{100};  ///< how often a wait looks whether it should end

using Recognised = decltype(NeighbourEvents::recognised);

std::chrono::system_clock::time_point after(milliseconds time) { return std::chrono::system_clock::now() + time; }

template <class Stream>
class GrpcStream final : public FrameStream {
  public:
    explicit GrpcStream(Stream& stream) : stream_(stream) {}
    bool write(const v1::Frame& frame) override { return stream_.Write(frame); }
    bool read(v1::Frame& frame) override { return stream_.Read(&frame); }

  private:
    Stream& stream_;
};

/// Tells the gate what was of use of what came.
class CreditedStream final : public FrameStream {
  public:
    CreditedStream(FrameStream& stream, Gate& gate, std::string address)
        : stream_(stream), gate_(gate), address_(std::move(address)) {}
    bool write(const v1::Frame& frame) override {
        const bool good = stream_.write(frame);
        gate_.credit(address_, frame.ByteSizeLong() / bytes_per_answer);
        return good;
    }
    bool read(v1::Frame& frame) override {
        const bool good = stream_.read(frame);
        if (good) gate_.credit(address_, frame.ByteSizeLong());
        return good;
    }

  private:
    FrameStream& stream_;
    Gate& gate_;
    std::string address_;
};

/// Opens connections to one neighbour until its link is closed.
class Dialer {
  public:
    Dialer(Link& link, std::string address, Identity neighbour, std::shared_ptr<grpc::ChannelCredentials> credentials,
           const Doorman& doorman, Watchdog& watchdog, milliseconds patience, Recognised recognised)
        : link_(link),
          address_(std::move(address)),
          neighbour_(std::move(neighbour)),
          credentials_(std::move(credentials)),
          doorman_(doorman),
          watchdog_(watchdog),
          patience_(patience),
          recognised_(std::move(recognised)),
          thread_([this] { run(); }) {}
    ~Dialer() { thread_.join(); }
    Dialer(const Dialer&) = delete;
    Dialer& operator=(const Dialer&) = delete;

    /// Ends the connection when it is with one of these certificates.
    void drop(const std::set<std::string>& serials) {
        const std::lock_guard lock(mutex_);
        if (serials.contains(serial_)) link_.drop();
    }
    void drop() { link_.drop(); }

  private:
    void run() {
        Backoff backoff(first_wait, longest_wait,
                        static_cast<std::uint64_t>(Link::Clock::now().time_since_epoch().count()));
        while (!link_.closed()) {
            try {
                if (dial()) backoff.reset();
            } catch (const std::exception& error) {
                link_.refuse(error.what());
            }
            const auto until = Link::Clock::now() + backoff.next();
            while (!link_.closed() && Link::Clock::now() < until) {
                std::this_thread::sleep_for(std::min<Link::Clock::duration>(glance, until - Link::Clock::now()));
            }
        }
    }

    std::shared_ptr<grpc::Channel> open() {
        grpc::ChannelArguments arguments;
        // Connections are opened and given up by us, with our own backoff.
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
        arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
        arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
        arguments.SetMaxReceiveMessageSize(largest_frame);
        arguments.SetSslTargetNameOverride(coordinator_host);
        return grpc::CreateCustomChannel(address_, credentials_, arguments);
    }

    /// True when the neighbour was greeted.
    bool dial() {
        const auto channel = open();
        const auto until = Link::Clock::now() + patience_;
        while (!channel->WaitForConnected(after(glance))) {
            if (link_.closed() || Link::Clock::now() >= until) return false;
        }
        const auto stub = v1::Peering::NewStub(channel);
        grpc::ClientContext context;
        const auto stream = stub->Link(&context);
        const std::function<void()> cancel = [&context] { context.TryCancel(); };
        // A neighbour that accepts and then says nothing.
        watchdog_.arm(this, patience_, cancel);
        stream->WaitForInitialMetadata();
        bool greeted = false;
        std::exception_ptr failed;
        try {
            if (is_neighbour(context)) {
                GrpcStream frames(*stream);
                greeted = link_.speak(frames, true, cancel, [this] { watchdog_.disarm(this); });
            }
        } catch (const InputError&) {
            failed = std::current_exception();
        }
        watchdog_.disarm(this);
        context.TryCancel();
        stream->Finish();
        if (failed) std::rethrow_exception(failed);
        return greeted;
    }

    /// Whoever answers must be that neighbour: nothing was sent before. False when nobody answers any more.
    bool is_neighbour(const grpc::ClientContext& context) {
        const auto identity = context.auth_context();
        if (!identity || !identity->IsPeerAuthenticated()) return false;
        const auto shown = peer_certificate(*identity);
        if (!shown || shown->identity != neighbour_) {
            throw InputError({address_,
                              shown ? fmt::format("a certificate of {}", to_uri(shown->identity)) : "no certificate",
                              fmt::format("peer {} of this federation", neighbour_.name),
                              "Something else listens there; nothing was sent to it."});
        }
        {
            const std::lock_guard lock(mutex_);
            serial_ = shown->serial;
        }
        doorman_.let_in(*shown, Role::peer);
        if (recognised_) recognised_(neighbour_.name, shown->serial, address_);
        return true;
    }

    Link& link_;
    std::string address_;
    Identity neighbour_;
    std::shared_ptr<grpc::ChannelCredentials> credentials_;
    const Doorman& doorman_;
    Watchdog& watchdog_;
    milliseconds patience_;
    Recognised recognised_;
    std::mutex mutex_;
    std::string serial_;  ///< of the certificate that the neighbour showed last
    std::thread thread_;
};

/// Lets neighbours in by their certificates.
class PeeringService final : public v1::Peering::Service {
  public:
    using Find = std::function<net::Link*(const std::string& name)>;
    PeeringService(Doorman& doorman, Gate& gate, Watchdog& watchdog, milliseconds patience, Find find,
                   Recognised recognised, Log& log)
        : doorman_(doorman),
          gate_(gate),
          watchdog_(watchdog),
          patience_(patience),
          find_(std::move(find)),
          recognised_(std::move(recognised)),
          log_(log) {}

    grpc::Status Link(grpc::ServerContext* context, grpc::ServerReaderWriter<v1::Frame, v1::Frame>* stream) override {
        GrpcStream raw(*stream);
        CreditedStream frames(raw, gate_, plain_address(context->peer()));
        const std::function<void()> cancel = [context] { context->TryCancel(); };
        try {
            net::Link& link = let_in(*context);
            Greeting greeting(*this, link, *context);
            // The other end waits for it, to look at our certificate before it says anything.
            watchdog_.arm(&frames, patience_, cancel);
            stream->SendInitialMetadata();
            link.speak(frames, false, cancel, [&] {
                watchdog_.disarm(&frames);
                greeting.end();
            });
            watchdog_.disarm(&frames);
            return grpc::Status::OK;
        } catch (const InputError& error) {
            watchdog_.disarm(&frames);
            log_.paced("refused callers", "refused", error.what());
            try {
                send_message(frames, {{}, wire::Refusal{error.what()}});
            } catch (const Disconnected&) {
                // It will not hear why.
            }
            return {grpc::StatusCode::PERMISSION_DENIED, error.what()};
        }
    }

  private:
    /// A neighbour is about to greet in one stream at a time, and a newer one ends the older: nobody holds the threads
    /// that the others need.
    class Greeting {
      public:
        Greeting(PeeringService& service, const net::Link& link, grpc::ServerContext& context)
            : service_(service), link_(&link), context_(&context) {
            const std::lock_guard lock(service_.mutex_);
            auto& other = service_.greeting_[link_];
            if (other != nullptr) other->TryCancel();
            other = context_;
        }
        ~Greeting() { end(); }
        Greeting(const Greeting&) = delete;
        Greeting& operator=(const Greeting&) = delete;

        void end() {
            const std::lock_guard lock(service_.mutex_);
            auto& mine = service_.greeting_[link_];
            if (mine == context_) mine = nullptr;
        }

      private:
        PeeringService& service_;
        const net::Link* link_;
        grpc::ServerContext* context_;
    };

    net::Link& let_in(const grpc::ServerContext& context) {
        const auto certificate = peer_certificate(*context.auth_context());
        if (!certificate) throw InputError({"caller", "a certificate of nobody", "one of a peer", ""});
        const std::string& name = certificate->identity.name;
        try {
            doorman_.limit_rate(fmt::format("{} {}", name, certificate->serial), Doorman::Clock::now());
        } catch (const InputError&) {
            gate_.dismiss_all(certificate->serial);
            gate_.dismiss(context.peer());
            doorman_.bar(certificate->serial, Doorman::Clock::now());
            throw;
        }
        doorman_.let_in(*certificate, Role::peer);
        net::Link* link = find_(name);
        if (link == nullptr) {
            throw InputError({"peer " + name, "a connection that it should not open",
                              "one from a neighbour that comes earlier among the peers",
                              "Use the kits as couplet provision made them."});
        }
        gate_.admit(context.peer(), name, certificate->serial);
        const std::string address = plain_address(context.peer());
        if (recognised_) recognised_(name, certificate->serial, address.substr(0, address.rfind(':')));
        return *link;
    }

    Doorman& doorman_;
    Gate& gate_;
    Watchdog& watchdog_;
    milliseconds patience_;
    Find find_;
    Recognised recognised_;
    Log& log_;
    std::mutex mutex_;
    std::map<const net::Link*, grpc::ServerContext*> greeting_;
};

}  // namespace

struct PeerLinks::Parts {
    std::optional<GrpcLog> handshakes = {};
    Doorman doorman;
    Gate gate;
    Watchdog watchdog = {};
    std::map<Index, std::unique_ptr<Link>> links = {};
    std::map<std::string, Link*> callers = {};  ///< neighbours that open the connection
    std::unique_ptr<PeeringService> service = {};
    std::unique_ptr<grpc::Server> server = {};
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor = {};
    std::vector<std::unique_ptr<Dialer>> dialers = {};
};

PeerLinks::PeerLinks(const Kit& kit, const Credentials& credentials, wire::Incarnation own,
                     const LinkSettings& settings, NeighbourEvents events, Log& log)
    : parts_(new Parts{.doorman = Doorman(kit.identity, kit.file("revoked.txt")),
                       .gate = Gate({.listen = kit.listen,
                                     .parties = kit.peers.size(),
                                     .revoked = kit.file("revoked.txt"),
                                     .on_revoked =
                                         [this, tell = events.revoked](const auto& serials) {
                                             if (tell) tell(serials);
                                             drop(serials);
                                         },
                                     .on_unreadable = [this] { drop_all(); },
                                     .on_deaf = events.deaf},
                                    log)}) {
    parts_->handshakes.emplace([&log](const std::string& why) {
        log.paced("handshakes", "refused", "a connection with a neighbour, or with a stranger: " + why);
    });
    const Graph graph(static_cast<Index>(kit.peers.size()), kit.links);
    const auto place = [&](const std::string& name) {
        for (std::size_t k = 0; k < kit.peers.size(); ++k) {
            if (kit.peers[k].name == name) return static_cast<Index>(k);
        }
        return Index{-1};
    };
    const Index self = place(kit.identity.name);
    // Patience with a connection that does not come to a greeting: several beats.
    const milliseconds patience = 5 * settings.beat;
    for (const Index k : graph.neighbours(self)) {
        const std::string& name = kit.peers[static_cast<std::size_t>(k)].name;
        const LinkEvents mine{
            [events, k](auto process, bool is_new) { events.connected(k, process, is_new); },
            [events, k](auto process, wire::Message message) { events.received(k, process, std::move(message)); },
            [events, k](const std::string& reason) { events.refused(k, reason); },
            [events, k](bool sent, wire::Kind kind, const Passed& passed) {
                if (events.passed) events.passed(k, sent, kind, passed);
            }};
        auto& link = parts_->links[k] = std::make_unique<Link>(name, own, settings, mine);
        if (k < self) parts_->callers[name] = link.get();
    }
    parts_->service = std::make_unique<PeeringService>(
        parts_->doorman, parts_->gate, parts_->watchdog, patience,
        [parts = parts_.get()](const std::string& name) {
            const auto found = parts->callers.find(name);
            return found == parts->callers.end() ? nullptr : found->second;
        },
        events.recognised, log);
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(largest_frame);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 4);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(patience.count()));
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 16 << 10);
    // What gRPC holds of a stream that is not read yet is what the gate allows for.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, stream_window);
    grpc::ResourceQuota quota("couplet");
    quota.SetMaxThreads(server_threads(parts_->links.size()));
    builder.SetResourceQuota(quota);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::MAX_POLLERS, 2);
    parts_->acceptor = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        server_credentials(credentials, [doorman = &parts_->doorman](const CertificateInfo& shown) {
            return doorman->may_connect(shown.serial, Doorman::Clock::now());
        }));
    builder.RegisterService(parts_->service.get());
    parts_->server = builder.BuildAndStart();
    if (!parts_->server) throw RunError({kit.listen, "gRPC could not be started", "a working gRPC", ""});
    for (const auto& [k, link] : parts_->links) {
        if (k < self) continue;
        const PeerAddress& peer = kit.peers[static_cast<std::size_t>(k)];
        parts_->dialers.push_back(std::make_unique<Dialer>(
            *link, peer.address, Identity{kit.identity.federation, Role::peer, peer.name},
            channel_credentials(credentials), parts_->doorman, parts_->watchdog, patience, events.recognised));
    }
    // Last: what it reports needs the dialers.
    parts_->gate.open([acceptor = parts_->acceptor.get()](int descriptor) {
        grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
        connection.fd = descriptor;
        acceptor->HandleNewConnection(&connection);
    });
}

void PeerLinks::drop(const std::set<std::string>& serials) {
    for (const auto& dialer : parts_->dialers) dialer->drop(serials);
}

void PeerLinks::drop_all() {
    for (const auto& dialer : parts_->dialers) dialer->drop();
}

void PeerLinks::close() {
    for (const auto& [k, link] : parts_->links) link->close();
}

PeerLinks::~PeerLinks() {
    close();
    parts_->gate.close();
    parts_->dialers.clear();
    parts_->server->Shutdown(after(milliseconds(100)));
    parts_->server->Wait();
}

Link& PeerLinks::link(Index neighbour) { return *parts_->links.at(neighbour); }

}  // namespace couplet::net
