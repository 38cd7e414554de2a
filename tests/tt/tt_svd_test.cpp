#include "couplet/tt/tt_svd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>

#include "couplet/linalg/products.hpp"
#include "couplet/linalg/reference.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using support::claimed_orthogonality_residual;
using support::inner_ranks;
using support::message_of;
using support::naive_norm_of;
using support::naive_tt_ranks;
using support::random_tensor;
using support::random_train;
using support::same_bits;
using support::true_error;

constexpr SvdMethod engines[] = {SvdMethod::automatic, SvdMethod::gram, SvdMethod::qr, SvdMethod::random};

/// 1 / (1 + i_1 + ... + i_N): singular values of every unfolding decay geometrically.
template <Real T>
Tensor<T> hilbert(const Shape& shape, double scale = 1) {
    Tensor<T> x(shape);
    for (Index i = 0; i < x.size(); ++i) {
        Index sum = 1;
        for (const Index at : shape.indices(i)) sum += at;
        x.data()[i] = static_cast<T>(scale / static_cast<double>(sum));
    }
    return x;
}

template <Real T>
Tensor<T> scaled(const Tensor<T>& x, T factor) {
    auto result = Tensor<T>::copy(x.view());
    for (T& e : result.elements()) e *= factor;
    return result;
}

template <Real T>
Tensor<T> reshaped(const Tensor<T>& x, const Shape& shape) {
    Tensor<T> result(shape);
    std::copy_n(x.data(), x.size(), result.data());
    return result;
}

/// Train of these ranks plus relative noise: well separated singular values.
Tensor<double> low_rank(const std::vector<Index>& sizes, Index rank, double noise, std::uint64_t seed = 1) {
    auto x = random_train<double>(sizes, inner_ranks(sizes.size(), rank), seed).full();
    const double size = static_cast<double>(naive_norm_of(x)) / std::sqrt(static_cast<double>(x.size()));
    Random random(seed, 99);
    for (double& e : x.elements()) e += noise * size * random.normal();
    return x;
}

/// The promises of tt_svd():
///   ||X - train|| <= eps ||X|| unless max_rank cut, explicitly computed (float cores: + 2e-7 at eps = 0);
///   rel_error is at least that error, and no more than it by 1e-10, or by what a Gram matrix may hide; float 1e-6;
///   norm = ||X||; flags true of the cores; no rank above max_rank or above what the shape allows.
template <Real T>
TtSvdResult<T> check(const Tensor<T>& x, const TtSvdOptions& options) {
    SCOPED_TRACE(testing::Message() << x.shape().to_string() << " eps " << options.eps << " max_rank "
                                    << options.max_rank << " " << to_string(options.method));
    constexpr bool single = std::same_as<T, float>;
    auto result = tt_svd<T>(x.view(), options);
    const double error = true_error(x, result.train);
    if (!result.rank_limited) {
        const double exact = single ? 1e-6 : 1e-14;
        EXPECT_LE(error, options.eps == 0 ? exact : options.eps);
    }
    double certificate = single ? 1e-6 : 1e-10;
    if (result.method != SvdMethod::qr) {
        const double bonds = static_cast<double>(x.shape().order());
        certificate = std::max(certificate, bonds * gram_rounding(x.size(), x.size()) / std::max(error, 1e-7));
        if (single && result.method == SvdMethod::random) certificate = 1e-3;
    }
    EXPECT_NEAR(result.rel_error, error, certificate);
    EXPECT_LE(error, result.rel_error * (1 + 1e-12));
    const auto norm = static_cast<double>(naive_norm_of(x));
    EXPECT_NEAR(result.norm, norm, 1e-12 * norm + std::numeric_limits<T>::denorm_min());
    EXPECT_LT(claimed_orthogonality_residual(result.train), 200);
    EXPECT_EQ(result.train.shape(), x.shape());
    EXPECT_EQ(static_cast<Index>(result.bond_errors2.size()), x.shape().order() - 1);
    const double shares = std::accumulate(result.bond_errors2.begin(), result.bond_errors2.end(), 0.0);
    EXPECT_NEAR(shares, result.rel_error * result.rel_error, 1e-15);
    Index before = 1;
    Index after = x.size();
    for (Index n = 1; n < x.shape().order(); ++n) {
        before *= x.shape()[n - 1];
        after /= x.shape()[n - 1];
        const Index rank = result.train.ranks()[static_cast<std::size_t>(n)];
        EXPECT_LE(rank, options.max_rank);
        EXPECT_LE(rank, std::min(before, after));
    }
    return result;
}

const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all{
        {1},
        {7},
        {1, 1},
        {1, 5},
        {5, 1},
        {2, 2},
        {13, 11},
        {3, 200},
        {200, 3},
        {7, 5, 3},
        {33, 2, 31},
        {2, 67, 2},
        {1, 4, 1, 5},
        {5, 4, 3, 7},
        {3, 3, 3, 3, 3},
        {2, 3, 5, 2, 3, 2},
        {2, 2, 3, 2, 2, 3, 2},
        {2, 2, 2, 3, 2, 2, 2, 2},
    };
    return all;
}

TEST(TtSvd, MeetsItsBoundOnEveryShape) {
    for (const auto& shape : shapes()) {
        for (const auto& x : {random_tensor<double>(shape, 3), hilbert<double>(shape)}) {
            for (const SvdMethod method : engines) {
                for (const double eps : {0.0, 1e-4, 0.05, 0.5, 0.95}) {
                    check(x, {.eps = eps, .method = method});
                    check(x, {.eps = eps, .max_rank = 2, .method = method});
                }
            }
            for (const double eps : {1e-7, 1e-10, 1e-13}) check(x, {.eps = eps});
        }
    }
}

