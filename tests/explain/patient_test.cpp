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

TEST(PatientTest, RefusesStrangersAndOtherLists) {
    const Explanation told = explain(testing::mixed_findings());
    EXPECT_THROW(tell_patient(told, 0, ids(40), "nobody"), InputError);
    EXPECT_THROW(tell_patient(told, 0, ids(39), "p1"), InputError);
    EXPECT_THROW(tell_patient(told, 2, ids(40), "p1"), InputError);
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

}  // namespace
}  // namespace couplet
