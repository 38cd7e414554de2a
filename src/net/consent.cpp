#include "couplet/net/consent.hpp"

#include <fmt/format.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <utility>

#include "couplet/core/error.hpp"

namespace couplet::net {
namespace {

InputError against(const std::string& key, const std::string& found, const std::string& expected) {
    return InputError({"this site's policy", found, fmt::format("{} ({})", expected, key),
                       "The site decides: policy.toml in its kit, or --policy."});
}

InputError broken(const std::string& found, const std::string& expected) {
    return InputError({"coordinator", found, expected + ", as the job said at its start", "Nothing was answered."});
}

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
            if (!word) throw wrong(key, "a list of stack, average, subspace");
            value.push_back(parse_aggregate(*word));
        }
    }
    void require_all_known() const {
        for (const auto& [key, unused] : table_) {
            if (std::find(taken_.begin(), taken_.end(), key.str()) != taken_.end()) continue;
            throw InputError({where_, fmt::format("the key {}", key.str()), fmt::format("{}", fmt::join(taken_, ", ")),
                              "A policy with a key that nobody reads would protect nobody."});
        }
    }

  private:
    const toml::node* take(const char* key) {
        taken_.emplace_back(key);
        return table_.get(key);
    }
    InputError wrong(const char* key, const std::string& expected) const {
        return InputError({where_, fmt::format("{} that is something else", key), expected, ""});
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
        keys.share("dp_delta", policy.dp_delta);
        keys.word("worst_verdict", policy.worst_verdict, {"patients", "membership", "second-moments", "features-only"});
        keys.count("patience", policy.patience, 0);
        keys.require_all_known();
    } catch (const toml::parse_error& error) {
        throw InputError({where, std::string(error.description()), "a policy in TOML", ""});
    }
    return policy;
}

SitePolicy load_policy(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) throw InputError({file.string(), "no file that can be read", "a policy in TOML", ""});
    return parse_policy(text, file.string());
}

std::string policy_text(const SitePolicy& policy) {
    std::vector<std::string> quoted;
    for (const Aggregate one : policy.aggregates) quoted.push_back(fmt::format("\"{}\"", to_string(one)));
    return fmt::format(
        "# What this site answers. couplet client checks every request against it before anything is computed.\n"
        "min_patients = {}  # who take part; held-out ones are not counted\n"
        "max_rank_share = {}  # rank that is sent over patients who take part\n"
        "aggregates = [{}]\n"
        "max_heldout = {}\n"
        "max_sums = {}  # of one job with aggregate subspace\n"
        "max_sum_width = {}  # columns of one sum\n"
        "min_others = {}  # parties besides this one\n"
        "missing = {}  # jobs that fill missing entries\n"
        "secure_only = {}  # refuse jobs whose sums are not masked\n"
        "min_cohort = {}  # clients whose numbers are in a masked sum\n"
        "colluders = {}  # of them, who may tell the coordinator what they know\n"
        "patients_per_direction = {}  # honest ones, for each direction that masked sums show; 0: any\n"
        "dp_epsilon = {}  # that all jobs on one data set may spend together; 0: no budget\n"
        "dp_delta = {}\n"
        "worst_verdict = \"{}\"  # of an audit of what this client sends; a worse one is warned of\n"
        "patience = {}  # seconds to wait for what brings a job forward; 0: as --deadline says\n",
        policy.min_patients, policy.max_rank_share, fmt::join(quoted, ", "), policy.max_heldout, policy.max_sums,
        policy.max_sum_width, policy.min_others, policy.missing, policy.secure_only, policy.min_cohort,
        policy.colluders, policy.patients_per_direction, policy.dp_epsilon, policy.dp_delta, policy.worst_verdict,
        policy.patience);
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

void Consent::vet(const wire::Message& message) {
    if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) return vet_job(*welcome);
    if (const auto* notice = std::get_if<wire::StartNotice>(&message.body)) return vet_start(notice->start);
    if (const auto* request = std::get_if<SumRequest>(&message.body)) return vet_sum(message, *request);
    if (const auto* upload = std::get_if<Upload>(&message.body)) return vet_upload(*upload);
    if (const auto* merge = std::get_if<wire::PeerMerge>(&message.body)) return vet_merge(merge->state);
    if (const auto* request = std::get_if<wire::CentringRequest>(&message.body)) return vet_centring(*request);
}

