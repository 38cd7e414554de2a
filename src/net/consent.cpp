#include "couplet/net/consent.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "basis_span.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/filling_limits.hpp"
#include "couplet/privacy/gaussian.hpp"
#include "disclosure_names.hpp"
#include "promised_sums.hpp"
#include "refusal_words.hpp"

namespace couplet::net {
namespace {

InputError against(const std::string& key, const std::string& found, const std::string& expected) {
    return InputError({policy_name, found, fmt::format("{} ({})", expected, key),
                       "The site decides: policy.toml in its kit, or `policy`."});
}

std::string names(const std::vector<Aggregate>& aggregates) {
    std::string list;
    for (const Aggregate one : aggregates) list += (list.empty() ? "" : ", ") + std::string(to_string(one));
    return list.empty() ? "none" : list;
}

// Of the sums of a filling, those that follow from the features and not from the data alone.
constexpr Index figures_of_filling = 6;

/// Numbers in a symmetric matrix.
Index triangle(Index n) { return n * (n + 1) / 2; }

Index incomplete_patients(const Tensor<double>& x) {
    const auto rows = x.view().unfold(1);
    Index count = 0;
    for (Index i = 0; i < rows.rows; ++i) {
        count += std::any_of(rows.row(i), rows.row(i) + rows.cols, [](double e) { return std::isnan(e); }) ? 1 : 0;
    }
    return count;
}

}  // namespace

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
        if (shield->mu) text += fmt::format(" with noise, mu {} for one patient", *shield->mu);
        if (!shield->policy && !shield->mu) text += " without the leakage policy";
        if (shield->guarantee) {
            text += fmt::format(", epsilon {} at delta {}, records clipped at {}", shield->guarantee->epsilon,
                                shield->guarantee->delta, *shield->clip);
        }
    }
    if (welcome.spec.centring.centre) text += ", every feature centred";
    if (welcome.spec.centring.scale) text += ", every feature scaled";
    if (const Weight weight = welcome.spec.centring.weight; weight != Weight::none) {
        text += fmt::format(", every mode centred by its prevalences and weighted ({})", to_string(weight));
    }
    return text + fmt::format(", {} clients on the roster", welcome.clients);
}

/// What a job says at its start, and what comes of it here.
struct Consent::Promise {
    wire::JobSpec spec;
    std::string job;     ///< empty: it is not booked under any
    Index training = 0;  ///< patients who take part
    DisclosureNames names;
    std::optional<PromisedSums> sums = {};  ///< of aggregate subspace, where they are sent as they are
    std::optional<Cohort> cohort = {};      ///< where it is booked
    BasisSpan known = {};                   ///< on which sums were answered
    Index fills = 0;                        ///< so far
    Index masked_directions = 0;            ///< of its plan, once there is one

    bool is_subspace() const { return spec.job.aggregate == Aggregate::subspace; }
    bool is_decentralized() const { return spec.job.network == Network::decentralized; }
    /// That the job will see.
    Index directions() const { return sums ? sums->directions() : spec.job.rank.value_or(1); }
    /// Single numbers that come with what it will see: the last sum, and how well the features fit those who take part
    /// and those who are held out.
    Index figures() const {
        return triangle(spec.shield ? masked_directions : sums ? sums->directions() : Index{0}) + 2;
    }
};

Consent::Consent(SitePolicy policy, Index patients, Shape features)
    : policy_(std::move(policy)), patients_(patients), features_(std::move(features)), promise_(new Promise) {}
Consent::~Consent() = default;
Consent::Consent(Consent&&) noexcept = default;

void Consent::remember(DisclosureLedger& ledger, const Tensor<double>& x, const PrivacyBook* book) {
    ledger_ = &ledger;
    x_ = &x;
    book_ = book;
}

