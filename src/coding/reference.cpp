#include "couplet/coding/reference.hpp"

#include "integer_model.hpp"

namespace couplet::reference {
namespace {

/// A range coder whose lower bound is one long number, most significant byte first; `range` belongs to its last 32
/// bits.
class LongNumberEncoder {
  public:
    bool code(bool bit, std::uint32_t p) {
        const std::uint32_t bound = (range_ >> probability_bits) * p;
        if (!bit) add(bound);
        range_ = bit ? bound : range_ - bound;
        while (range_ < RangeEncoder::least_range) {
            range_ <<= 8;
            low_.push_back(0);
        }
        return bit;
    }
    std::vector<std::byte> finish() const {
        std::vector<std::byte> bytes;
        for (const std::uint8_t byte : low_) bytes.push_back(std::byte(byte));
        return bytes;
    }

  private:
    void add(std::uint32_t value) {
        std::uint64_t carry = value;
        for (std::size_t at = low_.size(); carry > 0; --at) {
            carry += low_[at - 1];
            low_[at - 1] = static_cast<std::uint8_t>(carry);
            carry >>= 8;
        }
    }
    std::vector<std::uint8_t> low_ = std::vector<std::uint8_t>(5, 0);
    std::uint32_t range_ = 0xffffffff;
};

std::int32_t number_at(MatrixView<const std::int32_t> q, Index i, Index j) {
    if (i < 0 || j < 0) return 0;
    return std::clamp(q(i, j), -Neighbourhood::most, Neighbourhood::most);
}

/// Mean magnitude of a row; 0 of the row before the first.
std::uint32_t row_mean(MatrixView<const std::int32_t> q, Index i) {
    if (i < 0) return 0;
    std::uint64_t sum = 0;
    for (Index j = 0; j < q.cols; ++j) sum += scaled_magnitude(q(i, j));
    return static_cast<std::uint32_t>(sum / static_cast<std::uint64_t>(q.cols));
}

Neighbourhood neighbourhood(MatrixView<const std::int32_t> q, Index inner, Index i, Index j) {
    Neighbourhood near;
    near.row = row_mean(q, i - 1);
    for (Index left = 0; left < j; ++left) {
        const std::uint32_t size = scaled_magnitude(q(i, left));
        near.row = averaged(near.row, size, i == 0 ? std::min<Index>(left + 2, 32) : 32);
        near.row_near = averaged(near.row_near, size, 4);
    }
    for (Index above = 0; above < i; ++above) {
        const std::uint32_t size = scaled_magnitude(q(above, j));
        near.column = averaged(near.column, size, std::min<Index>(above + 1, 6));
        near.column_near = averaged(near.column_near, size, std::min<Index>(above + 1, 2));
    }
    near.left = {number_at(q, i, j - 1), number_at(q, i, j - 2)};
    near.above = {number_at(q, i - 1, j), number_at(q, i - 2, j)};
    near.has_plane = inner > 0 && inner < q.cols;
    if (near.has_plane) {
        near.plane = {inner > 1 ? number_at(q, i, j - inner + 1) : 0, number_at(q, i, j - inner),
                      number_at(q, i, j - inner - 1)};
    }
    return near;
}

}  // namespace

std::vector<std::byte> encode_integers(MatrixView<const std::int32_t> q, Index inner) {
    LongNumberEncoder encoder;
    IntegerModel model;
    for (Index i = 0; i < q.rows; ++i) {
        for (Index j = 0; j < q.cols; ++j) model.code(encoder, q(i, j), neighbourhood(q, inner, i, j));
    }
    return encoder.finish();
}

}  // namespace couplet::reference
