#pragma once

#include <cstdint>
#include <vector>

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// A matrix reduced to one bit an entry and one scale: C(P) = ||P||_1 / numel(P) sign(P), sign(0) = +.
struct SignMessage {
    Index rows = 0;
    Index cols = 0;
    double scale = 0;
    std::vector<std::uint8_t> bits;  ///< row by row, the lowest bit first; 1 is negative

    /// Bytes of bits and scale, without the envelope of a message.
    double bytes() const noexcept { return static_cast<double>(bits.size()) + 8; }
};

SignMessage compress_signs(MatrixView<const double> p);
Matrix<double> expand_signs(const SignMessage& message);

/// What compression left out, added to the next message: after any number of them the sum of what was sent is the sum
/// of what was to be sent, less the rest kept here.
class ErrorFeedback {
  public:
    /// Adds the rest to p, compresses, keeps the new rest. All p of one instance have the same size.
    SignMessage send(Matrix<double> p);
    const Matrix<double>& rest() const noexcept { return rest_; }

  private:
    Matrix<double> rest_;
};

}  // namespace couplet