void Consent::vet(const wire::Message& message) {
    if (const auto* welcome = std::get_if<wire::Welcome>(&message.body)) return vet_job(message, *welcome);
    if (const auto* notice = std::get_if<wire::StartNotice>(&message.body)) return vet_start(*notice);
    if (const auto* request = std::get_if<SumRequest>(&message.body)) return vet_sum(message, *request);
    if (const auto* features = std::get_if<FeaturesMessage>(&message.body)) return vet_features(*features);
    if (const auto* sums = std::get_if<FillSums>(&message.body)) return vet_filled(*sums);
    if (const auto* upload = std::get_if<Upload>(&message.body)) return vet_upload(*upload);
    if (const auto* merge = std::get_if<wire::PeerMerge>(&message.body)) return vet_merge(merge->state);
    if (const auto* request = std::get_if<wire::CentringRequest>(&message.body)) return vet_centring(*request);
}

void Consent::vet_job(const wire::Message& message, const wire::Welcome& welcome) {
    const std::string id = message.route.job == wire::JobId{} ? "" : wire::to_hex(message.route.job);
    *promise_ = {.spec = welcome.spec, .job = id, .names = {welcome.spec, id}};
    const wire::JobSpec& spec = promise_->spec;
    const double heldout = spec.preparation.heldout;
    if (heldout > policy_.max_heldout) {
        throw against("max_heldout", fmt::format("a job that holds out {} of the patients", heldout),
                      fmt::format("at most {}", policy_.max_heldout));
    }
    const Index held =
        std::min(patients_ - 1, static_cast<Index>(std::llround(heldout * static_cast<double>(patients_))));
    promise_->training = patients_ - held;
    if (promise_->training < policy_.min_patients) {
        throw against("min_patients", fmt::format("a job in which {} patients take part", promise_->training),
                      fmt::format("at least {}", policy_.min_patients));
    }
    vet_heldout(held);
    const Aggregate aggregate = spec.job.aggregate;
    if (std::find(policy_.aggregates.begin(), policy_.aggregates.end(), aggregate) == policy_.aggregates.end()) {
        throw against("aggregates", fmt::format("a job with `aggregate` {}", to_string(aggregate)),
                      names(policy_.aggregates));
    }
    if (spec.missing) vet_missing();
    if (promise_->is_subspace() && !spec.shield) promise_->sums.emplace(spec.job, features_);
    vet_directions();
    vet_shield();
    if (promise_->is_subspace() && spec.job.passes + 1 > policy_.max_sums) {
        throw against("max_sums", fmt::format("a job of {} sums", spec.job.passes + 1),
                      fmt::format("at most {}", policy_.max_sums));
    }
    // Sums of peers are not asked for one by one: what the job says is what there will be.
    if (promise_->is_decentralized() && promise_->sums) require_narrow("sums", promise_->sums->width());
    if (ledger_ != nullptr && !promise_->job.empty()) open_page(welcome);
}

/// How well features fit them is told, and of few that is what they are.
void Consent::vet_heldout(Index heldout) const {
    if (heldout == 0 || heldout >= policy_.min_patients || promise_->spec.shield) return;
    throw against("min_patients", fmt::format("a job that holds out {} patients", heldout),
                  fmt::format("nobody, or at least {}", policy_.min_patients));
}

/// The features that entries are filled from are the coordinator's to choose, at every filling anew, and those of one
/// patient by chosen features are that patient's record.
void Consent::vet_missing() const {
    if (!policy_.missing) {
        throw against("missing", "a job that fills missing entries, from features that the coordinator chooses",
                      "one that does not");
    }
    if (x_ == nullptr || policy_.any_cohort) return;
    const Index patients = incomplete_patients(*x_);
    if (patients == 0 || patients >= policy_.min_patients) return;
    throw against("any_cohort", fmt::format("a job that fills entries of {} patients alone", patients),
                  fmt::format("nobody's, or those of at least {}", policy_.min_patients));
}

void Consent::require_narrow(const char* what, Index width) const {
    if (width <= policy_.max_sum_width) return;
    throw against("max_sum_width", fmt::format("{} {} columns wide", what, width),
                  fmt::format("at most {}", policy_.max_sum_width));
}

