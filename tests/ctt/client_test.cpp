#include "couplet/ctt/client.hpp"

#include <type_traits>

#include "couplet/core/error.hpp"
#include "couplet/ctt/block_code.hpp"
#include "couplet/ctt/merge.hpp"
#include "couplet/ctt/refit.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;

// Raw local data does not become a message; tests/released/run shows it with the compiler, both ways.
static_assert(!std::is_constructible_v<Released<FeatureBlock>, FeatureBlock>);
static_assert(!std::is_constructible_v<Released<std::vector<double>>, std::vector<double>>);
static_assert(!std::is_default_constructible_v<Released<FeatureBlock>>);
static_assert(!std::is_constructible_v<FromClient, Tensor<double>>);
static_assert(!std::is_constructible_v<PeerBody, Tensor<double>>);
static_assert(!std::is_constructible_v<PeerBody, std::vector<double>>);

Matrix<double> block_rows(const FeatureBlock& block) {
    Matrix<double> rows(block.rows(), block.features().size());
    block.expand(rows.view());
    return rows;
}

/// ||X - X P||^2, P the projector on the row space of D.
double unexplained2(const Tensor<double>& x, const FeatureBlock& block) {
    const FeatureBlock* blocks[] = {&block};
    return naive_refit_error2(x, merge_dense(blocks, {}).features);
}

double largest_correlation(const Tensor<double>& x, const Matrix<double>& uploaded) {
    const auto rows = x.view().unfold(1);
    double worst = 0;
    for (Index i = 0; i < uploaded.rows(); ++i) {
        for (Index j = 0; j < rows.rows; ++j) {
            double dot = 0, a = 0, b = 0;
            for (Index p = 0; p < rows.cols; ++p) {
                dot += uploaded(i, p) * rows(j, p);
                a += uploaded(i, p) * uploaded(i, p);
                b += rows(j, p) * rows(j, p);
            }
            if (a > 0 && b > 0) worst = std::max(worst, std::abs(dot) / std::sqrt(a * b));
        }
    }
    return worst;
}

TEST(ClientLimitsTest, CertifiedSquaresAddUpToTheNorm) {
    const Job job = resolve_job({.eps = 0.01, .precision = Precision::f64});
    const std::vector<Hello> hellos = {{{4, 5}, 3, 1.0}, {{4, 5}, 7, 1e6}, {{4, 5}, 1, 0.25}, {{4, 5}, 30, 17}};
    const Start start = start_job(job, hellos);
    double svd2 = 0;
    double tt2 = 0;
    for (const auto& hello : hellos) {
        const auto limits = client_limits(job, hello, start);
        svd2 += limits.svd_eps * limits.svd_eps * hello.norm2;
        tt2 += limits.tt_eps * limits.tt_eps * hello.norm2;
        EXPECT_LT(limits.svd_eps, 1);
        EXPECT_EQ(limits.max_rank, rank_cap(hello));
    }
    // The clamp below 1 only takes away.
    EXPECT_LE(svd2, 0.64 * 1e-4 * start.norm2 * (1 + 1e-12));
    EXPECT_LE(tt2, 0.01 * 1e-4 * start.norm2 * (1 + 1e-12));
    EXPECT_GT(svd2, 0.3 * 1e-4 * start.norm2);
}

TEST(ClientLimitsTest, SplitDependsOnOrderAndClients) {
    const Job job = resolve_job({.eps = 0.1, .precision = Precision::f64});
    const auto limits = [&](Shape features, Index clients) {
        return client_limits(job, {features, 10, 1.0}, {clients, 10 * clients, static_cast<double>(clients)});
    };
    EXPECT_NEAR(limits({9}, 4).svd_eps, 0.08, 1e-15);
    EXPECT_EQ(limits({9}, 4).tt_eps, 0);
    EXPECT_NEAR(limits({3, 3}, 8).svd_eps, 0.08, 1e-15);
    EXPECT_NEAR(limits({3, 3}, 8).tt_eps, 0.01, 1e-15);
    EXPECT_NEAR(limits({3, 3}, 9).svd_eps, 0.065, 1e-15);
    EXPECT_NEAR(limits({3, 3}, 9).tt_eps, 0.006, 1e-15);
    EXPECT_NEAR(limits({3, 3, 3}, 9).svd_eps, 0.06, 1e-15);
    EXPECT_NEAR(limits({3, 3, 3}, 9).tt_eps, 0.03, 1e-15);
}

