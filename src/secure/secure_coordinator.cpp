#include "couplet/secure/secure_coordinator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/coded_features.hpp"
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
    if (options_.terms.mu) {
        budget_.emplace(budget_terms(job_, shape_, options_.terms, clients(), threshold()));
        plan_ = budget_plan(job_, *budget_, options_.terms);
    }
    if (!options_.terms.guarantee) {
        begin_keys(0);
        return;
    }
    plan_ = plan_shield(job_, shape_, options_.terms, std::nullopt, clients(), threshold());
    iteration_.emplace(plan_->job, shape_);
    begin_keys(1);
}

/// For this sum and all that follow.
void SecureCoordinator::begin_keys(Index sum) {
    if (sums_) ++again_;
    sum_ = sum;
    step_ = Step::keys;
    first_ = sum;
    fresh_ = true;
    answered_.clear();
    certificates_.clear();
    asked_ = cohort_;
    if (asked_.empty()) {
        for (const auto& [party, unused] : options_.names) asked_.insert(party);
    }
    told_ = told_first(options_.told, clients());
    const Index last = std::max(sum, last_sum(job_, shape_, options_.terms));
    sums_.emplace(key_terms({options_.job, sum, again_, told_}, last, threshold()),
                  [this](Party party, Bytes message, const Signature& signature) {
                      const auto found = certificates_.find(party);
                      return found != certificates_.end() && options_.notary.verify(found->second, message, signature);
                  });
}

/// What is asked for, without the shares.
AskNumbers SecureCoordinator::numbers_ask() const {
    AskNumbers ask{{}, sums_->members(), {}, {}, false};
    if (budget_) {
        for (const OpenedSum& one : opened_) {
            if (fresh_ || one.sum + 1 == sum_) ask.opened.push_back(one);
        }
        return ask;
    }
    if (sum_ > 0 && (fresh_ || sum_ == 1)) ask.counts = counts_;
    if (sum_ < 2) return ask;
    // Who has heard of all bases since sum 2 makes the rest of the last one itself.
    ask.extends = iteration_->want() == Want::projected && !fresh_ && first_ <= 2;
    ask.basis = Matrix<double>::copy((ask.extends ? iteration_->newest() : iteration_->basis()).view());
    return ask;
}

void SecureCoordinator::begin_sum(Index sum, std::set<Party> members) {
    sum_ = sum;
    step_ = Step::numbers;
    asked_ = members;
    told_ = told_next(told_, numbers_ask());
    terms_ = {sum, stretches(), told_};
    sums_->begin_sum(terms_, std::move(members));
}