TEST(TtSvd, MeetsItsBoundInFloat) {
    for (const auto& shape : shapes()) {
        for (const auto& x : {random_tensor<float>(shape, 3), hilbert<float>(shape)}) {
            for (const double eps : {0.0, 1e-6, 1e-5, 1e-4, 1e-3, 0.05, 0.5}) check(x, {.eps = eps});
            for (const SvdMethod method : engines) {
                check(x, {.eps = 1e-2, .max_rank = 3, .method = method});
                check(x, {.max_rank = 2, .method = method});
            }
        }
    }
}

TEST(TtSvd, FloatBoundHoldsWhenTheTailFillsIt) {
    // The discarded part is just below eps: rounding of the cores must not push the error over it.
    for (const double eps : {1e-6, 3e-6, 1e-5, 1e-4}) {
        for (const double fill : {0.9, 0.99, 0.995, 0.996, 0.997, 0.998, 0.9985, 0.999, 0.9995}) {
            const auto a = support::matrix_with_spectrum(60, 70, {1, 0.5, fill * eps * std::sqrt(1.25)});
            Tensor<float> x({60, 70});
            std::transform(a.data(), a.data() + a.size(), x.data(), [](double v) { return static_cast<float>(v); });
            check(x, {.eps = eps});
        }
    }
}

TEST(TtSvd, FloatKeepsNothingThatEpsLeavesRoomFor) {
    // What rounding takes of eps is little: a tail of half of eps goes, down to the eps that floats can show.
    for (const double eps : {1e-6, 3e-6, 1e-5}) {
        const auto a = support::matrix_with_spectrum(60, 70, {1, 0.5, 0.5 * eps * std::sqrt(1.25)});
        Tensor<float> x({60, 70});
        std::transform(a.data(), a.data() + a.size(), x.data(), [](double v) { return static_cast<float>(v); });
        EXPECT_EQ(tt_svd<float>(x.view(), {.eps = eps}).train.ranks(), (std::vector<Index>{1, 2, 1})) << eps;
    }
}

TEST(TtSvd, RanksAreThoseOfTheTextbook) {
    const std::vector<std::vector<Index>> all{{9, 8, 7}, {4, 5, 6, 3}, {3, 4, 2, 4, 3}, {2, 2, 2, 2, 2, 2, 2, 2}};
    for (const auto& sizes : all) {
        for (const Index rank : {1, 2, 3}) {
            const auto x = low_rank(sizes, rank, 1e-5);
            const auto expected = naive_tt_ranks(x, 1e-2);
            for (const SvdMethod method : engines) {
                EXPECT_EQ(check(x, {.eps = 1e-2, .method = method}).train.ranks(), expected) << to_string(method);
            }
        }
        const auto smooth = hilbert<double>(Shape(sizes));
        for (const double eps : {1e-2, 1e-4, 1e-6, 1e-8}) {
            EXPECT_EQ(check(smooth, {.eps = eps}).train.ranks(), naive_tt_ranks(smooth, eps)) << eps;
        }
    }
}

/// Sum of 64 products of random vectors with weights 0.9^j, and noise of a thousandth.
Tensor<double> fast_decay(Index rows, Index middle, Index columns, std::uint64_t seed) {
    constexpr Index terms = 64;
    Random random(seed, 17);
    Matrix<double> a(rows, terms);
    Matrix<double> b(terms, middle * columns);
    for (double& e : std::span(a.data(), static_cast<std::size_t>(a.size()))) e = random.normal();
    for (Index j = 0; j < terms; ++j) {
        std::vector<double> left(static_cast<std::size_t>(middle));
        for (double& e : left) e = std::pow(0.9, static_cast<double>(j)) * random.normal();
        for (Index c = 0; c < columns; ++c) {
            const double right = random.normal();
            for (Index m = 0; m < middle; ++m) b(j, m * columns + c) = left[static_cast<std::size_t>(m)] * right;
        }
    }
    Tensor<double> x({rows, middle, columns}, product<double>(a.view(), b.view()).release());
    const double size = static_cast<double>(naive_norm_of(x)) / std::sqrt(static_cast<double>(x.size()));
    for (double& e : x.elements()) e += 1e-3 * size * random.normal();
    return x;
}

/// Relative error of cutting three modes from left to right at this rank, as the textbook does.
double textbook_error(const Tensor<double>& x, Index rank) {
    const Shape& shape = x.shape();
    const auto first = reference::svd(MatrixView<const double>(x.data(), shape[0], shape[1] * shape[2]));
    Matrix<double> rest(rank, shape[1] * shape[2]);
    double tails2 = 0;
    double norm2 = 0;
    for (std::size_t j = 0; j < first.sigma.size(); ++j) {
        const double square = first.sigma[j] * first.sigma[j];
        norm2 += square;
        if (static_cast<Index>(j) >= rank) tails2 += square;
    }
    for (Index j = 0; j < rank; ++j) {
        for (Index i = 0; i < rest.cols(); ++i) rest(j, i) = first.sigma[static_cast<std::size_t>(j)] * first.v(i, j);
    }
    rest.reshape(rank * shape[1], shape[2]);
    const auto second = reference::svd(rest.view());
    for (auto j = static_cast<std::size_t>(rank); j < second.sigma.size(); ++j) {
        tails2 += second.sigma[j] * second.sigma[j];
    }
    return std::sqrt(tails2 / norm2);
}

/// Which end is cut first changes what is left for the other: the end that is cut more goes first.
TEST(TtSvd, LosesNoMoreThanTheTextbookOnFastDecayingSpectra) {
    for (const auto& [rows, middle, columns, rank] :
         std::vector<std::array<Index, 4>>{{25, 15, 15, 10}, {30, 8, 20, 12}, {40, 6, 12, 8}, {15, 15, 25, 10}}) {
        for (const std::uint64_t seed : {1, 2, 3}) {
            const auto x = fast_decay(rows, middle, columns, seed);
            const auto result = tt_svd<double>(x.view(), {.max_rank = rank});
            EXPECT_EQ(result.train.ranks(), (std::vector<Index>{1, rank, rank, 1}));
            EXPECT_LE(result.rel_error, 1.001 * textbook_error(x, rank)) << rows << ' ' << columns << ' ' << seed;
            EXPECT_LE(true_error(x, result.train), result.rel_error);
        }
    }
}

