#include "couplet/linalg/svd.hpp"

#include <gtest/gtest.h>

#include "couplet/linalg/reference.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::geometric;
using support::matrix_with_spectrum;
using support::message_of;
using support::naive_distance;
using support::naive_norm;
using support::naive_product;
using support::obeys_sign_rule;
using support::orthonormality_residual;
using support::projection_error;
using support::random_matrix;
using support::same_bits;

constexpr SvdMethod engines[] = {SvdMethod::automatic, SvdMethod::gram, SvdMethod::qr, SvdMethod::random};

double tail_from(const std::vector<double>& sigma, std::size_t rank) {
    long double sum = 0;
    for (std::size_t i = rank; i < sigma.size(); ++i) sum += static_cast<long double>(sigma[i]) * sigma[i];
    return static_cast<double>(std::sqrt(sum));
}

/// With sigma the exact singular values, u the roundoff of the engine (of the data for the vectors):
///   V^T V = I to 100 max(rows, cols) u,
///   ||A - A V V^T||^2 <= tail2, which exceeds it by at most 2 gram_rounding ||A||^2 (float products: 1e-6),
///   max |sigma_i - exact_i| <= 1e-13 sigma_1 (qr), sqrt(1e-14) sigma_1 at the bottom of a Gram.
template <Real T>
void check_basis(const Matrix<T>& a, Side side, const SvdOptions& options, const std::vector<double>& exact,
                 std::size_t expected_rank) {
    SCOPED_TRACE(testing::Message() << a.rows() << "x" << a.cols() << " side " << int(side) << " "
                                    << to_string(options.method) << " max_tail " << options.max_tail << " max_rank "
                                    << options.max_rank);
    const auto basis = dominant_basis<T>(a.view(), side, options);
    const Index own = side == Side::right ? a.cols() : a.rows();
    ASSERT_EQ(basis.vectors.rows(), own);
    const auto rank = static_cast<std::size_t>(basis.vectors.cols());
    if (basis.method == SvdMethod::random) {
        EXPECT_GE(rank, expected_rank);
        EXPECT_LE(rank, expected_rank + 3);
    } else {
        EXPECT_EQ(rank, expected_rank);
    }
    EXPECT_LE(static_cast<Index>(rank), options.max_rank);
    EXPECT_LT(orthonormality_residual(basis.vectors.view()), 100);

    const double norm = naive_norm(a.view());
    const auto oriented = side == Side::right ? convert<double>(a.view()) : transpose(convert<double>(a.view()).view());
    const double error = projection_error(oriented.view(), basis.vectors);
    const bool float_products =
        std::same_as<T, float> && (own > std::min(a.rows(), a.cols()) || basis.method == SvdMethod::random);
    const Index least = std::min(a.rows(), a.cols());
    const double margin = 2 * gram_rounding(least, a.size());
    const double rounding = (float_products ? 1e-6 : std::max(1e-13, margin)) * norm * norm;
    if (basis.method == SvdMethod::random && own > std::min(a.rows(), a.cols())) {
        // The other side's vectors are one power step further on: at least as good as reported.
        EXPECT_LE(error * error, basis.tail2 + rounding);
        EXPECT_GE(error * error, 0.95 * basis.tail2 - rounding);
    } else {
        EXPECT_NEAR(error * error, basis.tail2, rounding);
        // The measurement itself rounds at 1e-15 of the norm.
        const double measured = float_products ? rounding : (2 * error + 4e-15 * norm) * 4e-15 * norm;
        EXPECT_LE(error * error, basis.tail2 + measured);
    }
    if (!basis.rank_limited) {
        EXPECT_LE(error, options.max_tail + (float_products ? 1e-6 : 1e-13) * norm);
    }

    if (basis.sigma.empty()) return;  // nothing cut: any basis of the whole space
    EXPECT_TRUE(obeys_sign_rule(basis.vectors.view()));
    ASSERT_EQ(basis.sigma.size(), rank);
    EXPECT_TRUE(std::ranges::is_sorted(basis.sigma, std::greater<>()));
    for (std::size_t i = 0; i < std::min(rank, expected_rank); ++i) {
        const double squared = std::abs(basis.sigma[i] * basis.sigma[i] - exact[i] * exact[i]);
        if (basis.method == SvdMethod::qr) {
            EXPECT_NEAR(basis.sigma[i], exact[i], 1e-13 * exact[0]);
        } else if (basis.method == SvdMethod::gram) {
            EXPECT_LE(squared, 1e-13 * exact[0] * exact[0]);
        } else {
            EXPECT_LE(squared, 1e-2 * exact[0] * exact[0]);
        }
    }
}

