#include "couplet/tensor/shape.hpp"

#include <utility>

#include "couplet/core/error.hpp"

namespace couplet {

Index checked_product(Index a, Index b) {
    Index result = 0;
    if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &result)) {
        throw InputError({"shape", std::to_string(a) + " x " + std::to_string(b) + " elements",
                          "sizes of at least 0 and fewer than 2^63 elements", ""});
    }
    return result;
}

Shape::Shape(std::vector<Index> sizes) : sizes_(std::move(sizes)) {
    // A zero elsewhere must not hide an overflow: allocation of a prefix would already be wrong.
    Index nonzero = 1;
    bool empty = false;
    for (std::size_t n = 0; n < sizes_.size(); ++n) {
        if (sizes_[n] < 0) {
            throw InputError({"shape", "mode " + std::to_string(n + 1) + " has size " + std::to_string(sizes_[n]),
                              "sizes of at least 0", ""});
        }
        empty = empty || sizes_[n] == 0;
        if (sizes_[n] > 0) nonzero = checked_product(nonzero, sizes_[n]);
    }
    size_ = empty ? 0 : nonzero;
}

Index Shape::product(Index begin, Index end) const noexcept {
    Index result = 1;
    for (Index n = begin; n < end; ++n) result *= (*this)[n];
    return result;
}

Index Shape::offset(std::span<const Index> indices) const {
    if (static_cast<Index>(indices.size()) != order()) {
        throw InputError({"index", std::to_string(indices.size()) + " indices",
                          std::to_string(order()) + " for a tensor of shape " + to_string(), ""});
    }
    Index result = 0;
    for (Index n = 0; n < order(); ++n) {
        const Index i = indices[static_cast<std::size_t>(n)];
        if (i < 0 || i >= (*this)[n]) {
            throw InputError({"index", std::to_string(i) + " in mode " + std::to_string(n + 1),
                              "at least 0 and below " + std::to_string((*this)[n]) + " for shape " + to_string(), ""});
        }
        result = result * (*this)[n] + i;
    }
    return result;
}

std::vector<Index> Shape::indices(Index offset) const {
    if (offset < 0 || offset >= size_) {
        throw InputError({"offset", std::to_string(offset),
                          "at least 0 and below " + std::to_string(size_) + " for shape " + to_string(), ""});
    }
    std::vector<Index> result(sizes_.size());
    for (std::size_t n = sizes_.size(); n-- > 0;) {
        result[n] = offset % sizes_[n];
        offset /= sizes_[n];
    }
    return result;
}

std::string Shape::to_string() const {
    if (sizes_.empty()) return "scalar";
    std::string text;
    for (const Index size : sizes_) text += (text.empty() ? "" : "x") + std::to_string(size);
    return text;
}

}  // namespace couplet
