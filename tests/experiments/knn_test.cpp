#include "couplet/experiments/knn.hpp"

#include "couplet/core/error.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

Matrix<double> matrix(Index rows, Index cols, const std::vector<double>& values) {
    Matrix<double> a(rows, cols);
    std::copy(values.begin(), values.end(), a.data());
    return a;
}

TEST(KnnTest, HandComputedVotes) {
    // On a line: class 7 at 0, 1, 2; class 3 at 10, 11.
    const auto known = matrix(5, 1, {0, 1, 2, 10, 11});
    const std::vector<Label> labels{7, 7, 7, 3, 3};
    const auto queries = matrix(4, 1, {0.4, 10.4, 6.4, 100});
    EXPECT_EQ(knn_classify(known, labels, queries, 1), (std::vector<Label>{7, 3, 3, 3}));
    // Of the three nearest to 6.4 (10, 2, 11) two are of class 3; all five are mostly of class 7.
    EXPECT_EQ(knn_classify(known, labels, queries, 3), (std::vector<Label>{7, 3, 3, 3}));
    EXPECT_EQ(knn_classify(known, labels, queries, 5), (std::vector<Label>{7, 7, 7, 7}));
    EXPECT_EQ(knn_classify(known, labels, queries, 99), (std::vector<Label>{7, 7, 7, 7}));
}

TEST(KnnTest, TiesGoToTheNearestNeighbourAndTheFirstRow) {
    const auto known = matrix(4, 1, {1, -1, 2, -2});
    const std::vector<Label> labels{5, 6, 6, 5};
    // Two votes each: the nearest decides, and of two at the same distance the first row.
    EXPECT_EQ(knn_classify(known, labels, matrix(3, 1, {0.1, -0.1, 0}), 4), (std::vector<Label>{5, 6, 5}));
}

TEST(KnnTest, AgreesWithAllDistancesComputedOneByOne) {
    const auto known = support::random_matrix<double>(37, 5, 1);
    const auto queries = support::random_matrix<double>(23, 5, 2);
    std::vector<Label> labels;
    for (Index i = 0; i < 37; ++i) labels.push_back(i);
    const auto guessed = knn_classify(known, labels, queries, 1);
    for (Index q = 0; q < 23; ++q) {
        Index best = 0;
        double least = 1e300;
        for (Index i = 0; i < 37; ++i) {
            double d = 0;
            for (Index j = 0; j < 5; ++j) d += std::pow(known(i, j) - queries(q, j), 2);
            if (d < least) {
                least = d;
                best = i;
            }
        }
        EXPECT_EQ(guessed[static_cast<std::size_t>(q)], best);
    }
}

TEST(KnnTest, AccuracyIsThePartThatAgrees) {
    EXPECT_DOUBLE_EQ(accuracy(std::vector<Label>{1, 2, 3, 4}, std::vector<Label>{1, 2, 0, 4}), 0.75);
    EXPECT_EQ(accuracy({}, {}), 0);
    EXPECT_THROW(accuracy(std::vector<Label>{1}, {}), InputError);
}

TEST(KnnTest, RefusesWhatDoesNotFit) {
    const auto known = matrix(2, 1, {0, 1});
    const std::vector<Label> labels{0, 1};
    EXPECT_THROW(knn_classify(known, labels, known, 0), InputError);
    EXPECT_THROW(knn_classify(known, std::vector<Label>{0}, known, 1), InputError);
    EXPECT_THROW(knn_classify(known, labels, matrix(1, 2, {0, 0}), 1), InputError);
    EXPECT_THROW(knn_classify(Matrix<double>(0, 1), {}, known, 1), InputError);
}

TEST(KnnTest, SharesAreTheVotesWhateverTheMagnitude) {
    Matrix<double> known(4, 1);
    Matrix<double> queries(2, 1);
    for (const double scale : {1.0, 1e160, 1e-160}) {
        for (Index i = 0; i < 4; ++i) known(i, 0) = scale * static_cast<double>(i);
        queries(0, 0) = scale * 0.2;
        queries(1, 0) = scale * 2.9;
        const auto votes = knn_votes(known, std::vector<Label>{7, 7, 9, 9}, queries, 3);
        EXPECT_EQ(votes.classes, (std::vector<Label>{7, 9}));
        EXPECT_EQ(votes.winners, (std::vector<Label>{7, 9})) << scale;
        EXPECT_NEAR(votes.shares(0, 0), 2.0 / 3, 1e-12);
        EXPECT_NEAR(votes.shares(1, 1), 2.0 / 3, 1e-12);
    }
}

}  // namespace
}  // namespace couplet
