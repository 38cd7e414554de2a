#include "phase_lines.hpp"

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

TEST(PhaseLines, OneLinePerPhaseThatEnds) {
    const cli::Session session({}, "couplet simulate");
    const ProgressSink sink = cli::phase_lines(session);
    ::testing::internal::CaptureStderr();
    sink({"clients", 0, 4000});
    sink({"clients", 2000, 4000});
    sink({"clients", 4000, 4000});
    sink({"consensus", 0, 1});
    sink({"consensus", 1, 1});
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find("couplet simulate: work of 4,000 clients done in "), 0U) << text;
    EXPECT_NE(text.find("\ncouplet simulate: consensus done in "), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

TEST(PhaseLines, QuietIsSilent) {
    const cli::Session session({.quiet = true}, "couplet simulate");
    const ProgressSink sink = cli::phase_lines(session);
    ::testing::internal::CaptureStderr();
    sink({"clients", 0, 1});
    sink({"clients", 1, 1});
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace couplet::testing
