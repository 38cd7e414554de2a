#include "couplet/secure/census.hpp"

#include <algorithm>
#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/privacy/records.hpp"

namespace couplet {
namespace {

constexpr double classes_per_doubling = 8;

Index size_end(std::size_t size_class) {
    return static_cast<Index>(std::floor(std::exp2(static_cast<double>(size_class) / classes_per_doubling) + 1e-9));
}

std::size_t size_class(Index patients) {
    auto place = static_cast<std::size_t>(
        std::max(0.0, std::ceil(classes_per_doubling * std::log2(static_cast<double>(patients)))));
    while (size_end(place) < patients) ++place;  // rounding
    return place;
}

}  // namespace

std::vector<std::uint64_t> take_census(const TensorView<const double>& x, const std::string& who) {
    std::vector<std::uint64_t> counts = norm_histogram(x, who);
    counts.resize(census_length, 0);
    const Index patients = count_patients(x);
    const std::size_t place = size_class(std::max<Index>(1, patients));
    if (place >= size_classes) {
        throw InputError({who, std::to_string(patients) + " patients", "at most 2^40 at one client", ""});
    }
    ++counts[norm_classes + place];
    counts.back() = static_cast<std::uint64_t>(patients);
    return counts;
}

Census read_census(std::span<const std::uint64_t> counts, double clip_quantile) {
    constexpr std::uint64_t most = std::uint64_t{1} << 47;
    if (counts.size() != census_length ||
        std::any_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count > most; })) {
        throw InputError({"counts of patients", "numbers that no clients have", "a sum of clients' counts", ""});
    }
    const auto norms = counts.first(norm_classes);
    const auto sizes = counts.subspan(norm_classes, size_classes);
    Census census;
    census.records = static_cast<Index>(std::min(histogram_total(norms), most));
    census.patients = static_cast<Index>(counts.back());
    if (census.patients > census.records) {
        throw InputError(
            {"counts of patients",
             std::to_string(census.patients) + " patients of " + std::to_string(census.records) + " records",
             "no more patients than records", ""});
    }
    census.longest = histogram_quantile(norms, 1);
    census.usual = histogram_quantile(norms, clip_quantile);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (sizes[i] > 0) census.largest = std::min(size_end(i), census.patients);
    }
    return census;
}

}  // namespace couplet