void Consent::vet_directions() const {
    const wire::JobSpec& spec = promise_->spec;
    // Rows that are sent are counted when they are there; masked sums are held against patients_per_direction.
    if (spec.job.aggregate == Aggregate::stack || spec.shield) return;
    const Index patients = promise_->training;
    const double most = std::floor(policy_.max_rank_share * static_cast<double>(patients));
    const Index directions = promise_->sums ? promise_->sums->directions() : spec.job.rank.value_or(0);
    if (static_cast<double>(directions) <= most) return;
    throw against("max_rank_share",
                  promise_->sums ? fmt::format("sums that show {} directions of {} patients", directions, patients)
                                 : fmt::format("rank {} for {} patients", directions, patients),
                  fmt::format("at most {}", most));
}

void Consent::vet_shield() const {
    const auto& shield = promise_->spec.shield;
    if (!shield && policy_.secure_only) {
        throw against("secure_only", "a job whose sums are not masked", "a coordinator with `secure`");
    }
    if (shield && shield->mu && *shield->mu > policy_.mu) {
        throw against("mu", fmt::format("a job of mu {:.3g} for one patient", *shield->mu),
                      fmt::format("at most {:.3g}", policy_.mu));
    }
    if (policy_.dp_epsilon > 0 && !(shield && (shield->guarantee || shield->mu))) {
        throw against("dp_epsilon", "a job without differential privacy",
                      fmt::format("one that spends at most {} at delta {}", policy_.dp_epsilon, policy_.dp_delta));
    }
    if (shield && shield->colluders < policy_.colluders) {
        throw against("colluders", fmt::format("a job that allows for {} colluding clients", shield->colluders),
                      fmt::format("at least {}", policy_.colluders));
    }
}

// ---- what other jobs have seen

void Consent::open_page(const wire::Welcome& welcome) {
    const wire::JobSpec& spec = promise_->spec;
    const std::string& job = promise_->job;
    const DisclosureNames& names = promise_->names;
    if (spec.shield && spec.shield->mu) return;
    if (spec.shield && spec.shield->guarantee && weakness(*spec.shield->guarantee, promise_->training).empty()) return;
    // Where entries are missing nobody is held out.
    const double heldout = spec.missing ? 0 : spec.preparation.heldout;
    promise_->cohort = make_cohort(*x_, heldout, spec.job.seed, welcome.place);
    if (promise_->sums && promise_->is_decentralized()) {
        // Sums of peers are not asked for one by one; with fewer members they are others.
        return book({job, Exposure::sums, promise_->directions(), fmt::format("{} {}", job, welcome.clients)});
    }
    if (spec.job.aggregate == Aggregate::average && promise_->is_decentralized()) {
        // The first message of a consensus is this peer's own value.
        return book({job, Exposure::rows, promise_->directions(), names.rows()});
    }
    // Rows that will be moved are known by what moves them, which is not known yet.
    Disclosure promised{job, spec.shield ? Exposure::masked : Exposure::rows, spec.centring.any() ? 0 : 1,
                        names.rows()};
    if (promise_->sums) {
        const SubspaceIteration first(spec.job, features_);
        promised = {job, Exposure::sums, promise_->directions()};
        // The same job again asks for the same sums; if it does not, they are counted one by one.
        if (ledger_->knows_sum(*promise_->cohort, Exposure::sums, basis_name(first.basis()))) return;
    }
    ledger_->require_room(*promise_->cohort, features_.size(), promised, limits(spec.shield.has_value(), 0));
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
        limits.most = policy_.max_directions_share * static_cast<double>(promise_->training);
        limits.per_patient = policy_.max_rank_share;
        limits.most_key = "max_directions_share";
    }
    limits.own_figures = promise_->figures();
    limits.least_difference = policy_.min_patients;
    if (policy_.any_cohort) {
        limits.per_patient = any;
        limits.least_difference = 0;
    }
    return limits;
}