TEST(TtSvd, HonoursTinyEpsWhereAGramMatrixIsBlind) {
    // Bonds graded from 1 to 1e-14; at 1e-12 a Gram matrix would miss half of them.
    const auto sigma = support::geometric(24, 0.26);
    const auto a = support::matrix_with_spectrum(30, 7 * 11, sigma);
    Tensor<double> x({30, 7, 11});
    std::copy_n(a.data(), a.size(), x.data());
    const auto result = check(x, {.eps = 1e-12});
    EXPECT_EQ(result.method, SvdMethod::qr);
    EXPECT_FALSE(result.rank_limited);
    EXPECT_LT(result.train.ranks()[1], 24);
    EXPECT_GT(result.train.ranks()[1], 19);
    EXPECT_EQ(check(x, {.eps = 1e-3}).method, SvdMethod::gram);
    for (const double eps : {1e-7, 1e-9, 1e-11}) EXPECT_EQ(check(x, {.eps = eps}).method, SvdMethod::qr);
    // A rank alone: the tail it leaves is seen to be tiny.
    const auto ranked = check(x, {.max_rank = 20});
    EXPECT_NEAR(ranked.rel_error, true_error(x, ranked.train), 1e-14);
}

TEST(TtSvd, GramRefusesAnEpsItCannotShow) {
    const auto x = random_tensor<double>({3, 4, 5});
    EXPECT_EQ(message_of([&] { tt_svd<double>(x.view(), {.eps = 1e-12, .method = SvdMethod::gram}); }),
              "method: gram with eps 1e-12; expected an eps of at least 1e-6 sqrt(order - 1): a Gram matrix cannot "
              "show smaller tails. Use method auto or qr.");
    EXPECT_EQ(message_of([&] { tt_svd<double>(x.view(), {.eps = 2e-6, .method = SvdMethod::gram}); }), "");
}

TEST(TtSvd, ZeroTensorHasRankOneZeroCores) {
    for (const SvdMethod method : engines) {
        for (const double eps : {0.0, 0.1}) {
            const auto result = check(Tensor<double>::zeros({4, 3, 5}), {.eps = eps, .max_rank = 2, .method = method});
            EXPECT_EQ(result.train.ranks(), (std::vector<Index>{1, 1, 1, 1}));
            EXPECT_EQ(result.norm, 0);
            EXPECT_EQ(result.rel_error, 0);
            EXPECT_FALSE(result.rank_limited);
            for (Index n = 0; n < 3; ++n) EXPECT_EQ(support::naive_norm(result.train.left_unfolding(n)), 0);
        }
    }
    EXPECT_EQ(tt_svd<float>(Tensor<float>::zeros({2, 3}).view(), {.eps = 1e-6}).train.ranks(),
              (std::vector<Index>{1, 1, 1}));
    EXPECT_EQ(tt_svd<double>(Tensor<double>::zeros(Shape{3}).view(), {}).train.ranks(), (std::vector<Index>{1, 1}));
}

TEST(TtSvd, OrderOneAndUncutTensorsAreExact) {
    const auto vector = random_tensor<double>(Shape{17});
    EXPECT_TRUE(
        std::ranges::equal(tt_svd<double>(vector.view(), {.eps = 0.5}).train.full().elements(), vector.elements()));
    auto mixed = Tensor<double>::zeros({2, 2});
    const double values[] = {1e200, 1e-200, -1e300, 3};
    std::copy_n(values, 4, mixed.data());
    for (const Shape& shape : {Shape{4}, Shape{2, 2}}) {
        const auto x = reshaped(mixed, shape);
        const auto result = tt_svd<double>(x.view(), {});
        EXPECT_TRUE(std::ranges::equal(result.train.full().elements(), x.elements()));
        EXPECT_NEAR(result.norm / 1e300, 1, 1e-15);
        const auto in_place = tt_svd<double>(reshaped(mixed, shape), {});
        EXPECT_TRUE(std::ranges::equal(in_place.train.full().elements(), x.elements()));
    }
}

TEST(TtSvd, MagnitudesDoNotMatter) {
    const auto x = hilbert<double>({6, 7, 8});
    for (const SvdMethod method : engines) {
        const auto plain = check(x, {.eps = 1e-3, .method = method});
        for (const double factor : {1e-300, 1e-200, 1e-95, 1e-80, 1e80, 1e95, 1e145, 1e200, 1e300}) {
            const auto result = check(scaled(x, factor), {.eps = 1e-3, .method = method});
            EXPECT_EQ(result.train.ranks(), plain.train.ranks()) << factor;
            const auto capped = check(scaled(x, factor), {.max_rank = 2, .method = method});
            EXPECT_NEAR(capped.rel_error, check(x, {.max_rank = 2, .method = method}).rel_error, 1e-9) << factor;
        }
        // Denormals: 1e-310 carries 44 bits.
        const auto denormal = scaled(x, 1e-310);
        const auto result = tt_svd<double>(denormal.view(), {.eps = 1e-3, .method = method});
        EXPECT_LE(true_error(denormal, result.train), 1e-3);
        EXPECT_EQ(result.train.ranks(), plain.train.ranks());
    }
    const auto single = hilbert<float>({6, 7, 8});
    for (const SvdMethod method : engines) {
        for (const float factor : {1e-36F, 1e-25F, 1e-15F, 1e15F, 1e25F, 1e36F}) {
            check(scaled(single, factor), {.eps = 1e-3, .method = method});
            check(scaled(single, factor), {.max_rank = 2, .method = method});
        }
    }
    check(scaled(single, 1e25F), {.eps = 1e-6});
}

