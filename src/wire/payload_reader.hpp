#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "couplet/ctt/block_code.hpp"
#include "couplet/tensor/tensor.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::wire {

/// What a head says that its message holds.
struct Promise {
    Kind kind = Kind::join;
    Index numbers = 0;
    Shape modes = {};
    std::vector<Index> ranks = {};
    Index rows = 0;
    Index pass = 0;
    std::optional<BlockCode> code = {};   ///< without its bytes
    std::optional<Index> raw_bytes = {};  ///< the payload is bytes, not numbers
};

/// Hands the payload out array by array.
class PayloadReader {
  public:
    explicit PayloadReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    void read(double* to, Index count) {
        if (count == 0) return;  // `to` may be null then
        const auto size = static_cast<std::size_t>(count) * sizeof(double);
        std::memcpy(to, bytes_.data(), size);
        bytes_ = bytes_.subspan(size);
    }
    /// All that is left.
    std::vector<std::uint8_t> rest() {
        const auto* first = reinterpret_cast<const std::uint8_t*>(bytes_.data());
        std::vector<std::uint8_t> result(first, first + bytes_.size());
        bytes_ = {};
        return result;
    }
    /// All that is left, as the bytes of this code.
    std::shared_ptr<const BlockCode> coded(BlockCode code) {
        code.bytes.assign(bytes_.begin(), bytes_.end());
        bytes_ = {};
        return std::make_shared<const BlockCode>(std::move(code));
    }
    std::vector<Tensor<double>> cores(const Shape& modes, const std::vector<Index>& ranks) {
        std::vector<Tensor<double>> result;
        for (Index n = 0; n < modes.order(); ++n) {
            const auto at = static_cast<std::size_t>(n);
            result.emplace_back(Shape{ranks[at], modes[n], ranks[at + 1]});
            read(result.back().data(), result.back().size());
        }
        return result;
    }

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace couplet::wire
