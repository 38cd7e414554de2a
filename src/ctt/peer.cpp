#include "couplet/ctt/peer.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/overloaded.hpp"
#include "couplet/ctt/prepare.hpp"
#include "release_gate.hpp"

namespace couplet {
namespace {

using ConsensusState = Released<std::vector<double>>;

template <class T>
std::shared_ptr<const PeerBody> body_of(T value) {
    return std::make_shared<const PeerBody>(std::move(value));
}

template <class T>
const T& require_body(const PeerBody& body, const char* expected) {
    if (const T* found = std::get_if<T>(&body)) return *found;
    throw InputError({"peer message", "a body of another kind", expected, ""});
}

// A neighbour can be past the flood that this node still waits for and in the consensus after it, where it needs this
// node's state: never further.
constexpr Index most_steps_ahead = 2;

bool sensible(double squares) { return std::isfinite(squares) && squares >= 0; }

void require_totals(const Start& totals) {
    if (totals.clients >= 1 && totals.rows >= 1 && sensible(totals.norm2)) return;
    throw InputError({"peer message", "totals that cannot be", "at least one client and patient, a finite norm", ""});
}

void require_ledger(const Ledger& l) {
    if (l.clients >= 1 && l.rows >= 1 && sensible(l.norm2) && sensible(l.svd_tail2) && sensible(l.tt_tail2) &&
        sensible(l.used2)) {
        return;
    }
    throw InputError({"peer message", "a ledger that cannot be", "counts of at least 1 and finite squares", ""});
}

void require_features(const Shape& found, const Shape& expected) {
    if (found == expected) return;
    throw InputError({"peer message", "feature modes " + found.to_string(), expected.to_string(), ""});
}

/// Rounds until what the first node floods has reached everybody.
Index flood_rounds(const ConsensusPlan& plan) {
    if (plan.engine != ConsensusEngine::tree) return plan.graph.eccentricity(0);
    std::vector<Edge> edges;
    for (Index k = 0; k < plan.graph.nodes(); ++k) {
        const Index parent = plan.tree.parent[static_cast<std::size_t>(k)];
        if (parent >= 0) edges.push_back({std::min(k, parent), std::max(k, parent)});
    }
    return Graph(plan.graph.nodes(), std::move(edges)).eccentricity(0);
}

}  // namespace

Index count_numbers(const PeerBody& body) {
    return std::visit(Overloaded{[](const ConsensusState& state) { return static_cast<Index>(state->size()); },
                                 [](const Matrix<double>& basis) { return basis.size(); },
                                 [](const FeaturesMessage& message) { return message.features.numbers(); },
                                 [](const Start&) { return Index{3}; },
                                 [](const MergeState& state) { return state.block.numbers(); }},
                      body);
}

Index count_rounds(const Job& job, const ConsensusPlan& plan, const Shape& features) {
    if (job.aggregate == Aggregate::stack) return 2 * plan.graph.radius();
    if (job.aggregate == Aggregate::average) return plan.iterations;
    return SubspaceIteration(job, features).sums_left() * (plan.iterations + flood_rounds(plan));
}

Peer::Peer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x)
    : job_(job), plan_(plan), node_(node), x_(std::move(x)), norm2_(job_norm2(x_, "peer")) {
    if (x_.shape().order() < 2) {
        throw InputError({"tensor", "order " + std::to_string(x_.shape().order()),
                          "at least two modes: patients and a feature", ""});
    }
    features_shape_ = Shape(std::vector<Index>(x_.shape().sizes().begin() + 1, x_.shape().sizes().end()));
    if (job_.aggregate == Aggregate::stack) {
        tree_ = plan_.graph.bfs_tree(plan_.graph.centre());
        last_step_ = 3;
    } else if (job_.aggregate == Aggregate::subspace) {
        subspace_.emplace(job_, features_shape_);
        sketch_width_ = subspace_->basis().cols();
        last_step_ = 2 * subspace_->sums_left() - 1;
    }
}

std::vector<PeerMessage> Peer::start() {
    switch (job_.aggregate) {
        case Aggregate::average:
            average_.emplace(split_personal(x_, *job_.rank));
            personal_rank_ = *job_.rank;
            begin_consensus(release_state(*average_));
            break;
        case Aggregate::subspace:
            personal_rank_ = std::min(*job_.rank, features_shape_.size());
            begin_sum();
            break;
        case Aggregate::stack:
            begin_gather();
            break;
    }
    return std::exchange(outbox_, {});
}

