#include "couplet/ctt/peer.hpp"

#include <utility>

#include "average_peer.hpp"
#include "couplet/core/overloaded.hpp"
#include "stack_peer.hpp"
#include "subspace_peer.hpp"

namespace couplet {

Index count_numbers(const PeerBody& body) {
    return std::visit(
        Overloaded{[](const Released<std::vector<double>>& state) { return static_cast<Index>(state->size()); },
                   [](const Matrix<double>& basis) { return basis.size(); },
                   [](const FeaturesMessage& message) { return message.features.numbers(); },
                   [](const Start&) { return Index{3}; },
                   [](const MergeState& state) { return state.block.numbers(); }},
        body);
}

Index count_rounds(const Job& job, const ConsensusPlan& plan, const Shape& features) {
    switch (job.aggregate) {
        case Aggregate::average:
            return AveragePeer::rounds(plan);
        case Aggregate::subspace:
            return SubspacePeer::rounds(job, plan, features);
        case Aggregate::stack:
            break;
    }
    return StackPeer::rounds(plan);
}

std::unique_ptr<Peer> make_peer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x) {
    switch (job.aggregate) {
        case Aggregate::average:
            return std::make_unique<AveragePeer>(job, plan, node, std::move(x));
        case Aggregate::subspace:
            return std::make_unique<SubspacePeer>(job, plan, node, std::move(x));
        case Aggregate::stack:
            break;
    }
    return std::make_unique<StackPeer>(job, plan, node, std::move(x));
}

}  // namespace couplet