TEST(TtSvd, RandomCutsEachBondOnce) {
    // Equal small singular values, each just as large as the allowed tail: a bond cut twice would lose two.
    for (const double fill : {0.95, 0.999}) {
        std::vector<double> sigma(40, fill * 0.1);
        sigma[0] = 1;
        const double norm = std::sqrt(1 + 39 * sigma[1] * sigma[1]);
        const auto a = support::matrix_with_spectrum(50, 45, sigma);
        Tensor<double> x({50, 45});
        std::copy_n(a.data(), a.size(), x.data());
        const auto result = check(x, {.eps = 0.1 / norm, .method = SvdMethod::random});
        EXPECT_EQ(result.train.ranks()[1], 39);
    }
}

TEST(TtSvd, RandomIsSeededCertifiedAndFallsBack) {
    const auto x = low_rank({80, 90}, 6, 1e-2);
    const TtSvdOptions options{.max_rank = 6, .method = SvdMethod::random, .seed = 3};
    const auto result = check(x, options);
    EXPECT_EQ(result.method, SvdMethod::random);
    EXPECT_TRUE(same_bits(result.train, tt_svd<double>(x.view(), options).train));
    auto other = options;
    other.seed = 4;
    EXPECT_FALSE(same_bits(result.train, tt_svd<double>(x.view(), other).train));
    EXPECT_EQ(check(x, {.eps = 1e-9, .method = SvdMethod::random}).method, SvdMethod::qr);
    EXPECT_EQ(check(random_tensor<double>({5, 6, 7}), {.eps = 0.1, .method = SvdMethod::random}).method,
              SvdMethod::gram);
}

TEST(TtSvd, MaxRankAloneCutsNothingElse) {
    const auto x = low_rank({6, 7, 8, 5}, 2, 1e-9);
    const auto result = check(x, {.max_rank = 4});
    EXPECT_EQ(result.train.ranks(), (std::vector<Index>{1, 4, 4, 4, 1}));
    const auto free = check(x, {});
    EXPECT_EQ(free.train.ranks(), (std::vector<Index>{1, 6, 40, 5, 1}));
    EXPECT_EQ(free.rel_error, 0);
    EXPECT_FALSE(free.rank_limited);
    check(x, {.max_rank = unlimited_rank - 1});
    check(x, {.eps = 0.1, .max_rank = unlimited_rank / 2});
}

TEST(TtSvd, EveryBondObeysItsOwnLimit) {
    for (const Shape& shape : {Shape{6, 7, 8, 5}, Shape{6, 1, 7, 8, 1, 1, 5, 1}, Shape{1, 40, 3, 30}}) {
        for (const auto& x : {random_tensor<double>(shape), hilbert<double>(shape)}) {
            const auto count = static_cast<std::size_t>(shape.order() - 1);
            const BondLimit choices[] = {
                {.max_rank = 3}, {.eps = 0.2}, {}, {.eps = 1e-9}, {.eps = 0.01, .max_rank = 2}};
            for (std::size_t shift = 0; shift < 5; ++shift) {
                TtSvdOptions options;
                double allowed2 = 0;
                for (std::size_t n = 0; n < count; ++n) {
                    options.bonds.push_back(choices[(n + shift) % 5]);
                    allowed2 += options.bonds.back().eps * options.bonds.back().eps;
                }
                for (const SvdMethod method : {SvdMethod::automatic, SvdMethod::qr, SvdMethod::random}) {
                    options.method = method;
                    const auto result = tt_svd<double>(x.view(), options);
                    const double error = true_error(x, result.train);
                    EXPECT_NEAR(error, result.rel_error, 1e-8);
                    if (!result.rank_limited) {
                        EXPECT_LE(error, std::sqrt(allowed2) + 1e-14);
                    }
                    for (std::size_t n = 0; n < count; ++n) {
                        EXPECT_LE(result.train.ranks()[n + 1], options.bonds[n].max_rank);
                        // Bonds joined by modes of size 1 share their limits and are counted as one.
                        const bool joined = shape[1] == 1;
                        if (!joined && options.bonds[n].max_rank == unlimited_rank) {
                            EXPECT_LE(result.bond_errors2[n],
                                      options.bonds[n].eps * options.bonds[n].eps * (1 + 1e-9) + 1e-28);
                        }
                    }
                }
            }
        }
    }
    // Equal limits are the same as eps and max_rank.
    const auto x = hilbert<double>({6, 7, 8});
    const TtSvdOptions common{.eps = 1e-3, .max_rank = 4};
    TtSvdOptions listed;
    listed.bonds.assign(2, {1e-3 / std::sqrt(2.0), 4});
    EXPECT_TRUE(same_bits(tt_svd<double>(x.view(), common).train, tt_svd<double>(x.view(), listed).train));
    TtSvdOptions wrong;
    wrong.bonds.resize(3);
    EXPECT_EQ(message_of([&] { tt_svd<double>(x.view(), wrong); }), "bonds: 3 limits; expected 2");
    TtSvdOptions negative;
    negative.bonds = {{.eps = -1}, {}};
    EXPECT_THROW(tt_svd<double>(x.view(), negative), InputError);
    TtSvdOptions none;
    none.bonds = {{.max_rank = 0}, {}};
    EXPECT_THROW(tt_svd<double>(x.view(), none), InputError);
}

TEST(TtSvd, RankLimitedSaysWhichLimitCut) {
    const auto x = low_rank({9, 8, 7}, 3, 1e-4);
    const auto both = check(x, {.eps = 1e-2, .max_rank = 5});
    EXPECT_EQ(both.train.ranks(), (std::vector<Index>{1, 3, 3, 1}));
    EXPECT_FALSE(both.rank_limited);
    EXPECT_LE(both.rel_error, 1e-2);
    const auto limited = check(x, {.eps = 1e-2, .max_rank = 2});
    EXPECT_EQ(limited.train.ranks(), (std::vector<Index>{1, 2, 2, 1}));
    EXPECT_TRUE(limited.rank_limited);
    EXPECT_GT(limited.rel_error, 1e-2);
}

