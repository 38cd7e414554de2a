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

SumTerms secure_terms(const SumPlace& place, std::int64_t length, const FixedPoint& how, int threshold) {
    SumTerms terms;
    std::copy(place.job.begin(), place.job.end(), terms.job.begin());
    const auto again = static_cast<std::uint64_t>(place.again);
    for (std::size_t byte = 0; byte < 8; ++byte) {
        terms.job[place.job.size() + byte] = static_cast<std::uint8_t>(again >> (8 * byte));
    }
    terms.pass = place.sum;
    terms.length = length;
    terms.bits = how.ring.bits();
    terms.step = how.step;
    terms.threshold = threshold;
    terms.told = place.told;
    return terms;
}

Key told_with(const Key& start, Index clients, const std::vector<std::uint64_t>& counts, const Matrix<double>& basis) {
    const std::array<Index, 3> sizes{clients, basis.rows(), basis.cols()};
    return joint_hash({start, hash_of(std::span(sizes)), hash_of(std::span(counts)),
                       hash_of(std::span(basis.data(), static_cast<std::size_t>(basis.size())))});
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
    if (const auto* ask = std::get_if<AskKeys>(&request.ask)) {
        reply.answer = keys(request, *ask);
        return reply;
    }
    if (!run_ || run_->sum != request.sum || run_->again != request.again) {
        reply.answer = Declined{"it has no keys for this sum: it was started again, or was not asked for them"};
        return reply;
    }
    if (const auto* ask = std::get_if<AskShares>(&request.ask)) {
        reply.answer = shares(*ask);
    } else if (!run_->client) {
        throw refuse("a step of a sum out of turn", "everybody's keys first");
    } else if (const auto* numbers_ask = std::get_if<AskNumbers>(&request.ask)) {
        reply.answer = numbers(*numbers_ask);
    } else if (const auto* survivors = std::get_if<AskEndorsement>(&request.ask)) {
        reply.answer = endorse(*survivors);
    } else {
        reply.answer = unmask(std::get<AskUnmasking>(request.ask));
    }
    return reply;
}

SecretSource SecureClient::secrets() const {
    if (!options_.root) return Secret::random;
    // One root, one sum: whoever tells this client another story of the same try meets other secrets.
    const Key session = session_of(run_->terms);
    std::vector<std::uint8_t> text(session.begin(), session.end());
    text.push_back(static_cast<std::uint8_t>(options_.self));
    return derived_secrets(options_.root(), hash_bytes(text));
}

