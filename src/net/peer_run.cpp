#include "peer_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "crash_point.hpp"
#include "peer_job.hpp"
#include "peer_outcome.hpp"

namespace couplet::net {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_events = 256;
constexpr milliseconds patience{20};
// How long a turn looks at what has arrived: then the links, the deadline and who wants to stop it have theirs. Whoever
// makes others check signatures takes no more of them than that.
constexpr milliseconds slice{50};
// Bulletins of a storm are put together; a single one goes at once.
constexpr milliseconds between_bulletins{20};

}  // namespace

PeerRun::PeerRun(const Kit& kit, std::shared_ptr<const Tensor<double>> x, PeerOptions options, Credentials credentials,
                 Log& log)
    : network_(kit),
      x_(std::move(x)),
      options_(std::move(options)),
      log_(log),
      kit_lock_(lock_kit(kit)),
      credentials_(std::move(credentials)),
      trail_(network_, log.spelling()),
      vetting_(options_),
      process_(new_process()),
      inbox_(most_events) {}

// ---- the job

void PeerRun::prepare() {
    const Shape shape = x_->shape();
    const std::string job = job_text(options_.spec, options_.schema, network_.kit());
    own_schema_ = feature_schema(*x_, "data");
    const Unnamed unnamed = options_.spec.job.unnamed;
    if (options_.schema) align(*options_.schema, own_schema_, unnamed, "data", "`schema`");
    const Shape& features = own_schema_.features;
    const auto most_bytes = std::min(network_.kit().limits.max_message_mib << 20, largest_payload_bytes(features));
    settings_ = {.job = job,
                 .version = version(),
                 .id = id_of(job),
                 .beat = std::max(milliseconds(20), options_.link_deadline / 5),
                 .limits = {.max_payload_bytes = most_bytes},
                 .schema = own_schema_,
                 .unnamed = unnamed};
    trail_.set_job(settings_.id);
    membership_.emplace(MembershipOptions{.graph = network_.graph(),
                                          .self = network_.self(),
                                          .incarnation = process_,
                                          .features = features,
                                          .rows = options_.spec.shield ? 1 : shape[0],
                                          .schema = fingerprint(own_schema_),
                                          .link_deadline = options_.link_deadline,
                                          .gather = options_.gather,
                                          .deadline = options_.deadline},
                        now());
}

NeighbourEvents PeerRun::link_events() {
    return {.connected =
                [this](Index k, auto who, bool is_new) {
                    inbox_.put(Connected{k, who, is_new});
                },
            .received =
                [this](Index k, auto who, wire::Message message) {
                    inbox_.put(Arrived{k, who, std::move(message)});
                    slow_lane_.wait(k);
                },
            .refused =
                [this](Index k, const std::string& reason) {
                    inbox_.put(Turned{k, reason});
                },
            .recognised = [this](const auto&... about) { recognise(about...); },
            .passed = [this](Index k, bool sent, wire::Kind kind,
                             const Passed& passed) { trail_.count(k, sent, kind, passed); },
            .revoked = [this](const auto& serials) { seal_->revoke(serials); },
            .deaf = [this](const std::string& reason) { inbox_.put(Deaf{reason}); }};
}

PeerWork::Hooks PeerRun::work_hooks() {
    return {.send = [this](std::uint64_t number, const PeerMessage& message) { send(number, message); },
            .finished =
                [this](std::uint64_t number, PeerOutput done) {
                    inbox_.put(Finished{number, std::move(done)});
                },
            .failed =
                [this](std::uint64_t number, const std::string& reason) {
                    inbox_.put(Failed{number, reason});
                },
            .refused = [this](Index, const std::string& reason) { log_.paced("message", "message-refused", reason); },
            .plan = [this](const ShieldPlan& plan) { vetting_.plan(plan, shared_epoch_.cohort().run); },
            .masked = [this](std::uint64_t) { masked_ = true; },
            .sum = [this](const MaskedSum& sum) { vet_sum(sum); }};
}

void PeerRun::open() {
    begun_ = Clock::now();
    vetting_.message({{}, wire::Welcome{options_.spec, network_.self(), network_.size()}});
    prepare();
    seal_ = std::make_unique<RecordSeal>(network_.kit(), credentials_, settings_.id);
    trail_.begin(settings_.job, options_.spec);
    work_ = std::make_unique<PeerWork>(options_.spec, x_, work_hooks());
    links_ = std::make_unique<PeerLinks>(network_.kit(), credentials_, process_, settings_, link_events(), log_);
    log_.info("listening", fmt::format("peer {} listens at {}; neighbours: {}", network_.own_name(),
                                       network_.kit().listen, fmt::join(network_.names(network_.neighbours()), ", ")));
}

