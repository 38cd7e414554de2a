#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "couplet/consensus/graph.hpp"
#include "couplet/privacy/secure_sum.hpp"

namespace couplet {

/// What a sum cost.
struct SumTraffic {
    double bytes_up = 0;    ///< of all clients
    double bytes_down = 0;  ///< to all clients
    Index rounds = 0;
};

/// Adds up integers of a ring over the clients of one process, through the state machines of the network.
class MaskedSums {
  public:
    virtual ~MaskedSums() = default;
    /// The sum of parts (one per client, all as long) modulo the ring.
    virtual std::vector<std::uint64_t> add(std::vector<std::vector<std::uint64_t>> parts, const FixedPoint& how) = 0;
    const SumTraffic& traffic() const noexcept { return traffic_; }

  protected:
    SumTraffic traffic_;
};

/// In the star: a coordinator that learns the sums alone.
class StarSums : public MaskedSums {
  public:
    /// Throws InputError for fewer clients than the demands allow, and for more than secrets have shares.
    StarSums(Index clients, const SumDemands& demands);
    std::vector<std::uint64_t> add(std::vector<std::vector<std::uint64_t>> parts, const FixedPoint& how) override;
    int threshold() const noexcept { return threshold_; }

  private:
    std::vector<Identity> identities_;
    SumDemands demands_;
    int threshold_;
    Key job_;
    std::int64_t pass_ = 0;
};

/// Among peers (section 9): pairwise masks, sums up a breadth-first tree and down again.
class PeerSums : public MaskedSums {
  public:
    PeerSums(const Graph& graph, const SumDemands& demands);
    std::vector<std::uint64_t> add(std::vector<std::vector<std::uint64_t>> parts, const FixedPoint& how) override;

  private:
    Index peers_;
    BfsTree tree_;
    std::vector<Identity> identities_;
    Key job_;
    std::int64_t pass_ = 0;
};

}  // namespace couplet
