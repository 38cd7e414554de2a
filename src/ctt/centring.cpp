#include "couplet/ctt/centring.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

/// Patients and features of a tensor that fits.
Index width_of(const TensorView<const double>& x, const Centring& centring, const std::string& where) {
    const Index width = x.shape().product(1, x.shape().order());
    for (const auto* part : {&centring.mean, &centring.scale}) {
        if (part->empty() || static_cast<Index>(part->size()) == width) continue;
        throw InputError(
            {where, std::to_string(width) + " features", std::to_string(part->size()) + ", as were centred", ""});
    }
    return width;
}

template <class Change>
Tensor<double> changed(const TensorView<const double>& x, Index width, Change change) {
    Tensor<double> result = Tensor<double>::copy(x);
    double* value = result.data();
    for (Index p = 0; p < x.shape()[0]; ++p) {
        for (Index i = 0; i < width; ++i, ++value) *value = change(*value, static_cast<std::size_t>(i));
    }
    return result;
}

}  // namespace

void FeatureSums::add(const FeatureSums& other) {
    if (sum.empty()) {
        sum.assign(other.sum.size(), 0);
        square.assign(other.square.size(), 0);
    }
    if (sum.size() != other.sum.size()) {
        throw InputError({"sums", std::to_string(other.sum.size()) + " features", std::to_string(sum.size()), ""});
    }
    patients += other.patients;
    for (std::size_t i = 0; i < sum.size(); ++i) {
        sum[i] += other.sum[i];
        square[i] += other.square[i];
    }
}

FeatureSums feature_sums(const TensorView<const double>& x) {
    const Index width = x.shape().product(1, x.shape().order());
    FeatureSums sums{x.shape()[0], std::vector<double>(static_cast<std::size_t>(width)),
                     std::vector<double>(static_cast<std::size_t>(width))};
    const double* value = x.data();
    for (Index p = 0; p < x.shape()[0]; ++p) {
        for (std::size_t i = 0; i < sums.sum.size(); ++i, ++value) {
            sums.sum[i] += *value;
            sums.square[i] += *value * *value;
        }
    }
    return sums;
}

Centring centring_of(const FeatureSums& sums, bool centre, bool scale) {
    Centring result;
    const double count = static_cast<double>(std::max<Index>(1, sums.patients));
    if (centre) {
        for (const double sum : sums.sum) result.mean.push_back(sum / count);
    }
    if (!scale) return result;
    for (std::size_t i = 0; i < sums.sum.size(); ++i) {
        const double mean = centre ? sums.sum[i] / count : 0;
        const double variance = sums.square[i] / count - mean * mean;
        // Rounding leaves about this much of a constant's square.
        const bool constant = variance <= 1e-12 * (sums.square[i] / count);
        result.scale.push_back(constant ? 1 : std::sqrt(variance));
    }
    return result;
}

Tensor<double> centred(const TensorView<const double>& x, const Centring& centring, const std::string& where) {
    const Index width = width_of(x, centring, where);
    return changed(x, width, [&](double value, std::size_t i) {
        if (!centring.mean.empty()) value -= centring.mean[i];
        return centring.scale.empty() ? value : value / centring.scale[i];
    });
}

Tensor<double> restored(const TensorView<const double>& x, const Centring& centring, const std::string& where) {
    const Index width = width_of(x, centring, where);
    return changed(x, width, [&](double value, std::size_t i) {
        if (!centring.scale.empty()) value *= centring.scale[i];
        return centring.mean.empty() ? value : value + centring.mean[i];
    });
}

}  // namespace couplet