TEST(ClientLimitsTest, Eps1IsSplitAsInThePaper) {
    const Job job = resolve_job({.rank = 4, .eps1 = 0.3, .precision = Precision::f64});
    const auto limits = client_limits(job, {{5, 6, 7}, 10, 2.0}, {});
    EXPECT_NEAR(limits.svd_eps, 0.3 / std::sqrt(3), 1e-15);
    EXPECT_NEAR(limits.tt_eps, 0.3 * std::sqrt(2.0 / 3), 1e-15);
    EXPECT_EQ(limits.max_rank, 4);
    EXPECT_EQ(client_limits(job, {{5, 6, 7}, 2, 2.0}, {}).max_rank, 2);
}

TEST(ClientLimitsTest, CodedMessagesShareEps1AndHops) {
    const Job job = resolve_job({.rank = 4, .eps1 = 0.3});
    const Hello hello{{5, 6, 7}, 10, 2.0};
    const auto once = client_limits(job, hello, {});
    EXPECT_EQ(once.precision, Precision::automatic);
    EXPECT_NEAR(std::hypot(once.svd_eps, once.tt_eps), 0.3, 1e-15);
    EXPECT_EQ(once.total_eps, 0.3);
    // Squares of what every node on the way loses add up to the same.
    EXPECT_NEAR(client_limits(job, hello, {}, 4).tt_eps, once.tt_eps / 2, 1e-15);
    const Job certified = resolve_job({.eps = 0.1});
    const Start alone{1, 10, 2.0};
    const auto split = client_limits(certified, hello, alone);
    EXPECT_NEAR(split.total_eps, std::hypot(split.svd_eps, split.tt_eps), 1e-15);
    EXPECT_LT(std::hypot(split.svd_eps, split.tt_eps), 0.1);
    EXPECT_NEAR(client_limits(certified, hello, alone, 4).tt_eps, split.tt_eps / 4, 1e-15);
}

TEST(CompressClientTest, CodedTailsCoverTheError) {
    for (const Shape& shape : {Shape{12, 40}, Shape{12, 5, 7}, Shape{40, 3, 4}, Shape{9, 4, 3, 5}, Shape{1, 4, 6}}) {
        const auto x = population_client(shape, 5, 0.5, 0.02, 3, 1);
        const double norm2 = squared_norm(x.view().unfold(1));
        for (const double eps : {0.5, 0.1, 1e-3}) {
            for (const Index rank : {Index{2}, unlimited_rank}) {
                const ClientLimits limits{eps, eps, rank, {}, Precision::automatic, 1.2 * eps};
                const auto upload = compress_client(x.view(), limits);
                ASSERT_TRUE(upload.block->code()) << shape.to_string();
                EXPECT_LE(upload.tt_tail2, eps * eps * norm2 * (1 + 1e-12));
                if (rank == unlimited_rank) {
                    EXPECT_LE(upload.svd_tail2 + upload.tt_tail2, 1.44 * eps * eps * norm2 * (1 + 1e-12));
                }
                EXPECT_LE(unexplained2(x, upload.block.get()),
                          (upload.svd_tail2 + upload.tt_tail2) * (1 + 1e-9) + 1e-20 * norm2);
            }
        }
    }
}

TEST(CompressClientTest, MorePrecisionThanIntegersHaveTravelsAsNumbers) {
    const auto x = population_client({12, 5, 7}, 5, 0.5, 0.02, 3, 1);
    for (const double eps : {0.0, 1e-12}) {
        const auto upload = compress_client(x.view(), {eps, eps, unlimited_rank, {}, Precision::automatic, 1.5 * eps});
        EXPECT_FALSE(upload.block->code());
        EXPECT_LE(upload.svd_tail2 + upload.tt_tail2, 3 * eps * eps * upload.norm2);
    }
    const Tensor<double> zero = Tensor<double>::zeros({3, 4, 5});
    EXPECT_EQ(compress_client(zero.view(), {0.1, 0.1, 3, {}, Precision::automatic, 0.15}).block->squared_norm(), 0);
}

TEST(CompressClientTest, FloatsLoseWhatTheyLose) {
    const auto x = population_client({12, 5, 7}, 5, 0.5, 0.02, 3, 1);
    const auto exact = compress_client(x.view(), {0, 0, unlimited_rank});
    const auto upload = compress_client(x.view(), {0, 0, unlimited_rank, {}, Precision::f32});
    ASSERT_TRUE(upload.block->code());
    EXPECT_EQ(upload.block->code()->kind, BlockCode::Kind::floats);
    EXPECT_GT(upload.tt_tail2, exact.tt_tail2);
    EXPECT_LT(std::sqrt(upload.tt_tail2 / upload.norm2), 1e-6);
}

