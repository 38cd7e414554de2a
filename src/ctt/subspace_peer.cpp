#include "subspace_peer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "couplet/ctt/client.hpp"

namespace couplet {
namespace {

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

Index SubspacePeer::rounds(const Job& job, const ConsensusPlan& plan, const Shape& features) {
    return SubspaceIteration(job, features).sums_left() * (plan.iterations + flood_rounds(plan));
}

SubspacePeer::SubspacePeer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x)
    : PeerBase(job, plan, node, std::move(x)),
      subspace_(job, features_shape()),
      sketch_width_(subspace_.basis().cols()),
      last_step_(2 * subspace_.sums_left() - 1),
      consensus_(this->plan(), node) {}

Index SubspacePeer::personal_rank() const noexcept { return features().train.left_rank(); }

void SubspacePeer::check(Index, const PeerMessage& message) const {
    switch (phase_of(message.step)) {
        case Phase::sum:
            PeerConsensus::check(message, step());
            break;
        case Phase::flood:
            check_flooded(*message.body, message.step);
            break;
    }
}

void SubspacePeer::check_flooded(const PeerBody& body, Index step) const {
    if (step == last_step_) {
        require_features(require_body<FeaturesMessage>(body, "the features").features.train.shape(), features_shape());
        return;
    }
    const auto& basis = require_body<Matrix<double>>(body, "a basis");
    // The flood before the last carries the basis of the whole Krylov space.
    const bool whole = step == last_step_ - 2;
    const Index p = features_shape().size();
    if (basis.rows() == p && basis.cols() >= 1 && (whole ? basis.cols() <= p : basis.cols() == sketch_width_)) return;
    throw InputError({"peer message", "a basis of " + std::to_string(basis.rows()) + "x" + std::to_string(basis.cols()),
                      std::to_string(p) + " rows and " +
                          (whole ? "at most as many columns" : std::to_string(sketch_width_) + " columns"),
                      ""});
}

void SubspacePeer::handle(Index from, const PeerMessage& message) {
    switch (phase_of(step())) {
        case Phase::sum:
            consensus_.receive(from, message, post());
            flood_when_agreed();
            break;
        case Phase::flood:
            pass_on(from, message);
            break;
    }
}

void SubspacePeer::begin_sum() {
    const bool projected = subspace_.want() == SubspaceIteration::Want::projected;
    const auto basis = subspace_.basis().view();
    consensus_.begin(projected ? projected_gram(x(), basis) : sketch_sum(x(), basis), post());
    flood_when_agreed();
}

void SubspacePeer::flood_when_agreed() {
    if (!consensus_.finished()) return;
    if (node() == 0) {
        const auto mean = consensus_.ends().result;
        std::vector<double> sum(mean.begin(), mean.end());
        for (double& value : sum) value *= static_cast<double>(plan().graph.nodes());
        subspace_.take(sum);
    } else {
        subspace_.skip();
    }
    begin_flood();
}

std::vector<Index> SubspacePeer::flooded() const {
    if (plan().engine != ConsensusEngine::tree) {
        const auto all = plan().graph.neighbours(node());
        return {all.begin(), all.end()};
    }
    const auto at = static_cast<std::size_t>(node());
    std::vector<Index> next = plan().tree.children[at];
    if (plan().tree.parent[at] >= 0) next.push_back(plan().tree.parent[at]);
    return next;
}

void SubspacePeer::begin_flood() {
    const auto early = post().next_step();
    if (node() == 0) {
        const bool over = subspace_.want() == SubspaceIteration::Want::nothing;
        const auto body = over ? body_of(FeaturesMessage{subspace_.features().clone(), std::nullopt})
                               : body_of(Matrix<double>::copy(subspace_.basis().view()));
        for (const Index neighbour : flooded()) post().send(neighbour, body);
        take_flooded(*body);
    } else if (!early.empty()) {
        pass_on(early.begin()->first, early.begin()->second);
    }
}

/// The first copy is passed on to everybody else; later ones belong to a step that is over.
void SubspacePeer::pass_on(Index from, const PeerMessage& message) {
    for (const Index neighbour : flooded()) {
        if (neighbour != from) post().send(neighbour, message.body);
    }
    take_flooded(*message.body);
}

void SubspacePeer::take_flooded(const PeerBody& body) {
    if (subspace_.want() == SubspaceIteration::Want::nothing) {
        finish(require_body<FeaturesMessage>(body, "the features").features.clone());
        return;
    }
    subspace_.agree(require_body<Matrix<double>>(body, "a basis").view());
    begin_sum();
}

}  // namespace couplet
