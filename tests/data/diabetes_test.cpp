#include "couplet/data/diabetes.hpp"

#include "couplet/data/data_file.hpp"
#include "data_test_support.hpp"

namespace couplet {
namespace {

using testing::at;
using testing::DataTest;
using testing::refusal;
using DiabetesTest = DataTest;

// Not in the published order, with a column that is not used.
const std::string header =
    "Income,Note,Diabetes_012,HighBP,HighChol,CholCheck,BMI,Smoker,Stroke,HeartDiseaseorAttack,PhysActivity,Fruits,"
    "Veggies,HvyAlcoholConsump,AnyHealthcare,NoDocbcCost,GenHlth,MentHlth,PhysHlth,DiffWalk,Sex,Age,Education\n";
const std::string person = "8,some text,2.0,1,0,1,25.0,1,0,1,0,1,0,0,1,0,5,15,3,1,0,9,4\n";

std::string with_income(const std::string& income) {
    std::string text = person;
    return text.replace(0, 1, income);
}

Index entry(const ModeLabels& mode, const std::string& name) {
    const auto found = std::find(mode.entries.begin(), mode.entries.end(), name);
    EXPECT_NE(found, mode.entries.end()) << name;
    return found - mode.entries.begin();
}

TEST_F(DiabetesTest, FollowsTheRecipe) {
    const Dataset data = load_diabetes(put("d.csv", header + person), {.count = 1});
    ASSERT_EQ(data.tensor.shape(), (Shape{1, 20, 24}));
    EXPECT_EQ(data.labels, (std::vector<std::int64_t>{2}));
    EXPECT_EQ(data.available, 1);
    const std::vector<double> physiological{1, 0, 1, 0, 1, 1, 0, 25.0 / 98, 0.5, 0.1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0};
    const std::vector<double> habitual{1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1};
    for (Index i = 0; i < 20; ++i) {
        for (Index j = 0; j < 24; ++j) {
            EXPECT_DOUBLE_EQ(at(data.tensor, {0, i, j}),
                             physiological[static_cast<std::size_t>(i)] * habitual[static_cast<std::size_t>(j)])
                << i << " " << j;
        }
    }
    const Labels& labels = data.tensor.labels();
    EXPECT_EQ(labels[0], (ModeLabels{"person", {}}));
    EXPECT_EQ(labels[1].name, "physiological");
    EXPECT_EQ(labels[2].name, "habitual");
    EXPECT_EQ(entry(labels[1], "BMI"), 7);
    EXPECT_EQ(entry(labels[1], "GenHlth=5"), 14);
    EXPECT_EQ(entry(labels[1], "BMI 25-30"), 17);
    EXPECT_EQ(entry(labels[2], "Education=4"), 10);
    EXPECT_EQ(entry(labels[2], "Income=8"), 20);
    EXPECT_EQ(entry(labels[2], "Age 60+"), 23);
}

TEST_F(DiabetesTest, PicksPeopleBySeed) {
    std::string text = header;
    for (int i = 0; i < 30; ++i) text += with_income(std::to_string(i % 8 + 1));
    const std::string file = put("d.csv", text);
    const auto picked = [&](std::uint64_t seed) {
        return testing::values_of(load_diabetes(file, {.count = 10, .seed = seed}).tensor);
    };
    EXPECT_EQ(picked(1), picked(1));
    EXPECT_NE(picked(1), picked(2));
    EXPECT_EQ(load_diabetes(file, {.count = {}}).tensor.shape()[0], 30);
}

TEST_F(DiabetesTest, NamesWhatIsWrong) {
    const auto refused = [&](const std::string& text, DiabetesOptions options = {.count = 1}) {
        const std::string file = put("d.csv", text);
        return refusal([&] { load_diabetes(file, options); }).substr(file.size());
    };
    EXPECT_EQ(
        refused("a,b\n1,2\n"),
        ": columns 'a', 'b'; expected a column 'Diabetes_012'. Use the file as it was published, or rename the column "
        "that holds it.");
    std::string renamed = header;
    renamed.replace(renamed.find("Fruits"), 6, "Fruit!");
    EXPECT_NE(refused(renamed + person).find("'Fruit!', 'Veggies'"), std::string::npos);
    EXPECT_NE(refused(renamed + person).find("; expected a column 'Fruits'."), std::string::npos);
    EXPECT_EQ(refused(header + with_income("9")),
              ": line 2, column 1 ('Income') holds '9'; expected a whole number from 1 to 8");
    EXPECT_EQ(refused(header + person + with_income("rich")),
              ": line 3, column 1 ('Income') holds 'rich'; expected a whole number from 1 to 8. Use the file as it was "
              "published: it has a number in every row here.");
    EXPECT_EQ(refused(header + with_income("")),
              ": line 2, column 1 ('Income') holds ''; expected a whole number from 1 to 8. Use the file as it was "
              "published: it has a number in every row here.");
    EXPECT_EQ(refused(header + "1,2\n"),
              ": line 2 has 2 fields; expected 23 as on line 1. Give every row as many fields, and quote those that "
              "hold a separator.");
    EXPECT_EQ(refused(header + person, {.count = 2}),
              ": 1 people; expected at least the 2 asked for, and that at least 1. Ask for fewer people, or check that "
              "the file is complete: it has 253680 as published.");
    EXPECT_NE(refused(""), "nothing thrown");
}

TEST_F(DiabetesTest, ReadsThePublishedFile) {
    COUPLET_NEEDS_DATA();
    const auto file = find_data_file(DataFile::diabetes);
    const Dataset all = load_diabetes(file, {.count = {}, .seed = 2});
    EXPECT_EQ(all.tensor.shape(), (Shape{253680, 20, 24}));
    EXPECT_EQ(all.available, 253680);
    const std::vector<std::ptrdiff_t> expected{213703, 4631, 35346};
    for (int c = 0; c < 3; ++c)
        EXPECT_EQ(std::count(all.labels.begin(), all.labels.end(), c), expected[static_cast<std::size_t>(c)]);
    // One health class, one weight class, one education, one income and one age each: 2 times 3 ones, and nothing
    // above.
    for (Index p = 0; p < 253680; p += 997) {
        double ones = 0;
        for (Index i = 10; i < 20; ++i) {
            for (Index j = 7; j < 24; ++j) ones += at(all.tensor, {p, i, j});
        }
        ASSERT_EQ(ones, 6) << p;
    }
    const auto [low, high] = std::minmax_element(all.tensor.elements().begin(), all.tensor.elements().end());
    EXPECT_EQ(*low, 0);
    EXPECT_EQ(*high, 1);
    EXPECT_EQ(load_diabetes(file).tensor.shape(), (Shape{1000, 20, 24}));
}

}  // namespace
}  // namespace couplet
