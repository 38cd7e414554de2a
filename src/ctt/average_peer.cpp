#include "average_peer.hpp"

#include <algorithm>
#include <utility>

namespace couplet {

AveragePeer::AveragePeer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x)
    : PeerBase(job, plan, node, std::move(x)), consensus_(this->plan(), node) {}

void AveragePeer::begin() {
    split_.emplace(split_personal(x(), *job().rank));
    consensus_.begin(release_state(*split_), post());
    finish_when_agreed();
}

void AveragePeer::check(Index, const PeerMessage& message) const { PeerConsensus::check(message, step()); }

void AveragePeer::handle(Index from, const PeerMessage& message) {
    consensus_.receive(from, message, post());
    finish_when_agreed();
}

void AveragePeer::finish_when_agreed() {
    if (!consensus_.finished()) return;
    Matrix<double> w(*job().rank, features_shape().size());
    std::ranges::copy(consensus_.ends().result, w.data());
    auto train = decompose_rows(w, features_shape(), job().eps2);
    if (job().refit) {
        finish(orthonormal_features(train));
        return;
    }
    Features features{std::move(train), {}, false};
    PersonalFit fit;
    fit.norm2 = norm2();
    fit.error2 = fixed_error2(x(), split_->weighted, features);
    fit.personal = std::move(split_->personal);
    finish(std::move(features), std::move(fit));
}

}  // namespace couplet
