#include "couplet/net/peer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>

#include "audit_trail.hpp"
#include "couplet/core/error.hpp"
#include "couplet/net/doubts.hpp"
#include "couplet/privacy/secure_sum.hpp"
#include "couplet/wire/digest.hpp"
#include "crash_point.hpp"
#include "early_mail.hpp"
#include "inbox.hpp"
#include "job_file.hpp"
#include "kit_lock.hpp"
#include "membership.hpp"
#include "peer_links.hpp"
#include "peer_work.hpp"
#include "record_seal.hpp"

namespace couplet::net {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_events = 256;
constexpr milliseconds patience{20};
// Bulletins of a storm are put together; a single one goes at once.
constexpr milliseconds between_bulletins{20};
// What passes over a link is written down together.
constexpr milliseconds between_traffic{1000};

struct Connected {
    Index neighbour;
    wire::Incarnation process;
    bool is_new;
};
struct Turned {
    Index neighbour;
    std::string reason;
};
struct Finished {
    std::uint64_t epoch;
    PeerOutput output;
};
struct Failed {
    std::uint64_t epoch;
    std::string reason;
};
struct Deaf {
    std::string reason;
};
using Event = std::variant<Connected, Arrived, Turned, Finished, Failed, Deaf>;

std::string optional_text(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : "none"; }

std::string given_text(const std::optional<Schema>& schema) {
    if (!schema) return "agreed";
    const SchemaPrint print = fingerprint(*schema);
    return fmt::format("{:016x}{:016x}{:016x}", print.order, print.names, print.units);
}

std::string shield_text(const std::optional<ShieldTerms>& shield) {
    if (!shield) return "";
    std::string text = fmt::format(", masked sums, policy {}, colluders {}, clip {}", shield->policy, shield->colluders,
                                   optional_text(shield->clip));
    if (!shield->guarantee) return text;
    return text + fmt::format(", epsilon {}, delta {}, noise {}", shield->guarantee->epsilon, shield->guarantee->delta,
                              static_cast<int>(shield->noise));
}

/// Everything that must be the same at every peer, as text that a person can compare.
std::string job_text(const wire::JobSpec& spec, const std::optional<Schema>& schema, const Kit& kit) {
    const Job& job = spec.job;
    wire::Digest digest;
    std::string network = kit.identity.federation;
    for (const PeerAddress& peer : kit.peers) network += " " + peer.name;
    const Graph graph(static_cast<Index>(kit.peers.size()), kit.links);
    for (const Edge& edge : graph.edges()) network += fmt::format(" {}-{}", edge.a, edge.b);
    digest.add(std::as_bytes(std::span(network)));
    const wire::Hash hash = digest.finish();
    return fmt::format(
        "aggregate {}, rank {}, eps {}, eps1 {}, eps2 {}, refit {}, precision {}, bytes {}, bytes-total {}, sketch {}, "
        "passes {}, oversampling {}, seed {}, consensus {}, weights {}, iterations {}, target {}, scale-clients {}, "
        "heldout {}, unnamed {}, schema {}{}, network {:02x}{:02x}{:02x}",
        to_string(job.aggregate), job.rank ? std::to_string(*job.rank) : "none", optional_text(job.eps), job.eps1,
        job.eps2, job.refit, to_string(job.precision), job.bytes.value_or(0), job.bytes_total.value_or(0),
        static_cast<int>(job.sketch), job.passes, job.oversampling, job.seed, to_string(job.consensus.engine),
        job.consensus.weights, job.consensus.iterations ? std::to_string(*job.consensus.iterations) : "auto",
        job.consensus.target, spec.preparation.scale_clients, spec.preparation.heldout, to_string(job.unnamed),
        given_text(schema), shield_text(spec.shield), static_cast<unsigned>(hash[0]), static_cast<unsigned>(hash[1]),
        static_cast<unsigned>(hash[2]));
}

wire::JobId id_of(const std::string& text) {
    wire::Digest digest;
    digest.add(std::as_bytes(std::span(text)));
    const wire::Hash hash = digest.finish();
    wire::JobId id{};
    std::memcpy(id.data(), hash.data(), id.size());
    return id;
}

/// Later processes have higher numbers, so that nobody can pass off what an earlier one said as news; the low bits are
/// random, because two may begin at the same time.
wire::Incarnation new_process() {
    constexpr int random_bits = 20;
    const auto now =
        std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    const auto random = std::stoull(random_hex().substr(0, random_bits / 4), nullptr, 16);
    return (static_cast<wire::Incarnation>(now) << random_bits) | random;
}

/// The links of an epoch among its members, who count anew.
Graph induced(const std::vector<Edge>& edges, const std::vector<Index>& members) {
    std::map<Index, Index> place;
    for (std::size_t i = 0; i < members.size(); ++i) place[members[i]] = static_cast<Index>(i);
    std::vector<Edge> links;
    for (const Edge& edge : edges) links.push_back({place.at(edge.a), place.at(edge.b)});
    return Graph(static_cast<Index>(members.size()), std::move(links));
}

double ratio(double error2, double norm2) { return norm2 > 0 ? error2 / norm2 : 0; }

}  // namespace

