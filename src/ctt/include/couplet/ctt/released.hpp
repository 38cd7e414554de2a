#pragma once

#include <utility>

namespace couplet {

/// A value that has passed a step after which it may leave its owner: compression to feature cores, or a sum over all
/// of a client's patients. Messages hold Released values only, and nothing outside that step can make one, so a message
/// built from raw local data does not compile. The one other door is for a receiver: what arrives from a peer was
/// released there, and only the decoder (ArrivalGate, private to wire) may say so.
template <class T>
class Released {
  public:
    const T& get() const noexcept { return value_; }
    const T* operator->() const noexcept { return &value_; }
    T take() && { return std::move(value_); }

  private:
    friend struct ReleaseGate;
    friend struct ArrivalGate;
    explicit Released(T value) : value_(std::move(value)) {}
    T value_;
};

}  // namespace couplet
