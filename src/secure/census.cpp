#include "couplet/secure/census.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "couplet/core/error.hpp"
#include "couplet/privacy/records.hpp"

namespace couplet {
namespace {

constexpr double classes_per_doubling = 8;

Index size_end(std::size_t size_class) {
    return static_cast<Index>(std::floor(std::exp2(static_cast<double>(size_class) / classes_per_doubling) + 1e-9));
}

// More than secrets have shares; what a sum of lies says must not fill the memory.
constexpr std::uint64_t most_clients = 4096;

std::size_t size_class(Index patients) {
    auto place = static_cast<std::size_t>(
        std::max(0.0, std::ceil(classes_per_doubling * std::log2(static_cast<double>(patients)))));
    while (size_end(place) < patients) ++place;  // rounding
    return place;
}

/// A client that counts more patients than its class has would make all others believe that they are hidden among them.
void require_sizes(const Census& census) {
    Index least = 0;
    Index most = 0;
    for (const ClientSize& one : census.clients) {
        least += one.least;
        most += one.most;
    }
    if (census.patients >= least && census.patients <= most) return;
    throw InputError({"counts of patients", std::to_string(census.patients) + " patients",
                      std::to_string(least) + " to " + std::to_string(most) + ", as the sizes of the clients say", ""});
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
        if (sizes[i] == 0) continue;
        census.largest = std::min(size_end(i), census.patients);
        // The first class is that of nobody, too.
        const ClientSize size{i == 0 ? 0 : size_end(i - 1) + 1, size_end(i)};
        census.clients.resize(census.clients.size() + static_cast<std::size_t>(std::min(sizes[i], most_clients)), size);
    }
    require_sizes(census);
    return census;
}

Index fewest_honest(const Census& census, Index clients, Index survivors, Index colluders) {
    const auto counted = static_cast<Index>(census.clients.size());
    const Index gone = std::min(counted, std::max<Index>(0, clients - survivors) + colluders);
    const auto first_gone = census.clients.end() - gone;
    const Index least = std::accumulate(census.clients.begin(), first_gone, Index{0},
                                        [](Index sum, const ClientSize& one) { return sum + one.least; });
    const Index taken = std::accumulate(first_gone, census.clients.end(), Index{0},
                                        [](Index sum, const ClientSize& one) { return sum + one.most; });
    return std::max(least, gone == counted ? 0 : census.patients - taken);
}

}  // namespace couplet
