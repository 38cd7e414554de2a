#include "couplet/net/consent.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/arrived_cores.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/net/kit.hpp"
#include "couplet/privacy/gaussian.hpp"
#include "couplet/privacy/secret.hpp"
#include "couplet/wire/hex.hpp"

namespace couplet::net {
namespace {

InputError against(const std::string& key, const std::string& found, const std::string& expected) {
    return InputError({"this site's policy", found, fmt::format("{} ({})", expected, key),
                       "The site decides: policy.toml in its kit, or `policy`."});
}

InputError broken(const std::string& found, const std::string& expected) {
    return InputError({"coordinator", found, expected + ", as the job said at its start", "Nothing was answered."});
}

constexpr std::array every_aggregate{Aggregate::stack, Aggregate::average, Aggregate::subspace};

/// Values of a table, each checked; what is left over is not known.
class Keys {
  public:
    Keys(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

    void count(const char* key, Index& value, Index least) {
        if (const toml::node* node = take(key)) {
            const auto found = node->value_exact<std::int64_t>();
            if (!found || *found < least) throw wrong(key, fmt::format("a whole number, at least {}", least));
            value = *found;
        }
    }
    void number(const char* key, double& value) {
        if (const toml::node* node = take(key)) {
            const auto found = node->value<double>();
            if (!found || !(*found >= 0) || !std::isfinite(*found)) throw wrong(key, "a number, at least 0");
            value = *found;
        }
    }
    void share(const char* key, double& value) {
        if (const toml::node* node = take(key)) {
            const auto found = node->value<double>();
            if (!found || !(*found >= 0 && *found <= 1)) throw wrong(key, "a number from 0 to 1");
            value = *found;
        }
    }
    void probability(const char* key, double& value) {
        share(key, value);
        if (!(value > 0 && value < 1)) throw wrong(key, "a number between 0 and 1");
    }
    void flag(const char* key, bool& value) {
        if (const toml::node* node = take(key)) {
            const auto found = node->value_exact<bool>();
            if (!found) throw wrong(key, "true or false");
            value = *found;
        }
    }
    void word(const char* key, std::string& value, const std::vector<std::string>& words) {
        if (const toml::node* node = take(key)) {
            const auto found = node->value<std::string>();
            if (!found || std::find(words.begin(), words.end(), *found) == words.end()) {
                throw wrong(key, fmt::format("one of {}", fmt::join(words, ", ")));
            }
            value = *found;
        }
    }
    void aggregates(const char* key, std::vector<Aggregate>& value) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const toml::array* list = node->as_array();
        if (list == nullptr) throw wrong(key, "a list of stack, average, subspace");
        value.clear();
        for (const auto& item : *list) {
            const auto word = item.value<std::string>();
            const auto known = std::find_if(every_aggregate.begin(), every_aggregate.end(),
                                            [&](Aggregate one) { return word && to_string(one) == *word; });
            if (known == every_aggregate.end()) throw wrong(key, "a list of stack, average, subspace");
            value.push_back(*known);
        }
    }
    void require_all_known() const {
        for (const auto& [key, unused] : table_) {
            if (std::find(taken_.begin(), taken_.end(), key.str()) != taken_.end()) continue;
            throw InputError({line_of(key.source()), fmt::format("the key {}", key.str()),
                              fmt::format("{}", fmt::join(taken_, ", ")),
                              "A policy with a key that nobody reads would protect nobody."});
        }
    }

