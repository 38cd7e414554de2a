#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "couplet/net/certificates.hpp"
#include "couplet/net/peer.hpp"
#include "membership.hpp"
#include "peer_network.hpp"
#include "peer_work.hpp"

namespace couplet::net {

/// Who takes part in a job from one change of the members to the next.
struct PeerEpoch {
    std::uint64_t number = 0;    ///< 0: none has begun
    std::vector<Index> members;  ///< ascending
    Index place = 0;             ///< of this peer among them

    /// Of any peer; nothing when it is no member.
    std::optional<Index> place_of(Index peer) const;
};
/// The one that the membership has agreed on.
PeerEpoch agreed_epoch(const PeerNetwork& network, const Membership& membership);

/// What the members and their processes are in the agreed epoch of that job, and nobody else's epoch ever.
std::string epoch_text(const PeerNetwork& network, const Membership& membership, const wire::JobId& job);

/// In whose order the members compute: that of the options, or what the members' schemas come to. Throws InputError
/// when the data of the members does not fit together, as in a simulation; then it does at every member.
Schema schema_of_members(const PeerNetwork& network, const Membership& membership, const PeerEpoch& epoch,
                         const PeerOptions& options, const Schema& own);

/// What masked sums of an epoch need: this peer signs with `key`, members with the keys of the certificates that are
/// with their records, which were checked.
MaskedEpoch make_masked_epoch(const Membership& membership, const PeerEpoch& epoch, const std::string& text,
                              const std::string& key, const SumDemands& demands);

/// The epoch that runs, for threads other than the one that begins it.
class SharedEpoch {
  public:
    /// Whose data a sum is of, and under what name it goes.
    struct Cohort {
        std::string run;  ///< of this epoch, in hexadecimal digits
        std::vector<Index> members;
        std::string order;  ///< of the features
    };

    void begin(std::uint64_t number, std::vector<Index> members, const wire::JobId& run);
    void set_order(std::string order);
    /// The peer at that place among the members of that epoch; nothing when another one runs.
    std::optional<Index> member(std::uint64_t number, Index place) const;
    Cohort cohort() const;

  private:
    mutable std::mutex mutex_;
    std::uint64_t number_ = 0;
    Cohort cohort_{wire::to_hex(wire::JobId{}), {}, {}};
};

}  // namespace couplet::net
