#include "couplet/tt/rounding.hpp"

#include <gtest/gtest.h>

#include "couplet/tt/arithmetic.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using support::claimed_orthogonality_residual;
using support::inner_ranks;
using support::message_of;
using support::naive_full;
using support::random_train;
using support::same_bits;

/// ||A - B|| / ||A||, entry by entry.
template <Real T>
double relative_distance(const TensorTrain<T>& a, const TensorTrain<T>& b) {
    const auto fa = naive_full(a);
    const auto fb = naive_full(b);
    long double sum = 0;
    for (std::size_t i = 0; i < fa.size(); ++i) sum += (fa[i] - fb[i]) * (fa[i] - fb[i]);
    return static_cast<double>(std::sqrt(sum) / support::naive_norm_of(fa.data(), fa.size()));
}

struct Case {
    std::vector<Index> sizes;
    std::vector<Index> ranks;
};

/// Tall and wide cores, ranks above what the sizes allow at either end, open left bonds, one mode.
const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {{6}, {1, 1}},
        {{6}, {3, 1}},
        {{4, 5, 6}, {1, 3, 4, 1}},
        {{2, 3, 2, 3}, {1, 9, 20, 7, 1}},
        {{1, 7, 1, 5}, {1, 4, 3, 6, 1}},
        {{3, 4, 2}, {5, 2, 9, 1}},
        {{3, 4, 2}, {2, 11, 3, 1}},
        {{2, 2, 2, 2, 2, 2}, {1, 5, 5, 5, 5, 5, 1}},
    };
    return all;
}

template <Real T>
void check_orthonormalise(const Case& c) {
    const auto train = random_train<T>(c.sizes, c.ranks);
    const double tolerance = std::same_as<T, float> ? 1e-6 : 1e-14;
    const auto full = naive_full(train);
    const double expected = static_cast<double>(support::naive_norm_of(full.data(), full.size()));
    const auto left = left_orthonormalise(train);
    const auto right = right_orthonormalise(train);
    for (const auto* side : {&left, &right}) {
        EXPECT_LE(relative_distance(train, side->train), 10 * tolerance);
        EXPECT_NEAR(side->norm, expected, 1e-13 * expected);
        EXPECT_LT(claimed_orthogonality_residual(side->train), 50);
        EXPECT_EQ(side->train.left_rank(), train.left_rank());
        for (std::size_t n = 0; n < c.ranks.size(); ++n) EXPECT_LE(side->train.ranks()[n], c.ranks[n]);
    }
    for (Index n = 0; n + 1 < train.order(); ++n) {
        EXPECT_EQ(left.train.orthogonality(n), Orthogonality::left);
        EXPECT_EQ(right.train.orthogonality(n + 1), Orthogonality::right);
    }
}

TEST(Orthonormalise, KeepsTheTensorAndMovesTheNorm) {
    for (const auto& c : cases()) {
        check_orthonormalise<double>(c);
        check_orthonormalise<float>(c);
    }
}

TEST(Orthonormalise, WideCoreWithDependentLeadingColumns) {
    // The first square block of the wide unfolding is singular (a zero column, two equal ones): Q is square
    // there, so any orthonormal Q with R = Q^T A is exact.
    auto first = Tensor<double>::zeros({1, 3, 7});
    const auto noise = support::random_matrix<double>(3, 7);
    for (Index i = 0; i < 3; ++i) {
        for (Index j = 3; j < 7; ++j) first.data()[i * 7 + j] = noise(i, j);
        first.data()[i * 7 + 1] = first.data()[i * 7 + 2] = noise(i, 1);
    }
    for (const bool mirrored : {false, true}) {
        std::vector<Tensor<double>> cores;
        if (mirrored) {
            cores.push_back(support::random_tensor<double>({1, 9, 7}, 3));
            Tensor<double> last({7, 3, 1});
            for (Index i = 0; i < 3; ++i) {
                for (Index j = 0; j < 7; ++j) last.data()[j * 3 + i] = first.data()[i * 7 + j];
            }
            cores.push_back(std::move(last));
        } else {
            cores.push_back(Tensor<double>::copy(first.view()));
            cores.push_back(support::random_tensor<double>({7, 9, 1}, 3));
        }
        const TensorTrain<double> train(std::move(cores));
        for (const auto& result : {left_orthonormalise(train), right_orthonormalise(train)}) {
            EXPECT_LE(relative_distance(train, result.train), 1e-14);
            EXPECT_LT(claimed_orthogonality_residual(result.train), 20);
        }
        const auto rounded = round(train, {.eps = 1e-10});
        EXPECT_LE(relative_distance(train, rounded.train), 1e-10);
    }
}

