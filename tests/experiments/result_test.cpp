#include "couplet/experiments/result.hpp"

namespace couplet {
namespace {

TEST(ResultTest, CollectsRepeatsInTheOrderOfTheirFirst) {
    Collector collect;
    collect.add("rse", "ctt-star", "", 5, 1);
    collect.add("rse", "printed-star", "L = 1", 5, 10);
    collect.add("rse", "ctt-star", "", 7, 2);
    collect.add("rse", "ctt-star", "", 5, 3);
    collect.paper("rse", "ctt-star", "", 7, 2.5);
    const auto rows = collect.rows();
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].y, (Statistic{2, std::sqrt(2.0), 2}));
    EXPECT_EQ(rows[0].x, 5);
    EXPECT_EQ(rows[1].variant, "L = 1");
    EXPECT_EQ(rows[2].paper, 2.5);
    EXPECT_FALSE(rows[0].paper);
}

TEST(ResultTest, MeasuredXIsAveragedToo) {
    Collector collect;
    collect.add_measured("f", "ctt-star", "", 1, 100, 1);
    collect.add_measured("f", "ctt-star", "", 1, 300, 3);
    const auto rows = collect.rows();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].x, 200);
    EXPECT_EQ(rows[0].y.mean, 2);
}

TEST(ResultTest, RowsAreFoundByTheirPlace) {
    Collector collect;
    collect.add("a", "ctt-star", "v", 5, 1);
    collect.add_dot("b", "ctt-star", "Diabetes", 4);
    collect.paper_dot("b", "ctt-star", "Diabetes", 8);
    const ExperimentResult result{.name = "x", .rows = collect.rows()};
    ASSERT_NE(find_row(result, "a", "ctt-star", "v", 5), nullptr);
    EXPECT_EQ(find_row(result, "a", "ctt-star", "", 5), nullptr);
    EXPECT_EQ(find_row(result, "a", "ctt-star", "v", 6), nullptr);
    ASSERT_NE(find_category(result, "b", "ctt-star", "Diabetes"), nullptr);
    EXPECT_EQ(find_category(result, "b", "ctt-star", "Diabetes")->paper, 8);
    EXPECT_EQ(find_category(result, "b", "ctt-star", "ECG"), nullptr);
    EXPECT_EQ(rows_of(result, "a").size(), 1U);
    EXPECT_TRUE(rows_of(result, "c").empty());
}

TEST(ResultTest, TheLeastWithinCountsThePlaceItself) {
    const auto row = [](const char* method, double x, double y) {
        return Row{.figure = "f", .method = method, .x = x, .y = {y, 0, 1}};
    };
    const std::vector<Row> rows{row("ctt-star", 10, 0.5), row("ctt-star", 20, 0.3), row("trip", 5, 0.1)};
    EXPECT_EQ(least_within(rows, "ctt-star", 9), std::nullopt);
    EXPECT_EQ(least_within(rows, "ctt-star", 10), 0.5);
    EXPECT_EQ(least_within(rows, "ctt-star", 100), 0.3);
    EXPECT_EQ(least_within({row("ctt-star", 1, 0.2), row("ctt-star", 2, 0.7)}, "ctt-star", 2), 0.2);
    Collector collect;
    EXPECT_THROW(collect.paper("a", "ctt-star", "", 1, 2), std::out_of_range);
}

}  // namespace
}  // namespace couplet
