#include "couplet/explain/evidence.hpp"

#include "explain_test_support.hpp"

namespace couplet {
namespace {

using Cell = std::vector<Index>;

Evidence paired() { return *evidence_of(testing::paired_findings().weighting, Shape{3, 3}); }

TEST(EvidenceTest, LiftIsHowManyTimesAsOftenAsIndependentLabels) {
    const Evidence evidence = paired();
    EXPECT_EQ(evidence.patients, 100);
    EXPECT_EQ(patients_with(evidence, Cell{1, 1}), 38);
    EXPECT_NEAR(lift(evidence, Cell{1, 1}), 0.38 / (0.38 * 0.38), 1e-12);
    EXPECT_NEAR(lift(evidence, Cell{2, 2}), 1, 1e-12);
    EXPECT_TRUE(come_together(evidence, Cell{1, 1}));
    EXPECT_FALSE(come_together(evidence, Cell{2, 2})) << "frequent, and independent";
    EXPECT_FALSE(come_together(evidence, Cell{0, 1})) << "what every patient has is no label";
}

TEST(EvidenceTest, TheSameOfTheDataAndOfTheSums) {
    const Schema schema = testing::paired_findings().schema;
    const auto clients = testing::paired_clients();
    const Evidence sums = paired();
    const Evidence data = *evidence_of(clients, schema);
    EXPECT_EQ(data.patients, sums.patients);
    for (std::size_t i = 0; i < 9; ++i) EXPECT_NEAR(data.together[i], sums.together[i], 1e-12);
    EXPECT_EQ(data.alone, sums.alone);
}

TEST(EvidenceTest, WithoutTheLabelOfAllALabelIsHadByWhomACellIs) {
    std::vector<Tensor<double>> clients;
    clients.emplace_back(Shape{2, 2, 2});
    // The first patient has a0, b0 and b1, the second a1 and b1.
    std::copy_n(std::vector<double>{1, 1, 0, 0, 0, 0, 0, 1}.data(), 8, clients[0].data());
    const Evidence evidence = *evidence_of(clients, {.features = Shape{2, 2}});
    EXPECT_EQ(evidence.alone[0], (std::vector<double>{0.5, 0.5}));
    EXPECT_EQ(evidence.alone[1], (std::vector<double>{0.5, 1}));
    clients[0].data()[0] = 3;
    EXPECT_FALSE(evidence_of(clients, {.features = Shape{2, 2}})) << "counts are no presences";
    EXPECT_FALSE(evidence_of(std::vector<Tensor<double>>{}, {.features = Shape{2, 2}}));
    EXPECT_FALSE(evidence_of(Centring{.mean = {1, 2, 3, 4}}, Shape{2, 2})) << "means alone say nothing of pairs";
}

TEST(EvidenceTest, FewPatientsAndWhatChanceDoesAreNoFinding) {
    // 1000 labels x 1000 labels: by chance some pair of rare labels meets four times as often as independent ones.
    Evidence evidence{.features = Shape{2, 2}, .patients = 1000, .least_deviations = 5};
    evidence.alone = {{0.05, 0.5}, {0.05, 0.5}};
    evidence.together = {0.009, 0, 0, 0.4};
    EXPECT_EQ(patients_with(evidence, Cell{0, 0}), 0) << "9 are not told";
    EXPECT_EQ(lift(evidence, Cell{0, 0}), 0);
    evidence.together[0] = 0.010;  // 2.5 expected: 4.7 deviations
    EXPECT_NEAR(lift(evidence, Cell{0, 0}), 4, 1e-9);
    EXPECT_FALSE(come_together(evidence, Cell{0, 0}));
    evidence.together[0] = 0.011;
    EXPECT_TRUE(come_together(evidence, Cell{0, 0}));
    evidence.together[3] = 0.29;  // 1.16 times
    EXPECT_FALSE(come_together(evidence, Cell{1, 1}));
}

}  // namespace
}  // namespace couplet