void Consent::vet_job(const wire::Welcome& welcome) {
    spec_ = welcome.spec;
    sums_ = 0;
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
        throw against("aggregates", fmt::format("a job with --aggregate {}", to_string(job.aggregate)),
                      names(policy_.aggregates));
    }
    if (spec_.missing && !policy_.missing)
        throw against("missing", "a job that fills missing entries", "one that does not");
    const double share = static_cast<double>(job.rank.value_or(0)) / static_cast<double>(training_);
    // Rows that are sent are counted when they are there; masked sums are held against patients_per_direction.
    if (job.aggregate != Aggregate::stack && !spec_.shield && share > policy_.max_rank_share) {
        throw against("max_rank_share", fmt::format("rank {} for {} patients", *job.rank, training_),
                      fmt::format("at most {}", policy_.max_rank_share * static_cast<double>(training_)));
    }
    vet_shield();
    if (job.aggregate == Aggregate::subspace && job.passes + 1 > policy_.max_sums) {
        throw against("max_sums", fmt::format("a job of {} sums", job.passes + 1),
                      fmt::format("at most {}", policy_.max_sums));
    }
}

void Consent::vet_shield() const {
    if (!spec_.shield && policy_.secure_only) {
        throw against("secure_only", "a job whose sums are not masked", "a coordinator with --secure");
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

void Consent::vet_plan(const ShieldPlan& plan) const {
    if (plan.sums > policy_.max_sums) {
        throw against("max_sums", fmt::format("a job of {} sums", plan.sums),
                      fmt::format("at most {}", policy_.max_sums));
    }
    const Index width = plan.sums == 1 ? features_.size() : block_width(plan, features_);
    if (width > policy_.max_sum_width) {
        throw against("max_sum_width", fmt::format("a sum {} columns wide", width),
                      fmt::format("at most {}", policy_.max_sum_width));
    }
    // Noise says by itself how much a patient can show.
    if (plan.noise || policy_.patients_per_direction == 0) return;
    // All directions of a Gram matrix are those of the features, and as the leakage policy counts them.
    const double most = static_cast<double>(plan.honest) / policy_.patients_per_direction;
    if (static_cast<double>(plan.directions) <= most) return;
    throw against("patients_per_direction",
                  fmt::format("sums that show {} directions of {} honest patients", plan.directions, plan.honest),
                  fmt::format("at most {:.0f}", std::floor(most)));
}

void Consent::vet_start(const Start& start) const {
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
    }
    if (request.pass != last_pass_) ++sums_;
    last_pass_ = request.pass;
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
}

void Consent::vet_merge(const MergeState& state) const {
    const double most = policy_.max_rank_share * static_cast<double>(state.ledger.rows);
    if (static_cast<double>(state.block.rows()) <= std::max(1.0, most)) return;
    throw against("max_rank_share", fmt::format("rank {} for {} patients", state.block.rows(), state.ledger.rows),
                  fmt::format("at most {}", most));
}

void Consent::vet_upload(const Upload& upload) const {
    const double most = policy_.max_rank_share * static_cast<double>(training_);
    if (static_cast<double>(upload.block->rows()) <= std::max(1.0, most)) return;
    throw against("max_rank_share", fmt::format("rank {} for {} patients", upload.block->rows(), training_),
                  fmt::format("at most {}", most));
}

void Consent::vet_centring(const wire::CentringRequest& request) const {
    if (!spec_.centring.any()) throw broken("a request for sums of the features", "a job that does not centre");
    const auto fits = [&](bool wanted, const std::vector<double>& part) {
        return part.size() == (wanted ? static_cast<std::size_t>(features_.size()) : 0);
    };
    if (request.centring.empty()) return;
    if (fits(spec_.centring.centre, request.centring.mean) && fits(spec_.centring.scale, request.centring.scale))
        return;
    throw broken("a centring of another kind", "one for every feature");
}

}  // namespace couplet::net