TEST(CompressClientTest, TailsCoverTheError) {
    for (const Shape& shape : {Shape{12, 40}, Shape{12, 5, 7}, Shape{40, 3, 4}, Shape{9, 4, 3, 5}, Shape{1, 4, 6},
                               Shape{7, 1, 6}, Shape{6, 3, 2, 2, 3}}) {
        const auto x = population_client(shape, 5, 0.5, 0.02, 3, 1);
        const double norm2 = squared_norm(x.view().unfold(1));
        for (const double eps : {0.5, 0.1, 1e-3, 0.0}) {
            const auto upload = compress_client(x.view(), {eps, eps / 2, unlimited_rank});
            EXPECT_EQ(upload.rows, shape[0]);
            EXPECT_NEAR(upload.norm2, norm2, 1e-12 * norm2);
            EXPECT_LE(upload.svd_tail2, eps * eps * norm2 * (1 + 1e-12));
            EXPECT_LE(upload.tt_tail2, eps * eps / 4 * norm2 * (1 + 1e-12));
            EXPECT_LE(unexplained2(x, upload.block.get()),
                      upload.svd_tail2 + upload.tt_tail2 + 1e-24 * norm2 + 1e-12 * (upload.svd_tail2 + upload.tt_tail2))
                << shape.to_string() << " eps " << eps;
            EXPECT_LE(upload.block->numbers(), upload.block->rows() * upload.block->features().size());
        }
    }
}

TEST(CompressClientTest, CappedRanksAreCertifiedToo) {
    for (const Shape& shape : {Shape{12, 40}, Shape{40, 12}, Shape{12, 5, 7}, Shape{40, 3, 4}, Shape{9, 4, 3, 5}}) {
        const auto x = population_client(shape, 8, 0.8, 0.05, 3, 1);
        const double norm2 = squared_norm(x.view().unfold(1));
        for (const Index cap : {1, 3, 5}) {
            const auto upload = compress_client(x.view(), {0.01, 0.02, cap});
            EXPECT_LE(upload.block->rows(), cap);
            EXPECT_LE(upload.tt_tail2, 0.02 * 0.02 * norm2 * (1 + 1e-12));
            const double missed2 = unexplained2(x, upload.block.get());
            EXPECT_LE(missed2, (upload.svd_tail2 + upload.tt_tail2) * (1 + 1e-12) + 1e-24 * norm2);
            // The printed method's message at the same cuts: one bond's share of eps1 at each bond.
            const double bonds = static_cast<double>(shape.order() - 1);
            const double share = 0.1 / std::sqrt(bonds);
            const auto same = compress_client(x.view(), {share, share * std::sqrt(bonds - 1), cap});
            EXPECT_LE(same.block->numbers(), average_client(x.view(), cap, 0.1).upload.block->numbers())
                << shape.to_string() << " R1 = " << cap;
        }
    }
}

TEST(CompressClientTest, TrainsAreLeftOrthonormal) {
    const auto x = population_client({30, 12, 13}, 6, 0.6, 0.001, 4, 1);
    for (const Index cap : {unlimited_rank, Index{4}}) {
        const auto upload = compress_client(x.view(), {0.05, 0.02, cap});
        ASSERT_FALSE(upload.block->is_dense());
        EXPECT_EQ(upload.block->train().orthogonality(0), Orthogonality::left);
        EXPECT_LT(orthonormality_residual(upload.block->train().left_unfolding(0)), 50);
    }
}

TEST(CompressClientTest, UncutUploadsAreNotTheRows) {
    for (const Shape& shape :
         {Shape{8, 60}, Shape{8, 6, 10}, Shape{2, 9, 9}, Shape{20, 3, 4}, Shape{12, 3, 4}, Shape{5, 3, 4, 5}}) {
        const auto x = random_tensor<double>(shape, 11);
        const auto upload = compress_client(x.view(), {0, 0, std::min(shape[0], shape.size() / shape[0])});
        EXPECT_LT(largest_correlation(x, block_rows(upload.block.get())), 0.999) << shape.to_string();
        EXPECT_LE(unexplained2(x, upload.block.get()), 1e-20 * squared_norm(x.view().unfold(1)));
    }
}

TEST(CompressClientTest, OnePatientIsRevealedUpToSign) {
    const auto x = random_tensor<double>({1, 5, 6}, 12);
    const auto upload = compress_client(x.view(), {0, 0, 1});
    EXPECT_GT(largest_correlation(x, block_rows(upload.block.get())), 1 - 1e-12);
}