void PeerRun::close() {
    inbox_.close();
    slow_lane_.close();
    if (links_) links_->close();
    work_.reset();
    links_.reset();
}

// ---- called by other threads

/// `to` counts the members of that epoch, which are the current ones as long as it matters.
void PeerRun::send(std::uint64_t number, const PeerMessage& message) {
    wire::Route route{wire::protocol_version, settings_.id, EarlyMail::mark(number),
                      static_cast<std::uint32_t>(message.step)};
    auto bytes = std::make_shared<const wire::Message>(wire::to_message(route, message));
    vetting_.message(*bytes);
    if (options_.capture) options_.capture(*bytes);
    ++messages_sent_;
    const auto neighbour = shared_epoch_.member(number, message.to);
    if (neighbour) links_->link(*neighbour).post(std::move(bytes));
}

void PeerRun::vet_sum(MaskedSum sum) {
    const SharedEpoch::Cohort cohort = shared_epoch_.cohort();
    sum.members = network_.names(cohort.members);
    sum.order = cohort.order;
    vetting_.sum(std::move(sum), cohort.run);
}

void PeerRun::recognise(const std::string& neighbour, const std::string& serial, const std::string& address) {
    try {
        trail_.recognise(neighbour, serial, address);
    } catch (const RunError& error) {
        inbox_.put(Deaf{error.what()});  // what cannot be written down must not go on
    }
}

// ---- epochs

/// Whoever has sent masked numbers takes no part in the same sums with others: the difference would be what the one
/// who is lost has contributed.
bool PeerRun::may_begin() {
    if (!masked_) return true;
    misfit_ = RunError({"job", "a peer was lost after masked numbers were sent", "all members until the end",
                        "The same sums with fewer members would show what it contributed: nothing more was sent. "
                        "Start the peers again."});
    return false;
}

void PeerRun::begin_epoch() {
    epoch_ = agreed_epoch(network_, *membership_);
    if (!may_begin()) return;
    const auto there = static_cast<Index>(epoch_.members.size());
    const std::string text = epoch_text(network_, *membership_, settings_.id);
    // Who is held out depends on the place among the members.
    const wire::JobId run = options_.spec.shield ? id_of(text) : settings_.id;
    vetting_.message({{wire::protocol_version, run, EarlyMail::mark(epoch_.number), 0},
                      wire::Welcome{options_.spec, epoch_.place, there}});
    vetting_.message({{}, wire::StartNotice{{there, 0, 0, {}}, false, false}});
    output_.reset();
    ++epochs_;
    shared_epoch_.begin(epoch_.number, epoch_.members, run);
    const std::vector<std::string> names = network_.names(epoch_.members);
    log_.info("epoch",
              fmt::format("{} with {} of {} peers: {}", epochs_ == 1 ? "begins" : "begins again", there,
                          network_.size(), fmt::join(names, ", ")),
              {{"epoch", epoch_.number}, {"members", names}});
    crash_point("peer-epoch");
    begin_work(text);
}

/// When the members' data does not fit together all of them find the same, once they know of the epoch: this peer stays
/// until they do.
void PeerRun::begin_work(const std::string& text) {
    Schema schema;
    try {
        schema = schema_of_members(network_, *membership_, epoch_, options_, own_schema_);
    } catch (const InputError& error) {
        const std::vector<std::string> names = network_.names(epoch_.members);
        misfit_ = RunError({"job", error.what(), "data that fits together",
                            fmt::format("Clients count in this order: {}.", fmt::join(names, ", "))});
        return;
    }
    shared_epoch_.set_order(fmt::format("{:016x}", fingerprint(schema).order));
    std::optional<MaskedEpoch> masked;
    if (options_.spec.shield) {
        masked = make_masked_epoch(*membership_, epoch_, text, credentials_.own.key, options_.demands);
    }
    work_->begin(epoch_.number, links_among(epoch_.members, membership_->links()), epoch_.place, std::move(schema),
                 std::move(masked));
    for (Arrived& arrived : mail_.begin(epoch_.number)) take(std::move(arrived));
}

// ---- what arrives

