#include "couplet/ctt/subspace.hpp"

#include "couplet/core/error.hpp"
#include "federations.hpp"

namespace couplet {
namespace {

using namespace support;
using Want = SubspaceIteration::Want;

std::vector<double> sum_over(const Clients& clients, const SubspaceIteration& iteration) {
    std::vector<double> sum;
    for (const auto& x : clients) {
        const auto part = iteration.want() == Want::projected ? projected_gram(x.view(), iteration.basis().view())
                                                              : sketch_sum(x.view(), iteration.basis().view());
        if (sum.empty()) sum.assign(part->size(), 0.0);
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part.get()[i];
    }
    return sum;
}

TEST(SubspaceTest, ReachesCentralizedAccuracy) {
    for (const Shape& shape : {Shape{15, 80}, Shape{15, 9, 10}, Shape{15, 5, 4, 6}}) {
        const auto clients = population(4, shape, 12, 0.85, 0.05, 8);
        for (const auto sketch : {Sketch::random, Sketch::gram}) {
            for (const Index rank : {3, 8}) {
                const Job job = resolve_job({.aggregate = Aggregate::subspace, .rank = rank, .sketch = sketch});
                SubspaceIteration iteration(job, feature_modes(shape));
                Index sums = iteration.sums_left();
                EXPECT_EQ(sums, sketch == Sketch::gram ? 1 : 4);
                while (iteration.want() != Want::nothing) {
                    const auto sum = sum_over(clients, iteration);
                    ASSERT_EQ(static_cast<Index>(sum.size()), iteration.sum_length());
                    EXPECT_EQ(iteration.sums_left(), sums--);
                    iteration.take(sum);
                }
                const auto& features = iteration.features();
                EXPECT_EQ(features.train.left_rank(), rank);
                EXPECT_LT(claimed_orthogonality_residual(features.train), 300);
                EXPECT_LE(rse_with(clients, features), 1.02 * centralized_rse(gather_rows(clients), rank, 0.01) + 1e-4);
            }
        }
    }
}

TEST(SubspaceTest, RoundingIsNoFeature) {
    for (const double unit : {1.0, 3.0, 7.0}) {
        auto clients = population(3, {15, 6, 7}, 3, 0.8, 0);
        for (auto& x : clients) {
            for (double& value : x.elements()) value *= unit;
        }
        for (const auto sketch : {Sketch::random, Sketch::gram}) {
            const Job job = resolve_job({.aggregate = Aggregate::subspace, .rank = 6, .sketch = sketch});
            const auto outcome = drive_star(job, clients);
            EXPECT_EQ(outcome.message->features.train.left_rank(), 3) << unit;
            EXPECT_LT(outcome.rse, 1e-20);
            EXPECT_EQ(outcome.coordinator->personal_ranks(), std::vector<Index>(3, 3));
        }
    }
}

TEST(SubspaceTest, DirectionsBelowTheStepOfTheSumsAreNoFeatures) {
    const auto clients = population(3, {15, 6, 7}, 3, 0.8, 0);
    const Job job = resolve_job({.aggregate = Aggregate::subspace, .rank = 8, .sketch = Sketch::gram});
    for (const bool told : {false, true}) {
        SubspaceIteration iteration(job, {6, 7});
        auto sum = sum_over(clients, iteration);
        constexpr double step = 1e-4;
        for (double& value : sum) value = step * std::round(value / step);
        iteration.take(sum, told ? step / std::sqrt(12.0) : 0);
        const Index rank = iteration.features().train.left_rank();
        EXPECT_EQ(rank, told ? 3 : 8);
    }
}

TEST(SubspaceTest, BasisIsOrthonormalAndComesFromTheSeed) {
    const Job job = resolve_job({.aggregate = Aggregate::subspace, .rank = 3, .sketch = Sketch::random, .seed = 5});
    const SubspaceIteration a(job, {9, 10}), b(job, {9, 10});
    EXPECT_EQ(a.want(), Want::sketch);
    EXPECT_EQ(a.basis().rows(), 90);
    EXPECT_EQ(a.basis().cols(), 13);
    EXPECT_EQ(a.sum_length(), 90 * 13);
    EXPECT_LT(orthonormality_residual(a.basis().view()), 50);
    EXPECT_TRUE(same_bits<double>(a.basis().view(), b.basis().view()));
    Job other = job;
    other.seed = 6;
    EXPECT_FALSE(same_bits<double>(a.basis().view(), SubspaceIteration(other, {9, 10}).basis().view()));
}

TEST(SubspaceTest, AutomaticTakesTheSmallerMessage) {
    const auto wants_gram = [](Index p, Index rank) {
        return SubspaceIteration(resolve_job({.aggregate = Aggregate::subspace, .rank = rank}), {p}).want() ==
               Want::gram;
    };
    EXPECT_TRUE(wants_gram(20, 5));
    EXPECT_FALSE(wants_gram(900, 20));
    // 3 P l + q (q + 1) / 2 against P (P + 1) / 2 with l = 15, q = 45.
    EXPECT_TRUE(wants_gram(89 + 10, 5));
    EXPECT_FALSE(wants_gram(120, 5));
}

TEST(SubspaceTest, RankBeyondTheFeaturesIsCapped) {
    const auto clients = population(2, {4, 6}, 3, 0.7, 0);
    const Job job = resolve_job({.aggregate = Aggregate::subspace, .rank = 50, .sketch = Sketch::random});
    SubspaceIteration iteration(job, {6});
    while (iteration.want() != Want::nothing) iteration.take(sum_over(clients, iteration));
    EXPECT_LE(iteration.features().train.left_rank(), 6);
    EXPECT_LT(rse_with(clients, iteration.features()), 1e-15);
}

TEST(SubspaceTest, RefusesWrongSumsAndBases) {
    const Job job = resolve_job({.aggregate = Aggregate::subspace, .rank = 2, .sketch = Sketch::random});
    SubspaceIteration iteration(job, {5, 6});
    const auto before = Matrix<double>::copy(iteration.basis().view());
    EXPECT_EQ(message_of([&] { iteration.take(std::vector<double>(7)); }), "sum: 7 numbers; expected 360");
    for (const auto& [rows, cols] : {std::pair<Index, Index>{29, 12}, {30, 11}, {30, 13}, {30, 0}, {30, 31}}) {
        EXPECT_EQ(
            message_of([&, rows = rows, cols = cols] { iteration.agree(Matrix<double>::zeros(rows, cols).view()); }),
            "basis: " + std::to_string(rows) + "x" + std::to_string(cols) +
                "; expected 30 rows and at most as many columns");
    }
    EXPECT_TRUE(same_bits<double>(before.view(), iteration.basis().view()));
    EXPECT_EQ(iteration.sums_left(), 4);
    for (int pass = 0; pass < 3; ++pass) iteration.skip();
    EXPECT_EQ(iteration.want(), Want::projected);
    EXPECT_NE(message_of([&] { iteration.agree(Matrix<double>::zeros(30, 31).view()); }), "");
    EXPECT_NE(message_of([&] { iteration.agree(Matrix<double>::zeros(30, 0).view()); }), "");
    iteration.agree(Matrix<double>::identity(30).view());
    EXPECT_EQ(iteration.sum_length(), 30 * 31 / 2);
    iteration.skip();
    EXPECT_EQ(iteration.want(), Want::nothing);
    EXPECT_EQ(iteration.sum_length(), 0);
    EXPECT_EQ(message_of([&] { iteration.take({}); }), "sum: 0 numbers; expected 0");
}

TEST(DecomposeRowsTest, KeepsR1AndStaysWithinEps) {
    for (const Shape& features : {Shape{30}, Shape{5, 6}, Shape{4, 3, 5}}) {
        const auto w = random_matrix<double>(4, features.size(), 3);
        for (const double eps : {0.0, 0.1, 0.5}) {
            const auto train = decompose_rows(w, features, eps);
            EXPECT_EQ(train.left_rank(), 4);
            const auto full = train.full();
            EXPECT_LE(naive_distance(full.view().unfold(1), w.view()), (eps + 1e-13) * naive_norm(w.view()));
        }
    }
}

TEST(SubspaceTest, AutomaticTurnsWhereTheMessagesAreEqual) {
    // p (p + 1) / 2 <= 3 p 15 + 45 46 / 2 up to p = 108.
    const auto wants = [](Index p) {
        return SubspaceIteration(resolve_job({.aggregate = Aggregate::subspace, .rank = 5}), {p}).want();
    };
    EXPECT_EQ(wants(108), Want::gram);
    EXPECT_EQ(wants(109), Want::sketch);
}

TEST(SubspaceTest, DataOfFewerDirectionsThanTheSketchIsExact) {
    // Every pass after the first adds nothing to the space but rounding.
    const auto clients = population(3, {12, 90}, 2, 0.7, 0, 9);
    for (const Index rank : {2, 4}) {
        const Job job = resolve_job({.aggregate = Aggregate::subspace, .rank = rank, .sketch = Sketch::random});
        SubspaceIteration iteration(job, {90});
        while (iteration.want() != Want::nothing) {
            if (iteration.want() == Want::projected) {
                EXPECT_LT(orthonormality_residual(iteration.basis().view()), 50);
            }
            iteration.take(sum_over(clients, iteration));
        }
        EXPECT_LT(rse_with(clients, iteration.features()), 1e-15);
        EXPECT_LT(claimed_orthogonality_residual(iteration.features().train), 300);
    }
}

}  // namespace
}  // namespace couplet