TEST(CompressClientTest, ZeroClientSendsAZeroRow) {
    const auto x = Tensor<double>::zeros({4, 5, 6});
    for (const double eps : {0.0, 0.1}) {
        const auto upload = compress_client(x.view(), {eps, eps, 4});
        EXPECT_EQ(upload.norm2, 0);
        EXPECT_EQ(upload.svd_tail2, 0);
        EXPECT_EQ(upload.tt_tail2, 0);
        EXPECT_EQ(squared_norm<double>(block_rows(upload.block.get()).view()), 0);
    }
}

TEST(CompressClientTest, AZeroClientsRowIsCodedAndKeepsItsBytes) {
    const auto x = Tensor<double>::zeros({4, 15, 16});
    for (const double eps : {0.0, 0.1}) {
        ClientLimits limits{.svd_eps = eps, .tt_eps = eps, .max_rank = 4};
        limits.precision = Precision::automatic;
        limits.total_eps = eps;
        limits.code_bytes = 20;
        const auto upload = compress_client(x.view(), limits);
        EXPECT_EQ(upload.rows, 4);
        EXPECT_EQ(upload.block->squared_norm(), 0);
        ASSERT_TRUE(upload.block->code());
        EXPECT_LE(upload.block->code()->bytes.size(), 20U);
        limits.code_bytes = 3;
        EXPECT_THROW(compress_client(x.view(), limits), InputError);
    }
    const Hello nothing{{15, 16}, 4, 0};
    EXPECT_EQ(client_limits(resolve_job({.eps = 0.1}), nothing, {2, 8, 1}).precision, Precision::automatic);
}

TEST(AverageClientTest, FollowsThePaper) {
    const auto x = population_client({20, 6, 7}, 5, 0.6, 0.05, 5, 1);
    const auto step = average_client(x.view(), 4, 0.1);
    EXPECT_LT(orthonormality_residual(step.personal.view()), 50);
    EXPECT_TRUE(obeys_sign_rule(step.personal.view()));
    const auto d = naive_product(step.personal.view(), x.view().unfold(1), Op::transpose);
    EXPECT_LT(naive_distance(d.view(), step.weighted.view()), 1e-12);
    const auto svd = reference::svd(x.view().unfold(1));
    double tail2 = 0;
    for (std::size_t i = 4; i < svd.sigma.size(); ++i) tail2 += svd.sigma[i] * svd.sigma[i];
    EXPECT_NEAR(step.upload.svd_tail2, tail2, 1e-10 * step.upload.norm2);
    EXPECT_EQ(step.upload.block->rows(), 4);
    const double distance = naive_distance(block_rows(step.upload.block.get()).view(), step.weighted.view());
    EXPECT_NEAR(distance * distance, step.upload.tt_tail2, 1e-10 * step.upload.norm2);
    // One bond, delta = eps1 / sqrt(2) ||X||.
    EXPECT_LE(distance, 0.1 / std::sqrt(2.0) * std::sqrt(step.upload.norm2) * (1 + 1e-12));
    const auto state = release_state(step);
    EXPECT_TRUE(std::equal(state->begin(), state->end(), step.weighted.data()));
}

TEST(AverageClientTest, TheSplitIsItsFirstStep) {
    const auto x = population_client({20, 6, 7}, 5, 0.6, 0.05, 5, 1);
    const auto step = average_client(x.view(), 4, 0.1);
    const auto split = split_personal(x.view(), 4);
    EXPECT_TRUE(same_bits<double>(split.personal.view(), step.personal.view()));
    EXPECT_TRUE(same_bits<double>(split.weighted.view(), step.weighted.view()));
}

TEST(AverageClientTest, GivesTheWholeRankAlsoWhereTheDataHasLess) {
    auto rank_one = Tensor<double>::zeros({6, 3, 4});
    for (Index i = 0; i < 6; ++i) rank_one.data()[i * 12] = 1;
    for (const auto* x : {&rank_one}) {
        const auto step = average_client(x->view(), 3, 0.1);
        ASSERT_EQ(step.personal.cols(), 3);
        ASSERT_EQ(step.weighted.rows(), 3);
        EXPECT_LT(orthonormality_residual(step.personal.view()), 50);
        EXPECT_EQ(step.upload.block->rows(), 3);
        EXPECT_NEAR(squared_norm<double>(step.weighted.view()), 6, 1e-12);
    }
    const auto zero = Tensor<double>::zeros({4, 3, 4});
    const auto step = average_client(zero.view(), 4, 0.1);
    EXPECT_EQ(step.personal.cols(), 4);
    EXPECT_EQ(step.weighted.rows(), 4);
    EXPECT_LT(orthonormality_residual(step.personal.view()), 50);
    EXPECT_EQ(squared_norm<double>(block_rows(step.upload.block.get()).view()), 0);
}