template <Real T>
void check_all_cuts(const Matrix<T>& a, const std::vector<double>& exact) {
    const double norm = tail_from(exact, 0);
    for (const SvdMethod method : engines) {
        for (const Side side : {Side::left, Side::right}) {
            const std::size_t half = std::max<std::size_t>(1, exact.size() / 2);
            // Only the rank; only the tail, half way between two ranks; both, either one cutting first.
            const double tail =
                half < exact.size() ? 0.5 * (tail_from(exact, half) + tail_from(exact, half - 1)) : 0.5 * exact.back();
            check_basis(a, side, {.max_rank = static_cast<Index>(half), .method = method}, exact, half);
            if (tail < 1e-5 * norm) continue;
            check_basis(a, side, {.max_tail = tail, .method = method}, exact, half);
            check_basis(a, side, {.max_tail = tail, .max_rank = 1, .method = method}, exact, 1);
            check_basis(a, side, {.max_tail = tail, .max_rank = static_cast<Index>(exact.size()), .method = method},
                        exact, half);
        }
    }
}

TEST(DominantBasis, AgreesWithJacobiOnEveryShape) {
    const std::pair<Index, Index> shapes[] = {{1, 1},   {1, 7},   {7, 1},   {2, 2},    {3, 5},   {5, 3},
                                              {13, 17}, {31, 33}, {33, 32}, {29, 193}, {67, 31}, {53, 53}};
    for (const auto& [rows, cols] : shapes) {
        const auto a = random_matrix<double>(rows, cols);
        check_all_cuts(a, reference::svd(a.view()).sigma);
        const auto single = convert<float>(a.view());
        check_all_cuts(single, reference::svd(convert<double>(single.view()).view()).sigma);
    }
}

TEST(DominantBasis, OnePastTheTiles) {
    // The tiled Gram starts at order 384 in tiles of 192; the spectrum is known by construction.
    for (const auto& [rows, cols] : {std::pair<Index, Index>{193, 211}, {389, 385}}) {
        const auto sigma = geometric(std::min(rows, cols), 0.97);
        check_all_cuts(matrix_with_spectrum(rows, cols, sigma), sigma);
    }
}

TEST(DominantBasis, NothingCutKeepsTheWholeSpace) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{5, 9}, {9, 5}, {4, 4}}) {
        const auto a = random_matrix<double>(rows, cols);
        for (const Side side : {Side::left, Side::right}) {
            const auto basis = dominant_basis<double>(a.view(), side, {});
            EXPECT_EQ(basis.vectors.cols(), std::min(rows, cols));
            EXPECT_EQ(basis.tail2, 0);
            EXPECT_FALSE(basis.rank_limited);
            EXPECT_LT(orthonormality_residual(basis.vectors.view()), 20);
            const auto oriented = side == Side::right ? Matrix<double>::copy(a.view()) : transpose(a.view());
            EXPECT_LE(projection_error(oriented.view(), basis.vectors), 1e-14 * naive_norm(a.view()));
        }
    }
}

TEST(DominantBasis, RankLimitedSaysWhichLimitCut) {
    const auto a = matrix_with_spectrum(20, 15, geometric(15, 0.5));
    for (const SvdMethod method : engines) {
        SCOPED_TRACE(to_string(method));
        // Rank 4 leaves 0.5^4 / sqrt(0.75) = 0.0722.
        const auto limited = [&](double tail, Index rank) {
            return dominant_basis<double>(a.view(), Side::right, {.max_tail = tail, .max_rank = rank, .method = method})
                .rank_limited;
        };
        EXPECT_FALSE(limited(0.08, 4));
        EXPECT_FALSE(limited(0.08, 100));
        EXPECT_TRUE(limited(0.07, 4));
        EXPECT_TRUE(limited(0, 4));
        EXPECT_FALSE(limited(0, 15));
    }
}

TEST(DominantBasis, ZeroMatrixHasRankOne) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {5, 3}, {3, 5}, {200, 150}}) {
        for (const SvdMethod method : engines) {
            const auto basis = dominant_basis<double>(Matrix<double>::zeros(rows, cols).view(), Side::right,
                                                      {.max_tail = 1e-3, .max_rank = 3, .method = method});
            EXPECT_EQ(basis.vectors.cols(), 1);
            EXPECT_EQ(basis.tail2, 0);
            EXPECT_FALSE(basis.rank_limited);
            EXPECT_LT(orthonormality_residual(basis.vectors.view()), 10);
        }
    }
}

TEST(DominantBasis, RankDeficientMatrixKeepsItsRank) {
    const auto a = matrix_with_spectrum(61, 47, {3, 2, 1, 0.5, 0.25});
    for (const SvdMethod method : engines) {
        const auto basis = dominant_basis<double>(a.view(), Side::right, {.max_tail = 1e-3, .method = method});
        EXPECT_EQ(basis.vectors.cols(), 5) << to_string(method);
        EXPECT_LT(projection_error(a.view(), basis.vectors), 1e-13);
    }
}