void PeerRun::on(const Connected& connected) {
    if (connected.is_new) {
        membership_->reset(connected.neighbour);
        mail_.forget(connected.neighbour);
    }
    refusals_.erase(connected.neighbour);
    if (heard_of_.insert(connected.neighbour).second || connected.is_new) {
        const std::string who = name(connected.neighbour);
        log_.paced("connected " + who, "connected", fmt::format("connected with {}", who), {}, false);
    }
    membership_->heard(connected.neighbour, connected.process, now());
}

void PeerRun::on(Arrived& arrived) {
    if (const auto* bulletin = std::get_if<wire::Bulletin>(&arrived.message.body)) {
        hear(arrived.neighbour, *bulletin);
        return;
    }
    if (auto mine = mail_.sort(std::move(arrived))) take(std::move(*mine));
}

/// A record that nobody has signed for is left out with all that comes after it, and who passes it on is read slowly
/// for a while. What is known already is not looked at: a signature costs more to check than to send again.
void PeerRun::hear(Index neighbour, const wire::Bulletin& bulletin) {
    const auto refuse = [&](const std::string& why) {
        log_.paced("bulletin " + name(neighbour), "bulletin-refused", fmt::format("peer {}: {}", name(neighbour), why),
                   {{"peer", name(neighbour)}});
    };
    const Index most = wire::records_per_bulletin(network_.size());
    if (static_cast<Index>(bulletin.records.size()) > most) {
        refuse(fmt::format("{} records in a bulletin; expected at most {}", bulletin.records.size(), most));
        return;
    }
    for (const wire::PeerRecord& record : bulletin.records) {
        try {
            if (!membership_->is_news(record)) continue;
            seal_->check(record);
            membership_->receive({record}, now());
        } catch (const ForgedRecord& error) {
            slow_lane_.put(neighbour);
            refuse(error.what());
            return;
        } catch (const InputError& error) {
            refuse(error.what());
        }
    }
}

/// A message of the epoch that runs.
void PeerRun::take(Arrived arrived) {
    const auto place = epoch_.place_of(arrived.neighbour);
    if (!place) return;
    if (membership_->epoch().members[static_cast<std::size_t>(arrived.neighbour)] != arrived.process) return;
    const std::string& sender = name(arrived.neighbour);
    try {
        const bool taken = work_->receive(
            epoch_.number, *place, wire::to_peer_message(std::move(arrived.message), epoch_.place, "peer " + sender));
        if (taken) return;
        log_.paced("message " + sender, "message-refused",
                   fmt::format("peer {}: more messages than it may send unanswered", sender));
    } catch (const InputError& error) {
        log_.paced("message " + sender, "message-refused", error.what());
    }
}

void PeerRun::on(const Turned& turned) {
    if (std::exchange(refusals_[turned.neighbour], turned.reason) == turned.reason) return;
    log_.paced("refused " + name(turned.neighbour), "refused",
               fmt::format("{}: {}", name(turned.neighbour), turned.reason));
}

void PeerRun::on(Finished& finished) {
    if (finished.epoch != epoch_.number) return;
    if (!finished.output.reordered.empty()) {
        log_.info("reordered", fmt::format("this peer's data: {}", finished.output.reordered));
    }
    output_ = std::move(finished.output);
    crash_point("peer-finished");
    membership_->finished(epoch_.number, output_->report, now());
}

void PeerRun::on(const Failed& failed) {
    if (failed.epoch != epoch_.number) return;
    throw RunError({"job", failed.reason, "a job that can be computed", ""});
}

void PeerRun::on(const Deaf& deaf) {
    throw RunError({fmt::format("peer {}", network_.own_name()), deaf.reason, "a listener that accepts connections",
                    "It can take part in the next job."});
}

// ---- what is said

void PeerRun::watch_links() {
    for (const Index k : network_.neighbours()) {
        Link& link = links_->link(k);
        const Link::View view = link.view();
        if (view.process == 0) continue;
        const auto silent = Clock::now() - view.heard;
        if (silent <= options_.link_deadline) {
            membership_->heard(k, view.process, now() - std::chrono::duration_cast<milliseconds>(silent));
        } else if (view.connected) {
            link.drop();  // it says nothing, so it may hear nothing: open another one
        }
    }
}

void PeerRun::post_news() {
    const Index most = wire::records_per_bulletin(network_.size());
    for (const Index k : network_.neighbours()) {
        const Link::View view = links_->link(k).view();
        if (!view.connected || view.has_bulletin) continue;
        if (Clock::now() - bulletin_at_[k] < between_bulletins) continue;
        auto records = membership_->news(k, most);
        if (records.empty()) continue;
        for (wire::PeerRecord& record : records) {
            if (record.peer == network_.self()) seal_->seal(record);
        }
        bulletin_at_[k] = Clock::now();
        links_->link(k).post(std::make_shared<const wire::Message>(
            wire::Message{{wire::protocol_version, settings_.id, EarlyMail::mark(epoch_.number), 0},
                          wire::Bulletin{std::move(records)}}));
    }
}