/// The promises of round(): the bound, the reported error, orthonormal cores, R_0, max_rank.
template <Real T>
void check_round(const TensorTrain<T>& train, const RoundOptions& options) {
    SCOPED_TRACE(testing::Message() << train.shape().to_string() << " eps " << options.eps << " max_rank "
                                    << options.max_rank);
    const auto result = round(train, options);
    const double error = relative_distance(train, result.train);
    const double rounding = std::same_as<T, float> ? 1e-6 : 1e-13;
    if (!result.rank_limited) {
        EXPECT_LE(error, options.eps * (1 + 1e-12) + (options.eps == 0 ? rounding : 0));
    }
    const double certificate = std::same_as<T, float> ? 1e-6 : 1e-10;
    EXPECT_NEAR(error, result.rel_error, certificate);
    EXPECT_LE(error, result.rel_error * (1 + 1e-12));
    EXPECT_LT(claimed_orthogonality_residual(result.train), 100);
    for (Index n = 1; n < train.order(); ++n) {
        EXPECT_EQ(result.train.orthogonality(n), Orthogonality::right);
        EXPECT_LE(result.train.ranks()[static_cast<std::size_t>(n)], options.max_rank);
        EXPECT_LE(result.train.ranks()[static_cast<std::size_t>(n)], train.ranks()[static_cast<std::size_t>(n)]);
    }
    EXPECT_EQ(result.train.left_rank(), train.left_rank());
    const auto full = naive_full(train);
    const double expected = static_cast<double>(support::naive_norm_of(full.data(), full.size()));
    EXPECT_NEAR(result.norm, expected, 1e-12 * expected);
}

TEST(Round, KeepsItsPromises) {
    for (const auto& c : cases()) {
        const auto train = random_train<double>(c.sizes, c.ranks);
        for (const double eps : {0.0, 1e-10, 1e-3, 0.3, 0.9}) {
            for (const Index max_rank : {unlimited_rank, Index{3}, Index{2}, Index{1}}) {
                check_round(train, {.eps = eps, .max_rank = max_rank});
            }
        }
        const auto single = random_train<float>(c.sizes, c.ranks);
        for (const double eps : {0.0, 1e-3, 0.3}) check_round(single, {.eps = eps});
        check_round(single, {.max_rank = 2});
    }
}

TEST(Round, BothLimitsMixCutAndUncutBonds) {
    // max_rank 3 cuts the middle bonds only; those at the ends stay whole and must still be orthonormal.
    check_round(random_train<double>({2, 6, 6, 6, 2}, {1, 2, 9, 9, 2, 1}), {.max_rank = 3});
    check_round(random_train<double>({9, 6, 6, 2}, {1, 8, 9, 2, 1}), {.max_rank = 5});
}

TEST(Round, SumOfATrainWithItselfHasItsRanksAgain) {
    const std::vector<Index> ranks{1, 3, 4, 2, 1};
    const auto a = random_train<double>({5, 6, 7, 4}, ranks);
    for (const double eps : {1e-3, 1e-7, 1e-11}) {
        const auto result = round(add(a, a), {.eps = eps});
        EXPECT_EQ(result.train.ranks(), ranks) << eps;
        EXPECT_LE(relative_distance(scale(a, 2.0), result.train), 1e-13);
        EXPECT_FALSE(result.rank_limited);
    }
    const auto single = random_train<float>({5, 6, 7, 4}, ranks);
    EXPECT_EQ(round(add(single, single), {.eps = 1e-4}).train.ranks(), ranks);
    const auto open = random_train<double>({5, 6, 4}, {3, 4, 2, 1});
    EXPECT_EQ(round(add(open, open), {.eps = 1e-8}).train.ranks(), (std::vector<Index>{3, 4, 2, 1}));
}

TEST(Round, TinyTailsAreHonoured) {
    // A + 1e-9 B: at eps = 1e-12 nothing of B may be lost, at 1e-8 all of it.
    const auto a = random_train<double>({6, 7, 8}, {1, 2, 2, 1}, 1);
    const auto b = random_train<double>({6, 7, 8}, {1, 3, 3, 1}, 20);
    const auto sum = add(a, scale(b, 1e-9));
    const auto fine = round(sum, {.eps = 1e-12});
    EXPECT_EQ(fine.train.ranks(), (std::vector<Index>{1, 5, 5, 1}));
    EXPECT_LE(relative_distance(sum, fine.train), 1e-12);
    EXPECT_EQ(fine.method, SvdMethod::qr);
    const auto coarse = round(sum, {.eps = 1e-6});
    EXPECT_EQ(coarse.train.ranks(), (std::vector<Index>{1, 2, 2, 1}));
    EXPECT_NEAR(relative_distance(sum, coarse.train), coarse.rel_error, 1e-14);
}