struct PeerNode::Parts {
    Kit kit;
    std::shared_ptr<const Tensor<double>> x;
    PeerOptions options;
    Log& log;
    KitLock kit_lock;
    Credentials credentials;
    Graph graph;
    Index self;
    wire::Incarnation process = new_process();
    std::string job = {};
    Schema own_schema = {};
    Schema epoch_schema = {};  ///< in whose order the members compute
    LinkSettings settings = {};
    Clock::time_point begun = Clock::now();
    std::atomic<bool> stopping = false;
    std::atomic<Index> messages_sent = 0;
    Inbox<Event> inbox{most_events};
    std::optional<Membership> membership = {};
    AuditTrail audit;
    std::unique_ptr<RecordSeal> seal = {};
    std::unique_ptr<PeerLinks> links = {};
    std::unique_ptr<PeerWork> work = {};
    std::uint64_t epoch = 0;
    Index epochs = 0;
    std::vector<Index> members = {};
    EarlyMail mail = {};
    std::optional<PeerOutput> output = {};
    std::optional<PeerResult> result = {};
    std::optional<RunError> misfit = {};
    std::map<Index, Clock::time_point> bulletin_at = {};
    std::map<Index, std::string> refusals = {};
    std::set<Index> heard_of = {};
    std::string waiting_for = {};
    std::atomic<bool> masked = false;  ///< whether masked numbers were sent, in whatever epoch

    // ---- names and times

    milliseconds now() const { return std::chrono::duration_cast<milliseconds>(Clock::now() - begun); }
    const std::string& name(Index k) const { return kit.peers[static_cast<std::size_t>(k)].name; }
    std::vector<std::string> names(const std::vector<Index>& places) const {
        std::vector<std::string> result_names;
        for (const Index k : places) result_names.push_back(name(k));
        return result_names;
    }
    std::vector<Index> neighbours() const {
        const auto list = graph.neighbours(self);
        return {list.begin(), list.end()};
    }

    // ---- the job

    void prepare() {
        job = job_text(options.spec, options.schema, kit);
        const Shape shape = x->shape();
        own_schema = feature_schema(*x, "data");
        const Unnamed unnamed = options.spec.job.unnamed;
        if (options.schema) align(*options.schema, own_schema, unnamed, "data", "`schema`");
        const Shape& features = own_schema.features;
        settings = {.job = job,
                    .version = version(),
                    .id = id_of(job),
                    .beat = std::max(milliseconds(20), options.link_deadline / 5),
                    .limits = {.max_payload_bytes =
                                   std::min(kit.limits.max_message_mib << 20, largest_payload_bytes(features))},
                    .schema = own_schema,
                    .unnamed = unnamed};
        membership.emplace(MembershipOptions{.graph = graph,
                                             .self = self,
                                             .incarnation = process,
                                             .features = features,
                                             .rows = options.spec.shield ? 1 : shape[0],
                                             .schema = fingerprint(own_schema),
                                             .link_deadline = options.link_deadline,
                                             .gather = options.gather,
                                             .deadline = options.deadline},
                           now());
    }

    NeighbourEvents link_events() {
        return {.connected =
                    [this](Index k, auto who, bool is_new) {
                        inbox.put(Connected{k, who, is_new});
                    },
                .received =
                    [this](Index k, auto who, wire::Message message) {
                        inbox.put(Arrived{k, who, std::move(message)});
                    },
                .refused =
                    [this](Index k, const std::string& reason) {
                        inbox.put(Turned{k, reason});
                    },
                .recognised = [this](const auto&... about) { recognise(about...); },
                .passed = [this](Index k, bool sent, wire::Kind kind,
                                 const Passed& passed) { count(k, sent, kind, passed); },
                .revoked = [this](const auto& serials) { seal->revoke(serials); },
                .deaf = [this](const std::string& reason) { inbox.put(Deaf{reason}); }};
    }