void PeerRun::tell_waiting() {
    if (epoch_.number != 0) return;
    const std::vector<Index> missing = network_.others_than(membership_->reachable());
    if (missing.empty() || now() < milliseconds(500)) return;
    const std::string text = fmt::format("waiting for {} of {}: {}", missing.size(), network_.size(),
                                         fmt::join(network_.names(missing), ", "));
    if (std::exchange(waiting_for_, text) != text) log_.paced("waiting", "waiting", text, {}, false);
}

void PeerRun::turn() {
    if (pending_.empty()) pending_ = inbox_.take(patience);
    for (const auto until = Clock::now() + slice; !pending_.empty() && Clock::now() < until;) {
        Event event = std::move(pending_.front());
        pending_.pop_front();
        std::visit([this](auto& value) { on(value); }, event);
    }
    watch_links();
    membership_->tick(now());
    const bool other = membership_->epoch().number != epoch_.number;
    if (other && membership_->knows_members() && !membership_->failure()) begin_epoch();
    post_news();
    tell_waiting();
    if (trail_.is_due()) keep_traffic();
}

void PeerRun::keep_traffic() {
    try {
        trail_.write_traffic(epoch_.number);
    } catch (const RunError& error) {
        if (!result_) throw;
        log_.paced("audit", "audit", error.what());  // the result is there, and its record
    }
}

// ---- how it ends

/// Everything that neighbours should know has reached those that are still there.
bool PeerRun::told() {
    for (const Index k : network_.neighbours()) {
        const Link::View view = links_->link(k).view();
        if (view.connected && (!view.drained || membership_->has_news(k))) return false;
    }
    return true;
}

bool PeerRun::gone_or_knowing() {
    for (const Index k : network_.neighbours()) {
        const Link::View view = links_->link(k).view();
        if (!view.connected && Clock::now() - view.changed > options_.link_deadline / 5) continue;
        if (!membership_->knows_decision(k)) return false;
    }
    return true;
}

PeerResult PeerRun::make_result() const {
    PeerResult result = make_peer_result({.network = network_,
                                          .spec = options_.spec,
                                          .membership = *membership_,
                                          .members = epoch_.members,
                                          .output = *output_});
    result.restarts = epochs_ - 1;
    result.messages_sent = messages_sent_;
    result.seconds_total = std::chrono::duration<double>(Clock::now() - begun_).count();
    return result;
}

void PeerRun::record_failure(const std::string& reason) noexcept {
    try {
        trail_.fail(reason, epoch_.number);
    } catch (const std::exception& error) {
        log_.warn("audit", error.what());
    }
}

/// Passes on what is known, so that others do not wait for somebody who is gone.
void PeerRun::linger(milliseconds longest, const std::function<bool()>& enough) {
    const auto until = Clock::now() + longest;
    while (Clock::now() < until && !enough()) turn();
}

PeerResult PeerRun::run() {
    while (!membership_->decided()) {
        if (stopping_) {
            throw RunError({fmt::format("peer {}", network_.own_name()), "stopped before the job was done",
                            "time to finish it", "It can take part in the next job."});
        }
        turn();
        if (membership_->failure() || misfit_) {
            linger(options_.link_deadline / 4, [this] { return told(); });
            if (misfit_) throw RunError(*misfit_);
            throw no_result(network_, *membership_, refusals_, options_.deadline);
        }
    }
    crash_point("peer-decided");
    linger(options_.link_deadline, [this] { return stopping_ || all_reported(*membership_, epoch_.members); });
    result_ = make_result();
    trail_.end(*result_, epoch_.number);  // before there is a result: one that is not recorded is none
    if (options_.deliver) options_.deliver(*result_);
    crash_point("peer-result-written");
    log_.info("decided", fmt::format("the result is decided; it has {} of {} peers: {}", epoch_.members.size(),
                                     network_.size(), fmt::join(result_->members, ", ")));
    // A neighbour that does not know the decision yet would take this peer's end for a loss.
    linger(options_.link_deadline, [this] { return stopping_ || (gone_or_knowing() && told()); });
    return std::move(*result_);
}

}  // namespace couplet::net