TEST(SketchSumTest, IsTheProductByDefinition) {
    const auto x = random_tensor<double>({5, 3, 4}, 6);
    const auto rows = x.view().unfold(1);
    const auto q = random_matrix<double>(12, 3, 2);
    const auto sum = sketch_sum(x.view(), q.view());
    const auto expected = naive_product(rows, naive_product(rows, q.view()).view(), Op::transpose);
    ASSERT_EQ(sum->size(), 36u);
    for (std::size_t i = 0; i < 36; ++i) EXPECT_NEAR(sum.get()[i], expected.data()[i], 1e-12);

    const auto triangle = [&](const Matrix<double>& g, const std::vector<double>& values) {
        ASSERT_EQ(static_cast<Index>(values.size()), g.rows() * (g.rows() + 1) / 2);
        std::size_t at = 0;
        for (Index i = 0; i < g.rows(); ++i) {
            for (Index j = i; j < g.cols(); ++j) EXPECT_NEAR(values[at++], g(i, j), 1e-12);
        }
    };
    triangle(naive_product(rows, rows, Op::transpose), sketch_sum(x.view(), {}).get());
    triangle(naive_product(rows, rows, Op::transpose), sketch_sum(x.view(), Matrix<double>(0, 0).view()).get());
    const auto image = naive_product(rows, q.view());
    triangle(naive_product(image.view(), image.view(), Op::transpose), projected_gram(x.view(), q.view()).get());
    EXPECT_THROW(sketch_sum(x.view(), random_matrix<double>(11, 3).view()), InputError);
}

TEST(ClientLimitsTest, ClientsWithoutANormAndThoseOfAlmostNone) {
    const Job job = resolve_job({.eps = 0.5, .precision = Precision::f64});
    const auto zero = client_limits(job, {{4, 5}, 3, 0.0}, {2, 6, 1.0});
    EXPECT_LT(zero.svd_eps, 1);
    EXPECT_GT(zero.svd_eps, 0.999);
    EXPECT_LT(zero.tt_eps, 1);
    EXPECT_GT(zero.tt_eps, 0.999);
    EXPECT_EQ(zero.max_rank, 3);
    EXPECT_EQ(zero.norm2, 0.0);
    // z = sqrt((n + N / 2) / 2 / n): a client of a thousandth may cut all of itself.
    const auto small = client_limits(job, {{4, 5}, 3, 1e-3}, {2, 6, 1.0});
    EXPECT_LT(small.svd_eps, 1);
    EXPECT_GT(small.svd_eps, 0.999);
    EXPECT_NEAR(small.tt_eps, 0.1 * 0.5 * std::sqrt((1e-3 + 0.5) / 2 / 1e-3), 1e-12);
    EXPECT_EQ(small.norm2, 1e-3);
    EXPECT_EQ(client_limits(resolve_job({.rank = 2, .eps = 0.5}), {{4, 5}, 3, 1.0}, {2, 6, 2.0}).max_rank, 2);
}

TEST(CompressClientTest, AGivenNormIsUsedAndAMissingOneMeasured) {
    const auto x = population_client({12, 5, 7}, 8, 0.8, 0.05, 3, 1);
    const double norm2 = squared_norm(x.view().unfold(1));
    const auto measured = compress_client(x.view(), {0.1, 0.05, 3});
    const auto given = compress_client(x.view(), {0.1, 0.05, 3, norm2});
    EXPECT_NEAR(measured.norm2, norm2, 1e-12 * norm2);
    EXPECT_EQ(given.norm2, norm2);
    EXPECT_EQ(given.block->numbers(), measured.block->numbers());
    EXPECT_NEAR(given.svd_tail2, measured.svd_tail2, 1e-12 * norm2);
    EXPECT_NEAR(given.tt_tail2, measured.tt_tail2, 1e-12 * norm2);
    // A rank at the cap is not below it: both routes cut within eps.
    for (const Index cap : {11, 12, 13}) {
        const auto upload = compress_client(x.view(), {1e-3, 1e-3, cap});
        EXPECT_LE(upload.block->rows(), std::min<Index>(cap, 12));
        EXPECT_LE(upload.svd_tail2, cap < 12 ? norm2 : 1e-6 * norm2);
    }
}

}  // namespace
}  // namespace couplet
