#include "couplet/secure/secure_client.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/arrived_cores.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/privacy/clip.hpp"
#include "couplet/privacy/derived_secrets.hpp"
#include "couplet/privacy/records.hpp"
#include "couplet/secure/own_numbers.hpp"

namespace couplet {
namespace {

using Want = SubspaceIteration::Want;

InputError refuse(const std::string& found, const std::string& expected) {
    return InputError({"coordinator", found, expected, "This client takes no further part in the job."});
}

Shape features_of(const TensorView<const double>& x) {
    const auto sizes = x.shape().sizes();
    return Shape(std::vector<Index>(sizes.begin() + 1, sizes.end()));
}

std::string nth(Index sum) { return "sum " + std::to_string(sum + 1); }

/// Of the numbers as they travel.
template <class T, std::size_t extent>
Key hash_of(std::span<T, extent> numbers) {
    return hash_bytes({reinterpret_cast<const std::uint8_t*>(numbers.data()), numbers.size_bytes()});
}

Key joint_hash(const std::vector<Key>& hashes) { return hash_of(std::span(hashes)); }

}  // namespace

KeyTerms key_terms(const KeyPlace& place, Index last, int threshold) {
    KeyTerms terms;
    std::copy(place.job.begin(), place.job.end(), terms.job.begin());
    const auto again = static_cast<std::uint64_t>(place.again);
    for (std::size_t byte = 0; byte < 8; ++byte) {
        terms.job[place.job.size() + byte] = static_cast<std::uint8_t>(again >> (8 * byte));
    }
    terms.first = place.first;
    terms.sums = static_cast<int>(last - place.first + 1);
    terms.threshold = threshold;
    terms.told = place.told;
    return terms;
}

/// The policy makes fewer passes of a job, never more; but blocks of what would have been a Gram matrix.
Index last_sum(const Job& job, const Shape& features, const ShieldTerms& terms) {
    const Index planned = SubspaceIteration(job, features).sums_left();
    if (terms.mu) return budget_sums - 1;
    return terms.policy && !terms.guarantee ? std::max<Index>(planned, job.passes + 1) : planned;
}

Key told_first(const Key& start, Index clients) {
    const std::array<Index, 1> sizes{clients};
    return joint_hash({start, hash_of(std::span(sizes))});
}

Key told_next(const Key& before, const AskNumbers& ask) {
    std::vector<Key> opened;
    for (const OpenedSum& sum : ask.opened) {
        const std::array<Index, 2> place{sum.sum, sum.sites};
        opened.push_back(hash_of(std::span(place)));
        opened.push_back(hash_of(std::span(sum.bytes)));
    }
    const std::array<Index, 4> sizes{static_cast<Index>(ask.counts.size()), ask.basis.rows(), ask.basis.cols(),
                                     ask.extends ? 1 : 0};
    return joint_hash({before, hash_of(std::span(sizes)), joint_hash(opened), hash_of(std::span(ask.counts)),
                       hash_of(std::span(ask.basis.data(), static_cast<std::size_t>(ask.basis.size())))});
}

int secure_threshold(const ShieldTerms& terms, Index clients) noexcept {
    return SumDemands{.colluders = terms.colluders}.least_threshold(static_cast<int>(clients));
}

FixedPoint census_fixed_point() { return {1, Ring(48)}; }

SecureClient::SecureClient(const Job& job, TensorView<const double> x, Options options)
    : job_(job), x_(std::move(x)), features_(features_of(x_)), options_(std::move(options)) {
    require_possible(options_.terms);
    if (options_.record.sums > 0 && options_.record.told != own_story()) {
        throw refuse("another job under the name of one before", "what that job said at its start");
    }
    if (options_.record.sums == 0) options_.record.sums = first_sum();
    if (options_.clients < options_.demands.min_cohort || threshold() > options_.clients) {
        const int least = std::max(options_.demands.min_cohort, options_.terms.colluders + 2);
        throw refuse("a job of " + std::to_string(options_.clients) + " clients",
                     "at least " + std::to_string(least) + ", as this client's policy says");
    }
}

int SecureClient::threshold() const noexcept { return secure_threshold(options_.terms, options_.clients); }

/// Who is held out depends on the place.
Key SecureClient::own_story() const {
    const std::array<Index, 2> numbers{options_.clients, options_.self};
    return joint_hash({options_.told, hash_of(std::span(numbers))});
}

SecureReply SecureClient::answer(const SecureRequest& request) {
    SecureReply reply{request.sum, request.again, {}};
    if (std::holds_alternative<AskKeys>(request.ask)) {
        reply.answer = keys(request);
        return reply;
    }
    const auto* numbers_ask = std::get_if<AskNumbers>(&request.ask);
    const bool known = run_ && run_->again == request.again;
    if (!known || (numbers_ask == nullptr && run_->sum != request.sum)) {
        reply.answer = Declined{"it has no keys for this sum: it was started again, or was not asked for them"};
        return reply;
    }
    if (const auto* ask = std::get_if<AskShares>(&request.ask)) {
        reply.answer = shares(*ask);
    } else if (numbers_ask != nullptr) {
        reply.answer = numbers(request, *numbers_ask);
    } else if (const auto* survivors = std::get_if<AskEndorsement>(&request.ask)) {
        reply.answer = endorse(*survivors);
    } else {
        reply.answer = unmask(std::get<AskUnmasking>(request.ask));
    }
    return reply;
}

SecretSource SecureClient::secrets() const {
    if (!options_.root) return Secret::random;
    // One root, one set of keys: whoever tells this client another story of the same keys meets other secrets.
    const Key session = session_of(run_->keys);
    std::vector<std::uint8_t> text(session.begin(), session.end());
    text.push_back(static_cast<std::uint8_t>(options_.self));
    return derived_secrets(options_.root(), hash_bytes(text));
}

void SecureClient::recall(const SecureRequest& request) {
    if (std::holds_alternative<AskKeys>(request.ask)) {
        begin_keys(request);
        run_->client->advertise();
        return;
    }
    if (!run_) return;
    if (const auto* ask = std::get_if<AskShares>(&request.ask)) {
        shares(*ask);
    } else if (const auto* numbers_ask = std::get_if<AskNumbers>(&request.ask)) {
        begin_sum(request, *numbers_ask);
        // The numbers have been sent; what they were is not needed any more.
        run_->client->mask(run_->terms, numbers_ask->members,
                           std::vector<std::uint64_t>(static_cast<std::size_t>(run_->terms.length())));
    } else if (const auto* survivors = std::get_if<AskEndorsement>(&request.ask)) {
        run_->client->endorse(survivors->survivors);
    } else {
        run_->client->unmask(std::get<AskUnmasking>(request.ask).endorsements);
    }
}

void SecureClient::require_turn(const SecureRequest& request) const {
    const Index next = options_.record.sums;
    if (request.sum < next) {
        throw refuse(nth(request.sum) + " of this job once more",
                     "each sum once: the same with other clients would show the difference");
    }
    if (request.sum > next) throw refuse(nth(request.sum) + " of the job", nth(next) + " before it");
    if (plan_ && request.sum > plan_->sums) {
        throw refuse(nth(request.sum) + " of the job",
                     std::to_string(plan_->sums + 1) + ", as the job said at its start");
    }
}

void SecureClient::agree_on_plan(const std::vector<std::uint64_t>& told) {
    const Key counts = hash_of(std::span(told));
    const bool known = plan_.has_value() || options_.record.sums > 1;
    if (known && counts != (plan_ ? counts_ : options_.record.counts)) {
        throw refuse("other counts of patients than before", "those that the job's first sums stand on");
    }
    if (plan_) return;
    std::optional<Census> census;
    if (!options_.terms.guarantee) census = read_census(told, LeakageLimits{}.clip_quantile);
    // Nobody counts less than this client alone.
    if (census) {
        const Index own = count_patients(x_);
        if (census->patients < own) {
            throw refuse("counts of " + std::to_string(census->patients) + " patients",
                         "at least the " + std::to_string(own) + " of this client");
        }
    }
    ShieldPlan plan = plan_shield(job_, features_, options_.terms, census, options_.clients, threshold());
    if (options_.on_plan) options_.on_plan(plan);
    counts_ = counts;
    plan_ = std::move(plan);
    if (plan_->clip) clipped_ = clip_rows(x_, *plan_->clip).tensor;
}

void SecureClient::take_basis(const AskNumbers& ask) {
    Run& run = *run_;
    run.basis = Matrix<double>();
    run.want = want_of(*plan_, run.sum);
    if (run.want == Want::gram) return;
    if (run.sum == 1) {
        run.basis = Matrix<double>::copy(SubspaceIteration(plan_->job, features_).basis().view());
        return;
    }
    const bool last = run.want == Want::projected;
    if (ask.extends && !last) throw refuse("part of a basis", "all of it, but for the last sum");
    const Index widest = last && !ask.extends ? widest_basis(*plan_, features_) : block_width(*plan_, features_);
    if (ask.basis.rows() != features_.size() || ask.basis.cols() < 1 || ask.basis.cols() > widest) {
        throw refuse("a sum " + std::to_string(ask.basis.cols()) + " columns wide",
                     "at most " + std::to_string(widest) + ", as the job said at its start");
    }
    run.bases.push_back(Matrix<double>::copy(ask.basis.view()));
    run.basis = ask.extends ? krylov_space(run.bases) : Matrix<double>::copy(ask.basis.view());
    // Longer columns would make one patient count for more than the noise hides, or the sum's bound allows.
    if (!is_identity(gram<double>(run.basis.view(), Side::right))) {
        throw refuse("a basis whose columns are not orthonormal", "an orthonormal one");
    }
}

void SecureClient::begin_keys(const SecureRequest& request) {
    const Key told = told_first(options_.told, options_.clients);
    run_.emplace(Run{.sum = request.sum, .again = request.again, .told = told});
    run_->keys = key_terms({options_.job, request.sum, request.again, told},
                           std::max(request.sum, last_sum(job_, features_, options_.terms)), threshold());
    const auto verify = [this](Party party, Bytes message, const Signature& signature) {
        const auto found = run_->certificates.find(party);
        return found != run_->certificates.end() && options_.notary.verify(found->second, message, signature);
    };
    run_->client.emplace(options_.self, run_->keys, options_.demands, options_.notary.sign, verify, secrets());
}

SecureAnswer SecureClient::keys(const SecureRequest& request) {
    require_turn(request);
    if (run_ && request.again <= run_->again) throw refuse("the same keys again", "fresh ones for every try");
    begin_keys(request);
    return Announced{run_->client->advertise(), options_.notary.certificate};
}

/// What the sums so far have shown, as everybody is told it: from it this client computes itself what it is asked for.
void SecureClient::follow_budget(const AskNumbers& ask) {
    if (!budget_) {
        budget_.emplace(budget_terms(job_, features_, options_.terms, options_.clients, threshold()));
        ShieldPlan plan = budget_plan(job_, *budget_, options_.terms);
        if (options_.on_plan) options_.on_plan(plan);
        plan_ = std::move(plan);
    }
    for (const OpenedSum& sum : ask.opened) {
        if (sum.sum < opened_) continue;  // with fresh keys everything is told again
        if (sum.sum > opened_) throw refuse(nth(sum.sum) + " opened", nth(opened_) + " before it");
        open_sum(*budget_, sum.bytes, sum.sites);
        ++opened_;
    }
    if (opened_ == run_->sum && budget_->stage() != BudgetStage::done) return;
    throw refuse(nth(run_->sum) + " of the job", "all sums before it, opened");
}

/// What a request for numbers says, held against what was said before.
void SecureClient::begin_sum(const SecureRequest& request, const AskNumbers& ask) {
    if (!std::exchange(run_->opened, true)) run_->client->open(ask.shares);
    run_->sum = request.sum;
    if (options_.terms.mu) {
        follow_budget(ask);
        run_->told = told_next(run_->told, ask);
        run_->terms = {request.sum, stretches_of(budget_->sum()), run_->told};
        return;
    }
    Stretch numbers{static_cast<std::int64_t>(census_length), census_fixed_point().ring, census_fixed_point().step};
    if (request.sum > 0) {
        if (!ask.counts.empty() || !plan_) agree_on_plan(ask.counts);
        if (request.sum > plan_->sums) {
            throw refuse(nth(request.sum) + " of the job",
                         std::to_string(plan_->sums + 1) + ", as the job said at its start");
        }
        take_basis(ask);
        numbers = {count_own_numbers(run_->want, run_->basis, features_), plan_->how.ring, plan_->how.step};
    }
    run_->told = told_next(run_->told, ask);
    run_->terms = {request.sum, {numbers}, run_->told};
}

SecureAnswer SecureClient::shares(const AskShares& ask) {
    Roster roster;
    std::map<std::string, Party> names;
    for (const auto& [party, announced] : ask.roster) {
        const std::string name = options_.notary.name_of(announced.certificate);
        if (!names.emplace(name, party).second) throw refuse("client " + name + " twice in the roster", "it once");
        roster[party] = announced.keys;
        run_->certificates[party] = announced.certificate;
    }
    if (static_cast<Index>(roster.size()) > options_.clients) {
        throw refuse("a roster of " + std::to_string(roster.size()) + " clients",
                     "at most the " + std::to_string(options_.clients) + " that the job began with");
    }
    return run_->client->seal(roster);
}

std::vector<std::uint64_t> SecureClient::values() {
    if (budget_) return own_budget_numbers(*budget_, x_);
    if (run_->sum == 0) return take_census(x_);
    const TensorView<const double> x = clipped_ ? clipped_->view() : x_;
    return own_numbers(*plan_, x, run_->want, run_->basis);
}

void SecureClient::tell_sum(const std::set<Party>& members, bool agreed) const {
    if (!options_.on_sum) return;
    const ShieldPlan none{.job = {}, .how = {}};
    MaskedSum sum{plan_ ? *plan_ : none, run_->sum, run_->want, run_->basis, {}, agreed};
    for (const Party party : members) {
        const auto found = run_->certificates.find(party);
        if (found == run_->certificates.end()) throw refuse("numbers of a client without keys", "those in the roster");
        sum.members.push_back(options_.notary.name_of(found->second));
    }
    options_.on_sum(sum);
}

SecureAnswer SecureClient::numbers(const SecureRequest& request, const AskNumbers& ask) {
    require_turn(request);
    begin_sum(request, ask);
    require_cohort(ask.members);
    tell_sum(ask.members, false);
    MaskedVector masked = run_->client->mask(run_->terms, ask.members, values());
    return MaskedNumbers{pack(run_->terms.stretches, masked.values), std::move(masked.signature)};
}

void SecureClient::require_cohort(const std::set<Party>& members) const {
    // Under a budget every sum protects by itself, whoever is in it.
    if (options_.terms.mu || run_->sum <= 1 || members == options_.record.cohort) return;
    throw refuse("a sum of " + std::to_string(members.size()) + " other clients than the sums before",
                 "the same " + std::to_string(options_.record.cohort.size()) +
                     ": other ones would show what the difference contributed");
}

SecureAnswer SecureClient::endorse(const AskEndorsement& ask) {
    require_cohort(ask.survivors.alive);
    tell_sum(ask.survivors.alive, true);
    return Endorsement{run_->client->endorse(ask.survivors)};
}

SecureAnswer SecureClient::unmask(const AskUnmasking& ask) {
    if (run_->client->complete()) tell_sum(run_->client->members(), true);
    Unmasking reveal = run_->client->unmask(ask.endorsements);
    SumRecord record = options_.record;
    record.sums = run_->sum + 1;
    record.told = own_story();
    if (run_->sum == 1) {
        record.cohort.clear();
        for (const auto& [party, unused] : reveal.alive) record.cohort.insert(party);
        record.counts = counts_;
    }
    if (options_.on_record) options_.on_record(record);
    options_.record = std::move(record);
    return reveal;
}

}  // namespace couplet
