#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace couplet {

using Index = std::int64_t;

/// a * b; throws InputError when a factor is negative or the product does not fit in 64 bits.
Index checked_product(Index a, Index b);

/// Sizes of the modes of a tensor, first mode first. Order 0 (a scalar) has one element.
/// Every size is >= 0 and the product of all sizes fits in 64 bits: the constructor throws InputError
/// otherwise.
class Shape {
  public:
    Shape() = default;
    Shape(std::initializer_list<Index> sizes) : Shape(std::vector<Index>(sizes)) {}
    explicit Shape(std::vector<Index> sizes);

    Index order() const noexcept { return static_cast<Index>(sizes_.size()); }
    Index operator[](Index mode) const noexcept { return sizes_[static_cast<std::size_t>(mode)]; }
    std::span<const Index> sizes() const noexcept { return sizes_; }
    /// Number of elements.
    Index size() const noexcept { return size_; }
    /// Product of the sizes of modes begin, ..., end - 1 (counted from 0).
    Index product(Index begin, Index end) const noexcept;
    /// Position in row-major storage of the element with these indices (counted from 0). Throws InputError
    /// when the count of indices or an index is out of range.
    Index offset(std::span<const Index> indices) const;
    /// Inverse of offset(). Throws InputError unless 0 <= offset < size().
    std::vector<Index> indices(Index offset) const;

    /// "200x30x30"; "scalar" for order 0.
    std::string to_string() const;
    friend bool operator==(const Shape&, const Shape&) = default;

  private:
    std::vector<Index> sizes_;
    Index size_ = 1;
};

}  // namespace couplet
