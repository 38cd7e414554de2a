#include "mean_counts.hpp"

#include <cmath>

#include "format.hpp"

namespace couplet::cli {
namespace {

Index nearest(double count) { return static_cast<Index>(std::llround(count)); }

}  // namespace

Json number(double count) {
    constexpr double exact = 9e15;  // beyond it neighbouring doubles are further apart than 1
    if (count == std::floor(count) && std::abs(count) < exact) return static_cast<std::int64_t>(count);
    return count;
}

std::string numbers_text(double count) { return count_text(nearest(count)); }

std::string size_text(double bytes) { return bytes_text(nearest(bytes)); }

}  // namespace couplet::cli
