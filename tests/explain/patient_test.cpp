#include "couplet/explain/patient.hpp"

#include "explain_test_support.hpp"

namespace couplet {
namespace {

std::vector<std::string> ids(Index count) {
    std::vector<std::string> list;
    for (Index i = 0; i < count; ++i) list.push_back("p" + std::to_string(i));
    return list;
}

TEST(PatientTest, TellsWhatIsUnusualAndWhoIsNear) {
    Explanation told = explain(testing::mixed_findings());
    Matrix<double>& scores = told.findings.sites[0].scores;
    for (Index r = 0; r < 3; ++r) scores(7, r) = scores(3, r);
    scores(7, 2) = 30;  // far more otitis than anybody else
    for (Index r = 0; r < 3; ++r) scores(8, r) = scores(9, r);
    const PatientStory odd = tell_patient(told, 0, ids(40), "p7");
    EXPECT_EQ(odd.site, "north");
    ASSERT_FALSE(odd.unusual.empty());
    EXPECT_EQ(odd.unusual[0], 2);
    EXPECT_GT(odd.components[2].deviation, 4);
    EXPECT_NEAR(odd.components[2].above, 39.0 / 40, 1e-12);
    EXPECT_EQ(odd.made_of[0].labels, (std::vector<std::string>{"otitis", "amoxicillin"}));
    EXPECT_NEAR(odd.made_of[0].weight, 30, 1e-3);
    const PatientStory twin = tell_patient(told, 0, ids(40), "p8", 3);
    ASSERT_EQ(twin.nearest.size(), 3U);
    EXPECT_EQ(twin.nearest[0].id, "p9");
    EXPECT_EQ(twin.nearest[0].distance, 0);
    EXPECT_LE(twin.nearest[1].distance, twin.nearest[2].distance);
}

/// Four patients at the corners of a rectangle of 6 x 8, and one in its middle.
TEST(PatientTest, DistancesAndDeviationsAreThoseOfTheSite) {
    Explanation told = explain(testing::mixed_findings());
    Matrix<double> scores(5, 3);
    const double corners[5][2] = {{0, 0}, {6, 0}, {0, 8}, {6, 8}, {3, 4}};
    for (Index p = 0; p < 5; ++p) {
        scores(p, 0) = 100 + corners[p][0];
        scores(p, 1) = -50 + corners[p][1];
        scores(p, 2) = 7;
    }
    told.findings.sites[0].scores = std::move(scores);
    const PatientStory story = tell_patient(told, 0, ids(5), "p1", 10);
    // The variances are 36/5 and 64/5: two patients drawn at random lie the root of twice their sum apart.
    const double typical = std::sqrt(2 * (36.0 + 64.0) / 5);
    ASSERT_EQ(story.nearest.size(), 4U) << "all the others, not the patient itself";
    const std::vector<std::pair<std::string, double>> expected{{"p4", 5}, {"p0", 6}, {"p3", 8}, {"p2", 10}};
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(story.nearest[i].id, expected[i].first);
        EXPECT_NEAR(story.nearest[i].distance, expected[i].second / typical, 1e-9);
    }
    ASSERT_EQ(story.components.size(), 3U);
    EXPECT_EQ(story.components[0].score, 106);
    EXPECT_NEAR(story.components[0].deviation, 3 / std::sqrt(36.0 / 5), 1e-9);
    EXPECT_NEAR(story.components[0].above, 3.0 / 5, 1e-12);
    EXPECT_NEAR(story.components[1].deviation, -4 / std::sqrt(64.0 / 5), 1e-9);
    EXPECT_EQ(story.components[1].above, 0);
    EXPECT_EQ(story.components[2].deviation, 0) << "all are alike";
    EXPECT_TRUE(story.unusual.empty());
    EXPECT_EQ(story.made_of[0].labels, (std::vector<std::string>{"asthma", "inhaler"}));
    EXPECT_NEAR(story.made_of[0].weight, 106, 1e-3);
    EXPECT_NEAR(story.made_of[1].weight, -50, 1e-3) << "a patient's sum keeps its sign";
}

TEST(PatientTest, RefusesStrangersAndOtherLists) {
    const Explanation told = explain(testing::mixed_findings());
    EXPECT_THROW(tell_patient(told, 0, ids(40), "nobody"), InputError);
    EXPECT_THROW(tell_patient(told, 0, ids(39), "p1"), InputError);
    EXPECT_THROW(tell_patient(told, 2, ids(40), "p1"), InputError);
}

TEST(PatientTest, AnIdentifierThatComesTwiceIsNobody) {
    const Explanation told = explain(testing::mixed_findings());
    auto list = ids(40);
    list[27] = list[23];
    try {
        tell_patient(told, 0, list, "p23");
        ADD_FAILURE() << "told of the first";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("'p23' on rows 24 and 28"), std::string::npos) << error.what();
    }
    EXPECT_EQ(tell_patient(told, 0, list, "p22").id, "p22");
}

TEST(PatientTest, ReadsTheListOfATable) {
    const std::string file = ::testing::TempDir() + "couplet-patients.csv";
    const auto read = [&](const char* text) {
        std::ofstream(file) << text;
        return read_patients(file);
    };
    EXPECT_EQ(read("row,patient\n1,a\n2,\"b,c\"\n"), (std::vector<std::string>{"a", "b,c"}));
    EXPECT_THROW(read("row,patient\n2,a\n"), InputError);
    EXPECT_THROW(read("id\na\n"), InputError);
    std::filesystem::remove(file);
}

TEST(PatientTest, WhatAPatientIsMadeOfIsPresencesWherePrevalencesWereTakenOut) {
    // One feature for each cell: the coordinates of the weighted records describe them exactly.
    Findings findings = testing::paired_findings();
    const auto clients = testing::paired_clients();
    findings.rows = Matrix<double>::identity(9);
    findings.energy = {};
    for (std::size_t k = 0; k < 2; ++k) {
        const Tensor<double> moved = centred(clients[k].view(), findings.weighting, "site");
        findings.sites[k].scores = Matrix<double>::copy(moved.view().unfold(1));
    }
    const Explanation told = explain(std::move(findings), {.rotation = Rotation::none});
    std::vector<std::string> ids;
    for (int i = 0; i < 60; ++i) ids.push_back("p" + std::to_string(i));
    // The first patient has both pairs, and so every combination of the four labels.
    const PatientStory story = tell_patient(told, 0, ids, "p0");
    ASSERT_EQ(story.made_of.size(), 4U);
    for (const NamedEntry& entry : story.made_of) EXPECT_NEAR(entry.weight, 1, 1e-9);
    for (const NamedEntry& entry : tell_patient(told, 0, ids, "p2").made_of) {
        const bool has = entry.labels[1] == "inhaler";  // and cough, but no syrup
        EXPECT_NEAR(entry.weight, has ? 1 : 0, 1e-9) << entry.labels[0] << entry.labels[1];
    }
}

}  // namespace
}  // namespace couplet
