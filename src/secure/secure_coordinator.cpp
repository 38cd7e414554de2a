#include "couplet/secure/secure_coordinator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/linalg/numerical_rank.hpp"
#include "couplet/privacy/shamir.hpp"
#include "couplet/secure/early_features.hpp"
#include "couplet/secure/shield_report.hpp"

namespace couplet {
namespace {

using Want = SubspaceIteration::Want;

InputError unusable(const std::string& name, const std::string& found, const std::string& expected) {
    return InputError({"client " + name, found, expected, ""});
}

}  // namespace

SecureCoordinator::SecureCoordinator(const Job& job, Shape features, Options options)
    : job_(job), shape_(std::move(features)), options_(std::move(options)) {
    require_possible(options_.terms);
    const Index least = std::max<Index>(SumDemands{}.min_cohort, options_.terms.colluders + 2);
    if (clients() < least || clients() > most_shares) {
        throw InputError({"`secure`", std::to_string(clients()) + " clients",
                          std::to_string(least) + " to " + std::to_string(most_shares),
                          "A sum over fewer would show what each has."});
    }
    if (!options_.terms.guarantee) {
        begin(0, 0);
        return;
    }
    plan_ = plan_shield(job_, shape_, options_.terms, std::nullopt, clients(), threshold());
    iteration_.emplace(plan_->job, shape_);
    begin(1, 0);
}

void SecureCoordinator::begin(Index sum, Index again) {
    sum_ = sum;
    again_ = again;
    step_ = Step::keys;
    answered_.clear();
    certificates_.clear();
    asked_ = cohort_;
    if (asked_.empty()) {
        for (const auto& [party, unused] : options_.names) asked_.insert(party);
    }
    const auto length =
        sum == 0 ? static_cast<std::int64_t>(census_length) : static_cast<std::int64_t>(iteration_->sum_length());
    const Matrix<double> none;
    const Key told = told_with(options_.told, clients(), counts_, sum > 1 ? iteration_->basis() : none);
    terms_ = secure_terms({options_.job, sum, again, told}, length, sum == 0 ? census_fixed_point() : plan_->how,
                          threshold());
    sums_.emplace(terms_, [this](Party party, Bytes message, const Signature& signature) {
        const auto found = certificates_.find(party);
        return found != certificates_.end() && options_.notary.verify(found->second, message, signature);
    });
}

std::string SecureCoordinator::name_list(const std::set<Party>& parties) const {
    std::string text;
    for (const Party party : parties) {
        text += (text.empty() ? "" : ", ") + options_.names.at(party);
    }
    return text;
}

std::string SecureCoordinator::step_text() const {
    constexpr std::array<const char*, 5> names{"keys", "sealed shares", "masked numbers", "signatures", "shares"};
    return std::string(names[static_cast<std::size_t>(step_)]) + " for sum " + std::to_string(sum_ + 1);
}

SecureRequest SecureCoordinator::request(Party to) {
    SecureRequest request{sum_, again_, AskKeys{}};
    switch (step_) {
        case Step::keys: {
            AskKeys ask{counts_, {}};
            if (sum_ > 1) ask.basis = Matrix<double>::copy(iteration_->basis().view());
            request.ask = std::move(ask);
            break;
        }
        case Step::shares: {
            AskShares ask;
            for (const auto& [party, keys] : sums_->roster()) ask.roster[party] = {keys, certificates_.at(party)};
            request.ask = std::move(ask);
            break;
        }
        case Step::numbers:
            request.ask = AskNumbers{sums_->shares_for(to)};
            break;
        case Step::endorsement:
            request.ask = AskEndorsement{sums_->survivors()};
            break;
        case Step::unmasking:
            request.ask = AskUnmasking{sums_->endorsements()};
            break;
    }
    return request;
}

std::size_t SecureCoordinator::number_bytes() const {
    return step_ == Step::numbers ? Ring(terms_.bits).packed_bytes(static_cast<std::size_t>(terms_.length)) : 0;
}

void SecureCoordinator::take_keys(Party from, Announced announced) {
    const std::string& name = options_.names.at(from);
    const std::string signer = options_.notary.name_of(announced.certificate);
    if (signer != name) throw unusable(name, "keys signed by " + signer, "its own");
    certificates_[from] = std::move(announced.certificate);
    sums_->take_advertisement(from, std::move(announced.keys));
}

void SecureCoordinator::take(Party from, SecureReply reply) {
    if (!asked_.contains(from) || answered_.contains(from)) return;  // late, or told again
    const std::string& name = options_.names.at(from);
    if (reply.sum != sum_ || reply.again != again_) throw unusable(name, "an answer about another sum", step_text());
    if (std::holds_alternative<Declined>(reply.answer)) return;  // lost to this sum
    const auto expected = static_cast<std::size_t>(step_) + 1;   // SecureAnswer has Declined first
    if (reply.answer.index() != expected) throw unusable(name, "another answer", step_text());
    switch (step_) {
        case Step::keys:
            take_keys(from, std::move(std::get<Announced>(reply.answer)));
            break;
        case Step::shares:
            sums_->take_shares(from, std::move(std::get<SealedShares>(reply.answer)));
            break;
        case Step::numbers: {
            const auto& masked = std::get<MaskedNumbers>(reply.answer);
            sums_->take_masked(from, Ring(terms_.bits).unpack(masked.bytes, static_cast<std::size_t>(terms_.length)));
            break;
        }
        case Step::endorsement:
            sums_->take_endorsement(from, std::move(std::get<Endorsement>(reply.answer).signature));
            break;
        case Step::unmasking:
            sums_->take_unmasking(from, std::move(std::get<Unmasking>(reply.answer)));
            break;
    }
    answered_.insert(from);
}

bool SecureCoordinator::complete(const std::set<Party>& there) const { return cohort_.empty() || there == cohort_; }

void SecureCoordinator::close() {
    const std::set<Party> there = std::exchange(answered_, {});
    switch (step_) {
        case Step::keys:
        case Step::shares:
        case Step::numbers:
            if (!complete(there)) return fall_short(there);
            break;
        case Step::endorsement:
        case Step::unmasking:
            break;
    }
    asked_ = there;
    switch (step_) {
        case Step::keys:
            sums_->roster();  // throws when they are too few
            step_ = Step::shares;
            break;
        case Step::shares:
            for (const Party party : there) sums_->shares_for(party);
            if (there.empty()) sums_->shares_for(0);  // throws
            step_ = Step::numbers;
            break;
        case Step::numbers:
            sums_->survivors();
            if (sum_ > 0 && static_cast<Index>(there.size()) < options_.least) {
                throw RunError({"secure sum", std::to_string(there.size()) + " clients with numbers",
                                "at least " + std::to_string(options_.least),
                                "Too many clients were lost; nothing was revealed. Start the job again."});
            }
            step_ = Step::endorsement;
            break;
        case Step::endorsement:
            sums_->endorsements();
            step_ = Step::unmasking;
            break;
        case Step::unmasking:
            finish_sum();
            break;
    }
}

void SecureCoordinator::fall_short(const std::set<Party>& there) {
    if (again_ + 1 < options_.tries) return begin(sum_, again_ + 1);
    std::set<Party> missing;
    std::set_difference(cohort_.begin(), cohort_.end(), there.begin(), there.end(),
                        std::inserter(missing, missing.end()));
    shortened_ =
        name_list(missing) + " was lost after " + std::to_string(done_) + " of " +
        std::to_string(plan_->sums + (options_.terms.guarantee ? 0 : 1)) +
        " sums: the features are those of the sums so far, and less exact. A sum of the others alone would have "
        "shown what " +
        name_list(missing) + " contributed";
    asked_.clear();
    features_ = features_from_block(plan_->job, shape_, block_basis_, block_, rounding_of_sums());
}

double SecureCoordinator::rounding_of_sums() const { return step_deviation(plan_->how.step, clients()); }

void SecureCoordinator::finish_sum() {
    const std::vector<std::uint64_t> total = sums_->sum();
    ++done_;
    if (sum_ == 0) {
        counts_ = total;
        plan_ = plan_shield(job_, shape_, options_.terms, read_census(counts_, LeakageLimits{}.clip_quantile),
                            clients(), threshold());
        iteration_.emplace(plan_->job, shape_);
        return begin(1, 0);
    }
    numbers_up_ += static_cast<double>(terms_.length);
    if (sum_ > 1) numbers_down_ += static_cast<double>(iteration_->basis().size());
    if (sum_ == 1) cohort_ = sums_->survivors().alive;
    const std::vector<double> values = decode_fixed(total, plan_->how);
    if (iteration_->want() == Want::sketch) {
        block_basis_ = Matrix<double>::copy(iteration_->basis().view());
        block_ = Matrix<double>(block_basis_.rows(), block_basis_.cols());
        std::copy(values.begin(), values.end(), block_.data());
    }
    iteration_->take(values, rounding_of_sums());
    if (iteration_->want() != Want::nothing) return begin(sum_ + 1, 0);
    asked_.clear();
    features_ = iteration_->features().clone();
}

ShieldReport SecureCoordinator::report() const {
    ShieldReport report = report_of(options_.terms, &*plan_);
    report.threshold = threshold();
    if (!shortened_.empty()) report.warnings.push_back(shortened_);
    if (!plan_->noise) return report;
    std::optional<Index> width;
    if (plan_->sums > 1) width = block_width(*plan_, shape_);
    const Index rank = plan_->job.rank.value_or(shape_.size());
    report.noise_cost = noise_cost_of(*plan_, shape_, *iteration_);
    report.patients_needed = std::ceil(patients_for_loss(*plan_->noise, acceptable_loss, shape_.size(), rank, width));
    return report;
}

}  // namespace couplet