void Consent::book(const Disclosure& what, double honest) {
    if (!promise_->cohort) return;
    ledger_->book(*promise_->cohort, features_.size(), what, limits(what.exposure == Exposure::masked, honest));
}

// ---- what is sent as it is

void Consent::vet_start(const wire::StartNotice& notice) {
    const Start& start = notice.start;
    DisclosureNames& names = promise_->names;
    const std::string before = names.data();
    names.set_order(start.labels);
    // As the client takes back what it filled in for an attempt that is over, or in another order.
    if (names.data() != before || (!notice.received && !notice.refilled)) names.forget_filling();
    if (start.clients - 1 >= policy_.min_others) return;
    throw against("min_others", fmt::format("{} other parties", start.clients - 1),
                  fmt::format("at least {}", policy_.min_others));
}

void Consent::vet_sum(const wire::Message& message, const SumRequest& request) {
    if (!promise_->sums) throw broken_promise("a request for a sum", "a job without sums that everybody can read");
    PromisedSums& sums = *promise_->sums;
    const Index number = sums.number(message.route.attempt, request);
    if (number > policy_.max_sums) {
        throw against("max_sums", fmt::format("sum {}", number), fmt::format("at most {}", policy_.max_sums));
    }
    sums.require_fitting(request);
    if (sums.is_gram() || request.want == SubspaceIteration::Want::sketch) {
        require_narrow("a sum", sums.is_gram() ? sums.width() : request.basis.cols());
    }
    if (promise_->cohort) book_sum(request);
    sums.answer(request);
}

void Consent::book_sum(const SumRequest& request) {
    const bool first = request.pass == 0 && request.want == SubspaceIteration::Want::sketch;
    const SubspaceIteration iteration(promise_->spec.job, features_);
    const Matrix<double>& basis = first ? iteration.basis() : request.basis;
    Disclosure what{promise_->job, Exposure::sums, promise_->sums->directions_in(request), promise_->names.sum(basis)};
    promise_->known.set_data(promise_->names.data());
    const bool projected = request.want == SubspaceIteration::Want::projected;
    // On what the blocks were asked for on, the last sum follows from them. The rest of its basis nobody can check
    // here.
    if (projected) {
        what.basis += " projected";
        what.figures = triangle(promise_->known.outside(basis));
    }
    book(what);
    if (!projected) promise_->known.add(basis);
}

void Consent::vet_features(const FeaturesMessage& message) {
    if (message.filling && !message.filling->last) return vet_filling(message);
    // Of masked sums nobody says how well they fit.
    if (promise_->spec.shield) return;
    const Index heldout = promise_->spec.preparation.heldout > 0 && !promise_->spec.missing ? 1 : 0;
    book({promise_->job, Exposure::sums, 0, promise_->names.report(message.features), 1 + heldout});
}

void Consent::vet_filling(const FeaturesMessage& message) {
    const wire::JobSpec& spec = promise_->spec;
    if (!spec.missing) throw broken_promise("features to fill entries from", "a job with `missing` impute");
    const Index rank = message.features.train.left_rank();
    if (rank > spec.job.rank.value_or(0)) {
        throw broken_promise(fmt::format("features of rank {} to fill entries from", rank),
                             fmt::format("rank {}", spec.job.rank.value_or(0)));
    }
    constexpr double rounding = 1 + 1e-12;
    const double longest = longest_step(message.filling->means, 0);
    if (message.filling->step > longest * rounding) {
        throw broken_promise(
            fmt::format("a step of {} with means of weight {}", message.filling->step, message.filling->means),
            fmt::format("at most {}", longest));
    }
    const std::string before = promise_->names.data();
    promise_->names.set_filling(message);
    if (promise_->names.data() != before && ++promise_->fills > spec.missing->max_iterations) {
        throw broken_promise(fmt::format("filling {} of the job", promise_->fills),
                             fmt::format("{}", spec.missing->max_iterations));
    }
    if (message.filling->answered) return;
    book({promise_->job, Exposure::sums, 0, promise_->names.fill(), figures_of_filling});
}