    void open() {
        begun = Clock::now();
        vet({{}, wire::Welcome{options.spec, self, graph.nodes()}});
        prepare();
        seal = std::make_unique<RecordSeal>(kit, credentials, settings.id);
        audit.write("job", {{"job", wire::to_hex(settings.id)},
                            {"role", "peer"},
                            {"party", name(self)},
                            {"version", version()},
                            {"graph", kit.graph},
                            {"text", job},
                            {"spec", spec_json(options.spec)}});
        work = std::make_unique<PeerWork>(
            options.spec, x,
            PeerWork::Hooks{
                [this](std::uint64_t number, const PeerMessage& message) { send(number, message); },
                [this](std::uint64_t number, PeerOutput done) {
                    inbox.put(Finished{number, std::move(done)});
                },
                [this](std::uint64_t number, const std::string& reason) {
                    inbox.put(Failed{number, reason});
                },
                [this](Index, const std::string& reason) { log.paced("message", "message-refused", reason); },
                [this](const ShieldPlan& plan) {
                    const std::lock_guard lock(vet_mutex);
                    if (options.vet_plan) options.vet_plan(plan, run_id());
                },
                [this](std::uint64_t) { masked = true; }, [this](const MaskedSum& sum) { vet_sum(sum); }});
        links = std::make_unique<PeerLinks>(kit, credentials, process, settings, link_events(), log);
        log.info("listening", fmt::format("peer {} listens at {}; neighbours: {}", name(self), kit.listen,
                                          fmt::join(names(neighbours()), ", ")));
    }
    /// Threads that wait for the inbox end first. Neighbours see at once that this peer is gone: what it is computing
    /// can take long to end.
    void close() {
        inbox.close();
        if (links) links->close();
        work.reset();
        links.reset();
    }

    // ---- for whoever asks later

    /// What passed over a link since it was written down last, by kind.
    struct Traffic {
        Index messages = 0;
        double bytes = 0;
        Sha256 hashes = {};  ///< of the messages, in order
    };
    std::mutex traffic_mutex = {};
    std::map<std::tuple<Index, bool, wire::Kind>, Traffic> traffic = {};
    Clock::time_point traffic_written = Clock::now();

    /// Called by links.
    void count(Index neighbour, bool sent, wire::Kind kind, const Passed& passed) {
        const std::lock_guard lock(traffic_mutex);
        Traffic& mine = traffic[{neighbour, sent, kind}];
        ++mine.messages;
        mine.bytes += passed.bytes;
        mine.hashes.add(passed.hash);
    }
    void recognise(const std::string& neighbour, const std::string& serial, const std::string& address) {
        try {
            audit.write_once(
                neighbour, "joined",
                {{"job", wire::to_hex(settings.id)}, {"party", neighbour}, {"serial", serial}, {"address", address}});
        } catch (const RunError& error) {
            inbox.put(Deaf{error.what()});  // what cannot be written down must not go on
        }
    }
    void write_traffic() {
        decltype(traffic) all;
        {
            const std::lock_guard lock(traffic_mutex);
            all = std::exchange(traffic, {});
        }
        traffic_written = Clock::now();
        for (auto& [key, passed] : all) {
            const auto& [neighbour, sent, kind] = key;
            audit.write(sent ? "sent" : "received", {{"job", wire::to_hex(settings.id)},
                                                     {"party", name(neighbour)},
                                                     {"kind", wire::to_string(kind)},
                                                     {"epoch", epoch},
                                                     {"messages", passed.messages},
                                                     {"bytes", passed.bytes},
                                                     {"hash", passed.hashes.finish()}});
        }
    }
    void record_end(const PeerResult& r) {
        write_traffic();
        AuditTrail::Fields fields{{"job", wire::to_hex(settings.id)},
                                  {"outcome", "done"},
                                  {"result", r.job},
                                  {"members", r.members},
                                  {"missing", r.missing},
                                  {"features", result_hash(r.features)},
                                  {"personal", result_hash(r.personal)}};
        if (r.rel_error_bound) fields["rel_error_bound"] = *r.rel_error_bound;
        for (const Doubt& doubt : r.doubts) {
            fields["doubts"].push_back({{"client", doubt.client}, {"reason", doubt.reason}});
        }
        audit.write("ended", fields);
    }
    /// Called on the way out with an error, which stays the one that is told.
    void record_failure(const std::string& reason) noexcept {
        try {
            write_traffic();
            audit.write("ended", {{"job", wire::to_hex(settings.id)}, {"outcome", "failed"}, {"reason", reason}});
        } catch (const std::exception& error) {
            log.warn("audit", error.what());
        }
    }

