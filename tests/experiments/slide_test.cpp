#include "couplet/experiments/slide.hpp"

namespace couplet {
namespace {

Row dot(const char* figure, const char* method, const char* data, double value) {
    return {.figure = figure, .method = method, .category = data, .y = {value, 0, 1}};
}

std::vector<ExperimentResult> results() {
    ExperimentResult paper{.name = "r1_synthetic"};
    paper.rows = {{.figure = "rse", .method = "printed-star", .x = 5, .y = {0.2, 0, 1}, .paper = 0.2},
                  {.figure = "rse", .method = "printed-star", .x = 7, .y = {0.4, 0, 1}, .paper = 0.2, .note = "So."}};
    return {paper,
            {.name = "comparison",
             .rows = {dot("rse", "ctt-star", "A & B", 0.12), dot("rse", "centralized", "A & B", 0.1),
                      dot("rse", "printed-star", "A & B", 0.6), dot("rse", "trip", "A & B", 0.3),
                      dot("rse", "dpsgd", "A & B", 0.9), dot("bytes", "ctt-star", "A & B", 2000),
                      dot("bytes", "trip", "A & B", 90000), dot("bytes", "dpsgd", "A & B", 70000),
                      dot("bytes", "local", "A & B", 0)}}};
}

TEST(SlideTest, IsADrawingOfItsOwn) {
    const std::string slide = render_slide(results());
    EXPECT_TRUE(slide.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1280 720\""));
    for (const char* part : {slide_marker, "Is the paper reproduced?", "In part: 1 of its 2 numbers", "A &amp; B",
                             "Zhang et al., star", "TRIP", "<style>", ".m-ctt-star{--c:#"}) {
        EXPECT_NE(slide.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(slide.find("D-PSGD"), std::string::npos) << "only the best of the methods that train";
    for (const char* never : {"<script", "url(", "href", "nan", "A & B"})
        EXPECT_EQ(slide.find(never), std::string::npos) << never;
}

TEST(SlideTest, ShowsWhatIsSentBelowTheErrors) {
    const std::string slide = render_slide(results());
    const std::size_t error = slide.find("How close");
    const std::size_t sent = slide.find("What it takes");
    ASSERT_NE(error, std::string::npos);
    ASSERT_NE(sent, std::string::npos);
    EXPECT_LT(error, sent);
    EXPECT_NE(slide.find("TRIP, A &amp; B: 90", sent), std::string::npos);
    EXPECT_EQ(slide.find("exact", sent), std::string::npos) << "nothing sent is no rounding error";
}

/// What does not fit is left out at the end of a sentence, not in the middle of a word.
TEST(SlideTest, DetailsEndWhereSentencesEnd) {
    auto with_times = results();
    for (const char* figure : {"seconds", "numbers"}) {
        with_times[0].rows.push_back({.figure = figure, .method = "printed-star", .x = 5, .y = {3, 0, 1}, .paper = 1});
    }
    const std::string slide = render_slide(with_times);
    EXPECT_EQ(slide.find(" ...<"), std::string::npos) << slide;
    EXPECT_NE(slide.find("shown, not counted.</text>"), std::string::npos) << slide;
    ExperimentResult curves{.name = "error_vs_bytes"};
    for (const char* data : {"Synthetic, order 3", "Synthetic, order 4", "Synthetic, order 5", "Synthetic, order 6"}) {
        curves.figures.push_back({data, data, Chart::lines, {"bytes"}, {"RSE"}});
        curves.rows.push_back({.figure = data, .method = "ctt-star", .x = 100, .y = {0.1, 0, 1}});
        curves.rows.push_back({.figure = data, .method = "trip", .x = 90000, .y = {0.2, 0, 1}});
    }
    const std::string listed = render_slide({curves});
    EXPECT_NE(listed.find("(TRIP).</text>"), std::string::npos) << listed;
    EXPECT_EQ(listed.find("Synthetic.</text>"), std::string::npos) << listed;
}

TEST(SlideTest, WithoutAnswersThereIsNone) {
    EXPECT_EQ(render_slide({}), "");
    EXPECT_EQ(render_slide({{.name = "eps1"}}), "");
}

TEST(SlideTest, MainRowsAreTheMethodsOneAsksFor) {
    const auto rows = main_rows(rows_of(results()[1], "rse"));
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[3].method, "trip");
}

}  // namespace
}  // namespace couplet
