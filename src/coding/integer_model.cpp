#include "integer_model.hpp"

namespace couplet {
namespace {

// Counters of one scale: 128 buckets; of two scales together: 32 by 32 coarse ones.
constexpr std::size_t buckets = 128;
constexpr std::size_t coarse = 32;

std::uint32_t coarse_bucket(std::uint32_t fine) { return std::min<std::uint32_t>(fine / 2, coarse - 1); }

std::uint32_t magnitude(std::int32_t value) { return static_cast<std::uint32_t>(std::abs(value)); }

std::int32_t limited(std::int32_t value) { return std::clamp(value, -Neighbourhood::most, Neighbourhood::most); }

/// 0, small or large, positive or negative.
std::size_t sign_class(std::int32_t value) {
    if (value == 0) return 0;
    return value > 0 ? (value > 2 ? 2 : 1) : (value < -2 ? 4 : 3);
}

}  // namespace

IntegerModel::IntegerModel()
    : table_((5 * buckets + coarse * coarse) * nodes), lengths_(sets, 19661), signs_(1, 26000) {}

void IntegerModel::choose_scales(const Neighbourhood& near) {
    const std::uint32_t left = 2 * magnitude(near.left[0]) + magnitude(near.left[1]);
    const std::uint32_t above = 2 * magnitude(near.above[0]) + magnitude(near.above[1]);
    const std::uint32_t plane = magnitude(near.plane[0]) + 2 * magnitude(near.plane[1]) + magnitude(near.plane[2]);
    const std::uint32_t row = bucket(near.row / 4);
    const std::uint32_t column = bucket(near.column / 4);
    const auto blend = static_cast<std::uint32_t>(
        (3ULL * near.row + 2ULL * near.column + 2ULL * near.row_near + near.column_near) / 16);
    const std::array<std::uint32_t, 5> single = {row, column, bucket(2 * (left + above)), bucket(blend),
                                                 near.has_plane ? bucket(2 * (left + plane)) : bucket(4 * left)};
    for (std::size_t k = 0; k < single.size(); ++k) scales_[k] = table_.data() + (k * buckets + single[k]) * nodes;
    scales_[5] =
        table_.data() + (single.size() * buckets + coarse_bucket(row) * coarse + coarse_bucket(column)) * nodes;
}

std::array<Counter*, 3> IntegerModel::choose_signs(const Neighbourhood& near) {
    // A smooth surface goes on as a plane, a smooth line as a line.
    const std::int32_t predicted =
        near.has_plane ? near.left[0] + near.plane[1] - near.plane[2] : 2 * near.left[0] - near.left[1];
    const std::size_t steepness = std::min<std::size_t>(bucket(magnitude(predicted)), 19);
    Counter* const counters = sign_counters_.data();
    return {counters + 5 * sign_class(near.left[0]) + sign_class(near.left[1]),
            counters + 25 + 5 * sign_class(near.plane[1]) + sign_class(predicted),
            counters + 50 + (predicted < 0 ? 20 : 0) + steepness};
}

Neighbourhoods::Neighbourhoods(Index cols, Index inner)
    : inner_(inner < cols ? inner : 0), columns_(static_cast<std::size_t>(cols)) {}

Neighbourhood Neighbourhoods::at(MatrixView<const std::int32_t> q, Index i, Index j) const {
    const Column& column = columns_[static_cast<std::size_t>(j)];
    Neighbourhood near;
    near.row = row_;
    near.row_near = row_near_;
    near.column = column.average;
    near.column_near = column.near;
    const std::int32_t* row = q.row(i);
    if (j > 0) near.left[0] = limited(row[j - 1]);
    if (j > 1) near.left[1] = limited(row[j - 2]);
    if (i > 0) near.above[0] = limited(q(i - 1, j));
    if (i > 1) near.above[1] = limited(q(i - 2, j));
    near.has_plane = inner_ > 0;
    if (inner_ > 0) {
        if (inner_ > 1 && j + 1 >= inner_) near.plane[0] = limited(row[j + 1 - inner_]);
        if (j >= inner_) near.plane[1] = limited(row[j - inner_]);
        if (j > inner_) near.plane[2] = limited(row[j - inner_ - 1]);
    }
    return near;
}

void Neighbourhoods::add(std::int32_t value, Index i, Index j) {
    const std::uint32_t size = scaled_magnitude(value);
    const auto cols = static_cast<Index>(columns_.size());
    row_ = averaged(row_, size, i == 0 ? average_over(j + 1, 32) : 32);
    row_near_ = averaged(row_near_, size, 4);
    Column& column = columns_[static_cast<std::size_t>(j)];
    column.average = averaged(column.average, size, average_over(i, 6));
    column.near = averaged(column.near, size, average_over(i, 2));
    row_sum_ += size;
    if (j + 1 < cols) return;
    // A row begins with the mean of the one before.
    row_ = static_cast<std::uint32_t>(row_sum_ / static_cast<std::uint64_t>(cols));
    row_near_ = 0;
    row_sum_ = 0;
}

}  // namespace couplet
