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
                      dot("rse", "dpsgd", "A & B", 0.9)}}};
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

TEST(SlideTest, WithoutAnswersThereIsNone) {
    EXPECT_EQ(render_slide({}), "");
    EXPECT_EQ(render_slide({{.name = "eps1"}}), "");
}

TEST(SlideTest, MainRowsAreTheMethodsOneAsksFor) {
    const auto rows = main_rows(results()[1].rows);
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(rows[3].method, "trip");
}

}  // namespace
}  // namespace couplet