TEST(Round, ZeroTrainHasRankOne) {
    auto zero = scale(random_train<double>({3, 4, 5}, {2, 3, 4, 1}), 0.0);
    zero.set_labels({{"a", {}}, {"b", {}}, {"c", {}}});
    const auto result = round(zero, {.eps = 0.1});
    EXPECT_EQ(result.train.ranks(), (std::vector<Index>{2, 1, 1, 1}));
    EXPECT_EQ(result.rel_error, 0);
    EXPECT_EQ(result.norm, 0);
    EXPECT_FALSE(result.rank_limited);
    EXPECT_EQ(result.train.labels(), zero.labels());
    EXPECT_EQ(naive_full(result.train)[7], 0.0L);
}

TEST(Round, ExtremeMagnitudes) {
    for (const double s : {1e-100, 1e100}) {
        const auto train = random_train<double>({4, 5, 6}, {1, 4, 5, 1}, 1, s);
        const auto plain = random_train<double>({4, 5, 6}, {1, 4, 5, 1}, 1);
        EXPECT_LE(relative_distance(train, round(train, {.eps = 0.3}).train), 0.3);
        EXPECT_EQ(round(train, {.eps = 0.3}).train.ranks(), round(plain, {.eps = 0.3}).train.ranks());
    }
}

TEST(Round, EveryMagnitudeGivesTheSameAnswer) {
    const auto plain = random_train<double>({4, 5, 6}, {1, 4, 5, 1});
    const auto expected = round(plain, {.eps = 0.3});
    for (const int power : {-1000, -700, -260, 260, 700, 1000}) {
        const auto train = scale(plain, std::ldexp(1.0, power));
        const auto result = round(train, {.eps = 0.3});
        EXPECT_EQ(result.train.ranks(), expected.train.ranks()) << power;
        EXPECT_EQ(result.rel_error, expected.rel_error) << power;
        EXPECT_EQ(std::ldexp(result.norm, -power), expected.norm) << power;
        EXPECT_LE(relative_distance(train, result.train), result.rel_error) << power;
    }
    // Stored as denormals, with what that loses.
    const auto small = scale(plain, std::ldexp(1.0, -1060));
    const auto denormal = round(small, {.eps = 0.3});
    EXPECT_LE(relative_distance(small, denormal.train), denormal.rel_error);
    EXPECT_GT(round(small, {.eps = 0}).rel_error, 1e-6);
    std::vector<Tensor<double>> cores;
    cores.push_back(support::random_tensor<double>({1, 3, 2}, 1, 1e-200));
    cores.push_back(support::random_tensor<double>({2, 3, 1}, 2, 1e-200));
    EXPECT_NE(message_of([&] { round(TensorTrain<double>(std::move(cores)), {.eps = 0.1}); }), "");
}

TEST(Round, FloatErrorsAreUpperEstimates) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const auto train = random_train<float>({9, 8, 7, 6}, {1, 5, 6, 5, 1}, seed);
        for (const double eps : {0.0, 1e-6, 1e-5, 1e-2}) {
            const auto result = round(train, {.eps = eps});
            EXPECT_LE(relative_distance(train, result.train), result.rel_error);
            EXPECT_LE(result.rel_error, std::max(eps, 1e-6));
        }
    }
}

TEST(Round, BitsDoNotDependOnTheThreadCount) {
    const support::ThreadCountGuard guard;
    const auto train = random_train<double>({60, 50, 40}, {1, 60, 40, 1});
    std::vector<TensorTrain<double>> results;
    for (const int threads : {1, 2, 3, 7}) {
        set_thread_count(threads);
        results.push_back(round(train, {.eps = 0.4}).train);
        EXPECT_TRUE(same_bits(results.front(), results.back())) << threads;
    }
}

TEST(Round, RefusesBadOptions) {
    const auto train = random_train<double>({3, 4}, {1, 2, 1});
    const auto message = [&](const RoundOptions& options) { return message_of([&] { round(train, options); }); };
    EXPECT_EQ(message({.eps = -1e-9}), "eps: -1e-09; expected a number with 0 <= eps < 1");
    EXPECT_EQ(message({.eps = 1}), "eps: 1; expected a number with 0 <= eps < 1");
    EXPECT_EQ(message({.eps = std::nan("")}), "eps: nan; expected a number with 0 <= eps < 1");
    EXPECT_EQ(message({.max_rank = 0}), "max_rank: 0; expected at least 1");
}

}  // namespace
}  // namespace couplet
