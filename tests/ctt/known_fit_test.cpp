#include "couplet/ctt/known_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matrices.hpp"

namespace couplet {
namespace {

using namespace support;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// R x P with orthonormal rows.
Matrix<double> features(Index rank, Index columns, std::uint64_t seed = 3) {
    return transpose(orthonormal_columns(columns, rank, seed).view());
}

Matrix<double> with_holes(const Matrix<double>& x, double fraction, std::uint64_t seed = 9) {
    auto holes = Matrix<double>::copy(x.view());
    Random random(seed);
    for (Index i = 0; i < holes.size(); ++i) {
        if (random.uniform() < fraction) holes.data()[i] = nan;
    }
    return holes;
}

/// Of the objective of fit_known(), by loops.
double objective(const Matrix<double>& x, const Matrix<double>& w, const double* g, Index row, const ColumnPull* pull) {
    double sum = 0;
    for (Index j = 0; j < x.cols(); ++j) {
        double model = 0;
        for (Index r = 0; r < w.rows(); ++r) model += g[r] * w(r, j);
        const auto at = static_cast<std::size_t>(j);
        if (!std::isnan(x(row, j))) {
            sum += std::pow(x(row, j) - model, 2);
        } else if (pull != nullptr && pull->known[at] != 0) {
            sum += pull->weight * std::pow(pull->means[at] - model, 2);
        }
    }
    return sum;
}

TEST(KnownFitTest, CompleteRowsAreProjected) {
    const auto w = features(4, 31);
    const auto x = random_matrix<double>(7, 31);
    const auto fit = fit_known(x.view(), w.view());
    const auto projected = product<double>(x.view(), w.view(), Op::none, Op::transpose);
    EXPECT_LE(naive_distance(fit.personal.view(), projected.view()), 1e-13 * naive_norm(projected.view()));
    EXPECT_TRUE(fit.loose.empty());
    EXPECT_TRUE(fit.unknown.empty());
    EXPECT_NEAR(fit.norm2, std::pow(naive_norm(x.view()), 2), 1e-12 * fit.norm2);
    EXPECT_NEAR(fit.error2, fit.norm2 - std::pow(naive_norm(projected.view()), 2), 1e-12 * fit.norm2);
}

TEST(KnownFitTest, NothingNearbyFitsBetter) {
    const auto w = features(5, 40);
    const auto x = with_holes(random_matrix<double>(9, 40), 0.4);
    ColumnPull pull{std::vector<double>(40, 0.7), std::vector<char>(40, 1), 0.3};
    pull.known[3] = pull.known[17] = 0;
    pull.means[3] = pull.means[17] = 0;
    // A column without a mean is one that nobody knows.
    auto seen = Matrix<double>::copy(x.view());
    for (Index i = 0; i < 9; ++i) seen(i, 3) = seen(i, 17) = nan;
    for (const ColumnPull* how : {static_cast<const ColumnPull*>(nullptr), static_cast<const ColumnPull*>(&pull)}) {
        auto fit = fit_known(seen.view(), w.view(), how);
        double known2 = 0;
        for (Index i = 0; i < 9; ++i) {
            double* g = fit.personal.view().row(i);
            const double least = objective(seen, w, g, i, how);
            known2 += objective(seen, w, g, i, nullptr);
            for (Index r = 0; r < 5; ++r) {
                for (const double h : {1e-4, -1e-4}) {
                    g[r] += h;
                    EXPECT_GT(objective(seen, w, g, i, how), least);
                    g[r] -= h;
                }
            }
        }
        EXPECT_NEAR(fit.error2, known2, 1e-12 * known2);
    }
}

TEST(KnownFitTest, RowsOfTheModelAreFoundAgain) {
    const auto w = features(6, 50);
    const auto g = random_matrix<double>(11, 6);
    const auto x = product<double>(g.view(), w.view());
    const auto fit = fit_known(with_holes(x, 0.5).view(), w.view());
    EXPECT_LE(naive_distance(fit.personal.view(), g.view()), 1e-10 * naive_norm(g.view()));
    EXPECT_LE(fit.error2, 1e-20 * fit.norm2);
}

TEST(KnownFitTest, WhoKnowsTooLittleGetsTheSmallestCoreAndIsNamed) {
    const auto w = features(6, 50);
    auto x = random_matrix<double>(4, 50);
    for (Index j = 3; j < 50; ++j) x(1, j) = nan;  // three entries, six directions
    std::fill_n(x.view().row(2), 50, nan);
    const auto fit = fit_known(x.view(), w.view());
    EXPECT_EQ(fit.loose, (std::vector<Index>{1}));
    EXPECT_EQ(fit.unknown, (std::vector<Index>{2}));
    for (Index r = 0; r < 6; ++r) EXPECT_EQ(fit.personal(2, r), 0);
    // It fits, and lies in the span of the three columns: nothing shorter does.
    Matrix<double> known(6, 3);
    for (Index j = 0; j < 3; ++j) {
        double model = 0;
        for (Index r = 0; r < 6; ++r) {
            model += fit.personal(1, r) * w(r, j);
            known(r, j) = w(r, j);
        }
        EXPECT_NEAR(model, x(1, j), 1e-9);
    }
    orthonormalise_columns(known.view());
    double inside2 = 0;
    double all2 = 0;
    for (Index r = 0; r < 6; ++r) all2 += std::pow(fit.personal(1, r), 2);
    for (Index j = 0; j < 3; ++j) {
        double part = 0;
        for (Index r = 0; r < 6; ++r) part += known(r, j) * fit.personal(1, r);
        inside2 += part * part;
    }
    EXPECT_NEAR(inside2, all2, 1e-10 * all2);
}

TEST(KnownFitTest, ADirectionThatIsHardlySeenIsNotFittedToNoise) {
    // The second direction is all but hidden: its known entry weighs 1e-3 of the first.
    auto w = Matrix<double>::zeros(2, 3);
    w(0, 0) = 1;
    w(1, 1) = 1e-3;
    w(1, 2) = std::sqrt(1 - 1e-6);
    auto x = Matrix<double>::zeros(1, 3);
    x(0, 0) = 2;
    x(0, 1) = 1;
    x(0, 2) = nan;
    const auto fit = fit_known(x.view(), w.view());
    EXPECT_EQ(fit.loose.size(), 1U);
    EXPECT_NEAR(fit.personal(0, 0), 2, 1e-12);
    EXPECT_EQ(fit.personal(0, 1), 0);
}

TEST(KnownFitTest, DoesNotDependOnTheNumberOfThreads) {
    const auto w = features(8, 64);
    const auto x = with_holes(random_matrix<double>(37, 64), 0.7);
    const int threads = thread_count();
    set_thread_count(1);
    const auto one = fit_known(x.view(), w.view());
    set_thread_count(4);
    const auto four = fit_known(x.view(), w.view());
    set_thread_count(threads);
    for (Index i = 0; i < one.personal.size(); ++i) EXPECT_EQ(one.personal.data()[i], four.personal.data()[i]);
    EXPECT_EQ(one.error2, four.error2);
}

}  // namespace
}  // namespace couplet