    /// Called by the worker. `to` counts the members of that epoch, which are the current ones as long as it matters.
    void send(std::uint64_t number, const PeerMessage& message) {
        wire::Route route{wire::protocol_version, settings.id, EarlyMail::mark(number),
                          static_cast<std::uint32_t>(message.step)};
        auto bytes = std::make_shared<const wire::Message>(wire::to_message(route, message));
        vet(*bytes);
        if (options.capture) options.capture(*bytes);
        ++messages_sent;
        Index neighbour = -1;
        {
            const std::lock_guard lock(members_mutex);
            if (number != members_epoch) return;
            neighbour = members_of_epoch[static_cast<std::size_t>(message.to)];
        }
        links->link(neighbour).post(std::move(bytes));
    }
    mutable std::mutex members_mutex = {};
    std::uint64_t members_epoch = 0;
    wire::JobId run_of_epoch = {};
    std::vector<Index> members_of_epoch = {};
    std::string order_of_epoch = {};  ///< of the features

    /// The data of all members must fit together, as in a simulation. All of them find the same when it does not, once
    /// they know of the epoch: this peer stays until they do.
    bool members_fit() {
        std::vector<Hello> hellos;
        std::vector<SchemaPrint> prints;
        for (const Index k : members) {
            const wire::PeerRecord& record = membership->member(k);
            hellos.push_back({record.features, record.rows, 0});
            prints.push_back(record.schema);
        }
        try {
            start_job(options.spec.job, hellos);
            epoch_schema = options.schema && options.schema->named()
                               ? *options.schema
                               : peer_schema(own_schema, prints, names(members), options.spec.job.unnamed);
            return true;
        } catch (const InputError& error) {
            misfit = RunError({"job", error.what(), "data that fits together",
                               fmt::format("Clients count in this order: {}.", fmt::join(names(members), ", "))});
            return false;
        }
    }

    /// What this site does not agree to does not happen.
    void vet(const wire::Message& message) {
        if (!options.vet) return;
        const std::lock_guard lock(vet_mutex);
        options.vet(message);
    }
    std::mutex vet_mutex = {};

    // ---- masked sums

