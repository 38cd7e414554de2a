#include "couplet/coding/reference.hpp"

#include "integer_model.hpp"

namespace couplet::reference {
namespace {

/// A range coder whose lower bound is one long number, most significant byte first; `range` belongs to its last 64
/// bits.
class LongNumberEncoder {
  public:
    bool code(bool bit, std::uint32_t p) {
        const std::uint64_t bound = (range_ >> probability_bits) * p;
        if (!bit) add(bound);
        range_ = bit ? bound : range_ - bound;
        shift();
        return bit;
    }
    std::uint32_t code_plain(std::uint32_t bits, int count) {
        range_ >>= count;
        add(range_ * bits);
        shift();
        return bits;
    }
    std::vector<std::byte> finish() {
        add(RangeEncoder::least_range - 1);
        std::vector<std::byte> bytes;
        for (std::size_t i = 0; i + 4 < low_.size(); ++i) bytes.push_back(std::byte(low_[i]));
        return bytes;
    }

  private:
    void add(std::uint64_t value) {
        unsigned carry = 0;
        for (std::size_t at = low_.size(); value > 0 || carry > 0; --at) {
            const unsigned sum = low_[at - 1] + static_cast<unsigned>(value & 255) + carry;
            low_[at - 1] = static_cast<std::uint8_t>(sum);
            carry = sum >> 8;
            value >>= 8;
        }
    }
    void shift() {
        if (range_ >= RangeEncoder::least_range) return;
        range_ <<= 32;
        low_.resize(low_.size() + 4, 0);
    }
    std::vector<std::uint8_t> low_ = std::vector<std::uint8_t>(8, 0);
    std::uint64_t range_ = ~std::uint64_t{0};
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
    IntegerModel<PlainMixing> model;
    for (Index i = 0; i < q.rows; ++i) {
        for (Index j = 0; j < q.cols; ++j) model.code(encoder, q(i, j), neighbourhood(q, inner, i, j));
    }
    return encoder.finish();
}

}  // namespace couplet::reference
