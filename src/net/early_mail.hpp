#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "couplet/wire/message.hpp"

namespace couplet::net {

/// A message of a neighbour's process.
struct Arrived {
    Index neighbour;
    wire::Incarnation process;
    wire::Message message;
};

/// Sorts the messages of neighbours by their epoch: what belongs to the one that runs, what came before the commit of
/// its epoch did, and what is of an epoch that is over.
///
/// Messages carry the low half of their epoch's number. It wraps after some thousand proposals, and one peer alone can
/// make the numbers jump: so it is only ever compared for being the same, never for being later. What is known of the
/// order is that of a link: a neighbour that speaks of another epoch has left the one before.
class EarlyMail {
  public:
    /// What a message of that epoch carries.
    static std::uint32_t mark(std::uint64_t epoch) noexcept { return static_cast<std::uint32_t>(epoch); }

    /// Hands the message back when it belongs to the epoch that runs. Otherwise it is kept when its epoch may be one to
    /// come, a few of each neighbour, and dropped when that is over.
    std::optional<Arrived> sort(Arrived arrived);
    /// That epoch runs from here on. Returns what came early of it, in order.
    std::vector<Arrived> begin(std::uint64_t epoch);
    /// The neighbour is another process.
    void forget(Index neighbour);

  private:
    std::optional<std::uint32_t> current_;
    std::deque<std::uint32_t> over_;  ///< epochs that ran here, the latest last
    std::vector<Arrived> early_;
};

}  // namespace couplet::net
