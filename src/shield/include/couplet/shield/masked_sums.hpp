#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
    /// The sum of parts (one per client, all as long) modulo the rings.
    virtual std::vector<std::uint64_t> add(std::vector<std::vector<std::uint64_t>> parts,
                                           const std::vector<Stretch>& stretches) = 0;
    /// All numbers in one ring.
    std::vector<std::uint64_t> add(std::vector<std::vector<std::uint64_t>> parts, const FixedPoint& how);
    const SumTraffic& traffic() const noexcept { return traffic_; }

  protected:
    SumTraffic traffic_;
};

/// In the star: a coordinator that learns the sums alone.
class StarSums : public MaskedSums {
  public:
    /// Keys are made for so many sums at once, and again when these are done. Throws InputError for fewer clients than
    /// the demands allow, and for more than secrets have shares.
    StarSums(Index clients, const SumDemands& demands, int sums);
    using MaskedSums::add;
    std::vector<std::uint64_t> add(std::vector<std::vector<std::uint64_t>> parts,
                                   const std::vector<Stretch>& stretches) override;
    int threshold() const noexcept { return keys_.threshold; }

  private:
    void make_keys();
    template <class Body>
    void for_all(const Body& body);

    std::vector<Identity> identities_;
    SumDemands demands_;
    KeyTerms keys_;
    std::optional<SecureSumCoordinator> coordinator_;
    std::vector<SecureSumClient> clients_;
    std::int64_t next_ = 0;
};

/// Among peers (section 9): pairwise masks, sums up a breadth-first tree and down again.
class PeerSums : public MaskedSums {
  public:
    PeerSums(const Graph& graph, const SumDemands& demands);
    using MaskedSums::add;
    std::vector<std::uint64_t> add(std::vector<std::vector<std::uint64_t>> parts,
                                   const std::vector<Stretch>& stretches) override;

  private:
    Index peers_;
    BfsTree tree_;
    std::vector<Identity> identities_;
    Key session_;
    std::vector<Secret> secrets_;
    std::map<Party, Key> members_;  ///< their keys
    std::set<Party> parties_;
    std::int64_t next_ = 0;
};

}  // namespace couplet
