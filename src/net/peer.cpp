#include "couplet/net/peer.hpp"

#include <utility>

#include "couplet/core/error.hpp"
#include "peer_run.hpp"

namespace couplet::net {

PeerNode::PeerNode(const Kit& kit, std::shared_ptr<const Tensor<double>> x, PeerOptions options, Log& log) {
    Credentials credentials = load_credentials(kit, Role::peer);
    if (options.spec.job.network != Network::decentralized) {
        throw InputError({"job", "one for a star", "a decentralized one", ""});
    }
    if (x->shape().order() < 2) {
        throw InputError({"tensor", "order " + std::to_string(x->shape().order()),
                          "at least two modes: patients and a feature", ""});
    }
    run_ = std::make_unique<PeerRun>(kit, std::move(x), std::move(options), std::move(credentials), log);
}

PeerNode::~PeerNode() = default;

PeerResult PeerNode::run() {
    struct Closer {
        PeerRun& run;
        ~Closer() { run.close(); }
    };
    const Closer closer{*run_};
    try {
        run_->open();
        return run_->run();
    } catch (const Error& error) {
        run_->record_failure(error.what());
        throw;
    }
}

bool PeerNode::left_behind() noexcept { return PeerWork::left_behind(); }

void PeerNode::stop() { run_->stop(); }

}  // namespace couplet::net