void Consent::vet_filled(const FillSums& sums) const {
    if (!(sums.validation_norm2 > 0) || sums.validation >= static_cast<double>(policy_.min_patients)) return;
    throw against("min_patients", fmt::format("sums over {} entries that were kept for validation", sums.validation),
                  fmt::format("none, or at least {}", policy_.min_patients));
}

void Consent::require_few(Index rank, Index patients) const {
    const double most = std::floor(policy_.max_rank_share * static_cast<double>(patients));
    if (static_cast<double>(rank) <= most) return;
    throw against("max_rank_share", fmt::format("rank {} for {} patients", rank, patients),
                  fmt::format("at most {}", most));
}

void Consent::vet_upload(const Upload& upload) {
    require_few(upload.block->rows(), promise_->training);
    book({promise_->job, Exposure::rows, upload.block->rows(), promise_->names.rows()});
}

void Consent::vet_merge(const MergeState& state) {
    require_few(state.block.rows(), state.ledger.rows);
    // With others' patients in it, it is no longer the rows of these.
    if (state.ledger.clients != 1) return;
    book({promise_->job, Exposure::rows, state.block.rows(), promise_->names.rows()});
}

void Consent::vet_centring(const wire::CentringRequest& request) {
    const CentringOptions& how = promise_->spec.centring;
    if (!how.any()) throw broken_promise("a request for sums of the features", "a job that does not centre");
    if (request.centring.empty()) {
        // Sums of this site's own patients: the same of other patients would show by whom they differ.
        const Index sums = (how.sums() ? 1 : 0) + (how.scale ? 1 : 0);
        return book({promise_->job, Exposure::sums, sums, promise_->names.feature_sums(sums)});
    }
    const auto fits = [&](bool wanted, const std::vector<double>& part) {
        return part.size() == (wanted ? static_cast<std::size_t>(features_.size()) : 0);
    };
    const bool same_weight = how.weight == request.centring.weight;
    if (!same_weight || !fits(how.sums(), request.centring.mean) || !fits(how.scale, request.centring.scale)) {
        throw broken_promise("a centring of another kind", "one for every feature");
    }
    promise_->names.set_centring(request.centring);
}

// ---- masked sums

SumDemands Consent::demands() const noexcept {
    return {static_cast<int>(policy_.min_cohort), static_cast<int>(policy_.colluders)};
}

/// What jobs spend of a patient adds up in squares.
void Consent::vet_budget(const ShieldPlan& plan) const {
    if (book_ == nullptr) return;
    const Cohort patients = make_cohort(*x_, 0, 0, 0);
    const double all = book_->mu_with(patients.id, promise_->job, *plan.noise, ledger_->related(patients));
    if (all <= policy_.mu * (1 + 1e-9)) return;
    const double before2 = std::max(0.0, all * all - *plan.mu * *plan.mu);
    throw against(
        "mu", fmt::format("a job of mu {:.3g} after others of {:.3g} on these patients", *plan.mu, std::sqrt(before2)),
        fmt::format("at most {:.3g} in all, so that {:.3g} is left", policy_.mu,
                    std::sqrt(std::max(0.0, policy_.mu * policy_.mu - before2))));
}

