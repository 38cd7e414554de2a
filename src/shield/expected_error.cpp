#include "couplet/shield/expected_error.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "couplet/core/random.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/secure/budget_site.hpp"

namespace couplet {
namespace {

constexpr Index groups = 60;
constexpr Index labels_of_a_group = 4;  // in each mode
constexpr Index most_entries = Index{1} << 22;
constexpr Index new_patients = 300;

/// Odds of every label by chance, and of those of every group.
struct ModeOdds {
    std::vector<double> chance;
    std::vector<std::vector<std::pair<Index, double>>> group;
};

std::size_t draw(const std::vector<double>& weights, Random& random) {
    double all = 0;
    for (const double weight : weights) all += weight;
    double left = random.uniform() * all;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        left -= weights[i];
        if (left < 0) return i;
    }
    return weights.size() - 1;
}

ModeOdds mode_odds(Index labels, Random& random) {
    ModeOdds odds;
    std::vector<double> common;
    for (Index i = 0; i < labels; ++i) {
        common.push_back(std::pow(static_cast<double>(i + 1), -0.7));
        odds.chance.push_back(0.24 * common.back());
    }
    for (Index g = 0; g < groups; ++g) {
        auto left = common;
        std::vector<std::pair<Index, double>> own;
        for (Index j = 0; j < std::min(labels, labels_of_a_group); ++j) {
            const std::size_t label = draw(left, random);
            left[label] = 0;
            own.emplace_back(static_cast<Index>(label), 0.2 + 0.7 * random.uniform());
        }
        odds.group.push_back(std::move(own));
    }
    return odds;
}

/// Geometric number of groups, one and 1.9 more on average, the first groups more often.
std::vector<std::size_t> patients_groups(Random& random) {
    static const std::vector<double> shares = [] {
        std::vector<double> all;
        for (Index g = 0; g < groups; ++g) all.push_back(std::pow(static_cast<double>(g + 1), -0.8));
        return all;
    }();
    std::vector<std::size_t> own{draw(shares, random)};
    while (random.uniform() < 0.655) own.push_back(draw(shares, random));
    return own;
}

std::vector<double> presences(const ModeOdds& odds, const std::vector<std::size_t>& own, Random& random) {
    std::vector<double> absent;
    for (const double chance : odds.chance) absent.push_back(1 - chance);
    for (const std::size_t g : own) {
        for (const auto& [label, odd] : odds.group[g]) absent[static_cast<std::size_t>(label)] *= 1 - odd;
    }
    bool any = false;
    for (double& one : absent) {
        one = random.uniform() < 1 - one ? 1 : 0;
        any |= one > 0;
    }
    if (!any) absent[draw(odds.chance, random)] = 1;
    return absent;
}

double missed(const Tensor<double>& x, const Features& features) {
    const PersonalFit fit = refit(x.view(), features);
    return fit.error2 / fit.norm2;
}

double best_error(const Tensor<double>& x, Index rank, const Tensor<double>& others) {
    SvdOptions options;
    options.max_rank = rank;
    const auto basis = dominant_basis<double>(x.view().unfold(1), Side::right, options);
    const auto kept = product<double>(others.view().unfold(1), basis.vectors.view());
    return 1 - squared_norm<double>(kept.view()) / squared_norm<double>(others.view().unfold(1));
}

Features features_under(const Tensor<double>& x, BudgetTerms terms) {
    BudgetJob job(std::move(terms));
    for (std::uint64_t stream = 0; !job.features(); ++stream) {
        auto source = NoiseSource::repeatable(1, stream);
        auto sum = rounded_sum(job, x.view(), source);
        for (Index k = 0; k < job.terms().sites; ++k) add_share(job, sum, source);
        job.open(sum, job.terms().sites);
    }
    return job.features()->clone();
}

}  // namespace

Tensor<double> typical_records(Index patients, const Shape& features, std::uint64_t seed) {
    Random population(12345);
    std::vector<ModeOdds> odds;
    for (const Index labels : features.sizes()) odds.push_back(mode_odds(labels, population));
    std::vector<Index> sizes{patients};
    sizes.insert(sizes.end(), features.sizes().begin(), features.sizes().end());
    Tensor<double> x{Shape(std::move(sizes))};
    Random random(seed, 77);
    for (Index p = 0; p < patients; ++p) {
        const auto own = patients_groups(random);
        std::vector<double> record{1};
        for (const ModeOdds& mode : odds) {
            std::vector<double> longer;
            const auto here = presences(mode, own, random);
            for (const double one : record) {
                for (const double other : here) longer.push_back(one * other);
            }
            record = std::move(longer);
        }
        std::copy(record.begin(), record.end(), x.data() + p * features.size());
    }
    return x;
}

std::vector<ExpectedError> expected_errors(Index patients, const Shape& features, Index rank, Index sites,
                                           Index noisy_sites) {
    const Index made = std::clamp<Index>(most_entries / features.size(), 1, std::max<Index>(1, patients));
    const double more = static_cast<double>(std::max<Index>(1, patients)) / static_cast<double>(made);
    const auto x = typical_records(made, features, 1);
    const auto others =
        typical_records(std::min(new_patients, std::max<Index>(1, most_entries / features.size())), features, 2);
    const Index most = std::min(rank, features.size());
    std::vector<ExpectedError> errors;
    for (const double mu : {1.0, 2.0, 4.0, 8.0}) {
        const BudgetTerms terms{
            .mu = mu * more, .sites = sites, .noisy_sites = noisy_sites, .features = features, .rank = most};
        errors.push_back({mu, missed(others, features_under(x, terms))});
    }
    errors.push_back({std::nullopt, best_error(x, std::min(most, made), others)});
    return errors;
}

}  // namespace couplet
