#include "couplet/wire/star_job.hpp"

#include <algorithm>
#include <span>
#include <sstream>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/ctt/message_bytes.hpp"
#include "couplet/wire/encoder.hpp"
#include "couplet/wire/envelope.hpp"
#include "couplet/wire/job_print.hpp"
#include "couplet/wire/site.hpp"

namespace couplet::wire {
namespace {

// What one client says must not spoil the sums over all: these leave room for millions of clients, and for products of
// their squared norms.
constexpr Index most_patients = Index{1} << 40;
constexpr double largest_norm2 = 1e150;

template <class... Parts>
std::string text(const Parts&... parts) {
    std::ostringstream stream;
    (stream << ... << parts);
    return stream.str();
}

std::string who(const std::string& site) { return "site " + site; }

FeaturesMessage clone(const FeaturesMessage& message) {
    return {message.features.clone(), message.rel_error_bound, message.filling};
}

/// The state machine knows its clients by number.
[[noreturn]] void blame(const InputError& error, const std::string& site) {
    ErrorParts parts = error.parts();
    parts.where = who(site);
    throw InputError(std::move(parts));
}

}  // namespace

void require_sound(const Hello& hello, const Job& job, const std::string& who) {
    if (hello.rows > most_patients || hello.norm2 > largest_norm2) {
        throw InputError({who, text(hello.rows, " patients with norm ", hello.norm2),
                          text("at most ", most_patients, " with norm ", largest_norm2),
                          "Scale the data, or use `scale_clients` norm."});
    }
    if (job.aggregate == Aggregate::average && job.rank && *job.rank > rank_cap(hello)) {
        throw InputError({who, text("data of rank at most ", rank_cap(hello)),
                          text("a rank of ", *job.rank, ", which the job takes from everybody"), ""});
    }
}

void require_finite(const Features& features) {
    for (Index n = 0; n < features.train.order(); ++n) {
        const auto core = features.train.core(n);
        if (!find_non_finite(std::span(core.data(), static_cast<std::size_t>(core.size())))) continue;
        throw RunError({"job", "NaN or infinity in the features", "finite numbers",
                        "The data of a client may be too large; use `scale_clients` norm."});
    }
}

StarJob::StarJob(StarJobOptions options)
    : id_(options.id),
      spec_(std::move(options.spec)),
      given_(std::move(options.schema)),
      tree_(options.tree),
      notary_(std::move(options.notary)) {
    refuse_centring(spec_);
    if (spec_.shield) require_private_preparation(*spec_.shield, spec_.preparation);
    if (tree_ != 0 && (tree_ < 2 || spec_.job.aggregate != Aggregate::stack)) {
        throw InputError({"tree", text(tree_, " sites to a merger of `aggregate` ", to_string(spec_.job.aggregate)),
                          "at least 2, of `aggregate` stack", "Sums need no tree: they are added as they come."});
    }
    // What rounding changes from one attempt to the next must stay below what counts as settled.
    if (spec_.missing) spec_.job.precision = Precision::f64;
}

bool StarJob::needs_places() const noexcept { return spec_.preparation.heldout > 0 || spec_.missing; }

Message StarJob::message(std::uint32_t step, Body body) const {
    return {{protocol_version, id_, attempt_, step}, std::move(body)};
}

std::string StarJob::welcome(Index place, Index sites) const {
    return pack(Message{{protocol_version, id_, 0, 0}, Welcome{spec_, place, sites}});
}

void StarJob::greet(const std::string& site, std::string_view greeting) {
    Message said = unpack_one(greeting, who(site));
    auto* hello = std::get_if<Hello>(&said.body);
    if (hello == nullptr || said.route.job != id_) {
        throw InputError(
            {who(site), text(to_string(said.kind()), " of job ", to_hex(said.route.job)), "hello of job " + id(), ""});
    }
    require_sound(*hello, spec_.job, who(site));
    if (!hellos_.emplace(site, std::move(*hello)).second) {
        throw InputError({who(site), "two sites of this name", "a name for each", "Give one of them another name."});
    }
}

std::vector<RefusedSite> StarJob::refuse_misfits() {
    std::vector<SchemaParty> parties;
    for (const auto& [site, hello] : hellos_) parties.push_back({who(site), hello.schema()});
    const SchemaAgreement found =
        given_ ? agree(parties, spec_.job.unnamed, *given_) : agree(parties, spec_.job.unnamed);
    schema_ = found.schema;
    std::vector<RefusedSite> refused;
    auto at = hellos_.begin();
    for (const auto& misfit : found.misfits) {
        if (misfit) {
            refused.push_back({at->first, InputError(*misfit).what()});
            at = hellos_.erase(at);
        } else {
            ++at;
        }
    }
    return refused;
}

void StarJob::begin(std::vector<std::string> members, Index least) {
    for (const std::string& site : members) {
        if (!hellos_.contains(site)) throw InputError({who(site), "no greeting", "one before the job begins", ""});
    }
    if (members.empty()) throw InputError({"job", "no sites", "at least one", ""});
    members_ = std::move(members);
    base_.reset();
    features_.reset();
    norm2_.clear();
    reports_.clear();
    course_.reset();
    if (spec_.missing) course_.emplace(*spec_.missing);
    const double seconds = traffic_.seconds_server;
    traffic_ = {};
    traffic_.seconds_server = seconds;
    if (spec_.shield) return begin_secure(least);
    begin_attempt();
}

// What was added up is never added up again with fewer members: there is one attempt.
void StarJob::begin_secure(Index least) {
    if (secure_) throw InputError({"job", "a second attempt", "one: its sums are asked for once", ""});
    std::vector<Hello> hellos;
    SecureCoordinator::Options how{.job = id_, .terms = *spec_.shield, .notary = notary_, .names = {}, .least = least};
    for (std::size_t i = 0; i < members_.size(); ++i) {
        hellos.push_back(hellos_.at(members_[i]));
        how.names[static_cast<Party>(i)] = members_[i];
    }
    ++attempt_;
    step_ = 1;
    ++questions_;
    phase_ = Phase::adding;
    start_ = start_job(spec_.job, hellos, schema_);
    how.told = job_print(spec_, *start_);
    secure_.emplace(spec_.job, schema_.features, std::move(how));
}

std::vector<Index> StarJob::asked() const {
    std::vector<Index> members;
    if (phase_ == Phase::adding) {
        members.assign(secure_->asked().begin(), secure_->asked().end());
    } else {
        for (std::size_t i = 0; i < members_.size(); ++i) members.push_back(static_cast<Index>(i));
    }
    return members;
}

std::string StarJob::question(Index member) {
    require_member(member);
    if (phase_ != Phase::adding) return question_;
    std::vector<Message> messages = context();
    messages.push_back(message(step_, secure_->request(static_cast<Party>(member))));
    traffic_.bytes_down += static_cast<double>(encoded_bytes(messages.back()));
    return pack(messages);
}

std::vector<std::string> StarJob::close_step() {
    if (phase_ != Phase::adding) throw InputError({"job", "no step to close", "one of a secure sum", ""});
    const Stopwatch watch(traffic_.seconds_server);
    std::vector<std::string> told;
    const bool planned = secure_->plan() != nullptr;
    secure_->close();
    if (!planned && secure_->plan() != nullptr) {
        const ShieldPlan& plan = *secure_->plan();
        for (const auto& change : plan.changes) told.push_back("policy: " + change);
        for (const auto& warning : plan.warnings) told.push_back("warning: " + warning);
        told.push_back(text(plan.sums, " sums over the data of ", members_.size(), " sites, ", plan.directions,
                            " directions; ", secure_->threshold(), " sites must stay to the end of each"));
    }
    ++step_;
    ++questions_;
    if (secure_->finished()) {
        if (!secure_->shortened().empty()) told.push_back("warning: " + secure_->shortened());
        conclude_secure();
    }
    return told;
}

void StarJob::conclude_secure() {
    const auto clients = static_cast<double>(members_.size());
    FeaturesMessage features{secure_->features().clone(), std::nullopt};
    require_finite(features.features);
    traffic_.shield = secure_->report();
    traffic_.numbers_up = clients * secure_->numbers_up();
    traffic_.numbers_down = clients * (secure_->numbers_down() + static_cast<double>(features.features.numbers()));
    traffic_.bytes_down += clients * static_cast<double>(serialised_bytes(features));
    traffic_.rounds = secure_->rounds();
    std::vector<std::string> cohort;
    for (const Party party : secure_->cohort()) cohort.push_back(members_[static_cast<std::size_t>(party)]);
    members_ = std::move(cohort);
    traffic_.personal_ranks.assign(members_.size(), features.features.train.left_rank());
    features_ = std::move(features);
    phase_ = Phase::delivering;
    publish(clone(*features_));
}

/// What a member says of its data now: as it greeted, or as it has filled it since.
Hello StarJob::hello(std::size_t member) const {
    Hello hello = hellos_.at(members_[member]);
    if (norm2_.empty()) return hello;
    hello.norm2 = norm2_[member];
    hello.labels = schema_.modes;
    return hello;
}

void StarJob::begin_attempt() {
    ++attempt_;
    step_ = 0;
    phase_ = Phase::merging;
    start_.reset();
    star_.emplace(spec_.job, static_cast<Index>(members_.size()));
    star_->require_schema(schema_);
    if (tree_ > 0) star_->merge_in_tree(tree_);
    for (std::size_t i = 0; i < members_.size(); ++i) star_->receive(static_cast<Index>(i), hello(i));
    advance();
}

void StarJob::advance() {
    const Stopwatch watch(traffic_.seconds_server);
    const auto clients = static_cast<double>(members_.size());
    while (auto next = star_->next()) {
        if (auto* start = std::get_if<Start>(&*next)) {
            start_ = std::move(*start);
            if (spec_.job.aggregate == Aggregate::subspace) continue;  // a sum is asked for next
            return publish(StartNotice{*start_, false, base_.has_value()});
        }
        if (auto* request = std::get_if<SumRequest>(&*next)) {
            traffic_.numbers_down += request->pass == 0 ? 0 : clients * static_cast<double>(request->basis.size());
            traffic_.bytes_down += clients * static_cast<double>(serialised_bytes(*request));
            return publish(std::move(*request));
        }
        return conclude_merge(std::move(std::get<FeaturesMessage>(*next)));
    }
}

/// What a site that remembers nothing needs to know before the question.
std::vector<Message> StarJob::context() const {
    std::vector<Message> messages;
    messages.push_back(message(0, StartNotice{*start_, true, base_.has_value()}));
    if (base_) {
        FeaturesMessage told = clone(*base_);
        told.filling->answered = true;
        messages.push_back(message(0, std::move(told)));
    }
    return messages;
}

void StarJob::publish(Body body) {
    ++step_;
    ++questions_;
    has_answered_.assign(members_.size(), false);
    waiting_ = static_cast<Index>(members_.size());
    sums_.assign(members_.size(), {});
    // A start says everything itself, unless tensors are to be filled first.
    const bool alone = std::holds_alternative<StartNotice>(body) && !base_;
    std::vector<Message> messages = alone ? std::vector<Message>{} : context();
    messages.push_back(message(step_, std::move(body)));
    question_ = pack(messages);
}

void StarJob::conclude_merge(FeaturesMessage features) {
    require_finite(features.features);
    const auto clients = static_cast<double>(members_.size());
    traffic_.numbers_down += clients * static_cast<double>(features.features.numbers());
    if (course_) features.filling = course_->filling();
    traffic_.bytes_down += clients * static_cast<double>(serialised_bytes(features));
    traffic_.rounds += star_->rounds();
    traffic_.personal_ranks = star_->personal_ranks();
    traffic_.mergers = star_->mergers();
    features_ = std::move(features);
    phase_ = course_ ? Phase::filling : Phase::delivering;
    publish(clone(*features_));
}

/// The last iteration has nothing to merge: its features are those of the one before, final.
void StarJob::conclude_filling() {
    FillSums all;
    norm2_.clear();
    for (const FillSums& own : sums_) {
        all.add(own);
        norm2_.push_back(own.norm2);
    }
    course_->take(all);
    base_ = clone(*features_);
    if (!course_->finished()) return begin_attempt();
    features_->filling = course_->final_filling();
    features_->rel_error_bound.reset();  // it was one of filled tensors
    const auto clients = static_cast<double>(members_.size());
    traffic_.rounds += 1;
    traffic_.numbers_down += clients * static_cast<double>(features_->features.train.parameters());
    traffic_.bytes_down += clients * static_cast<double>(serialised_bytes(*features_));
    traffic_.imputed = course_->report();
    phase_ = Phase::delivering;
    publish(clone(*features_));
}

void StarJob::require_member(Index member) const {
    if (member >= 0 && member < static_cast<Index>(members_.size())) return;
    throw InputError({"member", std::to_string(member), text("one from 0 to ", members_.size() - 1), ""});
}

void StarJob::take_in_merge(Index member, Message answer) {
    if (auto* upload = std::get_if<Upload>(&answer.body)) {
        const double numbers = static_cast<double>(upload->block->numbers());
        const double bytes = static_cast<double>(serialised_bytes(*upload));
        star_->receive(member, std::move(*upload));
        traffic_.numbers_up += numbers;
        traffic_.bytes_up += bytes;
    } else {
        auto& sum = std::get<SumReply>(answer.body);
        const double numbers = static_cast<double>(sum.sum->size());
        const double bytes = static_cast<double>(serialised_bytes(sum));
        star_->receive(member, std::move(sum));
        traffic_.numbers_up += numbers;
        traffic_.bytes_up += bytes;
    }
}

void StarJob::take(Index member, std::string_view answer) {
    require_member(member);
    const auto at = static_cast<std::size_t>(member);
    const std::string& site = members_[at];
    Message said = unpack_one(answer, who(site));
    const Kind wanted = phase_ == Phase::filling                     ? Kind::fill_sums
                        : phase_ == Phase::adding                    ? Kind::secure_reply
                        : spec_.job.aggregate == Aggregate::subspace ? Kind::sum_reply
                                                                     : Kind::upload;
    const Route route{protocol_version, id_, attempt_, step_};
    if (delivering() || said.kind() != wanted || said.route != route) {
        throw InputError(
            {who(site),
             text(to_string(said.kind()), " to question ", said.route.step, " of attempt ", said.route.attempt),
             text(to_string(wanted), " to question ", step_, " of attempt ", attempt_), ""});
    }
    if (phase_ == Phase::adding) {
        const Stopwatch watch(traffic_.seconds_server);
        traffic_.bytes_up += static_cast<double>(encoded_bytes(said));
        const auto& reply = std::get<SecureReply>(said.body);
        if (const auto* declined = std::get_if<Declined>(&reply.answer)) {
            throw InputError({who(site), declined->reason, secure_->step_text(), ""});
        }
        try {
            return secure_->take(static_cast<Party>(member), std::move(std::get<SecureReply>(said.body)));
        } catch (const InputError& error) {
            blame(error, site);
        }
    }
    if (has_answered_[at]) return;
    if (phase_ == Phase::filling) {
        sums_[at] = std::get<FillSums>(said.body);
    } else {
        const Stopwatch watch(traffic_.seconds_server);
        try {
            take_in_merge(member, std::move(said));
        } catch (const InputError& error) {
            blame(error, site);
        }
    }
    has_answered_[at] = true;
    if (--waiting_ > 0) return;
    if (phase_ == Phase::filling) {
        conclude_filling();
    } else {
        advance();
    }
}

void StarJob::report(Index member, std::string_view answer) {
    require_member(member);
    const std::string& site = members_[static_cast<std::size_t>(member)];
    const Message said = unpack_one(answer, who(site));
    const auto* report = std::get_if<Report>(&said.body);
    if (!delivering() || report == nullptr || said.route.job != id_) {
        throw InputError({who(site), std::string(to_string(said.kind())), "a report on final features", ""});
    }
    reports_.emplace(member, *report);
}

const FeaturesMessage& StarJob::features() const {
    if (!delivering()) throw RunError({"job", "no features yet", "answers of all members", ""});
    return *features_;
}

StarJobResult StarJob::result() const {
    StarJobResult result = traffic_;
    result.members = members_;
    if (result.shield && result.shield->error) result.rse = result.shield->error->rse;
    Report sum;
    for (std::size_t i = 0; i < members_.size(); ++i) {
        const auto found = reports_.find(static_cast<Index>(i));
        if (found == reports_.end()) {
            result.unreported.push_back(members_[i]);
            continue;
        }
        const Report& report = found->second;
        result.rse_per_client.push_back(report.norm2 > 0 ? report.error2 / report.norm2 : 0);
        sum.error2 += report.error2;
        sum.norm2 += report.norm2;
        sum.heldout_error2 += report.heldout_error2;
        sum.heldout_norm2 += report.heldout_norm2;
        result.seconds_clients_sum += report.seconds;
        result.seconds_clients_max = std::max(result.seconds_clients_max, report.seconds);
    }
    if (!result.unreported.empty()) return result;
    if (spec_.shield) {
        result.rse_per_client.clear();
        return result;
    }
    result.rse = sum.norm2 > 0 ? sum.error2 / sum.norm2 : 0;
    if (spec_.preparation.heldout > 0) {
        result.rse_heldout = sum.heldout_norm2 > 0 ? sum.heldout_error2 / sum.heldout_norm2 : 0;
    }
    return result;
}

}  // namespace couplet::wire