TEST(DominantBasis, EqualSingularValuesGiveOrthonormalVectors) {
    // The Gram matrix is the identity, or has a few values many times: eigenvectors are not unique.
    const auto q = support::orthonormal_columns(150, 140, 8);
    std::vector<double> steps;
    for (int i = 0; i < 140; ++i) steps.push_back(1.0 / (1 + i / 20));
    const auto stepped = matrix_with_spectrum(150, 140, steps);
    for (const SvdMethod method : engines) {
        SCOPED_TRACE(to_string(method));
        const auto flat = dominant_basis<double>(q.view(), Side::right, {.max_rank = 30, .method = method});
        EXPECT_LT(orthonormality_residual(flat.vectors.view()), 100);
        EXPECT_NEAR(projection_error(q.view(), flat.vectors), std::sqrt(110.0), 1e-10);
        EXPECT_NEAR(flat.tail2, 110, 1e-9);
        const auto some = dominant_basis<double>(stepped.view(), Side::right, {.max_rank = 50, .method = method});
        EXPECT_LT(orthonormality_residual(some.vectors.view()), 100);
        EXPECT_NEAR(projection_error(stepped.view(), some.vectors), std::sqrt(some.tail2), 1e-9);
        EXPECT_LE(std::sqrt(some.tail2), tail_from(steps, 50) * (method == SvdMethod::random ? 1.02 : 1 + 1e-9));
    }
}

TEST(DominantBasis, AutomaticIsAccurateWhereGramIsBlind) {
    // sigma = 1, 0.5, ... down to 1e-14: tails far below 1e-8 of the largest.
    const auto sigma = geometric(47, 0.5);
    const auto a = matrix_with_spectrum(60, 47, sigma);
    const double norm = tail_from(sigma, 0);
    for (const double relative : {1e-7, 1e-9, 1e-12}) {
        std::size_t rank = 47;
        while (tail_from(sigma, rank - 1) <= relative * norm) --rank;
        for (const Side side : {Side::left, Side::right}) {
            const auto basis = dominant_basis<double>(a.view(), side, {.max_tail = relative * norm});
            EXPECT_EQ(basis.method, SvdMethod::qr);
            EXPECT_NEAR(static_cast<double>(basis.vectors.cols()), static_cast<double>(rank), 1);
            const auto oriented = side == Side::right ? Matrix<double>::copy(a.view()) : transpose(a.view());
            const double error = projection_error(oriented.view(), basis.vectors);
            EXPECT_LE(error, relative * norm + 2e-15);
            EXPECT_NEAR(error, std::sqrt(basis.tail2), 2e-15);
        }
    }
    const auto coarse = dominant_basis<double>(a.view(), Side::right, {.max_tail = 1e-3 * norm});
    EXPECT_EQ(coarse.method, SvdMethod::gram);
    // A rank alone says nothing of the tail: automatic must notice that it is tiny.
    const auto ranked = dominant_basis<double>(a.view(), Side::right, {.max_rank = 35});
    EXPECT_EQ(ranked.method, SvdMethod::qr);
    EXPECT_NEAR(std::sqrt(ranked.tail2), tail_from(sigma, 35), 1e-14);
}

TEST(DominantBasis, RandomIsSeededAndCertified) {
    const auto sigma = geometric(200, 0.8);
    const auto a = matrix_with_spectrum(300, 200, sigma);
    const SvdOptions options{.max_tail = 0.01, .method = SvdMethod::random, .seed = 5};
    const auto basis = dominant_basis<double>(a.view(), Side::right, options);
    const auto again = dominant_basis<double>(a.view(), Side::right, options);
    EXPECT_EQ(basis.method, SvdMethod::random);
    EXPECT_TRUE(same_bits<double>(basis.vectors.view(), again.vectors.view()));
    EXPECT_EQ(basis.tail2, again.tail2);
    auto reseeded = options;
    reseeded.seed = 6;
    const auto other = dominant_basis<double>(a.view(), Side::right, reseeded);
    EXPECT_FALSE(same_bits<double>(basis.vectors.view(), other.vectors.view()));
    const double error = projection_error(a.view(), basis.vectors);
    EXPECT_LE(error, 0.01);
    EXPECT_LE(error * error, basis.tail2);
    EXPECT_NEAR(error * error, basis.tail2,
                4 * gram_rounding(200, 60000) * naive_norm(a.view()) * naive_norm(a.view()));
}

