#pragma once

#include <mutex>
#include <string>

#include "couplet/net/peer.hpp"

namespace couplet::net {

/// Asks the site whether it agrees, one question at a time and from any thread: what it does not agree to does not
/// happen. All throw what the site throws, InputError to refuse.
class PeerVetting {
  public:
    /// The options must outlive it.
    explicit PeerVetting(const PeerOptions& options) : options_(options) {}

    void message(const wire::Message& message);
    void plan(const ShieldPlan& plan, const std::string& run);
    /// A sum among peers is of all members or of nobody: it is agreed as soon as it is asked for.
    void sum(MaskedSum sum, const std::string& run);

  private:
    const PeerOptions& options_;
    std::mutex mutex_;
};

}  // namespace couplet::net
