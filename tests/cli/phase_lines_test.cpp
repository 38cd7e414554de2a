#include "phase_lines.hpp"

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

TEST(PhaseLines, OneLinePerPhaseThatEnds) {
    const cli::Session session({}, "couplet simulate");
    const ProgressSink sink = cli::phase_lines(session, 0);
    ::testing::internal::CaptureStderr();
    sink({"clients", 0, 4000});
    sink({"clients", 2000, 4000});
    sink({"clients", 4000, 4000});
    sink({"consensus", 0, 1});
    sink({"consensus", 1, 1});
    const std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find("couplet simulate: computing, 4,000 clients, took "), 0U) << text;
    EXPECT_NE(text.find("\ncouplet simulate: consensus took "), std::string::npos) << text;
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}

/// Microseconds are not for whoever waits.
TEST(PhaseLines, PhasesThatNobodyWaitedForAreNotMentioned) {
    const cli::Session session({}, "couplet simulate");
    const ProgressSink sink = cli::phase_lines(session, 3600);
    ::testing::internal::CaptureStderr();
    sink({"hello", 0, 2});
    sink({"hello", 2, 2});
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

/// A bar of a phase shows the same word as the line at its end; the one who listens hears it too.
TEST(PhaseLines, PhasesAreSaidInWords) {
    std::vector<std::string> heard;
    std::vector<std::string> notes;
    const cli::Session session(
        {}, "couplet simulate",
        cli::Listener{.progress = [&](const ProgressEvent& event) { heard.emplace_back(event.phase); },
                      .note = [&](std::string_view text) { notes.emplace_back(text); }});
    const ProgressSink sink = cli::phase_lines(session, 0);
    for (const char* phase : {"hello", "clients", "refit", "rounds"}) sink({phase, 1, 1});
    EXPECT_EQ(heard, (std::vector<std::string>{"reading", "computing", "fitting", "rounds"}));
    ASSERT_EQ(notes.size(), 4U);
    EXPECT_EQ(notes[0].find("reading, 1 client, took "), 0U) << notes[0];
    EXPECT_EQ(notes[3].find("rounds took "), 0U) << notes[3];
}

TEST(PhaseLines, QuietIsSilent) {
    const cli::Session session({.quiet = true}, "couplet simulate");
    const ProgressSink sink = cli::phase_lines(session, 0);
    ::testing::internal::CaptureStderr();
    sink({"clients", 0, 1});
    sink({"clients", 1, 1});
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace couplet::testing