TEST(DominantBasis, RandomFallsBackWhenItMisses) {
    // Too tight for sums of squares; too small a matrix; too flat a spectrum.
    const auto graded = matrix_with_spectrum(120, 100, geometric(100, 0.7));
    const auto tight =
        dominant_basis<double>(graded.view(), Side::right, {.max_tail = 1e-10, .method = SvdMethod::random});
    EXPECT_EQ(tight.method, SvdMethod::qr);
    EXPECT_LE(projection_error(graded.view(), tight.vectors), 1e-10);
    const auto tiny = random_matrix<double>(9, 7);
    EXPECT_EQ(dominant_basis<double>(tiny.view(), Side::right, {.max_rank = 2, .method = SvdMethod::random}).method,
              SvdMethod::gram);
    const auto flat = support::orthonormal_columns(150, 120, 2);
    const auto missed =
        dominant_basis<double>(flat.view(), Side::right, {.max_tail = 1.5, .method = SvdMethod::random});
    EXPECT_LE(projection_error(flat.view(), missed.vectors), 1.5);
    EXPECT_EQ(missed.vectors.cols(), 118);
}

TEST(DominantBasis, RandomDoesNotBlameTheRankForItsOwnMiss) {
    // Rank 60 meets the tail, max_rank 90 allows it, but the first guess of 25 columns cannot show it.
    std::vector<double> sigma(60, 1.0);
    sigma.resize(400, 1e-3);
    const auto a = matrix_with_spectrum(450, 400, sigma);
    const auto basis =
        dominant_basis<double>(a.view(), Side::right, {.max_tail = 0.03, .max_rank = 90, .method = SvdMethod::random});
    EXPECT_FALSE(basis.rank_limited);
    EXPECT_LE(projection_error(a.view(), basis.vectors), 0.03);
}

TEST(DominantBasis, RandomOfLargeAndSmallFloats) {
    // A^T A x leaves the range of float; the result must not.
    const auto base = matrix_with_spectrum(150, 120, geometric(120, 0.7));
    for (const double scale : {1e-25, 1e-15, 1e15, 1e25}) {
        SCOPED_TRACE(scale);
        auto scaled = Matrix<double>::copy(base.view());
        for (Index i = 0; i < scaled.size(); ++i) scaled.data()[i] *= scale;
        const auto a = convert<float>(scaled.view());
        const auto basis = dominant_basis<float>(a.view(), Side::right, {.max_rank = 6, .method = SvdMethod::random});
        EXPECT_LT(orthonormality_residual(basis.vectors.view()), 1e3);
        EXPECT_NEAR(projection_error(a.view(), basis.vectors) / scale, tail_from(geometric(120, 0.7), 6), 1e-4);
    }
}

TEST(DominantBasis, ExtremeMagnitudesOfTheGram) {
    // Squares of the data are in range, squares of their Gram matrix are not.
    const auto sigma = geometric(60, 0.8);
    for (const double scale : {1e-95, 1e95}) {
        auto scaled = sigma;
        for (double& s : scaled) s *= scale;
        const auto a = matrix_with_spectrum(80, 60, scaled);
        const auto basis = dominant_basis<double>(a.view(), Side::right, {.max_rank = 10});
        EXPECT_NEAR(projection_error(a.view(), basis.vectors) / scale, tail_from(sigma, 10), 1e-12);
        EXPECT_NEAR(basis.sigma[0] / scale, 1, 1e-12);
    }
}

TEST(DominantBasis, BitsDoNotDependOnTheThreadCount) {
    const support::ThreadCountGuard guard;
    const auto a = random_matrix<double>(3001, 140);
    for (const SvdMethod method : engines) {
        Matrix<double> first;
        for (const int threads : {1, 2, 3, 7}) {
            set_thread_count(threads);
            auto now = dominant_basis<double>(a.view(), Side::right, {.max_rank = 9, .method = method}).vectors;
            if (threads > 1) {
                EXPECT_TRUE(same_bits<double>(now.view(), first.view())) << to_string(method);
            }
            first = std::move(now);
        }
    }
}

TEST(DominantBasis, RefusesBadArguments) {
    const auto a = random_matrix<double>(3, 4);
    EXPECT_EQ(message_of([] { dominant_basis<double>(Matrix<double>(0, 4).view(), Side::left, {}); }),
              "truncated SVD: 0x4; expected a matrix with at least one element");
    EXPECT_EQ(message_of([&] { dominant_basis<double>(a.view(), Side::left, {.max_rank = 0}); }),
              "max_rank: 0; expected at least 1");
    EXPECT_EQ(message_of([&] { truncated_svd<double>(a.view(), {.max_tail = -1e-9}); }),
              "max_tail: -1e-09; expected a number of at least 0");
    EXPECT_EQ(message_of([&] { truncated_svd<double>(a.view(), {.max_tail = std::nan("")}); }),
              "max_tail: nan; expected a number of at least 0");
}

