#include "couplet/models/merged_rows.hpp"

#include <utility>

#include "couplet/core/error.hpp"
#include "matrices.hpp"
#include "models_test_support.hpp"

namespace couplet::testing {
namespace {

Features features() {
    Random random(3);
    Tensor<double> core({4, 3, 5});
    for (double& value : core.elements()) value = random.normal();
    Tensor<double> last({5, 6, 1});
    for (double& value : last.elements()) value = random.normal();
    std::vector<Tensor<double>> cores;
    cores.push_back(std::move(core));
    cores.push_back(std::move(last));
    return orthonormal_features(TensorTrain<double>(std::move(cores)));
}

void refused(TensorTrain<double> train, const std::vector<double>& sigma, const std::string& part) {
    try {
        merged_rows(std::move(train), sigma, "features.npz");
        ADD_FAILURE() << "taken, though " << part;
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("features.npz"), std::string::npos);
    }
}

TEST(MergedRowsTest, TheNormIsThatOfAnyMagnitude) {
    const Features made = features();
    EXPECT_DOUBLE_EQ(merged_rows(made.train.clone(), std::vector<double>{3, 4, 0, 0}, "m").norm(), 5);
    EXPECT_DOUBLE_EQ(merged_rows(made.train.clone(), std::vector<double>{3e200, 4e200, 0, 0}, "m").norm(), 5e200);
}

TEST(MergedRowsTest, WhatIsNoMergeIsRefused) {
    const Features made = features();
    refused(made.train.clone(), {1, 2}, "2 singular values of 4 directions");
    refused(made.train.clone(), {0, 0, 0, 0}, "zeros");
    auto cores = made.train.clone().release();
    cores[0].data()[0] += 0.1;
    refused(TensorTrain<double>(std::move(cores)), {4, 3, 2, 1}, "not orthonormal");
    std::vector<Tensor<double>> many;
    for (int n = 0; n < 6; ++n) many.push_back(Tensor<double>({1, 1, 1}, Matrix<double>::identity(1).release()));
    refused(TensorTrain<double>(std::move(many)), {1}, "6 feature modes");
}

TEST(MergedRowsTest, PatientsOfSeveralSitesHaveTheirSecondMoment) {
    const Features made = features();
    const auto north = support::random_matrix<double>(7, 4, 1);
    const auto empty = Matrix<double>(0, 4);
    const auto south = support::random_matrix<double>(2, 4, 2);
    const std::vector<MatrixView<const double>> sites{north.view(), empty.view(), south.view()};
    const auto rows = rows_of_patients(made.train, sites);
    const auto moment = support::naive_product(rows.weights.view(), rows.weights.view(), Op::transpose);
    auto expected = support::naive_product(north.view(), north.view(), Op::transpose);
    const auto more = support::naive_product(south.view(), south.view(), Op::transpose);
    for (Index i = 0; i < expected.size(); ++i) expected.data()[i] += more.data()[i];
    EXPECT_LT(support::naive_distance(moment.view(), expected.view()), 1e-11);
}

}  // namespace
}  // namespace couplet::testing