std::vector<Stretch> SecureCoordinator::stretches() const {
    if (budget_) return stretches_of(budget_->sum());
    const FixedPoint how = sum_ == 0 ? census_fixed_point() : plan_->how;
    const auto length =
        sum_ == 0 ? static_cast<std::int64_t>(census_length) : static_cast<std::int64_t>(iteration_->sum_length());
    return {{length, how.ring, how.step}};
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
        case Step::keys:
            break;
        case Step::shares: {
            AskShares ask;
            for (const auto& [party, keys] : sums_->roster()) ask.roster[party] = {keys, certificates_.at(party)};
            request.ask = std::move(ask);
            break;
        }
        case Step::numbers: {
            AskNumbers ask = numbers_ask();
            if (fresh_) ask.shares = sums_->shares_for(to);
            request.ask = std::move(ask);
            break;
        }
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
    if (step_ != Step::numbers) return 0;
    return packed_bytes(terms_.stretches);
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
            auto& masked = std::get<MaskedNumbers>(reply.answer);
            sums_->take_masked(from, {unpack(terms_.stretches, masked.bytes), std::move(masked.signature)});
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

bool SecureCoordinator::complete(const std::set<Party>& there) const {
    return budget_ || cohort_.empty() || there == cohort_;
}

void SecureCoordinator::close() {
    ++closed_;
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
            begin_sum(sum_, sums_->sharers());  // throws when they are too few
            break;
        case Step::numbers:
            sums_->survivors();
            if (sum_ > 0 && static_cast<Index>(there.size()) < options_.least) {
                throw RunError({"secure sum", std::to_string(there.size()) + " clients with numbers",
                                "at least " + std::to_string(options_.least),
                                "Too many clients were lost; nothing was revealed. Start the job again."});
            }
            step_ = sums_->survivors().dropped.empty() ? Step::unmasking : Step::endorsement;
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
    if (++tries_ < options_.tries) return begin_keys(sum_);
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
    const Survivors survivors = sums_->survivors();
    ++done_;
    tries_ = 0;
    const auto begin_next = [&] {
        fresh_ = false;
        begin_sum(sum_ + 1, survivors.alive);
    };
    if (budget_) {
        finish_budget_sum(total, survivors.alive);
        return budget_->stage() == BudgetStage::done ? asked_.clear() : begin_next();
    }
    if (sum_ == 0) {
        counts_ = total;
        plan_ = plan_shield(job_, shape_, options_.terms, read_census(counts_, LeakageLimits{}.clip_quantile),
                            clients(), threshold());
        iteration_.emplace(plan_->job, shape_);
        // Whoever was lost to the counts may be back for the data.
        return survivors.dropped.empty() ? begin_next() : begin_keys(1);
    }
    numbers_up_ += static_cast<double>(terms_.length());
    numbers_down_ += static_cast<double>(numbers_ask().basis.size());
    if (sum_ == 1) cohort_ = survivors.alive;
    const std::vector<double> values = decode_fixed(total, plan_->how);
    if (iteration_->want() == Want::sketch) {
        block_basis_ = Matrix<double>::copy(iteration_->basis().view());
        block_ = Matrix<double>(block_basis_.rows(), block_basis_.cols());
        std::copy(values.begin(), values.end(), block_.data());
    }
    iteration_->take(values, rounding_of_sums());
    if (iteration_->want() != Want::nothing) return begin_next();
    asked_.clear();
    features_ = iteration_->features().clone();
}

/// Whoever is lost is in none of the sums that follow; each protects by itself.
void SecureCoordinator::finish_budget_sum(const std::vector<std::uint64_t>& total, const std::set<Party>& sites) {
    ring_bits_ = std::max(ring_bits_, widest_ring(terms_.stretches));
    opened_.push_back({sum_, static_cast<Index>(sites.size()), pack(terms_.stretches, total)});
    numbers_up_ += static_cast<double>(terms_.length());
    if (budget_->stage() == BudgetStage::modes) cohort_ = sites;
    budget_->open(centred(total, terms_.stretches), static_cast<Index>(sites.size()));
    plan_ = budget_plan(job_, *budget_, options_.terms);
    if (budget_->stage() != BudgetStage::done) return;
    // What the noise leaves is coarser than what the code loses.
    features_ = coded_features(*budget_->features(), job_.eps2);
}

ShieldReport SecureCoordinator::report() const {
    ShieldReport report = report_of(options_.terms, &*plan_);
    report.threshold = threshold();
    if (!shortened_.empty()) report.warnings.push_back(shortened_);
    if (sums_ && !sums_->liars().empty()) {
        report.warnings.push_back("shares that were none came from " + name_list(sums_->liars()) +
                                  ": they were left out");
    }
    if (budget_) {
        report.error = budget_->error();
        report.sums = done_;
        report.ring_bits = ring_bits_;
        return report;
    }
    if (!plan_->noise) return report;
    std::optional<Index> width;
    if (plan_->sums > 1) width = block_width(*plan_, shape_);
    const Index rank = plan_->job.rank.value_or(shape_.size());
    report.noise_cost = noise_cost_of(*plan_, shape_, *iteration_);
    report.patients_needed = std::ceil(patients_for_loss(*plan_->noise, acceptable_loss, shape_.size(), rank, width));
    return report;
}

}  // namespace couplet