std::vector<PeerMessage> Peer::receive(Index from, const PeerMessage& message) {
    if (!plan_.graph.has_edge(node_, from)) {
        throw InputError({"peer message", "a sender that is no neighbour: node " + std::to_string(from + 1),
                          "a neighbour of node " + std::to_string(node_ + 1), ""});
    }
    check(from, message);
    if (finished()) return {};
    if (message.step > step_) {
        early_[message.step].try_emplace(from, message);
    } else if (message.step == step_) {
        handle(from, message);
    }
    return std::exchange(outbox_, {});
}

void Peer::check(Index from, const PeerMessage& message) const {
    if (message.step < 0 || message.step > std::min(last_step_, step_ + most_steps_ahead) || !message.body) {
        throw InputError({"peer message", "step " + std::to_string(message.step),
                          "at most " + std::to_string(std::min(last_step_, step_ + most_steps_ahead)), ""});
    }
    const PeerBody& body = *message.body;
    const bool odd = message.step % 2 == 1;
    if (job_.aggregate != Aggregate::stack) {
        if (odd) {
            check_flooded(body, message.step);
            return;
        }
        require_body<ConsensusState>(body, "a consensus state");
        if (message.step > step_ && message.iteration != 0) {
            throw InputError({"peer message", "iteration " + std::to_string(message.iteration) + " of a later step",
                              "its first iteration: the next needs this node's state", ""});
        }
        return;
    }
    const auto& children = tree_.children[static_cast<std::size_t>(node_)];
    const bool fits = odd ? from == tree_.parent[static_cast<std::size_t>(node_)]
                          : std::binary_search(children.begin(), children.end(), from);
    if (!fits) {
        throw InputError({"peer message", "a message up or down the tree from node " + std::to_string(from + 1),
                          odd ? "the parent in the tree" : "a child in the tree", ""});
    }
    if (message.step < 2) {
        require_totals(require_body<Start>(body, "totals"));
    } else if (odd) {
        require_features(require_body<FeaturesMessage>(body, "the features").features.train.shape(), features_shape_);
    } else {
        const auto& state = require_body<MergeState>(body, "a merge");
        require_features(state.block.features(), features_shape_);
        require_ledger(state.ledger);
    }
}

void Peer::check_flooded(const PeerBody& body, Index step) const {
    if (step == last_step_) {
        require_features(require_body<FeaturesMessage>(body, "the features").features.train.shape(), features_shape_);
        return;
    }
    const auto& basis = require_body<Matrix<double>>(body, "a basis");
    // The flood before the last carries the basis of the whole Krylov space.
    const bool whole = step == last_step_ - 2;
    const Index p = features_shape_.size();
    if (basis.rows() == p && basis.cols() >= 1 && (whole ? basis.cols() <= p : basis.cols() == sketch_width_)) return;
    throw InputError({"peer message", "a basis of " + std::to_string(basis.rows()) + "x" + std::to_string(basis.cols()),
                      std::to_string(p) + " rows and " +
                          (whole ? "at most as many columns" : std::to_string(sketch_width_) + " columns"),
                      ""});
}

void Peer::handle(Index from, const PeerMessage& message) {
    switch (activity_) {
        case Activity::consensus:
            consensus_->receive(from, message.iteration, std::get<ConsensusState>(*message.body).get());
            advance_consensus();
            break;
        case Activity::flood:
            // The first copy is passed on to everybody else; later ones belong to a step that is over.
            for (const Index neighbour : flooded()) {
                if (neighbour != from) send(neighbour, message.body);
            }
            take_flooded(*message.body);
            break;
        case Activity::gather:
            gathered_.emplace(from, message.body);
            gather_when_complete();
            break;
        case Activity::scatter:
            scattered_ = message.body;
            for (const Index child : tree_.children[static_cast<std::size_t>(node_)]) send(child, message.body);
            take_scattered(*scattered_);
            break;
        case Activity::done:
            break;
    }
}

void Peer::next_step(Activity activity) {
    ++step_;
    activity_ = activity;
}