/// ||A - U S V^T||^2 = tail2 to 1e-13 ||A||^2 (float 1e-6), U and V orthonormal, U under the sign rule.
template <Real T>
void check_truncated(const Matrix<T>& a, const SvdOptions& options) {
    SCOPED_TRACE(testing::Message() << a.rows() << "x" << a.cols() << " " << to_string(options.method) << " "
                                    << options.max_tail << " " << options.max_rank);
    const auto svd = truncated_svd<T>(a.view(), options);
    EXPECT_LT(orthonormality_residual(svd.u.view()), 100);
    EXPECT_LT(orthonormality_residual(svd.v.view()), 100);
    EXPECT_TRUE(obeys_sign_rule(svd.u.view()));
    ASSERT_EQ(static_cast<Index>(svd.sigma.size()), svd.u.cols());
    ASSERT_EQ(svd.u.cols(), svd.v.cols());
    auto us = convert<double>(svd.u.view());
    for (Index i = 0; i < us.rows(); ++i) {
        for (Index j = 0; j < us.cols(); ++j) us(i, j) *= svd.sigma[static_cast<std::size_t>(j)];
    }
    const auto back = naive_product(us.view(), svd.v.view(), Op::none, Op::transpose);
    const double norm = naive_norm(a.view());
    const double error = naive_distance(back.view(), a.view());
    const double rounding = (std::same_as<T, float> ? 1e-6 : 1e-13) * norm * norm;
    EXPECT_NEAR(error * error, svd.tail2, rounding);
}

TEST(TruncatedSvd, RebuildsItsArgumentUpToTheTail) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {1, 6}, {6, 1}, {13, 7}, {7, 13}, {40, 37}}) {
        const auto a = random_matrix<double>(rows, cols);
        const auto single = random_matrix<float>(rows, cols);
        for (const SvdMethod method : engines) {
            for (const Index rank : {Index{1}, Index{3}, Index{100}}) {
                check_truncated(a, {.max_rank = rank, .method = method});
                check_truncated(single, {.max_rank = rank, .method = method});
            }
            check_truncated(a, {.max_tail = 0.3 * naive_norm(a.view()), .method = method});
        }
    }
}

TEST(TruncatedSvd, SingularValuesToRoundingWhenNothingIsCut) {
    const auto sigma = geometric(40, 0.45);  // down to 3e-14
    const auto a = matrix_with_spectrum(50, 40, sigma);
    for (const bool flip : {false, true}) {
        const auto svd = truncated_svd<double>(flip ? transpose(a.view()).view() : a.view(), {});
        ASSERT_EQ(svd.sigma.size(), 40U);
        for (std::size_t i = 0; i < 40; ++i) EXPECT_NEAR(svd.sigma[i], sigma[i], 1e-14);
        EXPECT_EQ(svd.method, SvdMethod::qr);
    }
}

TEST(TruncatedSvd, RankDeficientAndZero) {
    check_truncated(matrix_with_spectrum(30, 20, {2, 1, 0.5}), {});
    check_truncated(matrix_with_spectrum(30, 20, {2, 1, 0.5}), {.max_rank = 8});
    check_truncated(matrix_with_spectrum(20, 30, {2, 1, 0.5}), {.max_tail = 1e-3});
    check_truncated(Matrix<double>::zeros(6, 4), {});
    check_truncated(Matrix<double>::zeros(4, 6), {.max_rank = 2});
}

TEST(SignRule, FirstOfEqualMagnitudesDecides) {
    auto a = Matrix<double>::zeros(3, 4);
    const double columns[4][3] = {{-2, 1, 2}, {2, 1, -2}, {0, -3, 1}, {0, 0, 0}};
    for (Index j = 0; j < 4; ++j) {
        for (Index i = 0; i < 3; ++i) a(i, j) = columns[j][i];
    }
    apply_sign_rule(a.view());
    EXPECT_EQ(a(0, 0), 2);
    EXPECT_EQ(a(2, 0), -2);
    EXPECT_EQ(a(0, 1), 2);
    EXPECT_EQ(a(2, 1), -2);
    EXPECT_EQ(a(1, 2), 3);
    EXPECT_EQ(a(2, 2), -1);
    Matrix<double> empty(0, 2);
    apply_sign_rule(empty.view());
}

TEST(BasisFromFactor, HandlesFewerRowsThanColumns) {
    const auto s = random_matrix<double>(3, 11);
    const auto basis = basis_from_factor(s.view(), {.max_tail = 1e-8});
    EXPECT_EQ(basis.vectors.cols(), 3);
    EXPECT_LE(projection_error(s.view(), basis.vectors), 1e-13);
    const auto capped = basis_from_factor(s.view(), {.max_rank = 7});
    EXPECT_EQ(capped.vectors.cols(), 3);
    EXPECT_FALSE(capped.rank_limited);
}

