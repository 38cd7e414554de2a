#pragma once

#include "couplet/ctt/message_bytes.hpp"

namespace couplet {

struct SimulationResult;

/// Counts what travels, the same way for every method: numbers without envelopes, and bytes as serialised.
class Traffic {
  public:
    /// One message to the coordinator.
    void up(double numbers);
    /// One message whose bytes are packed otherwise than 8 for a number; the envelope is added here.
    void up_packed(double numbers, double bytes);
    /// One message to each of so many clients.
    void down(double numbers, Index clients);
    void down_packed(double numbers, double bytes, Index clients);
    /// The same for messages whose bytes are known, envelope included.
    void message_up(double numbers, Index bytes);
    void message_down(double numbers, Index bytes, Index clients);

    double numbers() const noexcept { return numbers_up_ + numbers_down_; }
    double bytes() const noexcept { return bytes_up_ + bytes_down_; }
    /// Writes the fields of a star: means over the clients, totals and bytes.
    void store(SimulationResult& result, Index clients) const;
    /// Writes the fields of a network of peers: everything counts as up, the mean is over the links (one way).
    void store_links(SimulationResult& result, Index links) const;

  private:
    double numbers_up_ = 0;
    double numbers_down_ = 0;
    double bytes_up_ = 0;
    double bytes_down_ = 0;
};

}  // namespace couplet