void SecureClient::recall(const SecureRequest& request) {
    if (std::holds_alternative<AskKeys>(request.ask) && request.sum < options_.record.sums) return;  // it was read
    if (!run_ && !std::holds_alternative<AskKeys>(request.ask)) return;
    if (const auto* ask = std::get_if<AskNumbers>(&request.ask)) {
        // The numbers have been sent; what they were is not needed any more.
        run_->client->mask(ask->shares, std::vector<std::uint64_t>(static_cast<std::size_t>(run_->terms.length)));
    } else if (std::holds_alternative<AskUnmasking>(request.ask)) {
        run_->client.reset();
    } else {
        answer(request);
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
    if (run_ && run_->sum == request.sum && request.again <= run_->again) {
        throw refuse("the same keys again", "fresh ones for every try");
    }
}

void SecureClient::agree_on_plan(const AskKeys& ask) {
    const Key counts = hash_of(std::span(ask.counts));
    const bool known = plan_.has_value() || options_.record.sums > 1;
    if (known && counts != (plan_ ? counts_ : options_.record.counts)) {
        throw refuse("other counts of patients than before", "those that the job's first sums stand on");
    }
    if (plan_) return;
    std::optional<Census> census;
    if (!options_.terms.guarantee) census = read_census(ask.counts, LeakageLimits{}.clip_quantile);
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

void SecureClient::take_basis(Run& run, const AskKeys& ask) const {
    if (run.sum > plan_->sums) {
        throw refuse(nth(run.sum) + " of the job", std::to_string(plan_->sums + 1) + ", as the job said at its start");
    }
    run.want = want_of(*plan_, run.sum);
    if (run.want == Want::gram) return;
    if (run.sum == 1) {
        run.basis = Matrix<double>::copy(SubspaceIteration(plan_->job, features_).basis().view());
        return;
    }
    const bool last = run.want == Want::projected;
    const Index widest = last ? widest_basis(*plan_, features_) : block_width(*plan_, features_);
    if (ask.basis.rows() != features_.size() || ask.basis.cols() < 1 || ask.basis.cols() > widest) {
        throw refuse("a sum " + std::to_string(ask.basis.cols()) + " columns wide",
                     "at most " + std::to_string(widest) + ", as the job said at its start");
    }
    // Longer columns would make one patient count for more than the noise hides, or the sum's bound allows.
    if (!is_identity(gram<double>(ask.basis.view(), Side::right))) {
        throw refuse("a basis whose columns are not orthonormal", "an orthonormal one");
    }
    run.basis = Matrix<double>::copy(ask.basis.view());
}

SecureAnswer SecureClient::keys(const SecureRequest& request, const AskKeys& ask) {
    require_turn(request);
    Run run{.sum = request.sum, .again = request.again, .want = Want::nothing, .basis = {}, .terms = {}};
    std::int64_t length = static_cast<std::int64_t>(census_length);
    FixedPoint how = census_fixed_point();
    if (request.sum > 0) {
        agree_on_plan(ask);
        take_basis(run, ask);
        length = count_own_numbers(run.want, run.basis, features_);
        how = plan_->how;
    }
    const Matrix<double> none;
    const Key told = told_with(options_.told, options_.clients, ask.counts, request.sum > 1 ? run.basis : none);
    run.terms = secure_terms({options_.job, request.sum, request.again, told}, length, how, threshold());
    run_.emplace(std::move(run));
    const auto verify = [this](Party party, Bytes message, const Signature& signature) {
        const auto found = run_->certificates.find(party);
        return found != run_->certificates.end() && options_.notary.verify(found->second, message, signature);
    };
    run_->client.emplace(options_.self, run_->terms, options_.demands, options_.notary.sign, verify, secrets());
    return Announced{run_->client->advertise(), options_.notary.certificate};
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
    if (run_->sum == 0) return take_census(x_);
    const TensorView<const double> x = clipped_ ? clipped_->view() : x_;
    return own_numbers(*plan_, x, run_->want, run_->basis);
}

void SecureClient::tell_sum(const std::set<Party>& members, bool agreed) const {
    if (!options_.on_sum) return;
    const ShieldPlan none{.job = {}, .how = {}};
    MaskedSum sum{run_->sum == 0 ? none : *plan_, run_->sum, run_->want, run_->basis, {}, agreed};
    for (const Party party : members) {
        const auto found = run_->certificates.find(party);
        if (found == run_->certificates.end()) throw refuse("numbers of a client without keys", "those in the roster");
        sum.members.push_back(options_.notary.name_of(found->second));
    }
    options_.on_sum(sum);
}

SecureAnswer SecureClient::numbers(const AskNumbers& ask) {
    std::set<Party> members{options_.self};
    for (const auto& [party, unused] : ask.shares) members.insert(party);
    tell_sum(members, false);
    const auto masked = run_->client->mask(ask.shares, values());
    return MaskedNumbers{Ring(run_->terms.bits).pack(masked)};
}

SecureAnswer SecureClient::endorse(const AskEndorsement& ask) {
    if (run_->sum > 1 && ask.survivors.alive != options_.record.cohort) {
        throw refuse("a sum of " + std::to_string(ask.survivors.alive.size()) + " other clients than the sums before",
                     "the same " + std::to_string(options_.record.cohort.size()) +
                         ": other ones would show what the difference contributed");
    }
    tell_sum(ask.survivors.alive, true);
    run_->alive = ask.survivors.alive;
    return Endorsement{run_->client->endorse(ask.survivors)};
}

SecureAnswer SecureClient::unmask(const AskUnmasking& ask) {
    Unmasking reveal = run_->client->unmask(ask.endorsements);
    SumRecord record = options_.record;
    record.sums = run_->sum + 1;
    record.told = own_story();
    if (run_->sum == 1) {
        record.cohort = run_->alive;
        record.counts = counts_;
    }
    if (options_.on_record) options_.on_record(record);
    options_.record = std::move(record);
    return reveal;
}

}  // namespace couplet