TEST(BasisFromGram, MeetsTheTailWithItsMargin) {
    const auto sigma = geometric(60, 0.6);
    const auto a = matrix_with_spectrum(70, 60, sigma);
    const double norm = tail_from(sigma, 0);
    const auto g = gram<double>(a.view(), Side::right);
    for (const double relative : {1e-1, 1e-3, 1e-5, 1e-6}) {
        const auto basis = basis_from_gram(g.view(), {.max_tail = relative * norm}, 70);
        EXPECT_LE(projection_error(a.view(), basis.vectors), relative * norm) << relative;
    }
}

TEST(BasisFromGram, TheMarginIsPartOfTheTail) {
    const auto a = matrix_with_spectrum(70, 60, geometric(60, 0.6));
    const auto g = gram<double>(a.view(), Side::right);
    double trace = 0;
    for (Index i = 0; i < 60; ++i) trace += g(i, i);
    for (const Index terms : {Index{70}, Index{1} << 20}) {
        const double margin = gram_rounding(60, terms) * trace;
        const auto ranked = basis_from_gram(g.view(), {.max_rank = 10}, terms);
        EXPECT_NEAR(ranked.tail2, std::pow(0.6, 20) / 0.64 + margin, 1e-15) << terms;
        const auto few = basis_from_gram(g.view(), {.max_tail = 1e-9, .max_rank = 10}, terms);
        EXPECT_NEAR(few.tail2, ranked.tail2, 1e-15) << terms;
        EXPECT_TRUE(few.rank_limited);
        // A tail that is allowed with nothing to spare is not cut.
        const double tail = std::sqrt(std::pow(0.6, 20) / 0.64);
        EXPECT_EQ(basis_from_gram(g.view(), {.max_tail = tail}, terms).vectors.cols(), 11) << terms;
        const double room = std::sqrt(tail * tail + 2 * margin);
        EXPECT_EQ(basis_from_gram(g.view(), {.max_tail = room}, terms).vectors.cols(), 10) << terms;
    }
    EXPECT_EQ(basis_from_gram(g.view(), {.max_tail = 1e-12, .max_rank = 60}, 70).tail2, 0) << "nothing is cut";
}

TEST(GramRounding, GrowsWithOrderAndLength) {
    constexpr double u = std::numeric_limits<double>::epsilon() / 2;
    EXPECT_NEAR(gram_rounding(10, 100) / u, 82, 1e-9);
    EXPECT_NEAR(gram_rounding(10, 1000000) / u, 4042, 1e-9);
    EXPECT_NEAR(gram_rounding(500, 100) / u, 572, 1e-9);
    EXPECT_EQ(gram_floor(10, 100), gram_limit);
    EXPECT_NEAR(gram_floor(10, 100000000), 4 * std::sqrt(40042 * u), 1e-12);
}

TEST(GramRounding, CoversSumsOfAMillionEqualSquares) {
    // All in one direction, the worst that sums do; long and short ones, at every place of the mantissa.
    for (const Index rows : {Index{100}, Index{3000}, Index{100003}, Index{1000003}}) {
        for (const double value : {0.1, 0.3, 0.7, 1 / 3.0}) {
            if (rows > 1000000 && value != 0.1) continue;
            for (const Index cols : {1, 3, 9}) {
                Matrix<double> a(rows, cols);
                for (Index i = 0; i < a.size(); ++i) a.data()[i] = value;
                const auto g = gram<double>(a.view(), Side::right);
                const long double exact = static_cast<long double>(value) * value * static_cast<long double>(rows);
                const double off = static_cast<double>(std::abs(g(0, cols - 1) - exact) / exact);
                EXPECT_LE(off, gram_rounding(cols, rows)) << rows << " " << value;
            }
        }
    }
}