    /// What the members and their processes are in this epoch, and nobody else's epoch ever.
    std::string epoch_text() const {
        std::string text = fmt::format("{} {} {}", kit.identity.federation, wire::to_hex(settings.id), epoch);
        for (const wire::Incarnation member : membership->epoch().members) text += fmt::format(" {}", member);
        return text;
    }
    std::string run_id() const {
        const std::lock_guard lock(members_mutex);
        return wire::to_hex(run_of_epoch);
    }
    /// A sum among peers is of all members or of nobody.
    void vet_sum(MaskedSum sum) {
        std::string run;
        {
            const std::lock_guard lock(members_mutex);
            sum.members = names(members_of_epoch);
            sum.order = order_of_epoch;
            run = wire::to_hex(run_of_epoch);
        }
        const std::lock_guard lock(vet_mutex);
        if (!options.vet_sum) return;
        for (const bool agreed : {false, true}) {
            sum.agreed = agreed;
            options.vet_sum(sum, run);
        }
    }
    /// Members sign with the keys of the certificates that are with their records, which were checked.
    std::optional<MaskedEpoch> masked_epoch() const {
        if (!options.spec.shield) return std::nullopt;
        std::vector<std::string> certificates;
        for (const Index k : members) certificates.push_back(membership->member(k).certificate);
        const auto view = [](Bytes bytes) {
            return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        };
        MaskedEpoch all{
            .sign =
                [key = credentials.own.key, view](Bytes text) {
                    const std::string signature = sign_text(key, view(text));
                    return Signature(signature.begin(), signature.end());
                },
            .verify =
                [certificates = std::move(certificates), view](Party party, Bytes text, const Signature& signature) {
                    const auto at = static_cast<std::size_t>(party);
                    return at < certificates.size() &&
                           is_signed(certificates[at], view(text), std::string(signature.begin(), signature.end()));
                },
            .demands = options.demands};
        const std::string text = "couplet masked epoch " + epoch_text();
        all.session = hash_bytes({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
        return all;
    }
    /// Whoever has sent masked numbers takes no part in the same sums with others: the difference would be what the one
    /// who is lost has contributed.
    bool may_begin() {
        if (!masked) return true;
        misfit = RunError({"job", "a peer was lost after masked numbers were sent", "all members until the end",
                           "The same sums with fewer members would show what it contributed: nothing more was sent. "
                           "Start the peers again."});
        return false;
    }

    void begin_epoch() {
        epoch = membership->epoch().number;
        members = membership->members();
        if (!may_begin()) return;
        const auto place = std::lower_bound(members.begin(), members.end(), self) - members.begin();
        const auto there = static_cast<Index>(members.size());
        // Who is held out depends on the place among the members.
        const wire::JobId run = options.spec.shield ? id_of(epoch_text()) : settings.id;
        vet({{wire::protocol_version, run, EarlyMail::mark(epoch), 0},
             wire::Welcome{options.spec, static_cast<Index>(place), there}});
        vet({{}, wire::StartNotice{{there, 0, 0, {}}, false, false}});
        output.reset();
        ++epochs;
        {
            const std::lock_guard lock(members_mutex);
            members_epoch = epoch;
            members_of_epoch = members;
            run_of_epoch = run;
        }
        log.info("epoch",
                 fmt::format("{} with {} of {} peers: {}", epochs == 1 ? "begins" : "begins again", members.size(),
                             graph.nodes(), fmt::join(names(members), ", ")),
                 {{"epoch", epoch}, {"members", names(members)}});
        crash_point("peer-epoch");
        if (!members_fit()) return;
        {
            const std::lock_guard lock(members_mutex);
            order_of_epoch = fmt::format("{:016x}", fingerprint(epoch_schema).order);
        }
        work->begin(epoch, induced(membership->links(), members), static_cast<Index>(place), epoch_schema,
                    masked_epoch());
        for (Arrived& arrived : mail.begin(epoch)) take(std::move(arrived));
    }

    // ---- what arrives

    void handle(Event event) {
        std::visit([this](auto& value) { on(value); }, event);
    }
    void on(const Connected& connected) {
        if (connected.is_new) {
            membership->reset(connected.neighbour);
            mail.forget(connected.neighbour);
        }
        refusals.erase(connected.neighbour);
        if (heard_of.insert(connected.neighbour).second || connected.is_new) {
            log.info("connected", fmt::format("connected with {}", name(connected.neighbour)));
        }
        membership->heard(connected.neighbour, connected.process, now());
    }
    void on(Arrived& arrived) {
        if (const auto* bulletin = std::get_if<wire::Bulletin>(&arrived.message.body)) {
            for (const wire::PeerRecord& record : bulletin->records) hear(arrived.neighbour, record);
            return;
        }
        if (auto mine = mail.sort(std::move(arrived))) take(std::move(*mine));
    }
    /// A record that nobody has signed for is left out, and nothing else happens.
    void hear(Index neighbour, const wire::PeerRecord& record) {
        if (record.peer == self) return;
        try {
            seal->check(record);
            membership->receive({record}, now());
        } catch (const InputError& error) {
            log.paced("bulletin " + name(neighbour), "bulletin-refused",
                      fmt::format("peer {}: {}", name(neighbour), error.what()), {{"peer", name(neighbour)}});
        }
    }
    /// A message of the epoch that runs.
    void take(Arrived arrived) {
        const auto member = std::lower_bound(members.begin(), members.end(), arrived.neighbour);
        if (member == members.end() || *member != arrived.neighbour) return;
        if (membership->epoch().members[static_cast<std::size_t>(arrived.neighbour)] != arrived.process) return;
        try {
            const auto place = std::lower_bound(members.begin(), members.end(), self) - members.begin();
            const bool taken =
                work->receive(epoch, static_cast<Index>(member - members.begin()),
                              wire::to_peer_message(std::move(arrived.message), static_cast<Index>(place),
                                                    "peer " + name(arrived.neighbour)));
            if (!taken)
                log.paced("message " + name(arrived.neighbour), "message-refused",
                          fmt::format("peer {}: more messages than it may send unanswered", name(arrived.neighbour)));
        } catch (const InputError& error) {
            log.paced("message " + name(arrived.neighbour), "message-refused", error.what());
        }
    }
    void on(const Turned& turned) {
        if (std::exchange(refusals[turned.neighbour], turned.reason) == turned.reason) return;
        log.paced("refused " + name(turned.neighbour), "refused",
                  fmt::format("{}: {}", name(turned.neighbour), turned.reason));
    }
    void on(Finished& finished) {
        if (finished.epoch != epoch) return;
        if (!finished.output.reordered.empty()) {
            log.info("reordered", fmt::format("this peer's data: {}", finished.output.reordered));
        }
        output = std::move(finished.output);
        crash_point("peer-finished");
        membership->finished(epoch, output->report, now());
    }
    void on(const Failed& failed) {
        if (failed.epoch != epoch) return;
        throw RunError({"job", failed.reason, "a job that can be computed", ""});
    }

    void on(const Deaf& deaf) {
        throw RunError({fmt::format("peer {}", name(self)), deaf.reason, "a listener that accepts connections",
                        "It can take part in the next job."});
    }

    // ---- what is said

    void watch_links() {
        for (const Index k : neighbours()) {
            Link& link = links->link(k);
            const Link::View view = link.view();
            if (view.process == 0) continue;
            const auto silent = Clock::now() - view.heard;
            if (silent <= options.link_deadline) {
                membership->heard(k, view.process, now() - std::chrono::duration_cast<milliseconds>(silent));
            } else if (view.connected) {
                link.drop();  // it says nothing, so it may hear nothing: open another one
            }
        }
    }
    void post_news() {
        const Index most = wire::records_per_bulletin(graph.nodes());
        for (const Index k : neighbours()) {
            const Link::View view = links->link(k).view();
            if (!view.connected || view.has_bulletin) continue;
            if (Clock::now() - bulletin_at[k] < between_bulletins) continue;
            auto records = membership->news(k, most);
            if (records.empty()) continue;
            for (wire::PeerRecord& record : records) {
                if (record.peer == self) seal->seal(record);
            }
            bulletin_at[k] = Clock::now();
            links->link(k).post(std::make_shared<const wire::Message>(wire::Message{
                {wire::protocol_version, settings.id, EarlyMail::mark(epoch), 0}, wire::Bulletin{std::move(records)}}));
        }
    }
    void tell_waiting() {
        if (epoch != 0) return;
        std::vector<Index> missing;
        const std::vector<Index> here = membership->reachable();
        for (Index k = 0; k < graph.nodes(); ++k) {
            if (!std::binary_search(here.begin(), here.end(), k)) missing.push_back(k);
        }
        if (missing.empty() || now() < milliseconds(500)) return;
        const std::string text =
            fmt::format("waiting for {} of {}: {}", missing.size(), graph.nodes(), fmt::join(names(missing), ", "));
        if (std::exchange(waiting_for, text) != text) log.info("waiting", text);
    }

    void turn() {
        for (Event& event : inbox.take(patience)) handle(std::move(event));
        watch_links();
        membership->tick(now());
        if (membership->epoch().number != epoch && membership->knows_members() && !membership->failure()) begin_epoch();
        post_news();
        tell_waiting();
        if (Clock::now() - traffic_written >= between_traffic) keep_traffic();
    }
    void keep_traffic() {
        try {
            write_traffic();
        } catch (const RunError& error) {
            if (!result) throw;
            log.paced("audit", "audit", error.what());  // the result is there, and its record
        }
    }

    // ---- how it ends

    /// Everything that neighbours should know has reached those that are still there.
    bool told() {
        for (const Index k : neighbours()) {
            const Link::View view = links->link(k).view();
            if (view.connected && (!view.drained || membership->has_news(k))) return false;
        }
        return true;
    }

    /// Whether the reports of all members are here; they come before the decision, unless a connection broke in
    /// between.
    bool reported() const {
        return std::all_of(members.begin(), members.end(), [&](Index k) {
            return membership->is_known(k) && membership->member(k).report.has_value();
        });
    }

    void add_doubts(PeerResult& r) const {
        std::vector<Claim> claims;
        for (const Index k : members) {
            const wire::PeerReport& report = *membership->member(k).report;
            claims.push_back({name(k), report.norm2, report.error2, report.norm2});
            const bool scaled = options.spec.preparation.scale_clients && report.norm2 != 0;
            if (scaled && std::abs(report.norm2 - 1) > 1e-6) {
                r.doubts.push_back(
                    {name(k), fmt::format("a squared norm of {:.6g}; `scale_clients` norm makes it 1", report.norm2)});
            }
        }
        for (Doubt& doubt : norm_doubts(claims)) r.doubts.push_back(std::move(doubt));
        if (r.rel_error_bound) {
            for (Doubt& doubt : error_doubts(claims, *r.rel_error_bound)) r.doubts.push_back(std::move(doubt));
        }
        if (!r.doubts.empty()) r.rel_error_bound.reset();
    }

    PeerResult make_result() {
        PeerResult r;
        r.spec = options.spec;
        r.graph = kit.graph;
        const Graph used_links = induced(membership->links(), members);
        r.links.assign(used_links.edges().begin(), used_links.edges().end());
        std::string text = kit.identity.federation;
        for (const wire::Incarnation member : membership->epoch().members) text += fmt::format(" {}", member);
        r.job = wire::to_hex(id_of(fmt::format("{} {}", text, epoch)));
        r.features = output->features.clone();
        r.schema = output->schema;
        r.reordered = output->reordered;
        r.personal = Matrix<double>::copy(output->personal.view());
        r.rel_error_bound = output->rel_error_bound;
        r.rounds = output->rounds;
        r.lambda2 = output->lambda2;
        r.iterations = output->iterations;
        r.restarts = epochs - 1;
        double error2 = 0;
        double norm2 = 0;
        double heldout_error2 = 0;
        double heldout_norm2 = 0;
        Index used = 0;
        for (const Index k : members) {
            if (k == self) r.place = static_cast<Index>(r.members.size());
            r.members.push_back(name(k));
        }
        for (const Index k : reported() ? members : std::vector<Index>{}) {
            const wire::PeerReport& report = *membership->member(k).report;
            r.rse_per_client.push_back(ratio(report.error2, report.norm2));
            r.personal_ranks.push_back(report.rank);
            error2 += report.error2;
            norm2 += report.norm2;
            heldout_error2 += report.heldout_error2;
            heldout_norm2 += report.heldout_norm2;
            r.numbers_total += report.numbers;
            r.bytes_total += report.bytes;
            used += report.links;
            r.seconds_max = std::max(r.seconds_max, report.seconds);
            r.seconds_sum += report.seconds;
        }
        if (reported() && options.spec.job.aggregate == Aggregate::stack) add_doubts(r);
        r.own_rse = output->own_rse;
        r.own_rse_heldout = output->own_rse_heldout;
        r.shield = output->shield;
        if (options.spec.shield) r.rse_per_client.clear();
        if (reported() && !options.spec.shield) {
            r.rse = ratio(error2, norm2);
            if (options.spec.preparation.heldout > 0) r.rse_heldout = ratio(heldout_error2, heldout_norm2);
        }
        r.numbers_per_link = used > 0 ? r.numbers_total / static_cast<double>(used) : 0;
        r.numbers_sent = output->report.numbers;
        r.messages_sent = messages_sent;
        for (Index k = 0; k < graph.nodes(); ++k) {
            if (!std::binary_search(members.begin(), members.end(), k)) r.missing.push_back(name(k));
        }
        r.seconds_total = std::chrono::duration<double>(Clock::now() - begun).count();
        return r;
    }

    [[noreturn]] void fail() {
        const std::vector<Index> here = membership->reachable();
        std::vector<std::string> absent;
        for (Index k = 0; k < graph.nodes(); ++k) {
            if (std::binary_search(here.begin(), here.end(), k)) continue;
            const auto refusal = refusals.find(k);
            const std::string why = refusal != refusals.end()  ? refusal->second
                                    : membership->ever_seen(k) ? "lost"
                                                               : "never seen";
            absent.push_back(fmt::format("{} ({})", name(k), why));
        }
        const std::string seen = fmt::format("reached: {}; not reached: {}", fmt::join(names(here), ", "),
                                             absent.empty() ? "nobody" : fmt::format("{}", fmt::join(absent, ", ")));
        if (*membership->failure() == Membership::Failure::left_out) {
            std::vector<Index> others;
            for (Index k = 0; k < graph.nodes(); ++k) {
                if (membership->others().members[static_cast<std::size_t>(k)] != 0) others.push_back(k);
            }
            throw RunError({fmt::format("peer {}", name(self)),
                            fmt::format("the job goes on without it, with {}", fmt::join(names(others), ", ")),
                            "to be there from the beginning to the end", "It can take part in the next job."});
        }
        const bool enough = 2 * here.size() > static_cast<std::size_t>(graph.nodes());
        const std::string expected =
            enough ? fmt::format("a result within {} s", static_cast<double>(options.deadline.count()) / 1000)
                   : fmt::format("more than half of {} peers within {} s", graph.nodes(),
                                 static_cast<double>(options.deadline.count()) / 1000);
        throw RunError(
            {fmt::format("peer {}", name(self)), seen, expected,
             enough ? "Allow more time with `deadline`." : "Start the others and see that they can be reached."});
    }

    /// Passes on what is known, so that others do not wait for somebody who is gone.
    void linger(milliseconds longest, const std::function<bool()>& enough) {
        const auto until = Clock::now() + longest;
        while (Clock::now() < until && !enough()) turn();
    }

    PeerResult run() {
        while (!membership->decided()) {
            if (stopping) {
                throw RunError({fmt::format("peer {}", name(self)), "stopped before the job was done",
                                "time to finish it", "It can take part in the next job."});
            }
            turn();
            if (membership->failure() || misfit) {
                linger(options.link_deadline / 4, [this] { return told(); });
                if (misfit) throw RunError(*misfit);
                fail();
            }
        }
        crash_point("peer-decided");
        linger(options.link_deadline, [this] { return stopping || reported(); });
        result = make_result();
        record_end(*result);  // before there is a result: one that is not recorded is none
        if (options.deliver) options.deliver(*result);
        crash_point("peer-result-written");
        log.info("decided", fmt::format("the result is decided; it has {} of {} peers: {}", members.size(),
                                        graph.nodes(), fmt::join(result->members, ", ")));
        // A neighbour that does not know the decision yet would take this peer's end for a loss.
        linger(options.link_deadline, [this] { return stopping || (gone_or_knowing() && told()); });
        return std::move(*result);
    }
    bool gone_or_knowing() {
        for (const Index k : neighbours()) {
            const Link::View view = links->link(k).view();
            if (!view.connected && Clock::now() - view.changed > options.link_deadline / 5) continue;
            if (!membership->knows_decision(k)) return false;
        }
        return true;
    }
};

PeerNode::PeerNode(const Kit& kit, std::shared_ptr<const Tensor<double>> x, PeerOptions options, Log& log) {
    Credentials credentials = load_credentials(kit, Role::peer);
    if (options.spec.job.network != Network::decentralized) {
        throw InputError({"job", "one for a star", "a decentralized one", ""});
    }
    if (x->shape().order() < 2) {
        throw InputError({"tensor", "order " + std::to_string(x->shape().order()),
                          "at least two modes: patients and a feature", ""});
    }
    Graph graph(static_cast<Index>(kit.peers.size()), kit.links);
    Index self = 0;
    while (kit.peers[static_cast<std::size_t>(self)].name != kit.identity.name) ++self;
    parts_.reset(new Parts{.kit = kit,
                           .x = std::move(x),
                           .options = std::move(options),
                           .log = log,
                           .kit_lock = KitLock(kit),
                           .credentials = std::move(credentials),
                           .graph = std::move(graph),
                           .self = self,
                           .audit = AuditTrail(kit.file("audit.jsonl"), log.spelling())});
}

PeerNode::~PeerNode() = default;

PeerResult PeerNode::run() {
    struct Closer {
        Parts& parts;
        ~Closer() { parts.close(); }
    };
    const Closer closer{*parts_};
    try {
        parts_->open();
        return parts_->run();
    } catch (const Error& error) {
        parts_->record_failure(error.what());
        throw;
    }
}

bool PeerNode::left_behind() noexcept { return PeerWork::left_behind(); }

void PeerNode::stop() { parts_->stopping = true; }

}  // namespace couplet::net