TEST(TtSvd, TinyModesAreMergedAndSplitAgain) {
    const Shape twos(std::vector<Index>(12, 2));
    for (const auto& x : {hilbert<double>(twos), random_tensor<double>(twos, 5)}) {
        for (const SvdMethod method : engines) {
            for (const double eps : {1e-4, 1e-2, 0.3}) check(x, {.eps = eps, .method = method});
            for (const Index rank : {1, 3, 6}) check(x, {.max_rank = rank, .method = method});
        }
    }
    const auto low = low_rank(std::vector<Index>(12, 2), 2, 1e-5);
    EXPECT_EQ(check(low, {.eps = 1e-2}).train.ranks(), naive_tt_ranks(low, 1e-2));
    EXPECT_EQ(check(low, {.eps = 1e-8}).train.ranks(), naive_tt_ranks(low, 1e-8));
}

TEST(TtSvd, ModesOfSizeOneChangeNothing) {
    const auto squeezed = hilbert<double>({5, 6, 4});
    for (const double eps : {1e-8, 1e-3, 0.1}) {
        const auto plain = check(squeezed, {.eps = eps});
        for (std::size_t position = 0; position <= 3; ++position) {
            for (std::size_t count : {1, 3}) {
                std::vector<Index> sizes{5, 6, 4};
                sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(position), count, 1);
                const auto result = check(reshaped(squeezed, Shape(sizes)), {.eps = eps});
                auto expected = plain.train.ranks();
                expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(position), count, expected[position]);
                EXPECT_EQ(result.train.ranks(), expected);
                EXPECT_EQ(result.rel_error, plain.rel_error);
                EXPECT_TRUE(std::ranges::equal(result.train.full().elements(), plain.train.full().elements()));
            }
        }
    }
    check(random_tensor<double>({1, 1, 1, 1}), {.eps = 0.1});
    check(random_tensor<double>({1, 9, 1, 1}), {.eps = 0.1});
}

TEST(TtSvd, InPlaceAgreesWithTheView) {
    for (const auto& shape : shapes()) {
        for (const auto& options : {TtSvdOptions{.eps = 0.1}, TtSvdOptions{.max_rank = 2}, TtSvdOptions{.eps = 1e-9},
                                    TtSvdOptions{.max_rank = 3, .method = SvdMethod::random}}) {
            const auto x = hilbert<double>(shape);
            const auto viewed = tt_svd<double>(x.view(), options);
            const auto in_place = tt_svd<double>(Tensor<double>::copy(x.view()), options);
            EXPECT_EQ(in_place.train.ranks(), viewed.train.ranks()) << shape.to_string();
            EXPECT_NEAR(in_place.rel_error, viewed.rel_error, 1e-12);
            EXPECT_NEAR(true_error(x, in_place.train), true_error(x, viewed.train), 1e-12);
            EXPECT_EQ(in_place.norm, viewed.norm);
        }
    }
    // Large enough for several parts and blocks of the in-place projection, from either end.
    for (const Shape& shape : {Shape{11, 60, 31}, Shape{31, 60, 11}}) {
        const auto x = hilbert<double>(shape);
        const auto result = tt_svd<double>(Tensor<double>::copy(x.view()), {.eps = 1e-3});
        EXPECT_LE(true_error(x, result.train), 1e-3);
        EXPECT_NEAR(true_error(x, result.train), result.rel_error, 1e-10);
        const auto single = hilbert<float>(shape);
        EXPECT_LE(true_error(single, tt_svd<float>(Tensor<float>::copy(single.view()), {.eps = 1e-3}).train), 1e-3);
    }
}

TEST(TtSvd, BitsDoNotDependOnTheThreadCount) {
    const support::ThreadCountGuard guard;
    const auto x = random_tensor<double>({70, 61, 50});
    const auto single = random_tensor<float>({70, 61, 50});
    for (const auto& options :
         {TtSvdOptions{.max_rank = 8}, TtSvdOptions{.eps = 0.9}, TtSvdOptions{.max_rank = 8, .method = SvdMethod::qr},
          TtSvdOptions{.max_rank = 8, .method = SvdMethod::random}}) {
        std::vector<TensorTrain<double>> results;
        std::vector<TensorTrain<double>> in_place;
        std::vector<TensorTrain<float>> singles;
        for (const int threads : {1, 2, 3, 7}) {
            set_thread_count(threads);
            results.push_back(tt_svd<double>(x.view(), options).train);
            in_place.push_back(tt_svd<double>(Tensor<double>::copy(x.view()), options).train);
            singles.push_back(tt_svd<float>(single.view(), options).train);
            EXPECT_TRUE(same_bits(results.front(), results.back())) << threads;
            EXPECT_TRUE(same_bits(in_place.front(), in_place.back())) << threads;
            EXPECT_TRUE(same_bits(singles.front(), singles.back())) << threads;
        }
    }
}

TEST(TtSvd, OrthogonalityFlagsSurroundTheCentre) {
    const auto train = check(random_tensor<double>({5, 6, 7, 4}), {.eps = 0.4}).train;
    Index centres = 0;
    for (Index n = 0; n < 4; ++n) {
        if (train.orthogonality(n) == Orthogonality::none) ++centres;
        if (n > 0 && train.orthogonality(n) == Orthogonality::left) {
            EXPECT_EQ(train.orthogonality(n - 1), Orthogonality::left);
        }
    }
    EXPECT_EQ(centres, 1);
}

TEST(TtSvd, FollowsTheSignRule) {
    const auto train = check(random_tensor<double>({9, 30}), {.eps = 0.5}).train;
    ASSERT_EQ(train.orthogonality(0), Orthogonality::left);
    EXPECT_TRUE(support::obeys_sign_rule(train.left_unfolding(0)));
}

TEST(TtSvd, ReportsProgress) {
    std::vector<std::int64_t> done;
    std::int64_t total = 0;
    tt_svd<double>(random_tensor<double>({12, 13, 14}).view(),
                   {.eps = 0.3, .progress = [&](const ProgressEvent& event) {
                        done.push_back(event.done);
                        total = event.total;
                    }});
    EXPECT_EQ(total, 2);
    EXPECT_EQ(done.back(), 2);
    EXPECT_TRUE(std::ranges::is_sorted(done));
}