  private:
    const toml::node* take(const char* key) {
        taken_.emplace_back(key);
        return table_.get(key);
    }
    std::string line_of(const toml::source_region& place) const {
        return fmt::format("{} line {}", where_, place.begin.line);
    }
    InputError wrong(const char* key, const std::string& expected) const {
        const toml::node* node = table_.get(key);
        std::ostringstream found;
        node->visit([&](const auto& value) { found << value; });
        return InputError({line_of(node->source()), fmt::format("{} = {}", key, found.str()), expected, ""});
    }
    const toml::table& table_;
    std::string where_;
    std::vector<std::string> taken_;
};

std::string names(const std::vector<Aggregate>& aggregates) {
    std::string list;
    for (const Aggregate one : aggregates) list += (list.empty() ? "" : ", ") + std::string(to_string(one));
    return list.empty() ? "none" : list;
}

/// From the worst.
const std::vector<std::string> verdicts{"patients", "membership", "second-moments", "features-only"};

const std::string& better_verdict(const std::string& a, const std::string& b) {
    const auto place = [](const std::string& one) { return std::find(verdicts.begin(), verdicts.end(), one); };
    return place(a) < place(b) ? b : a;
}

/// Of limits that 0 switches off.
template <class T>
T lower_limit(T a, T b) {
    return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

std::string hash_of(const void* data, std::size_t size) {
    return wire::to_hex(hash_bytes({static_cast<const std::uint8_t*>(data), size}));
}

std::string basis_name(const Matrix<double>& basis) {
    return basis.size() == 0 ? "gram" : hash_of(basis.data(), static_cast<std::size_t>(basis.size()) * sizeof(double));
}

Index width_of(const Job& job, const Shape& features) {
    const Index p = features.size();
    return std::min(p, std::min(job.rank.value_or(p), p) + job.oversampling);
}

}  // namespace

SitePolicy parse_policy(const std::string& text, const std::string& where) {
    SitePolicy policy;
    try {
        const toml::table table = toml::parse(text);
        Keys keys(table, where);
        keys.count("min_patients", policy.min_patients, 1);
        keys.share("max_rank_share", policy.max_rank_share);
        keys.number("max_directions_share", policy.max_directions_share);
        keys.flag("any_cohort", policy.any_cohort);
        keys.aggregates("aggregates", policy.aggregates);
        keys.share("max_heldout", policy.max_heldout);
        keys.count("max_sums", policy.max_sums, 0);
        keys.count("max_sum_width", policy.max_sum_width, 0);
        keys.count("min_others", policy.min_others, 0);
        keys.flag("missing", policy.missing);
        keys.flag("secure_only", policy.secure_only);
        keys.count("min_cohort", policy.min_cohort, 3);
        keys.count("colluders", policy.colluders, 0);
        keys.number("patients_per_direction", policy.patients_per_direction);
        keys.number("dp_epsilon", policy.dp_epsilon);
        keys.probability("dp_delta", policy.dp_delta);
        keys.word("worst_verdict", policy.worst_verdict, verdicts);
        keys.count("patience", policy.patience, 0);
        keys.require_all_known();
    } catch (const toml::parse_error& error) {
        throw InputError({fmt::format("{} line {}", where, error.source().begin.line), std::string(error.description()),
                          "a policy in TOML", ""});
    }
    return policy;
}

SitePolicy load_policy(const std::filesystem::path& file) {
    require_unshared(file);
    return parse_policy(read_text(file), file.string());
}

std::string policy_text(const SitePolicy& policy) {
    std::vector<std::string> quoted;
    for (const Aggregate one : policy.aggregates) quoted.push_back(fmt::format("\"{}\"", to_string(one)));
    return fmt::format(
        "# What this site answers. couplet client checks every request against it before anything is computed.\n"
        "min_patients = {}  # who take part; held-out ones are not counted\n"
        "max_rank_share = {}  # directions that a job sees over patients who take part; 0: none\n"
        "max_directions_share = {}  # the same, of all jobs on the same patients together\n"
        "any_cohort = {}  # jobs on nearly the patients of another job, whose difference is a few patients\n"
        "aggregates = [{}]\n"
        "max_heldout = {}\n"
        "max_sums = {}  # of one job with aggregate subspace\n"
        "max_sum_width = {}  # columns of one sum\n"
        "min_others = {}  # parties besides this one\n"
        "missing = {}  # jobs that fill missing entries\n"
        "secure_only = {}  # refuse jobs whose sums are not masked\n"
        "min_cohort = {}  # clients whose numbers are in a masked sum\n"
        "colluders = {}  # of them, who may tell the coordinator what they know\n"
        "patients_per_direction = {}  # honest ones, for each direction that masked sums of all jobs show; 0: any\n"
        "dp_epsilon = {}  # that all jobs on one data set may spend together; 0: no budget\n"
        "dp_delta = {}\n"
        "worst_verdict = \"{}\"  # of an audit of what this client sends; a worse one is warned of\n"
        "patience = {}  # seconds to wait for what brings a job forward; 0: as the deadline says\n",
        policy.min_patients, policy.max_rank_share, policy.max_directions_share, policy.any_cohort,
        fmt::join(quoted, ", "), policy.max_heldout, policy.max_sums, policy.max_sum_width, policy.min_others,
        policy.missing, policy.secure_only, policy.min_cohort, policy.colluders, policy.patients_per_direction,
        policy.dp_epsilon, policy.dp_delta, policy.worst_verdict, policy.patience);
}

SitePolicy stricter(const SitePolicy& a, const SitePolicy& b) {
    SitePolicy both = a;
    both.min_patients = std::max(a.min_patients, b.min_patients);
    both.max_rank_share = std::min(a.max_rank_share, b.max_rank_share);
    both.max_directions_share = std::min(a.max_directions_share, b.max_directions_share);
    both.any_cohort = a.any_cohort && b.any_cohort;
    std::erase_if(both.aggregates, [&](Aggregate one) {
        return std::find(b.aggregates.begin(), b.aggregates.end(), one) == b.aggregates.end();
    });
    both.max_heldout = std::min(a.max_heldout, b.max_heldout);
    both.max_sums = std::min(a.max_sums, b.max_sums);
    both.max_sum_width = std::min(a.max_sum_width, b.max_sum_width);
    both.min_others = std::max(a.min_others, b.min_others);
    both.missing = a.missing && b.missing;
    both.secure_only = a.secure_only || b.secure_only;
    both.min_cohort = std::max(a.min_cohort, b.min_cohort);
    both.colluders = std::max(a.colluders, b.colluders);
    both.patients_per_direction = std::max(a.patients_per_direction, b.patients_per_direction);
    both.dp_epsilon = lower_limit(a.dp_epsilon, b.dp_epsilon);
    both.dp_delta = std::min(a.dp_delta, b.dp_delta);
    both.worst_verdict = better_verdict(a.worst_verdict, b.worst_verdict);
    both.patience = lower_limit(a.patience, b.patience);
    return both;
}

std::vector<std::string> relaxed_keys(const SitePolicy& policy) {
    const SitePolicy usual;
    const SitePolicy both = stricter(policy, usual);
    std::vector<std::string> keys;
    const auto compare = [&](const char* key, const auto& own, const auto& strict) {
        if (own != strict) keys.emplace_back(key);
    };
    compare("min_patients", policy.min_patients, both.min_patients);
    compare("max_rank_share", policy.max_rank_share, both.max_rank_share);
    compare("max_directions_share", policy.max_directions_share, both.max_directions_share);
    compare("any_cohort", policy.any_cohort, both.any_cohort);
    compare("max_heldout", policy.max_heldout, both.max_heldout);
    compare("max_sums", policy.max_sums, both.max_sums);
    compare("max_sum_width", policy.max_sum_width, both.max_sum_width);
    compare("min_others", policy.min_others, both.min_others);
    compare("min_cohort", policy.min_cohort, both.min_cohort);
    compare("colluders", policy.colluders, both.colluders);
    compare("patients_per_direction", policy.patients_per_direction, both.patients_per_direction);
    compare("worst_verdict", policy.worst_verdict, both.worst_verdict);
    return keys;
}

SitePolicy no_policy() {
    constexpr double any = std::numeric_limits<double>::infinity();
    constexpr Index most = std::numeric_limits<Index>::max();
    SitePolicy policy;
    policy.min_patients = 0;
    policy.max_rank_share = any;
    policy.max_directions_share = any;
    policy.any_cohort = true;
    policy.max_heldout = 1;
    policy.max_sums = most;
    policy.max_sum_width = most;
    policy.colluders = 0;
    policy.patients_per_direction = 0;
    policy.worst_verdict = verdicts.front();
    return policy;
}

std::string job_text(const wire::Welcome& welcome) {
    const Job& job = welcome.spec.job;
    std::string text = fmt::format("aggregate {}", to_string(job.aggregate));
    if (job.rank) text += fmt::format(", rank {}", *job.rank);
    if (job.eps) text += fmt::format(", eps {}", *job.eps);
    if (job.aggregate == Aggregate::subspace) text += fmt::format(", {} passes", job.passes);
    if (welcome.spec.preparation.heldout > 0) text += fmt::format(", {} held out", welcome.spec.preparation.heldout);
    if (welcome.spec.missing) text += ", missing entries filled";
    if (const auto& shield = welcome.spec.shield) {
        text += ", masked sums";
        if (!shield->policy) text += " without the leakage policy";
        if (shield->guarantee) {
            text += fmt::format(", epsilon {} at delta {}, records clipped at {}", shield->guarantee->epsilon,
                                shield->guarantee->delta, *shield->clip);
        }
    }
    if (welcome.spec.centring.centre) text += ", every feature centred";
    if (welcome.spec.centring.scale) text += ", every feature scaled";
    return text + fmt::format(", {} clients on the roster", welcome.clients);
}

Consent::Consent(SitePolicy policy, Index patients, Shape features)
    : policy_(std::move(policy)), patients_(patients), features_(std::move(features)) {}

void Consent::remember(DisclosureLedger& ledger, const Tensor<double>& x) {
    ledger_ = &ledger;
    x_ = &x;
}

void Consent::vet(const wire::Message& message) {
    if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) return vet_job(message, *welcome);
    if (const auto* notice = std::get_if<wire::StartNotice>(&message.body)) return vet_start(notice->start);
    if (const auto* request = std::get_if<SumRequest>(&message.body)) return vet_sum(message, *request);
    if (const auto* upload = std::get_if<Upload>(&message.body)) return vet_upload(*upload);
    if (const auto* merge = std::get_if<wire::PeerMerge>(&message.body)) return vet_merge(merge->state);
    if (const auto* request = std::get_if<wire::CentringRequest>(&message.body)) return vet_centring(*request);
}

void Consent::vet_job(const wire::Message& message, const wire::Welcome& welcome) {
    spec_ = welcome.spec;
    job_ = message.route.job == wire::JobId{} ? "" : wire::to_hex(message.route.job);
    moved_.clear();
    order_.clear();
    cohort_.reset();
    sums_ = 0;
    asked_ = 0;
    last_pass_ = -1;
    const Job& job = spec_.job;
    const double heldout = spec_.preparation.heldout;
    if (heldout > policy_.max_heldout) {
        throw against("max_heldout", fmt::format("a job that holds out {} of the patients", heldout),
                      fmt::format("at most {}", policy_.max_heldout));
    }
    training_ =
        patients_ - std::min(patients_ - 1, static_cast<Index>(std::llround(heldout * static_cast<double>(patients_))));
    if (training_ < policy_.min_patients) {
        throw against("min_patients", fmt::format("a job in which {} patients take part", training_),
                      fmt::format("at least {}", policy_.min_patients));
    }
    if (std::find(policy_.aggregates.begin(), policy_.aggregates.end(), job.aggregate) == policy_.aggregates.end()) {
        throw against("aggregates", fmt::format("a job with `aggregate` {}", to_string(job.aggregate)),
                      names(policy_.aggregates));
    }
    if (spec_.missing && !policy_.missing)
        throw against("missing", "a job that fills missing entries", "one that does not");
    vet_directions();
    vet_shield();
    if (job.aggregate == Aggregate::subspace && job.passes + 1 > policy_.max_sums) {
        throw against("max_sums", fmt::format("a job of {} sums", job.passes + 1),
                      fmt::format("at most {}", policy_.max_sums));
    }
    if (job.network == Network::decentralized) vet_peer_sums();
    if (ledger_ != nullptr && !job_.empty()) open_page(welcome);
}

/// Sums of peers are not asked for one by one: what the job says is what there will be.
void Consent::vet_peer_sums() const {
    if (spec_.job.aggregate != Aggregate::subspace || spec_.shield) return;
    const bool gram = SubspaceIteration(spec_.job, features_).want() == SubspaceIteration::Want::gram;
    const Index width = gram ? features_.size() : width_of(spec_.job, features_);
    if (width <= policy_.max_sum_width) return;
    throw against("max_sum_width", fmt::format("sums {} columns wide", width),
                  fmt::format("at most {}", policy_.max_sum_width));
}

Index Consent::promised_directions() const {
    const Job& job = spec_.job;
    if (job.aggregate != Aggregate::subspace) return job.rank.value_or(1);
    if (SubspaceIteration(job, features_).want() == SubspaceIteration::Want::gram) return features_.size();
    return std::min(features_.size(), job.passes * width_of(job, features_));
}

void Consent::vet_directions() const {
    // Rows that are sent are counted when they are there; masked sums are held against patients_per_direction.
    if (spec_.job.aggregate == Aggregate::stack || spec_.shield) return;
    const double most = std::floor(policy_.max_rank_share * static_cast<double>(training_));
    const Index directions =
        spec_.job.aggregate == Aggregate::subspace ? promised_directions() : spec_.job.rank.value_or(0);
    if (static_cast<double>(directions) <= most) return;
    throw against("max_rank_share",
                  spec_.job.aggregate == Aggregate::subspace
                      ? fmt::format("sums that show {} directions of {} patients", directions, training_)
                      : fmt::format("rank {} for {} patients", directions, training_),
                  fmt::format("at most {}", most));
}

// ---- what other jobs have seen

void Consent::open_page(const wire::Welcome& welcome) {
    if (spec_.shield && spec_.shield->guarantee && weakness(*spec_.shield->guarantee, training_).empty()) return;
    // Where entries are missing nobody is held out.
    const double heldout = spec_.missing ? 0 : spec_.preparation.heldout;
    cohort_ = make_cohort(*x_, heldout, spec_.job.seed, welcome.place);
    const bool open_sums = spec_.job.aggregate == Aggregate::subspace && !spec_.shield;
    if (open_sums && spec_.job.network == Network::decentralized) {
        // Sums of peers are not asked for one by one; with fewer members they are others.
        return book({job_, Exposure::sums, promised_directions(), fmt::format("{} {}", job_, welcome.clients)});
    }
    if (spec_.job.aggregate == Aggregate::average && spec_.job.network == Network::decentralized) {
        // The first message of a consensus is this peer's own value.
        return book({job_, Exposure::rows, promised_directions(), rows_name()});
    }
    // Rows that will be moved are known by what moves them, which is not known yet.
    Disclosure promised{job_, spec_.shield ? Exposure::masked : Exposure::rows, spec_.centring.any() ? 0 : 1,
                        rows_name()};
    if (open_sums) {
        const SubspaceIteration first(spec_.job, features_);
        promised = {job_, Exposure::sums, promised_directions()};
        // The same job again asks for the same sums; if it does not, they are counted one by one.
        if (ledger_->knows_sum(*cohort_, Exposure::sums, basis_name(first.basis()))) return;
    }
    ledger_->require_room(*cohort_, features_.size(), promised, limits(spec_.shield.has_value(), 0));
}

DisclosureLimits Consent::limits(bool masked, double honest) const {
    constexpr double any = 1e300;
    DisclosureLimits limits;
    const bool counted = !masked || policy_.patients_per_direction > 0;
    if (masked) {
        if (counted && honest > 0) limits.most = honest / policy_.patients_per_direction;
        limits.per_patient = counted ? 1 / policy_.patients_per_direction : any;
        limits.most_key = "patients_per_direction";
    } else {
        limits.most = policy_.max_directions_share * static_cast<double>(training_);
        limits.per_patient = policy_.max_rank_share;
        limits.most_key = "max_directions_share";
    }
    limits.least_difference = policy_.min_patients;
    if (policy_.any_cohort) {
        limits.per_patient = any;
        limits.least_difference = 0;
    }
    return limits;
}

void Consent::book(const Disclosure& what, double honest) {
    if (!cohort_) return;
    ledger_->book(*cohort_, features_.size(), what, limits(what.exposure == Exposure::masked, honest));
}

/// What is done to the records: of records that were moved or scaled other directions are seen.
std::string Consent::prepared() const { return (spec_.preparation.scale_clients ? " scaled" : "") + moved_; }

std::string Consent::rows_name() const {
    const bool stack = spec_.job.aggregate == Aggregate::stack;
    return (stack ? "" : std::string(to_string(spec_.job.aggregate))) + prepared();
}

std::string Consent::sum_name(const Matrix<double>& basis, std::uint32_t attempt) const {
    std::string name = basis_name(basis) + prepared() + order_;
    // What is filled in is another sum every time.
    if (spec_.missing) name += fmt::format(" {} {}", job_, attempt);
    return name;
}

void Consent::book_sum(const wire::Message& message, const SumRequest& request) {
    using Want = SubspaceIteration::Want;
    if (!cohort_) return;
    const bool first = request.pass == 0 && request.want == Want::sketch;
    const SubspaceIteration iteration(spec_.job, features_);
    const Matrix<double>& basis = first ? iteration.basis() : request.basis;
    Index directions = request.want == Want::gram ? features_.size() : basis.cols();
    // The last basis spans the blocks that were shown; what exceeds them is new.
    if (request.want == Want::projected) directions = std::max<Index>(0, directions - asked_);
    book({job_, Exposure::sums, directions, sum_name(basis, message.route.attempt)});
    if (request.want == Want::sketch && request.pass != last_pass_) asked_ += basis.cols();
}

void Consent::vet_shield() const {
    if (!spec_.shield && policy_.secure_only) {
        throw against("secure_only", "a job whose sums are not masked", "a coordinator with `secure`");
    }
    const bool noised = spec_.shield && spec_.shield->guarantee;
    if (policy_.dp_epsilon > 0 && !noised) {
        throw against("dp_epsilon", "a job without differential privacy",
                      fmt::format("one that spends at most {} at delta {}", policy_.dp_epsilon, policy_.dp_delta));
    }
    if (spec_.shield && spec_.shield->colluders < policy_.colluders) {
        throw against("colluders", fmt::format("a job that allows for {} colluding clients", spec_.shield->colluders),
                      fmt::format("at least {}", policy_.colluders));
    }
}

SumDemands Consent::demands() const noexcept {
    return {static_cast<int>(policy_.min_cohort), static_cast<int>(policy_.colluders)};
}

void Consent::vet_plan(const ShieldPlan& plan) {
    if (plan.sums > policy_.max_sums) {
        throw against("max_sums", fmt::format("a job of {} sums", plan.sums),
                      fmt::format("at most {}", policy_.max_sums));
    }
    const Index width = plan.sums == 1 ? features_.size() : block_width(plan, features_);
    if (width > policy_.max_sum_width) {
        throw against("max_sum_width", fmt::format("a sum {} columns wide", width),
                      fmt::format("at most {}", policy_.max_sum_width));
    }
    // Noise says by itself how much a patient can show, unless there is too little of it.
    const std::string weak = plan.noise ? weakness(plan.noise->guarantee, training_) : "";
    if (plan.noise && weak.empty()) return;
    if (plan.noise && policy_.patients_per_direction > 0) {
        // Nobody was counted, so that there is nothing to hold it against.
        throw against("patients_per_direction", fmt::format("a guarantee that is none: {}", weak),
                      "a stronger one, or sums without noise over enough patients");
    }
    // All directions of a Gram matrix are those of the features, and as the leakage policy counts them.
    const double most = static_cast<double>(plan.honest) / policy_.patients_per_direction;
    if (policy_.patients_per_direction > 0 && static_cast<double>(plan.directions) > most) {
        throw against("patients_per_direction",
                      fmt::format("sums that show {} directions of {} honest patients", plan.directions, plan.honest),
                      fmt::format("at most {:.0f}", std::floor(most)));
    }
    if (!cohort_) return;
    // The same job again asks for the same sums; if it does not, that is found when numbers are about to leave.
    const SubspaceIteration first(plan.job, features_);
    const MaskedSum sum{plan, 1, first.want(), first.basis(), {}, false};
    if (!ledger_->knows_sum(*cohort_, Exposure::masked, masked_name(sum))) require_masked_room(plan);
}

double Consent::counted_honest(const ShieldPlan& plan) const {
    return policy_.patients_per_direction > 0 ? static_cast<double>(plan.honest) : 0;
}

void Consent::require_masked_room(const ShieldPlan& plan) const {
    ledger_->require_room(*cohort_, features_.size(), {job_, Exposure::masked, plan.directions},
                          limits(true, counted_honest(plan)));
}

std::string Consent::masked_name(const MaskedSum& sum) const {
    std::string name = sum_name(sum.basis, 0);
    name += fmt::format("{} of {}", sum.want == SubspaceIteration::Want::projected ? " projected" : "",
                        sum.plan.clip ? fmt::format("{:a}", *sum.plan.clip) : "whole records");
    // The order is that of the job's start or of the peers: never both.
    return sum.order.empty() ? name : name + " in " + sum.order;
}

void Consent::vet_sum(const MaskedSum& sum) {
    if (!cohort_) return;
    std::vector<std::string> members = sum.members;
    std::sort(members.begin(), members.end());
    const std::string roster = fmt::format("{}", fmt::join(members, "\n"));
    const std::string name = masked_name(sum);
    // Once it is agreed whose numbers are in it, the sum is known for ever by its members; until then by its job.
    const Disclosure known{job_, Exposure::masked, 0, name + " by " + hash_of(roster.data(), roster.size())};
    if (ledger_->knows(*cohort_, known)) return;
    Disclosure fresh{job_, Exposure::masked, features_.size(), name + " for " + job_};
    const bool booked = ledger_->knows(*cohort_, fresh);
    const double honest = counted_honest(sum.plan);
    if (sum.agreed) {
        if (booked) return book(known, honest);
        throw broken(fmt::format("a sum of {} clients that was shown before with others", members.size()),
                     "the clients whose numbers were asked for");
    }
    if (booked) return;
    if (sum.sum == 1) require_masked_room(sum.plan);
    if (sum.want != SubspaceIteration::Want::gram) fresh.directions = sum.basis.cols();
    // The last basis spans the blocks that were shown; what exceeds them is new.
    if (sum.want == SubspaceIteration::Want::projected) {
        fresh.directions = std::max<Index>(0, fresh.directions - ledger_->shown_to(*cohort_, job_));
    }
    book(fresh, honest);
}

void Consent::vet_start(const Start& start) {
    order_.clear();
    for (const ModeLabels& mode : start.labels) {
        std::string text;
        for (const auto& label : mode.entries) text += label + "\n";
        order_ += " " + hash_of(text.data(), text.size());
    }
    if (start.clients - 1 >= policy_.min_others) return;
    throw against("min_others", fmt::format("{} other parties", start.clients - 1),
                  fmt::format("at least {}", policy_.min_others));
}

void Consent::vet_sum(const wire::Message& message, const SumRequest& request) {
    using Want = SubspaceIteration::Want;
    if (message.route.attempt != last_attempt_) {
        last_attempt_ = message.route.attempt;
        last_pass_ = -1;
        sums_ = 0;
        asked_ = 0;
    }
    if (request.pass != last_pass_) ++sums_;
    const Job& job = spec_.job;
    const bool gram = SubspaceIteration(job, features_).want() == Want::gram;
    const Index promised = gram ? 1 : job.passes + 1;
    if (sums_ > promised || request.pass >= promised) {
        throw broken(fmt::format("sum {} of the job", std::max(sums_, request.pass + 1)), fmt::format("{}", promised));
    }
    if (sums_ > policy_.max_sums) {
        throw against("max_sums", fmt::format("sum {}", sums_), fmt::format("at most {}", policy_.max_sums));
    }
    if (gram != (request.want == Want::gram)) throw broken("a sum of another kind", gram ? "a Gram matrix" : "a block");
    const Index width = gram ? features_.size() : request.basis.cols();
    const Index last = std::min(features_.size(), job.passes * width_of(job, features_));
    const Index widest = request.want == Want::projected ? last : width_of(job, features_);
    if (!gram && width > widest)
        throw broken(fmt::format("a sum {} columns wide", width), fmt::format("at most {}", widest));
    if (request.want != Want::projected && width > policy_.max_sum_width) {
        throw against("max_sum_width", fmt::format("a sum {} columns wide", width),
                      fmt::format("at most {}", policy_.max_sum_width));
    }
    if (!gram) vet_basis(request);
    book_sum(message, request);
    last_pass_ = request.pass;
}

void Consent::vet_basis(const SumRequest& request) const {
    const bool projected = request.want == SubspaceIteration::Want::projected;
    // Blocks that span everything end the iteration early.
    if (request.pass == 0 ? projected : request.pass == spec_.job.passes && !projected) {
        throw broken(fmt::format("another kind of sum as number {}", request.pass + 1),
                     projected ? "one on the basis that follows from the seed" : "one on what the blocks span");
    }
    if (request.pass == 0) return;  // made here, from the seed
    if (request.basis.rows() != features_.size() || request.basis.cols() < 1 ||
        !is_identity(couplet::gram<double>(request.basis.view(), Side::right))) {
        throw broken("a basis whose columns are not orthonormal", "an orthonormal one");
    }
}

void Consent::vet_merge(const MergeState& state) {
    const double most = std::floor(policy_.max_rank_share * static_cast<double>(state.ledger.rows));
    if (static_cast<double>(state.block.rows()) <= most) {
        // With others' patients in it, it is no longer the rows of these.
        if (state.ledger.clients == 1) book({job_, Exposure::rows, state.block.rows(), rows_name()});
        return;
    }
    throw against("max_rank_share", fmt::format("rank {} for {} patients", state.block.rows(), state.ledger.rows),
                  fmt::format("at most {}", most));
}

void Consent::vet_upload(const Upload& upload) {
    const double most = std::floor(policy_.max_rank_share * static_cast<double>(training_));
    if (static_cast<double>(upload.block->rows()) <= most) {
        return book({job_, Exposure::rows, upload.block->rows(), rows_name()});
    }
    throw against("max_rank_share", fmt::format("rank {} for {} patients", upload.block->rows(), training_),
                  fmt::format("at most {}", most));
}

void Consent::vet_centring(const wire::CentringRequest& request) {
    if (!spec_.centring.any()) throw broken("a request for sums of the features", "a job that does not centre");
    const auto fits = [&](bool wanted, const std::vector<double>& part) {
        return part.size() == (wanted ? static_cast<std::size_t>(features_.size()) : 0);
    };
    if (request.centring.empty()) {
        // Sums of this site's own patients: the same of other patients would show by whom they differ.
        const Index sums = (spec_.centring.centre ? 1 : 0) + (spec_.centring.scale ? 1 : 0);
        return book({job_, Exposure::sums, sums, fmt::format("features {}{}", sums, order_)});
    }
    if (fits(spec_.centring.centre, request.centring.mean) && fits(spec_.centring.scale, request.centring.scale)) {
        moved_ = " moved";
        for (const auto* part : {&request.centring.mean, &request.centring.scale}) {
            moved_ += " " + hash_of(part->data(), part->size() * sizeof(double));
        }
        return;
    }
    throw broken("a centring of another kind", "one for every feature");
}

}  // namespace couplet::net
