#include "couplet/explain/choice_drawing.hpp"

#include <gtest/gtest.h>

namespace couplet::testing {
namespace {

Choice made(Index components) {
    Choice choice{.components = components, .resampled = true};
    for (Index r = 1; r <= 3; ++r) {
        choice.points.push_back({.components = r,
                                 .rel_error = 0.5,
                                 .held_out = 0.6 / static_cast<double>(r),
                                 .agreement = r <= components ? 0.9 : 0.3,
                                 .consistency = 0.95,
                                 .stable = r <= components});
    }
    return choice;
}

TEST(ChoiceDrawingTest, CurvesTheLimitAndTheChoice) {
    const std::string drawn = draw_choice(made(2));
    EXPECT_TRUE(drawn.starts_with("<svg xmlns="));
    for (const char* part :
         {"agreement", "held-out error", "core consistency", "class=\"chosen\"", "class=\"limit\""}) {
        EXPECT_NE(drawn.find(part), std::string::npos) << part;
    }
    EXPECT_EQ(draw_choice(made(0)).find("class=\"chosen\""), std::string::npos);
    Choice starts = made(2);
    starts.resampled = false;
    EXPECT_EQ(draw_choice(starts).find("held-out"), std::string::npos);
}

TEST(ChoiceDrawingTest, HigherAgreementIsDrawnHigher) {
    const std::string drawn = draw_choice(made(2));
    const auto start = drawn.find("points=\"") + 8;
    const std::string points = drawn.substr(start, drawn.find('"', start) - start);
    const auto height = [](const std::string& point) { return std::stod(point.substr(point.find(',') + 1)); };
    const auto last = points.rfind(' ');
    EXPECT_LT(height(points.substr(0, points.find(' '))), height(points.substr(last + 1))) << points;
}

TEST(ChoiceDrawingTest, TheReasonSaysWhatDecided) {
    EXPECT_NE(choice_reason(made(2)).find("2 is the largest number"), std::string::npos);
    EXPECT_NE(choice_reason(made(2)).find("by 0.30"), std::string::npos);
    EXPECT_NE(choice_reason(made(3)).find("more were not tried"), std::string::npos);
    EXPECT_NE(choice_reason(made(0)).find("nothing is stable: fits to halves of the patients agree by 0.30"),
              std::string::npos);
    Choice inconsistent = made(2);
    inconsistent.points[2].agreement = 0.9;
    inconsistent.points[2].consistency = -0.2;
    EXPECT_NE(choice_reason(inconsistent).find("not consistent (-0.20)"), std::string::npos);
    inconsistent.points[2].degenerate = true;
    EXPECT_NE(choice_reason(inconsistent).find("cancel"), std::string::npos);
}

}  // namespace
}  // namespace couplet::testing
