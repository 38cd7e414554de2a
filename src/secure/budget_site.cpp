#include "couplet/secure/budget_site.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "couplet/core/error.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/privacy/clip.hpp"
#include "couplet/privacy/discrete_gaussian.hpp"
#include "couplet/secure/noisy_gram.hpp"
#include "couplet/secure/norm_quantile.hpp"

namespace couplet {
namespace {

constexpr Index block_numbers = Index{1} << 22;  // records are shortened and summed by blocks of 32 MB

std::vector<double> count_sum(const BudgetJob& job, const TensorView<const double>& x) {
    const auto norms = count_norms(x);
    std::vector<double> sum{0.5 * static_cast<double>(std::accumulate(norms.begin(), norms.end(), std::int64_t{0}))};
    if (!job.terms().clip) sum.insert(sum.end(), norms.begin(), norms.end());
    return sum;
}

std::vector<double> mode_sum(const TensorView<const double>& records) {
    std::vector<double> sum;
    for (const auto& one : mode_grams(records)) {
        const auto packed = pack_symmetric(one.view());
        sum.insert(sum.end(), packed.begin(), packed.end());
    }
    return sum;
}

std::vector<double> core_sum(const BudgetJob& job, const TensorView<const double>& records) {
    const auto coordinates = product_coordinates(records, job.basis(), job.columns());
    return pack_symmetric(gram<double>(coordinates.view(), Side::right).view());
}

std::vector<double> error_sum(const BudgetJob& job, const TensorView<const double>& records) {
    const PersonalFit fit = refit(records, *job.features());
    return {fit.error2, fit.norm2 - fit.error2};
}

std::vector<double> record_sum(const BudgetJob& job, const TensorView<const double>& records) {
    switch (job.stage()) {
        case BudgetStage::modes:
            return mode_sum(records);
        case BudgetStage::core:
            return core_sum(job, records);
        default:
            return error_sum(job, records);
    }
}

std::vector<double> exact_sum(const BudgetJob& job, const TensorView<const double>& x) {
    if (job.stage() == BudgetStage::counts) return count_sum(job, x);
    std::vector<double> sum(job.length(), 0.0);
    const Index rows = x.shape()[0];
    const Index each = std::max<Index>(1, block_numbers / std::max<Index>(1, job.terms().features.size()));
    for (Index first = 0; first < rows; first += each) {
        const auto records = unit_records(x.rows(first, std::min(each, rows - first)), job.clip());
        const auto part = record_sum(job, records.view());
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    return sum;
}

double uniform(NoiseSource& noise) { return static_cast<double>(noise.word() >> 11) * 0x1.0p-53; }

void require_fits(const BudgetJob& job, const TensorView<const double>& x) {
    const auto sizes = x.shape().sizes();
    if (sizes.empty() || Shape(std::vector<Index>(sizes.begin() + 1, sizes.end())) != job.terms().features) {
        throw InputError(
            {"records of a site", x.shape().to_string(), "patients x " + job.terms().features.to_string(), ""});
    }
    if (job.stage() == BudgetStage::done) throw InputError({"sum of a site", "asked for", "none: the job is done", ""});
}

}  // namespace

Tensor<double> unit_records(const TensorView<const double>& x, double clip) {
    auto records = Tensor<double>::copy(x);
    const auto rows = records.view().unfold(1);
    const auto norms = row_norms(x);
    for (Index i = 0; i < rows.rows; ++i) {
        const double length = std::max(clip, norms[static_cast<std::size_t>(i)]);
        for (Index j = 0; j < rows.cols; ++j) rows(i, j) /= length;
    }
    return records;
}

std::vector<std::int64_t> rounded_sum(const BudgetJob& job, const TensorView<const double>& x, NoiseSource& rounding) {
    require_fits(job, x);
    std::vector<std::int64_t> integers;
    for (const double value : exact_sum(job, x)) {
        const double steps = value / job.sum().step;
        if (!(std::abs(steps) < 0x1p52)) {
            throw InputError({"sum of a site", std::to_string(value), "a number that a sum of shortened records has",
                              "Missing and infinite entries have no sum."});
        }
        // Counts are whole steps already, which u < 1 does not change.
        integers.push_back(static_cast<std::int64_t>(std::floor(steps + uniform(rounding))));
    }
    return integers;
}

void add_share(const BudgetJob& job, std::span<std::int64_t> numbers, NoiseSource& noise) {
    for (std::int64_t& number : numbers) number += discrete_gaussian(noise, job.sum().variance);
}

std::vector<std::int64_t> site_sum(const BudgetJob& job, const TensorView<const double>& x, NoiseSource& noise) {
    auto numbers = rounded_sum(job, x, noise);
    add_share(job, numbers, noise);
    return numbers;
}

}  // namespace couplet
