#include "couplet/secure/secure_peer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/masked_state.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/numerical_rank.hpp"
#include "couplet/privacy/clip.hpp"
#include "couplet/privacy/shamir.hpp"
#include "couplet/secure/own_numbers.hpp"
#include "couplet/secure/secure_messages.hpp"
#include "couplet/secure/shield_report.hpp"

namespace couplet {
namespace {

using Want = SubspaceIteration::Want;
using State = Released<std::vector<double>>;

// Of a P-256 key: its length, its bytes, and a key of 32.
constexpr std::size_t most_signature = 80;
constexpr std::size_t slot = 1 + most_signature + sizeof(Key);

Shape features_of(const TensorView<const double>& x) {
    const auto sizes = x.shape().sizes();
    return Shape(std::vector<Index>(sizes.begin() + 1, sizes.end()));
}

std::set<Party> parties_of(const std::map<Party, Key>& keys) {
    std::set<Party> parties;
    for (const auto& [party, unused] : keys) parties.insert(party);
    return parties;
}

InputError odd(const std::string& found, const std::string& expected) {
    return InputError({"peer message", found, expected, ""});
}

}  // namespace

SecurePeer::SecurePeer(TensorView<const double> x, Options options)
    : x_(std::move(x)),
      features_(features_of(x_)),
      options_(std::move(options)),
      tree_(make_consensus_plan(options_.graph, {.engine = ConsensusEngine::tree})) {
    require_possible(options_.terms);
    const Index members = options_.graph.nodes();
    const int least = std::max(options_.demands.min_cohort, options_.terms.colluders + 2);
    if (members < least || members > most_shares) {
        throw InputError({"job", "masked sums of " + std::to_string(members) + " peers",
                          std::to_string(least) + " to " + std::to_string(most_shares),
                          "A sum over fewer would show what each has."});
    }
}

SecurePeer::~SecurePeer() = default;

const PersonalFit& SecurePeer::result() const {
    if (!result_) throw RunError({"peer", "no result yet", "a job that is finished", ""});
    return *result_;
}

const Features& SecurePeer::features() const {
    result();
    return budget_ ? *budget_->features() : iteration_->features();
}

ShieldReport SecurePeer::report() const {
    result();
    ShieldReport report = report_of(options_.terms, &*plan_);
    if (budget_) {
        report.error = budget_->error();
    } else {
        report.noise_cost = noise_cost_of(*plan_, features_, *iteration_);
    }
    return report;
}

std::vector<PeerMessage> SecurePeer::start() {
    begin_keys();
    return std::exchange(outbox_, {});
}

std::vector<PeerMessage> SecurePeer::receive(Index from, const PeerMessage& message) {
    if (!message.body || !std::holds_alternative<State>(*message.body)) {
        throw odd("a body of another kind", "a state of a sum");
    }
    if (finished() || message.step < step_) return {};
    if (message.step > step_ || !consensus_) {
        const auto& children = tree_.tree.children[static_cast<std::size_t>(options_.node)];
        const bool child = std::binary_search(children.begin(), children.end(), from);
        const bool known =
            std::any_of(early_.begin(), early_.end(), [&](const auto& one) { return one.first == from; });
        if (message.step > step_ + 1 || message.iteration != 0 || !child || known) {
            throw odd("step " + std::to_string(message.step), "step " + std::to_string(step_));
        }
        early_.emplace_back(from, message);
        return {};
    }
    consensus_->receive(from, message.iteration, std::get<State>(*message.body).get());
    try {
        advance();
    } catch (const InputError& error) {
        throw RunError(error.parts());  // not of the message: the job cannot go on
    }
    return std::exchange(outbox_, {});
}

void SecurePeer::begin(std::vector<double> state) {
    consensus_ = make_consensus_node(tree_, options_.node, std::move(state));
    send();
    for (auto& [from, message] : std::exchange(early_, {})) {
        try {
            consensus_->receive(from, message.iteration, std::get<State>(*message.body).get());
        } catch (const InputError&) {
            // Its size could not be checked when it came; a wrong one is as if it had not come.
        }
    }
    advance();
}

// ---- keys

void SecurePeer::begin_keys() {
    const auto self = static_cast<Party>(options_.node);
    const Key key = public_key(own_key_);
    const Signature signature = options_.sign(advertisement_text(options_.session, self, {key, {key}, {}, {}}));
    if (signature.size() > most_signature) {
        throw RunError({"peer", "a signature of " + std::to_string(signature.size()) + " bytes",
                        "at most " + std::to_string(most_signature), ""});
    }
    std::vector<double> state(static_cast<std::size_t>(options_.graph.nodes()) * slot, 0.0);
    double* own = state.data() + static_cast<std::size_t>(options_.node) * slot;
    own[0] = static_cast<double>(signature.size());
    std::copy(signature.begin(), signature.end(), own + 1);
    std::copy(key.begin(), key.end(), own + 1 + most_signature);
    begin(std::move(state));
}

void SecurePeer::end_keys() {
    const auto average = consensus_->result();
    const auto members = static_cast<double>(options_.graph.nodes());
    for (Index k = 0; k < options_.graph.nodes(); ++k) {
        const auto party = static_cast<Party>(k);
        const auto byte = [&](std::size_t i) {
            const double value = std::round(average[static_cast<std::size_t>(k) * slot + i] * members);
            return static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
        };
        Signature signature(std::min<std::size_t>(byte(0), most_signature));
        for (std::size_t i = 0; i < signature.size(); ++i) signature[i] = byte(1 + i);
        Key key{};
        for (std::size_t i = 0; i < key.size(); ++i) key[i] = byte(1 + most_signature + i);
        const bool own = k == options_.node;
        if (own ? key != public_key(own_key_)
                : !options_.verify(party, advertisement_text(options_.session, party, {key, {key}, {}, {}}),
                                   signature)) {
            throw InputError({"member " + std::to_string(k + 1), "a key that it has not signed", "its own",
                              "Somebody between has changed it: nothing was sent."});
        }
        keys_[party] = key;
    }
}

// ---- masked sums

/// This peer's numbers, and in terms_ what they are; on_sum has heard of them.
std::vector<std::uint64_t> SecurePeer::own_sum() {
    const auto tell = [&](const ShieldPlan& plan, Index sum, Want want, const Matrix<double>& basis) {
        if (options_.on_sum) options_.on_sum({plan, sum, want, basis, {}, false});
    };
    terms_ = {step_, {}, told_};
    if (budget_) {
        tell(*plan_, static_cast<Index>(budget_->stage()), Want::nothing, Matrix<double>());
        terms_.stretches = stretches_of(budget_->sum());
        return own_budget_numbers(*budget_, x_);
    }
    const FixedPoint how = plan_ ? plan_->how : census_fixed_point();
    std::vector<std::uint64_t> values;
    if (!plan_) {
        tell({.job = {}, .how = {}}, 0, Want::nothing, Matrix<double>());
        values = take_census(x_);
    } else {
        tell(*plan_, plan_->sums - iteration_->sums_left() + 1, iteration_->want(), iteration_->basis());
        values = own_numbers(*plan_, clipped_ ? clipped_->view() : x_, iteration_->want(), iteration_->basis());
    }
    terms_.stretches = {{static_cast<std::int64_t>(values.size()), how.ring, how.step}};
    return values;
}

void SecurePeer::begin_sum() {
    std::vector<std::uint64_t> values = own_sum();
    const Key session = session_of(options_.session, terms_, parties_of(keys_));
    add_pairwise_masks(values, terms_, session, static_cast<Party>(options_.node), own_key_, keys_);
    if (options_.on_masked) std::exchange(options_.on_masked, {})();
    begin(release_masked(values).take());
}

void SecurePeer::end_sum() {
    auto sum = sum_of_masked(consensus_->result(), options_.graph.nodes(), ~std::uint64_t{0});
    if (static_cast<std::int64_t>(sum.size()) != terms_.length()) {
        throw InputError({"masked sum", std::to_string(sum.size()) + " numbers", std::to_string(terms_.length()), ""});
    }
    std::size_t at = 0;
    for (const Stretch& stretch : terms_.stretches) {
        for (std::int64_t i = 0; i < stretch.numbers; ++i, ++at) sum[at] = stretch.ring.reduced(sum[at]);
    }
    const std::array<Key, 2> heard{
        told_, hash_bytes({reinterpret_cast<const std::uint8_t*>(sum.data()), sum.size() * sizeof(std::uint64_t)})};
    told_ = hash_bytes({heard.front().data(), sizeof heard});
    if (budget_) {
        budget_->open(centred(sum, terms_.stretches), options_.graph.nodes());
        plan_ = budget_plan(options_.job, *budget_, options_.terms);
        return;
    }
    if (plan_) {
        return iteration_->take(decode_fixed(sum, plan_->how), step_deviation(plan_->how.step, options_.graph.nodes()));
    }
    agree_on_plan(read_census(sum, LeakageLimits{}.clip_quantile));
}

void SecurePeer::send() {
    for (const auto& message : consensus_->outgoing()) {
        outbox_.push_back(
            {message.to, step_, message.iteration, std::make_shared<const PeerBody>(release_public(message.values))});
    }
}

void SecurePeer::advance() {
    while (consensus_->ready()) {
        consensus_->advance();
        send();
    }
    if (!consensus_->finished()) return;
    if (step_ == 0) {
        end_keys();
        // Nothing is counted under a guarantee: it would be a release of its own.
        if (options_.terms.guarantee) agree_on_plan(std::nullopt);
        if (options_.terms.mu) begin_budget();
    } else {
        end_sum();
    }
    consensus_.reset();
    if (wants_nothing()) return finish();
    ++step_;
    begin_sum();
}

bool SecurePeer::wants_nothing() const {
    if (budget_) return budget_->stage() == BudgetStage::done;
    return iteration_ && iteration_->want() == Want::nothing;
}

void SecurePeer::begin_budget() {
    const Index members = options_.graph.nodes();
    budget_.emplace(budget_terms(options_.job, features_, options_.terms, members, members));
    ShieldPlan plan = budget_plan(options_.job, *budget_, options_.terms);
    if (options_.on_plan) options_.on_plan(plan);
    plan_ = std::move(plan);
}

void SecurePeer::agree_on_plan(const std::optional<Census>& census) {
    const Index members = options_.graph.nodes();
    ShieldPlan plan = plan_shield(options_.job, features_, options_.terms, census, members, members);
    if (options_.on_plan) options_.on_plan(plan);
    plan_ = std::move(plan);
    if (plan_->clip) clipped_ = clip_rows(x_, *plan_->clip).tensor;
    iteration_.emplace(plan_->job, features_);
}

void SecurePeer::finish() {
    const Features& features = budget_ ? *budget_->features() : iteration_->features();
    personal_rank_ = features.train.left_rank();
    result_ = refit(x_, features);
}

}  // namespace couplet