void Peer::send(Index to, std::shared_ptr<const PeerBody> body, Index iteration) {
    outbox_.push_back({to, step_, iteration, std::move(body)});
}

void Peer::begin_consensus(Released<std::vector<double>> state) {
    next_step(Activity::consensus);
    initial_ = std::move(state).take();
    consensus_ = make_consensus_node(plan_, node_, initial_);
    send_consensus();
    const auto waiting = early_.extract(step_);
    if (!waiting.empty()) {
        for (const auto& [from, message] : waiting.mapped()) {
            try {
                consensus_->receive(from, message.iteration, std::get<ConsensusState>(*message.body).get());
            } catch (const InputError&) {
                // Its size could not be checked when it came; a wrong one is as if it had not come.
            }
        }
    }
    advance_consensus();
}

void Peer::advance_consensus() {
    while (consensus_->ready()) {
        consensus_->advance();
        send_consensus();
    }
    if (consensus_->finished()) after_consensus();
}

void Peer::send_consensus() {
    std::shared_ptr<const PeerBody> body;
    const double* shared = nullptr;
    for (const auto& message : consensus_->outgoing()) {
        if (message.values.data() != shared || !body) {
            // A mean of released states.
            body = body_of(ReleaseGate::release(std::vector<double>(message.values.begin(), message.values.end())));
            shared = message.values.data();
        }
        send(message.to, body, message.iteration);
    }
}

void Peer::after_consensus() {
    const auto result = consensus_->result();
    averaged_.assign(result.begin(), result.end());
    consensus_.reset();
    if (job_.aggregate == Aggregate::average) {
        Matrix<double> w(*job_.rank, features_shape_.size());
        std::copy(averaged_.begin(), averaged_.end(), w.data());
        auto train = decompose_rows(w, features_shape_, job_.eps2);
        finish(job_.refit ? orthonormal_features(train) : Features{std::move(train), {}, false});
        return;
    }
    if (node_ == 0) {
        std::vector<double> sum = averaged_;
        for (double& value : sum) value *= static_cast<double>(plan_.graph.nodes());
        subspace_->take(sum);
    } else {
        subspace_->skip();
    }
    begin_flood();
}

void Peer::begin_sum() {
    const bool projected = subspace_->want() == SubspaceIteration::Want::projected;
    begin_consensus(projected ? projected_gram(x_, subspace_->basis().view())
                              : sketch_sum(x_, subspace_->basis().view()));
}

std::vector<Index> Peer::flooded() const {
    if (plan_.engine != ConsensusEngine::tree) {
        const auto all = plan_.graph.neighbours(node_);
        return {all.begin(), all.end()};
    }
    const auto at = static_cast<std::size_t>(node_);
    std::vector<Index> next = plan_.tree.children[at];
    if (plan_.tree.parent[at] >= 0) next.push_back(plan_.tree.parent[at]);
    return next;
}

void Peer::begin_flood() {
    next_step(Activity::flood);
    if (node_ == 0) {
        const bool over = subspace_->want() == SubspaceIteration::Want::nothing;
        const auto body = over ? body_of(FeaturesMessage{subspace_->features().clone(), std::nullopt})
                               : body_of(Matrix<double>::copy(subspace_->basis().view()));
        for (const Index neighbour : flooded()) send(neighbour, body);
        take_flooded(*body);
        return;
    }
    auto waiting = early_.extract(step_);
    if (!waiting.empty()) handle(waiting.mapped().begin()->first, waiting.mapped().begin()->second);
}

void Peer::take_flooded(const PeerBody& body) {
    if (subspace_->want() == SubspaceIteration::Want::nothing) {
        finish(require_body<FeaturesMessage>(body, "the features").features.clone());
        return;
    }
    subspace_->agree(require_body<Matrix<double>>(body, "a basis").view());
    begin_sum();
}

Start Peer::own_totals() const { return {1, x_.shape()[0], norm2_}; }

void Peer::begin_gather() {
    next_step(Activity::gather);
    gathered_.clear();
    auto waiting = early_.extract(step_);
    if (!waiting.empty()) {
        for (const auto& [from, message] : waiting.mapped()) gathered_.emplace(from, message.body);
    }
    gather_when_complete();
}

