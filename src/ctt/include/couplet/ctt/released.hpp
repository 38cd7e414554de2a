#pragma once

#include <utility>

namespace couplet {

/// A value that has passed a step after which it may leave its owner: compression to feature cores, or a sum over all
/// of a client's patients. Messages hold Released values only, and nothing outside that step can make one, so a message
/// built from raw local data does not compile.
template <class T>
class Released {
  public:
    const T& get() const noexcept { return value_; }
    const T* operator->() const noexcept { return &value_; }
    T take() && { return std::move(value_); }

  private:
    friend struct ReleaseGate;
    explicit Released(T value) : value_(std::move(value)) {}
    T value_;
};

}  // namespace couplet
