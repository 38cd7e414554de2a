#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "couplet/core/threads.hpp"
#include "couplet/tensor/partition.hpp"

namespace couplet::cli {
namespace {

constexpr Index block_size = Index{1} << 18;

/// Sums of one block, added up in the order of the blocks.
struct Part {
    Index nan = 0;
    Index inf = 0;
    Index nonzeros = 0;
    double min = std::numeric_limits<double>::infinity();
    double max = -std::numeric_limits<double>::infinity();
    double sum = 0;  ///< of x * scale
    double sum2 = 0;

    void take(double x, double scale) {
        if (std::isnan(x)) {
            ++nan;
        } else if (std::isinf(x)) {
            ++inf;
        } else {
            nonzeros += x != 0 ? 1 : 0;
            min = std::min(min, x);
            max = std::max(max, x);
            sum += x * scale;
            sum2 += x * scale * (x * scale);
        }
    }
    void take(const Part& other) {
        nan += other.nan;
        inf += other.inf;
        nonzeros += other.nonzeros;
        min = std::min(min, other.min);
        max = std::max(max, other.max);
        sum += other.sum;
        sum2 += other.sum2;
    }
};

template <Real T>
Part total(TensorView<const T> x, double scale) {
    const auto blocks = Partition::blocks(x.size(), block_size);
    std::vector<Part> parts(static_cast<std::size_t>(blocks.count()));
    parallel_for(blocks.count(), [&](Index i) {
        Part part;
        for (Index j = blocks.begin(i); j < blocks.end(i); ++j) part.take(x.data()[j], scale);
        parts[static_cast<std::size_t>(i)] = part;
    });
    Part all;
    for (const Part& part : parts) all.take(part);
    return all;
}

}  // namespace

template <Real T>
Statistics statistics(TensorView<const T> x) {
    Part all = total(x, 1);
    Statistics result{.finite = x.size() - all.nan - all.inf, .nan = all.nan, .inf = all.inf, .nonzeros = all.nonzeros};
    if (result.finite == 0) return result;
    result.min = all.min;
    result.max = all.max;
    int exponent = 0;
    const bool lost_digits = !(all.sum2 > 1e-200 && all.sum2 < 1e300) && all.nonzeros > 0;
    if (lost_digits) {
        exponent = std::ilogb(std::max(std::abs(all.min), std::abs(all.max)));
        // 2^-exponent itself could overflow for subnormal data.
        exponent = std::max(exponent, -1000);
        all = total(x, std::ldexp(1.0, -exponent));
    }
    result.mean = std::ldexp(all.sum / static_cast<double>(result.finite), exponent);
    result.norm = std::ldexp(std::sqrt(all.sum2), exponent);
    return result;
}

template Statistics statistics(TensorView<const float>);
template Statistics statistics(TensorView<const double>);

}  // namespace couplet::cli