void Consent::vet_plan(const ShieldPlan& plan) {
    if (plan.sums > policy_.max_sums) {
        throw against("max_sums", fmt::format("a job of {} sums", plan.sums),
                      fmt::format("at most {}", policy_.max_sums));
    }
    if (plan.mu) return vet_budget(plan);
    require_narrow("a sum", plan.sums == 1 ? features_.size() : block_width(plan, features_));
    // Noise says by itself how much a patient can show, unless there is too little of it.
    promise_->masked_directions = plan.directions;
    const std::string weak = plan.noise ? weakness_of(*plan.noise) : "";
    if (plan.noise && weak.empty()) return;
    if (plan.noise && policy_.patients_per_direction > 0) {
        // Nobody was counted, so that there is nothing to hold it against.
        throw against("patients_per_direction", fmt::format("a guarantee that is none: {}", weak),
                      "a stronger one, or sums without noise over enough patients");
    }
    if (plan.noise && !promise_->cohort && ledger_ != nullptr && !promise_->job.empty()) {
        promise_->cohort = make_cohort(*x_, 0, 0, 0);  // noise allows for no others
    }
    // All directions of a Gram matrix are those of the features, and as the leakage policy counts them.
    const double most = static_cast<double>(plan.honest) / policy_.patients_per_direction;
    if (policy_.patients_per_direction > 0 && static_cast<double>(plan.directions) > most) {
        throw against("patients_per_direction",
                      fmt::format("sums that show {} directions of {} honest patients", plan.directions, plan.honest),
                      fmt::format("at most {:.0f}", std::floor(most)));
    }
    if (!promise_->cohort) return;
    // The same job again asks for the same sums; if it does not, that is found when numbers are about to leave.
    const SubspaceIteration first(plan.job, features_);
    const MaskedSum sum{plan, 1, first.want(), first.basis(), {}, false};
    if (ledger_->knows_sum(*promise_->cohort, Exposure::masked, promise_->names.masked(sum))) return;
    require_masked_room(plan);
}

/// Of all that the data's account holds with this job: noise that is drawn often enough averages out.
std::string Consent::weakness_of(const NoisePlan& noise) const {
    const std::string own = weakness(noise.guarantee, promise_->training);
    if (!own.empty() || book_ == nullptr) return own;
    const Cohort patients = make_cohort(*x_, 0, 0, 0);
    const double epsilon = book_->epsilon_with(patients.id, promise_->job, noise, ledger_->related(patients));
    const std::string all = weakness({epsilon, noise.guarantee.delta}, promise_->training);
    return all.empty() ? all : "with all jobs on these patients " + all;
}

double Consent::counted_honest(const ShieldPlan& plan) const {
    return policy_.patients_per_direction > 0 ? static_cast<double>(plan.honest) : 0;
}

void Consent::require_masked_room(const ShieldPlan& plan) const {
    ledger_->require_room(*promise_->cohort, features_.size(), {promise_->job, Exposure::masked, plan.directions},
                          limits(true, counted_honest(plan)));
}

void Consent::vet_sum(const MaskedSum& sum) {
    if (!promise_->cohort) return;
    // Counts show no direction, but those of two cohorts show who is in one of them alone.
    if (sum.sum == 0) return book({promise_->job, Exposure::masked, 0, promise_->names.census()});
    book_masked(sum);
    promise_->known.set_data(promise_->names.data());
    if (sum.want != SubspaceIteration::Want::projected) promise_->known.add(sum.basis);
}

void Consent::book_masked(const MaskedSum& sum) {
    const Cohort& cohort = *promise_->cohort;
    const Disclosure known{promise_->job, Exposure::masked, 0, promise_->names.masked_by_members(sum)};
    if (ledger_->knows(cohort, known)) return;
    Disclosure fresh{promise_->job, Exposure::masked, features_.size(), promise_->names.masked_for_job(sum)};
    const bool booked = ledger_->knows(cohort, fresh);
    const double honest = counted_honest(sum.plan);
    if (sum.agreed) {
        if (booked) return book(known, honest);
        throw broken_promise(fmt::format("a sum of {} clients that was shown before with others", sum.members.size()),
                             "the clients whose numbers were asked for");
    }
    if (booked) return;
    if (sum.sum == 1) require_masked_room(sum.plan);
    if (sum.want != SubspaceIteration::Want::gram) fresh.directions = sum.basis.cols();
    promise_->masked_directions = sum.plan.directions;
    promise_->known.set_data(promise_->names.data());
    if (sum.want == SubspaceIteration::Want::projected) {
        fresh.directions = 0;
        fresh.figures = triangle(promise_->known.outside(sum.basis));
    }
    book(fresh, honest);
}

}  // namespace couplet::net
