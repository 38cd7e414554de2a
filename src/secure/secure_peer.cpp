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
    return iteration_->features();
}

ShieldReport SecurePeer::report() const {
    result();
    ShieldReport report = report_of(options_.terms, &*plan_);
    report.noise_cost = noise_cost_of(*plan_, features_, *iteration_);
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
    const Signature signature = options_.sign(advertisement_text(options_.session, self, key, key));
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
                : !options_.verify(party, advertisement_text(options_.session, party, key, key), signature)) {
            throw InputError({"member " + std::to_string(k + 1), "a key that it has not signed", "its own",
                              "Somebody between has changed it: nothing was sent."});
        }
        keys_[party] = key;
    }
}

// ---- masked sums

void SecurePeer::begin_sum() {
    std::vector<std::uint64_t> values;
    how_ = plan_ ? plan_->how : census_fixed_point();
    if (!plan_) {
        const ShieldPlan none{.job = {}, .how = {}};
        if (options_.on_sum) options_.on_sum({none, 0, Want::nothing, Matrix<double>(), {}, false});
        values = take_census(x_);
    } else {
        if (options_.on_sum) {
            const Index sum = plan_->sums - iteration_->sums_left() + 1;
            options_.on_sum({*plan_, sum, iteration_->want(), iteration_->basis(), {}, false});
        }
        values = own_numbers(*plan_, clipped_ ? clipped_->view() : x_, iteration_->want(), iteration_->basis());
    }
    const SumTerms terms{options_.session,
                         step_,
                         static_cast<std::int64_t>(values.size()),
                         how_.ring.bits(),
                         how_.step,
                         static_cast<int>(options_.graph.nodes()),
                         told_};
    add_pairwise_masks(values, static_cast<Party>(options_.node), own_key_, keys_, session_of(terms), how_.ring);
    if (options_.on_masked) std::exchange(options_.on_masked, {})();
    begin(release_masked(values).take());
}

void SecurePeer::end_sum() {
    const auto sum = sum_of_masked(consensus_->result(), options_.graph.nodes(), how_.ring.mask());
    const std::array<Key, 2> heard{
        told_, hash_bytes({reinterpret_cast<const std::uint8_t*>(sum.data()), sum.size() * sizeof(std::uint64_t)})};
    told_ = hash_bytes({heard.front().data(), sizeof heard});
    if (plan_) return iteration_->take(decode_fixed(sum, how_), step_deviation(how_.step, options_.graph.nodes()));
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
    } else {
        end_sum();
    }
    consensus_.reset();
    if (iteration_ && iteration_->want() == Want::nothing) return finish();
    ++step_;
    begin_sum();
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
    personal_rank_ = iteration_->features().train.left_rank();
    result_ = refit(x_, iteration_->features());
}

}  // namespace couplet