TEST(TtSvd, NamesTheFirstNonFiniteEntry) {
    auto x = random_tensor<double>({3, 4, 5});
    x.data()[47] = std::numeric_limits<double>::infinity();
    const auto message = [&](const TtSvdOptions& options) {
        return message_of([&] { tt_svd<double>(x.view(), options); });
    };
    const std::string infinite =
        "tensor: Inf at index (2, 1, 2), counted from 0; expected finite numbers only. Replace infinite values; "
        "NaN stands for a missing one.";
    for (const SvdMethod method : engines) {
        EXPECT_EQ(message({.eps = 0.1, .method = method}), infinite);
        EXPECT_EQ(message({.max_rank = 2, .method = method}), infinite);
    }
    EXPECT_EQ(message({}), infinite);
    EXPECT_EQ(message({.eps = 1e-12}), infinite);
    x.data()[21] = std::nan("");
    EXPECT_EQ(message({.eps = 0.1}),
              "tensor: NaN at index (1, 0, 1), counted from 0; expected finite numbers only. Replace or remove missing "
              "values first.");
    auto single = random_tensor<float>({3, 4});
    single.data()[5] = -std::numeric_limits<float>::infinity();
    for (const double eps : {1e-6, 0.1}) {
        EXPECT_EQ(message_of([&] { tt_svd<float>(single.view(), {.eps = eps}); }),
                  "tensor: -Inf at index (1, 1), counted from 0; expected finite numbers only. Replace infinite "
                  "values; NaN stands for a missing one.");
    }
}

TEST(TtSvd, RefusesEmptyTensorsAndBadOptions) {
    const auto x = random_tensor<double>({3, 4});
    const auto message = [&](const TtSvdOptions& options) {
        return message_of([&] { tt_svd<double>(x.view(), options); });
    };
    const std::string rest =
        "; expected a number with 0 <= eps < 1. It is the relative error allowed, for example 0.01.";
    EXPECT_EQ(message({.eps = -1e-9}), "eps: -1e-09" + rest);
    EXPECT_EQ(message({.eps = 1}), "eps: 1" + rest);
    EXPECT_EQ(message({.eps = std::nan("")}), "eps: nan" + rest);
    EXPECT_EQ(message({.max_rank = 0}), "max_rank: 0; expected at least 1");
    EXPECT_EQ(message({.max_rank = -3}), "max_rank: -3; expected at least 1");
    EXPECT_EQ(message_of([] { tt_svd<double>(Tensor<double>(Shape(std::vector<Index>{})), {}); }),
              "tensor: order 0; expected at least one mode");
    EXPECT_EQ(message_of([] {
                  tt_svd<double>(Tensor<double>({3, 0, 4}), {});
              }),
              "tensor: mode 2 of 3x0x4 has size 0; expected at least one entry in every mode");
    EXPECT_EQ(message_of([] { tt_svd<float>(Tensor<float>(), {}); }),
              "tensor: mode 1 of 0 has size 0; expected at least one entry in every mode");
}

/// Magnitudes that no step may notice, tensors they are tried on, and what every verb calls.
TEST(TtSvd, EveryMagnitudeGivesTheSameAnswerOrARefusal) {
    const auto base = low_rank({6, 7, 8}, 3, 1e-4);
    for (const SvdMethod method : engines) {
        const auto plain = check(base, {.eps = 1e-2, .method = method});
        // 2^k rounds nothing: the answer is the same to the last bit, whatever the squares do.
        for (const int power : {-1000, -700, -500, -300, -252, -248, 248, 252, 300, 500, 700, 1000}) {
            const auto x = scaled(base, std::ldexp(1.0, power));
            const auto result = tt_svd<double>(x.view(), {.eps = 1e-2, .method = method});
            EXPECT_EQ(result.train.ranks(), plain.train.ranks()) << power;
            EXPECT_NEAR(result.rel_error, plain.rel_error, 1e-9) << power;
            EXPECT_NEAR(std::ldexp(result.norm, -power), plain.norm, 1e-14 * plain.norm) << power;
            EXPECT_LE(true_error(x, result.train), result.rel_error) << power;
            const auto in_place = tt_svd<double>(Tensor<double>::copy(x.view()), {.eps = 1e-2, .method = method});
            EXPECT_EQ(in_place.train.ranks(), plain.train.ranks()) << power;
        }
    }
    const double plain_error = tt_svd<double>(base.view(), {.eps = 1e-2}).rel_error;
    // Nothing but denormals: what storing them loses is part of the error.
    for (const int power : {-1040, -1055, -1065}) {
        const auto x = scaled(base, std::ldexp(1.0, power));
        const auto result = tt_svd<double>(x.view(), {.eps = 1e-2});
        EXPECT_LE(true_error(x, result.train), result.rel_error) << power;
        EXPECT_GT(result.rel_error, power == -1065 ? plain_error : 0) << power;
    }
}

TEST(TtSvd, MixedMagnitudesAreMeasuredByTheLargest) {
    for (const SvdMethod method : engines) {
        auto x = scaled(low_rank({6, 7, 8}, 2, 0), 1e200);
        for (Index i = 0; i < x.size(); i += 2) x.data()[i] *= 1e-300;
        const auto result = check(x, {.eps = 1e-3, .method = method});
        EXPECT_NEAR(result.norm / static_cast<double>(naive_norm_of(x)), 1, 1e-14);
        auto one = Tensor<double>::zeros({4, 5, 3});
        one.data()[17] = -1e-310;
        const auto single = tt_svd<double>(one.view(), {.eps = 1e-3, .method = method});
        EXPECT_EQ(single.train.ranks(), (std::vector<Index>{1, 1, 1, 1}));
        EXPECT_EQ(single.norm, 1e-310);
        EXPECT_EQ(single.train.full().data()[17], -1e-310);
    }
}