TEST(DominantBasis, EveryMagnitudeGivesTheSameBasisOrARefusal) {
    const auto a = matrix_with_spectrum(30, 20, geometric(20, 0.5));
    for (const SvdMethod method : {SvdMethod::automatic, SvdMethod::gram, SvdMethod::qr, SvdMethod::random}) {
        for (const Side side : {Side::left, Side::right}) {
            const auto plain = dominant_basis<double>(a.view(), side, {.max_tail = 1e-2, .method = method});
            for (const int power : {-500, -260, 260, 500}) {
                auto x = Matrix<double>::copy(a.view());
                for (Index i = 0; i < x.size(); ++i) x.data()[i] = std::ldexp(x.data()[i], power);
                const auto basis =
                    dominant_basis<double>(x.view(), side, {.max_tail = std::ldexp(1e-2, power), .method = method});
                ASSERT_EQ(basis.vectors.cols(), plain.vectors.cols()) << power;
                EXPECT_LT(naive_distance(basis.vectors.view(), plain.vectors.view()), 1e-10) << power;
                EXPECT_NEAR(std::ldexp(basis.sigma[1], -power), plain.sigma[1], 1e-13);
                EXPECT_NEAR(std::ldexp(basis.tail2, -2 * power), plain.tail2, 1e-13);
            }
        }
    }
    auto huge = Matrix<double>::copy(a.view());
    for (Index i = 0; i < huge.size(); ++i) huge.data()[i] *= 1e200;
    EXPECT_EQ(message_of([&] { dominant_basis<double>(huge.view(), Side::right, {.max_rank = 3}); }),
              "truncated SVD: a squared tail of about 1e398; expected a number between 4.9e-324 and 1.8e308. Scale the "
              "values first.");
    // Nothing is cut: nothing has to be squared.
    const auto svd = truncated_svd<double>(huge.view(), {});
    EXPECT_NEAR(svd.sigma[2] / 1e200, 0.25, 1e-13);
    EXPECT_EQ(svd.tail2, 0);
    EXPECT_LT(orthonormality_residual(svd.u.view()), 50);
    const auto single = convert<float>(a.view());
    auto tiny = Matrix<float>::copy(single.view());
    for (Index i = 0; i < tiny.size(); ++i) tiny.data()[i] *= 1e-36F;
    EXPECT_NEAR(truncated_svd<float>(tiny.view(), {}).sigma[0] / 1e-36, 1, 1e-5);
}

TEST(DominantBasis, RandomOfDataWithFewerDirectionsThanAskedFor) {
    for (const auto& [rows, cols] : {std::pair<Index, Index>{300, 60}, {60, 300}}) {
        Matrix<float> constant(rows, cols);
        for (Index i = 0; i < constant.size(); ++i) constant.data()[i] = 0.1F;
        const auto wide = convert<double>(constant.view());
        for (const Side side : {Side::left, Side::right}) {
            const SvdOptions options{.max_rank = 4, .method = SvdMethod::random};
            EXPECT_LT(orthonormality_residual(dominant_basis<float>(constant.view(), side, options).vectors.view()),
                      50);
            EXPECT_LT(orthonormality_residual(dominant_basis<double>(wide.view(), side, options).vectors.view()), 50);
        }
    }
}

TEST(GramSuffices, AsksForATailItCanSee) {
    Basis basis;
    basis.vectors = Matrix<double>(5, 3);
    basis.tail2 = 1e-11;
    EXPECT_TRUE(gram_suffices(basis, 1.0, 0, gram_limit));
    basis.tail2 = 1e-13;
    EXPECT_FALSE(gram_suffices(basis, 1.0, 0, gram_limit));
    EXPECT_TRUE(gram_suffices(basis, 1.0, 1e-2, gram_limit)) << "a wanted tail it can certify";
    EXPECT_FALSE(gram_suffices(basis, 1.0, 1e-7, gram_limit));
    EXPECT_TRUE(gram_suffices(basis, 0.0, 0, gram_limit));
    basis.vectors = Matrix<double>(5, 5);
    EXPECT_TRUE(gram_suffices(basis, 1.0, 0, gram_limit));
}

TEST(SvdMethod, HasNames) {
    EXPECT_EQ(to_string(SvdMethod::automatic), "auto");
    EXPECT_EQ(to_string(SvdMethod::gram), "gram");
    EXPECT_EQ(to_string(SvdMethod::qr), "qr");
    EXPECT_EQ(to_string(SvdMethod::random), "random");
}

/// Exactly low rank needs no QR: the tail of the cut is at rounding and the method is still gram.
TEST(TruncatedSvd, PolishesExactlyLowRankData) {
    const auto a = matrix_with_spectrum(80, 900, geometric(20, 0.7));
    const auto svd = truncated_svd<double>(a.view(), {.max_rank = 20});
    EXPECT_EQ(svd.method, SvdMethod::gram);
    EXPECT_LE(std::sqrt(svd.tail2), 1e-13 * naive_norm(a.view()));
}

/// Few rows are turned until they are orthogonal, many go to LAPACK: both give the space to rounding.
TEST(BasisFromFactor, AgreesOnBothSidesOfTheSmallSolver) {
    for (const Index rows : {1, 5, 64, 65, 90}) {
        auto sigma = geometric(static_cast<Index>(rows), 0.7);
        const auto s = matrix_with_spectrum(rows, 100, sigma);
        const auto basis = basis_from_factor(s.view(), {.max_tail = 1e-12});
        EXPECT_EQ(basis.method, SvdMethod::qr);
        for (std::size_t i = 0; i < basis.sigma.size(); ++i) EXPECT_NEAR(basis.sigma[i], sigma[i], 1e-14);
        EXPECT_LE(projection_error(s.view(), basis.vectors), 2e-12);
        EXPECT_LE(orthonormality_residual(basis.vectors.view()), 4);
    }
}

