#include "couplet/secure/budget.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/ctt/subspace.hpp"
#include "couplet/linalg/eigen.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/secure/noisy_gram.hpp"
#include "couplet/secure/norm_quantile.hpp"

namespace couplet {
namespace {

constexpr double clip_quantile = 0.8;         // of the record norms
constexpr double most_patients = 0x1p32;      // before they are counted
constexpr double reach = 7.5;                 // deviations that a sum may be off: 1e-13 for each number
constexpr Index most_mode_numbers = 1 << 21;  // of one sum
constexpr Index most_row_numbers = 1 << 26;   // of the features, multiplied out

Index triangle(Index n) { return n * (n + 1) / 2; }

Index mode_numbers(const Shape& features) {
    Index numbers = 0;
    for (const Index n : features.sizes()) numbers += triangle(n);
    return numbers;
}

/// Moves what is known of a number with one deviation towards what is known with another.
double best_of(double a, double variance_a, double b, double variance_b) {
    const double both = variance_a + variance_b;
    return both > 0 ? (a * variance_b + b * variance_a) / both : a;
}

/// Diagonals of the core: the noised ones, drawn to the weights of the products by as much as those have been right.
std::vector<double> core_diagonal(MatrixView<const double> noisy, const std::vector<double>& weights, double noise2) {
    double relative2 = 0.1;
    for (int step = 0; step < 5; ++step) {
        double signal = 0;
        double scale = 0;
        for (std::size_t j = 0; j < weights.size(); ++j) {
            const double w2 = weights[j] * weights[j];
            const double spread = relative2 * w2 + noise2;
            if (w2 <= 0 || spread <= 0) continue;
            const double off = noisy(static_cast<Index>(j), static_cast<Index>(j)) - weights[j];
            signal += (off * off - noise2) * (w2 / spread) / spread;
            scale += w2 / spread * (w2 / spread);
        }
        relative2 = scale > 0 ? std::clamp(signal / scale, 1e-4, 1e4) : 1;
    }
    std::vector<double> diagonal;
    for (std::size_t j = 0; j < weights.size(); ++j) {
        const auto at = static_cast<Index>(j);
        const double prior2 = relative2 * weights[j] * weights[j];
        diagonal.push_back(std::max(0.0, best_of(weights[j], prior2, noisy(at, at), noise2)));
    }
    return diagonal;
}

/// Rows scaled by the roots of their energies; a single one may have none.
void weigh_rows(Matrix<double>& rows, const std::vector<double>& energies) {
    for (Index i = 0; i < rows.rows(); ++i) {
        const double energy = energies[static_cast<std::size_t>(i)];
        const double weight = energy > 0 ? std::sqrt(energy) : 1;
        for (Index j = 0; j < rows.cols(); ++j) rows(i, j) *= weight;
    }
}

/// Raises numbers to the largest of their run, which lasts as long as that is by less than a third.
void even_out(std::vector<double>& numbers) {
    constexpr double apart = 1.3;
    for (std::size_t first = 0; first < numbers.size();) {
        double least = numbers[first];
        double most = numbers[first];
        std::size_t end = first + 1;
        for (; end < numbers.size(); ++end) {
            least = std::min(least, numbers[end]);
            most = std::max(most, numbers[end]);
            if (most > apart * least) break;
        }
        const auto run = std::span(numbers).subspan(first, end - first);
        std::fill(run.begin(), run.end(), *std::max_element(run.begin(), run.end()));
        first = end;
    }
}

/// {r : ((1 - r) error - r kept)^2 <= z^2 sigma^2 ((1 - r)^2 + r^2)} within [0, 1] (Fieller).
BudgetError error_interval(double error, double kept, double sigma) {
    constexpr double z = 1.96;
    const double all = error + kept;
    const double noise2 = z * z * sigma * sigma;
    BudgetError found{.rse = all > 0 ? std::clamp(error / all, 0.0, 1.0) : 1};
    const double a = all * all - 2 * noise2;
    const double half_b = error * all - noise2;
    const double root = half_b * half_b - a * (error * error - noise2);
    if (all <= 0 || a <= 0 || root < 0) return found;  // the noise leaves everything possible
    found.low = std::clamp((half_b - std::sqrt(root)) / a, 0.0, 1.0);
    found.high = std::clamp((half_b + std::sqrt(root)) / a, 0.0, 1.0);
    return found;
}

/// Basis vectors of a mode that the leading products are made of.
Index mode_directions(const BudgetTerms& terms) {
    const Index modes = terms.features.order();
    if (modes == 1) return terms.rank;
    return static_cast<Index>(
        std::ceil(2 * std::pow(static_cast<double>(terms.rank), 1.0 / static_cast<double>(modes))));
}

/// What a patient changes in the counts: its class by 1, and the count, of which more noise does no harm, by a half.
constexpr double count_weight = 0.5;
double counts_change(const BudgetTerms& terms) { return terms.clip ? count_weight : std::hypot(1.0, count_weight); }

}  // namespace

void require_budget(const BudgetTerms& terms) {
    if (!(terms.mu > 0) || !std::isfinite(terms.mu)) {
        throw InputError({"`mu`", std::to_string(terms.mu), "a positive number", ""});
    }
    if (terms.clip && !(*terms.clip >= 1e-100 && *terms.clip <= 1e100)) {
        throw InputError({"`clip`", std::to_string(*terms.clip), "1e-100 to 1e100",
                          "Give the data in units in which its records have usual norms."});
    }
    if (terms.noisy_sites < 1 || terms.noisy_sites > terms.sites) {
        throw InputError({"sites whose noise is enough", std::to_string(terms.noisy_sites),
                          "1 to " + std::to_string(terms.sites), "More sites must stay than may collude."});
    }
    if (terms.rank < 1) throw InputError({"`rank`", "missing", "a rank: noised sums have no certified error", ""});
    if (terms.features.order() < 1 || terms.features.size() < 1) {
        throw InputError({"features", terms.features.to_string(), "at least one", ""});
    }
    const Index rank = std::min(terms.rank, terms.features.size());
    const Index longest = *std::max_element(terms.features.sizes().begin(), terms.features.sizes().end());
    if (longest > most_mode_numbers || mode_numbers(terms.features) > most_mode_numbers) {
        throw InputError({"features", terms.features.to_string(),
                          "modes of at most about 2,000 labels: a sum has the square of them",
                          "Leave rare labels out, give the labels as two modes, or set `policy` off."});
    }
    if (checked_product(rank, terms.features.size()) > most_row_numbers) {
        throw InputError({"`rank`", std::to_string(rank) + " of " + std::to_string(terms.features.size()) + " features",
                          "at most 2^26 numbers in all", "Choose a smaller rank."});
    }
}

BudgetJob::BudgetJob(BudgetTerms terms) : terms_(std::move(terms)), split_(first_split()) {
    require_budget(terms_);
    terms_.rank = std::min(terms_.rank, terms_.features.size());
    begin(BudgetStage::counts);
}

void BudgetJob::begin(BudgetStage stage) {
    stage_ = stage;
    sum_ = {};
    if (stage == BudgetStage::done) return;
    const double mu = terms_.mu * std::sqrt(split_.part(stage));
    double change = 1;
    std::vector<double> bounds;  // of the exact sum, in its unit
    if (stage == BudgetStage::counts) {
        change = counts_change(terms_);
        bounds.assign(terms_.clip ? 1 : 1 + norm_steps, most_patients);
    } else if (stage == BudgetStage::modes) {
        change = std::sqrt(static_cast<double>(terms_.features.order()));
        bounds.assign(static_cast<std::size_t>(mode_numbers(terms_.features)), most_patients_);
    } else if (stage == BudgetStage::error) {
        bounds.assign(2, most_patients_);
    } else {
        bounds = core_bounds();
    }
    const auto numbers = static_cast<std::int64_t>(bounds.size());
    const NoiseGrid grid = fit_noise(change, numbers, mu, terms_.noisy_sites, stage == BudgetStage::counts);
    sum_.step = grid.step;
    sum_.variance = grid.variance;
    const double noise = reach * std::sqrt(noise2(terms_.sites)) / grid.step + static_cast<double>(terms_.sites);
    for (double& bound : bounds) bound = std::ceil(bound / grid.step + noise);
    even_out(bounds);
    for (const double bound : bounds) sum_.moduli.push_back(2 * static_cast<std::uint64_t>(bound) + 1);
}

double BudgetJob::noise2(Index sites) const {
    const double rounding = stage_ == BudgetStage::counts ? 0 : 0.25;
    return static_cast<double>(sites) * (static_cast<double>(sum_.variance) + rounding) * sum_.step * sum_.step;
}

double BudgetJob::sigma(BudgetStage stage) const {
    if (stage == BudgetStage::done || split_.part(stage) == 0) return 0;
    const double mu = terms_.mu * std::sqrt(split_.part(stage));
    if (stage == BudgetStage::counts) return counts_change(terms_) / count_weight / mu;
    const double change = stage == BudgetStage::modes ? std::sqrt(static_cast<double>(terms_.features.order())) : 1;
    return clip_ * clip_ * change / mu;
}

void BudgetJob::open(std::span<const std::int64_t> sum, Index sites) {
    if (stage_ == BudgetStage::done || sum.size() != length()) {
        throw InputError({"sum", std::to_string(sum.size()) + " numbers", std::to_string(length()), ""});
    }
    if (sites < 1 || sites > terms_.sites) {
        throw InputError({"sum", "of " + std::to_string(sites) + " sites", "1 to " + std::to_string(terms_.sites), ""});
    }
    const double noise = noise2(sites);
    std::vector<double> numbers;
    numbers.reserve(sum.size());
    for (const std::int64_t number : sum) numbers.push_back(static_cast<double>(number) * sum_.step);
    switch (stage_) {
        case BudgetStage::counts:
            return open_counts(numbers, noise);
        case BudgetStage::modes:
            return open_modes(numbers, noise);
        case BudgetStage::core:
            return open_core(numbers, noise);
        default:
            return open_error(numbers, noise);
    }
}

void BudgetJob::open_counts(std::span<const double> sum, double noise) {
    const double deviation = std::sqrt(noise);
    patients_ = std::max(1.0, std::round(sum.front() / count_weight));
    most_patients_ = patients_ + 8 * deviation / count_weight;
    clip_ = terms_.clip ? *terms_.clip : noisy_norm_quantile(sum.subspan(1), deviation, clip_quantile);
    const BudgetPlan plan = plan_budget(patients_, terms_.mu, terms_.features, terms_.rank);
    split_ = plan.split;
    columns_ = plan.columns;
    begin(BudgetStage::modes);
}

void BudgetJob::open_modes(std::span<const double> sum, double noise) {
    std::vector<Matrix<double>> noisy;
    std::vector<Matrix<double>> clean;
    double traces = 0;
    for (const Index n : terms_.features.sizes()) {
        const auto numbers = static_cast<std::size_t>(triangle(n));
        noisy.push_back(unpack_symmetric(sum.first(numbers), n));
        sum = sum.subspan(numbers);
        traces += trace(noisy.back().view());
        clean.push_back(clean_gram(noisy.back().view(), noise, mode_directions(terms_)));
    }
    energy_ = std::clamp(traces / static_cast<double>(noisy.size()), 1e-9, most_patients_);
    basis_ = make_mode_basis(clean, columns_ + terms_.rank);
    if (columns_ > 0) {
        bound_vectors(noisy, noise);
        return begin(BudgetStage::core);
    }
    choose_features({}, {}, noise);
}

/// No basis vector has more energy than its noised sum says, with room for the noise.
void BudgetJob::bound_vectors(const std::vector<Matrix<double>>& noisy, double noise) {
    bounds_.clear();
    for (std::size_t mode = 0; mode < noisy.size(); ++mode) {
        const auto& vectors = basis_.vectors[mode];
        const auto image = product<double>(noisy[mode].view(), vectors.view());
        // The spectral norm of the noise is about sqrt(2 n) deviations.
        const double room = std::sqrt(noise) * (std::sqrt(2 * static_cast<double>(vectors.rows())) + reach);
        std::vector<double> bounds;
        for (Index j = 0; j < vectors.cols(); ++j) {
            double energy = 0;
            for (Index i = 0; i < vectors.rows(); ++i) energy += vectors(i, j) * image(i, j);
            bounds.push_back(std::clamp(energy + room, 0.0, most_patients_));
        }
        bounds_.push_back(std::move(bounds));
    }
}

/// Of the packed Gram matrix on the products: |G_ij| <= sqrt(G_ii G_jj).
std::vector<double> BudgetJob::core_bounds() const {
    std::vector<double> diagonal;
    for (Index j = 0; j < columns_; ++j) {
        const auto& vector = basis_.products[static_cast<std::size_t>(j)].vector;
        double least = most_patients_;
        for (std::size_t mode = 0; mode < vector.size(); ++mode) {
            least = std::min(least, bounds_[mode][static_cast<std::size_t>(vector[mode])]);
        }
        diagonal.push_back(least);
    }
    std::vector<double> bounds;
    for (std::size_t i = 0; i < diagonal.size(); ++i) {
        bounds.push_back(diagonal[i]);
        for (std::size_t j = i + 1; j < diagonal.size(); ++j) {
            bounds.push_back(M_SQRT2 * std::sqrt(diagonal[i] * diagonal[j]));
        }
    }
    return bounds;
}

void BudgetJob::open_core(std::span<const double> sum, double noise) {
    const auto noisy = unpack_symmetric(sum, columns_);
    std::vector<double> weights;
    for (Index j = 0; j < columns_; ++j) weights.push_back(basis_.products[static_cast<std::size_t>(j)].weight);
    // Sites may have left since the modes, and the products' weights are what independent modes would have.
    const double expected = std::accumulate(weights.begin(), weights.end(), 0.0);
    const double seen = std::clamp(trace(noisy.view()), 0.0, most_patients_);
    if (seen > 0 && expected > 0) energy_ = std::min(seen / expected, 4 * energy_);
    for (double& weight : weights) weight *= energy_;
    const auto clean = shrink_gram(noisy.view(), noise, core_diagonal(noisy.view(), weights, noise));
    auto eigen = symmetric_eigen(clean.view());
    choose_features(eigen.values, eigen.vectors, noise);
}

/// The directions of most energy: eigenvectors of the core, and the products that are not in it.
void BudgetJob::choose_features(const std::vector<double>& energies, const Matrix<double>& vectors, double noise) {
    struct Direction {
        double energy = 0;
        Index place = 0;  ///< of the eigenvector, or of the product
        bool stands_out = false;
    };
    const double floor = 2 * std::sqrt(noise);
    std::vector<Direction> all;
    for (std::size_t j = 0; j < energies.size(); ++j) {
        all.push_back({energies[j], static_cast<Index>(j), energies[j] > floor});
    }
    for (Index j = columns_; j < static_cast<Index>(basis_.products.size()); ++j) {
        const auto& product = basis_.products[static_cast<std::size_t>(j)];
        bool stands_out = columns_ == 0;
        for (std::size_t mode = 0; mode < product.vector.size(); ++mode) {
            stands_out &= basis_.values[mode][static_cast<std::size_t>(product.vector[mode])] > floor;
        }
        all.push_back({product.weight * energy_, j, stands_out});
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.energy > b.energy; });
    all.resize(std::min(all.size(), static_cast<std::size_t>(terms_.rank)));
    // What has no energy is no feature; one is made of any data.
    while (all.size() > 1 && all.back().energy <= 1e-12 * all.front().energy) all.pop_back();
    auto coefficients =
        Matrix<double>::zeros(static_cast<Index>(all.size()), static_cast<Index>(basis_.products.size()));
    std::vector<double> chosen;
    for (std::size_t r = 0; r < all.size(); ++r) {
        const auto row = static_cast<Index>(r);
        worth_ += all[r].stands_out ? 1 : 0;
        chosen.push_back(all[r].energy * clip_ * clip_);
        if (all[r].place >= columns_) {
            coefficients(row, all[r].place) = 1;
        } else {
            for (Index j = 0; j < columns_; ++j) coefficients(row, j) = vectors(j, all[r].place);
        }
    }
    auto rows = expand_products(coefficients.view(), basis_);
    weigh_rows(rows, chosen);
    features_ = orthonormal_features(decompose_rows(rows, terms_.features, terms_.eps2));
    begin(BudgetStage::error);
}

void BudgetJob::open_error(std::span<const double> sum, double noise) {
    error_ = error_interval(sum[0], sum[1], std::sqrt(noise));
    begin(BudgetStage::done);
}

}  // namespace couplet