TEST(TtSvd, ANormThatIsNoNumberIsRefused) {
    Tensor<double> x({3, 4, 5});
    for (double& e : x.elements()) e = 1.7e308;
    const std::string message =
        "tensor: a norm of about 1e309, which one core must hold; expected a norm between 4.94066e-324 and "
        "1.79769e+308. Scale the values first.";
    for (const SvdMethod method : engines) {
        EXPECT_EQ(message_of([&] { tt_svd<double>(x.view(), {.eps = 0.1, .method = method}); }), message);
    }
    EXPECT_EQ(message_of([&] { tt_svd<double>(x.view(), {}); }),
              "tensor: a norm of about 1e309; expected a number between 4.9e-324 and 1.8e308. Scale the values first.");
    Tensor<float> single({3, 4, 5});
    for (float& e : single.elements()) e = 1e38F;
    for (const double eps : {1e-7, 0.1}) {
        EXPECT_EQ(message_of([&] { tt_svd<float>(single.view(), {.eps = eps}); }),
                  "tensor: a norm of about 1e39, which one core must hold; expected a norm between 1.4013e-45 and "
                  "3.40282e+38. Save the values as float64, or scale them first.");
    }
    // Uncut, the entries are stored as they are, and the norm is a double.
    EXPECT_NEAR(tt_svd<float>(single.view(), {}).norm, 1e38 * std::sqrt(60.0), 1e32);
    for (float& e : single.elements()) e = 1e37F;
    EXPECT_LE(true_error(single, tt_svd<float>(single.view(), {.eps = 0.1}).train), 1e-6);
}

/// Walsh functions: rows x cols of +-1 with exactly orthogonal columns; rows a power of two.
Tensor<double> walsh(Index rows, const std::vector<double>& sigma) {
    const auto cols = static_cast<Index>(sigma.size());
    Tensor<double> x({rows, cols});
    const double root = std::sqrt(static_cast<double>(rows));
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < cols; ++j) {
            const bool odd = std::popcount(static_cast<std::uint64_t>(i & (j + 1))) % 2 == 1;
            x.data()[i * cols + j] = (odd ? -1 : 1) * sigma[static_cast<std::size_t>(j)] / root;
        }
    }
    return x;
}

/// ||X - train|| for a matrix, row by row in long double.
template <Real T>
double matrix_error(const Tensor<T>& x, const TensorTrain<T>& train) {
    const auto a = train.left_unfolding(0);
    const auto b = train.right_unfolding(1);
    long double sum = 0;
    long double norm2 = 0;
    std::vector<long double> row(static_cast<std::size_t>(x.shape()[1]));
    for (Index i = 0; i < x.shape()[0]; ++i) {
        for (Index j = 0; j < x.shape()[1]; ++j) {
            const long double value = x.data()[i * x.shape()[1] + j];
            long double rest = value;
            for (Index r = 0; r < a.cols; ++r) {
                rest -= static_cast<long double>(a(i, r)) * static_cast<long double>(b(r, j));
            }
            sum += rest * rest;
            norm2 += value * value;
        }
    }
    return static_cast<double>(std::sqrt(sum / norm2));
}

TEST(TtSvd, NoTailIsCutThatIsLargerThanEpsByLessThanRounding) {
    // Sums of a million equal squares round all in one direction; the tail lies above eps by a part in 1e9, which no
    // Gram matrix can see, and may not be cut; below it by what rounding may hide, it must be.
    for (const Index rows : {Index{1} << 8, Index{1} << 14, Index{1} << 20}) {
        for (const double tail : {3e-5, 7e-6, 0.11}) {
            for (const double first : {1.0, 0.7, 1.3}) {
                if (rows == Index{1} << 20 && (first != 0.7 || tail != 7e-6)) continue;
                std::vector<double> sigma(rows == Index{1} << 20 ? 10 : 5, first);
                sigma.back() = tail;
                double norm2 = 0;
                for (const double s : sigma) norm2 += s * s;
                const double relative = tail / std::sqrt(norm2);
                const auto x = walsh(rows, sigma);
                const auto whole = static_cast<Index>(sigma.size());
                const auto above = tt_svd<double>(x.view(), {.eps = relative * (1 - 1e-9)});
                EXPECT_EQ(above.train.ranks()[1], whole) << rows << " " << tail;
                EXPECT_LE(matrix_error(x, above.train), above.rel_error);
                const auto cut = tt_svd<double>(x.view(), {.eps = relative * 1.2});
                EXPECT_EQ(cut.train.ranks()[1], whole - 1) << rows << " " << tail;
                EXPECT_LE(matrix_error(x, cut.train), cut.rel_error);
                EXPECT_LE(cut.rel_error, relative * 1.2);
                EXPECT_NEAR(cut.rel_error, relative, 0.2 * relative);
            }
        }
    }
}

/// Tails that add up to eps on the nose at every bond, whichever engine looks: the bound holds, by the reported error
/// and by the true one, and what lies clearly within eps is cut.
TEST(TtSvd, EveryEngineKeepsABoundThatTheTailFills) {
    for (const Index count : {Index{8}, Index{40}}) {
        for (const double eps : {0.3, 1e-2, 1e-4}) {
            // Half of the values are kept; the others share a tail of exactly eps.
            std::vector<double> sigma(static_cast<std::size_t>(count), 1.0);
            const double kept2 = static_cast<double>(count / 2);
            const double tail2 = eps * eps / (1 - eps * eps) * kept2;
            for (Index j = count / 2; j < count; ++j) {
                sigma[static_cast<std::size_t>(j)] = std::sqrt(tail2 / static_cast<double>(count - count / 2));
            }
            const auto x = walsh(256, sigma);
            for (const SvdMethod method : engines) {
                for (const double factor : {1 - 1e-12, 1.0, 1 + 1e-12, 1 + 1e-6, 1.1}) {
                    SCOPED_TRACE(testing::Message()
                                 << count << " eps " << eps << " " << to_string(method) << " factor " << factor - 1);
                    const auto result = tt_svd<double>(x.view(), {.eps = eps * factor, .method = method});
                    const double error = matrix_error(x, result.train);
                    EXPECT_LE(error, eps * factor);
                    EXPECT_LE(error, result.rel_error);
                    EXPECT_LE(result.rel_error, eps * factor);
                    // A random space of a flat spectrum needs some more.
                    if (factor == 1.1 && result.method != SvdMethod::random) {
                        EXPECT_LE(result.train.ranks()[1], count / 2);
                    }
                }
            }
        }
    }
}