/// Zeros have no direction, and yet one vector is kept of anything.
TEST(BasisFromFactor, GivesAVectorForZeros) {
    const auto basis = basis_from_factor(Matrix<double>::zeros(4, 9).view(), {.max_rank = 3});
    ASSERT_EQ(basis.vectors.cols(), 1);
    EXPECT_EQ(basis.sigma[0], 0);
    EXPECT_LE(orthonormality_residual(basis.vectors.view()), 1);
}

/// Squares of these are safe, and their squares are not.
TEST(DominantBasis, KeepsItsTailWhereSquaresOfSquaresVanish) {
    auto sigma = geometric(20, std::pow(1e-9, 1.0 / 19));
    for (const double size : {1e-70, 1e-74, 1.5e-75}) {
        auto a = matrix_with_spectrum(60, 20, sigma);
        for (Index i = 0; i < a.size(); ++i) a.data()[i] *= size;
        const double max_tail = 1.5e-9 * size;
        const auto basis =
            dominant_basis<double>(a.view(), Side::right, {.max_tail = max_tail, .method = SvdMethod::qr});
        EXPECT_EQ(basis.vectors.cols(), 19);
        EXPECT_LE(orthonormality_residual(basis.vectors.view()), 4);
        EXPECT_LE(projection_error(a.view(), basis.vectors), max_tail);
    }
}

TEST(BasisFromFactor, HasADirectionForWhatHasNoSquare) {
    auto s = Matrix<double>::zeros(1, 2);
    s(0, 0) = 1e200;
    EXPECT_EQ(basis_from_factor(s.view(), {.max_tail = 1}).vectors(0, 0), 1);
}

/// What a polished space leaves and what is cut of it afterwards stay within the tail together, and a rank that is too
/// small for the tail says so.
TEST(DominantBasis, PolishedSpacesKeepTheirTail) {
    auto sigma = geometric(14, 0.7);
    const double norm = tail_from(sigma, 0);
    for (const double factor : {0.69, 3.0}) {
        const double max_tail = 1e-12 * norm;
        for (std::size_t i = 10; i < 14; ++i) sigma[i] = factor * (i < 12 ? 1 : 0.98) * max_tail;
        const auto a = matrix_with_spectrum(200, 40, sigma);
        const auto basis = dominant_basis<double>(a.view(), Side::right, {.max_tail = max_tail, .max_rank = 12});
        EXPECT_EQ(basis.vectors.cols(), 12);
        EXPECT_EQ(basis.rank_limited, factor > 1);
        if (factor < 1) {
            EXPECT_LE(projection_error(a.view(), basis.vectors), 1.001 * max_tail);
        }
    }
}

/// Of order 400 at most 40 are kept: the block Lanczos iteration finds them, and every cut is that of all values.
TEST(BasisFromGram, CutsTheSameWhereOnlyAPartIsComputed) {
    const Index n = 400;
    const Index max_rank = 40;
    const auto sigma = geometric(n, 0.9);
    const auto a = matrix_with_spectrum(n, n, sigma);
    const auto g = naive_product(a.view(), a.view(), Op::transpose, Op::none);
    for (const double max_tail : {0.0, 1e-3, 0.05, 0.1, 0.5, 1.5}) {
        Index rank = n;
        double tail2 = 0;
        while (rank > 1 && (rank > max_rank ||
                            tail2 + std::pow(sigma[static_cast<std::size_t>(rank - 1)], 2) <= max_tail * max_tail)) {
            tail2 += std::pow(sigma[static_cast<std::size_t>(--rank)], 2);
        }
        const auto basis = basis_from_gram(g.view(), {.max_tail = max_tail, .max_rank = max_rank}, n);
        EXPECT_EQ(basis.vectors.cols(), rank) << max_tail;
        EXPECT_NEAR(basis.tail2, tail2, 1e-8 * tail2 + 1e-12) << max_tail;
        EXPECT_EQ(basis.rank_limited, tail2 > max_tail * max_tail) << max_tail;
        EXPECT_LT(orthonormality_residual(basis.vectors.view()), 50) << max_tail;
        ASSERT_EQ(static_cast<Index>(basis.sigma.size()), rank);
        for (Index j = 0; j < rank; ++j) {
            EXPECT_NEAR(basis.sigma[static_cast<std::size_t>(j)], sigma[static_cast<std::size_t>(j)], 1e-7);
        }
        // What the basis holds is what is not in the tail.
        const auto image = naive_product(a.view(), basis.vectors.view(), Op::none, Op::none);
        const double held = std::pow(support::naive_norm(image.view()), 2);
        EXPECT_NEAR(held, trace(g.view()) - basis.tail2, 1e-10) << max_tail;
    }
}

}  // namespace
}  // namespace couplet