void Peer::gather_when_complete() {
    const auto& children = tree_.children[static_cast<std::size_t>(node_)];
    for (const Index child : children) {
        if (!gathered_.contains(child)) return;
    }
    const Index parent = tree_.parent[static_cast<std::size_t>(node_)];
    if (!totals_) {
        Start sum = own_totals();
        for (const Index child : children) {
            const auto& part = require_body<Start>(*gathered_.at(child), "totals");
            sum.clients += part.clients;
            sum.rows += part.rows;
            sum.norm2 += part.norm2;
        }
        if (parent >= 0) send(parent, body_of(sum));
        scattered_ = parent >= 0 ? nullptr : body_of(sum);
    } else {
        const Hello hello{features_shape_, x_.shape()[0], norm2_};
        Merger merger(job_, features_shape_, *totals_);
        const auto limits = client_limits(job_, hello, *totals_, hops());
        const bool coded = job_.precision == Precision::automatic;
        // What stays at this node needs no code.
        auto upload = coded && (parent < 0 || !children.empty() || has_budget(job_)) ? uncoded_client(x_, limits)
                                                                                     : compress_client(x_, limits);
        personal_rank_ = upload.block->rows();
        merger.add(std::move(upload));
        for (const Index child : children) {
            const auto& state = require_body<MergeState>(*gathered_.at(child), "a merge");
            merger.add(MergeState{state.block.clone(), state.ledger});
        }
        if (parent >= 0) {
            auto state = merger.state();
            if (has_budget(job_)) {
                code_state_within(state, message_bytes());
            } else if (coded && !state.block.code()) {
                code_state(state, state_limit2(state.ledger));
            }
            send(parent, body_of(std::move(state)));
            scattered_ = nullptr;
        } else {
            auto outcome = merger.finish(has_budget(job_) ? std::optional(message_bytes()) : std::nullopt);
            scattered_ = body_of(FeaturesMessage{std::move(outcome.features), outcome.rel_error_bound});
        }
    }
    gathered_.clear();
    begin_scatter();
}

Index Peer::hops() const { return std::max<Index>(1, plan_.graph.radius()); }

Index Peer::message_bytes() const {
    Index most = 0;
    for (Index k = 0; k < plan_.graph.nodes(); ++k) {
        const auto at = static_cast<std::size_t>(k);
        const Index up = tree_.parent[at] >= 0 ? 1 : 0;
        most = std::max(most, up + static_cast<Index>(tree_.children[at].size()));
    }
    return tree_code_bytes(job_, plan_.graph.nodes() - 1, most, features_shape_.order());
}

double Peer::state_limit2(const Ledger& ledger) const {
    const Hello subtree{features_shape_, ledger.rows, ledger.norm2};
    const double eps = client_limits(job_, subtree, *totals_, hops()).tt_eps;
    return eps * eps * ledger.norm2;
}

void Peer::begin_scatter() {
    next_step(Activity::scatter);
    if (scattered_) {
        for (const Index child : tree_.children[static_cast<std::size_t>(node_)]) send(child, scattered_);
        const auto body = scattered_;
        take_scattered(*body);
        return;
    }
    auto waiting = early_.extract(step_);
    if (!waiting.empty()) handle(waiting.mapped().begin()->first, waiting.mapped().begin()->second);
}

void Peer::take_scattered(const PeerBody& body) {
    if (!totals_) {
        totals_ = require_body<Start>(body, "totals");
        begin_gather();
        return;
    }
    const auto& message = require_body<FeaturesMessage>(body, "the features");
    bound_ = message.rel_error_bound;
    finish(message.features.clone());
}

void Peer::finish(const Features& features) {
    shared_ = features.clone();
    activity_ = Activity::done;
    if (job_.refit) {
        result_ = refit(x_, *shared_, norm2_);
        return;
    }
    PersonalFit fit;
    fit.norm2 = norm2_;
    fit.error2 = fixed_error2(x_, average_->weighted, *shared_);
    fit.personal = std::move(average_->personal);
    result_ = std::move(fit);
}

const PersonalFit& Peer::result() const {
    if (!result_) throw RunError({"peer", "no features yet", "a finished job", ""});
    return *result_;
}

const Features& Peer::features() const {
    if (!shared_) throw RunError({"peer", "no features yet", "a finished job", ""});
    return *shared_;
}

}  // namespace couplet