TEST(TtSvd, FloatErrorsAreUpperEstimates) {
    // Constant data rounds in one direction, random data in all, graded data at its smallest; long sums and short ones.
    Tensor<double> constant({40, 30, 50});
    for (double& e : constant.elements()) e = 0.1;
    const Tensor<double> tensors[] = {Tensor<double>::copy(constant.view()), low_rank({40, 30, 50}, 4, 1e-3),
                                      low_rank({3, 900, 5}, 3, 0), hilbert<double>({30, 31, 32}),
                                      low_rank({2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 3, 1e-5)};
    for (const auto& wide : tensors) {
        const auto x = convert<float>(wide.view());
        for (const double eps : {1e-7, 3e-6, 2e-5, 1e-4, 1e-2}) {
            const auto result = tt_svd<float>(x.view(), {.eps = eps});
            const double error = true_error(x, result.train);
            EXPECT_LE(error, result.rel_error) << x.shape().to_string() << " " << eps;
            EXPECT_LE(result.rel_error, eps + 2e-6) << x.shape().to_string() << " " << eps;
            if (eps > 1e-5) {
                EXPECT_LE(result.rel_error, eps) << x.shape().to_string() << " " << eps;
            }
            const auto in_place = tt_svd<float>(Tensor<float>::copy(x.view()), {.eps = eps});
            EXPECT_LE(true_error(x, in_place.train), in_place.rel_error) << x.shape().to_string() << " " << eps;
        }
        for (const SvdMethod method : engines) {
            const auto ranked = tt_svd<float>(x.view(), {.max_rank = 2, .method = method});
            EXPECT_LE(true_error(x, ranked.train), ranked.rel_error) << x.shape().to_string();
        }
        EXPECT_EQ(tt_svd<float>(x.view(), {}).rel_error, 0);
    }
    // Denormal floats: ten bits are left of each number.
    auto tiny = convert<float>(low_rank({8, 9, 7}, 2, 1e-3).view());
    for (float& e : tiny.elements()) e *= 1e-42F;
    const auto result = tt_svd<float>(tiny.view(), {.eps = 0.05});
    EXPECT_LE(true_error(tiny, result.train), result.rel_error);
    EXPECT_GT(result.rel_error, 1e-5);
}

TEST(TtSvd, DoubleErrorsOfExactRankAreUpperEstimatesToo) {
    for (const auto& sizes : {std::vector<Index>{30, 20, 25}, {7, 300}, std::vector<Index>(10, 2), {5, 4, 6, 5}}) {
        for (const SvdMethod method : {SvdMethod::automatic, SvdMethod::qr}) {
            for (std::uint64_t seed = 1; seed <= 3; ++seed) {
                const auto x = low_rank(sizes, 3, 0, seed);
                for (const auto& options :
                     {TtSvdOptions{.eps = 1e-12, .method = method}, TtSvdOptions{.eps = 1e-3, .method = method},
                      TtSvdOptions{.max_rank = 3, .method = method}}) {
                    const auto result = tt_svd<double>(x.view(), options);
                    EXPECT_LE(true_error(x, result.train), result.rel_error);
                    // A Gram matrix is asked for 1e-3 and cannot tell less than its own rounding.
                    EXPECT_LE(result.rel_error, options.eps == 1e-3 ? 1e-6 : 1e-12);
                }
            }
        }
    }
}

TEST(TtSvdPolish, ExactlyLowRankCutsAreAccurateToRoundingWithoutQr) {
    for (const auto& sizes : {std::vector<Index>{40, 30, 35}, std::vector<Index>(11, 2)}) {
        const auto x = low_rank(sizes, 3, 0);
        const auto result = tt_svd<double>(x.view(), {.max_rank = 3});
        EXPECT_EQ(result.method, SvdMethod::gram);
        EXPECT_LE(support::true_error(x, result.train), 1e-13);
        EXPECT_LE(result.rel_error, 1e-12);
    }
}

TEST(TtSvdPolish, KeepsSingularValuesThatAGramMatrixCannotSee) {
    auto x = low_rank({60, 70}, 2, 0);
    const auto tiny = low_rank({60, 70}, 2, 0, 9);
    for (Index i = 0; i < x.size(); ++i) x.data()[i] += 1e-11 * tiny.data()[i];
    const auto result = tt_svd<double>(x.view(), {.max_rank = 4});
    EXPECT_LE(support::true_error(x, result.train), 1e-12);
    EXPECT_LE(result.rel_error, 1e-12);
}

TEST(TtSvdConsumed, NamesEveryElementOnceWhenTheImageIsLarge) {
    const auto x = random_tensor<double>({20, 30, 20});
    std::vector<int> told(static_cast<std::size_t>(x.size()), 0);
    TtSvdOptions options{.eps = 0.3};
    options.consumed = [&](Index first, Index count) {
        for (Index i = first; i < first + count; ++i) ++told[static_cast<std::size_t>(i)];
    };
    const auto result = tt_svd<double>(x.view(), options);
    EXPECT_LE(support::true_error(x, result.train), 0.3);
    EXPECT_EQ(std::count(told.begin(), told.end(), 1), x.size());
}

TEST(TtSvdConsumed, IsSilentWhenTheImageIsSmall) {
    const auto x = random_tensor<double>({20, 30, 20});
    TtSvdOptions options{.max_rank = 3};
    options.consumed = [](Index, Index) { FAIL() << "nothing needs to be let go of"; };
    EXPECT_EQ(tt_svd<double>(x.view(), options).train.ranks()[1], 3);
}

}  // namespace
}  // namespace couplet
