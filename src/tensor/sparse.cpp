#include "couplet/tensor/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "element.hpp"

namespace couplet {
namespace {

std::vector<Index> offsets_of(const Shape& shape, std::span<const Index> indices, std::size_t count) {
    const auto order = static_cast<std::size_t>(shape.order());
    if (indices.size() != count * order) {
        throw InputError(
            {"sparse tensor", std::to_string(indices.size()) + " indices",
             std::to_string(count * order) + ", one per mode for each of the " + std::to_string(count) + " values",
             ""});
    }
    std::vector<Index> offsets(count);
    for (std::size_t e = 0; e < count; ++e) offsets[e] = shape.offset(indices.subspan(e * order, order));
    return offsets;
}

/// The positions of the entries in ascending order of their offsets, equal ones in the order given.
std::vector<std::size_t> sorted_order(const std::vector<Index>& offsets) {
    std::vector<std::size_t> order(offsets.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (std::ranges::is_sorted(offsets)) return order;
    std::ranges::stable_sort(order, {}, [&](std::size_t e) { return offsets[e]; });
    return order;
}

}  // namespace

void refuse_element(const Shape& shape, Index offset, double value, const std::string& where) {
    throw InputError({where, element_text(shape, offset, value), "finite numbers only",
                      std::isnan(value) ? "Replace or remove missing values first."
                                        : "Replace infinite values; NaN stands for a missing one."});
}

SparseTensor::SparseTensor(Shape shape, std::span<const Index> indices, std::vector<double> values)
    : shape_(std::move(shape)) {
    const std::vector<Index> offsets = offsets_of(shape_, indices, values.size());
    const std::vector<std::size_t> order = sorted_order(offsets);
    offsets_.reserve(values.size());
    values_.reserve(values.size());
    for (std::size_t e = 0; e < order.size();) {
        const Index offset = offsets[order[e]];
        double sum = 0;
        for (; e < order.size() && offsets[order[e]] == offset; ++e) sum += values[order[e]];
        if (sum == 0) continue;
        offsets_.push_back(offset);
        values_.push_back(sum);
    }
}

SparseTensor SparseTensor::of(const TensorView<const double>& dense) {
    SparseTensor result;
    result.shape_ = dense.shape();
    for (Index i = 0; i < dense.size(); ++i) {
        if (dense.data()[i] == 0) continue;
        result.offsets_.push_back(i);
        result.values_.push_back(dense.data()[i]);
    }
    return result;
}

Tensor<double> SparseTensor::full() const {
    auto dense = Tensor<double>::zeros(shape_);
    for (std::size_t e = 0; e < offsets_.size(); ++e) dense.data()[offsets_[e]] = values_[e];
    if (!labels_.empty()) dense.set_labels(labels_);
    return dense;
}

SparseTensor SparseTensor::rows(Index first, Index count) const {
    std::vector<Index> sizes(shape_.sizes().begin(), shape_.sizes().end());
    if (sizes.empty() || first < 0 || count < 0 || first > sizes.front() - count) {
        throw InputError({"rows", std::to_string(count) + " from " + std::to_string(first),
                          "within a tensor of shape " + shape_.to_string(), ""});
    }
    sizes.front() = count;
    SparseTensor part;
    part.shape_ = Shape(std::move(sizes));
    const Index row = shape_.product(1, shape_.order());
    const auto begin = std::ranges::lower_bound(offsets_, first * row);
    const auto end = std::ranges::lower_bound(offsets_, (first + count) * row);
    for (auto at = begin; at != end; ++at) part.offsets_.push_back(*at - first * row);
    part.values_.assign(values_.begin() + (begin - offsets_.begin()), values_.begin() + (end - offsets_.begin()));
    return part;
}

void SparseTensor::set_labels(Labels labels) {
    check_labels(labels, shape_);
    labels_ = std::move(labels);
}

void require_finite(const SparseTensor& tensor, const std::string& where) {
    const auto bad = find_non_finite(tensor.values());
    if (!bad) return;
    const auto at = static_cast<std::size_t>(*bad);
    refuse_element(tensor.shape(), tensor.offsets()[at], tensor.values()[at], where);
}

}  // namespace couplet
