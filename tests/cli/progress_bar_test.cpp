#include "progress_bar.hpp"

#include <signal.h>

#include <future>

#include "busy_times.hpp"
#include "cli_test_support.hpp"
#include "layout.hpp"

namespace couplet::testing {
namespace {

TEST(ProgressBar, TextFitsALine) {
    EXPECT_EQ(cli::bar_text({"decompose", 1, 4}, false), "decompose  ##########..............................  1/4");
    EXPECT_LE(cli::display_width(cli::bar_text({std::string(99, 'x'), 123456, 1000000}, true)), cli::line_width);
    EXPECT_TRUE(
        cli::bar_text({"decompose", 1, 4}, false, {.passed = 10, .left = 30}).ends_with("  1/4  10 s, 30 s left"));
    EXPECT_TRUE(cli::bar_text({"decompose", 0, 4}, false, {.passed = 10}).ends_with("  0/4  10 s"));
    EXPECT_EQ(cli::bar_text({"consensus", 0, 1}, true, {.passed = 10}), "consensus  ...  10 s");
    EXPECT_EQ(cli::bar_text({"records", 250000, 0}, true, {.passed = 7}), "records  250,000  7 s");
}

TEST(ProgressBar, LeavesNothingBehind) {
    std::string screen;
    const auto write = [&](std::string_view text) { screen += text; };
    {
        const ProgressSink sink = cli::progress_bar(write, false);
        sink({"work", 0, 2});
        const std::string once = screen;
        sink({"work", 0, 2});
        EXPECT_EQ(screen, once) << "an unchanged bar is not drawn again";
        sink({"work", 2, 2});
        EXPECT_EQ(screen, once + "\r\x1b[K");
        sink({"more", 0, 2});
    }
    EXPECT_TRUE(screen.ends_with("0/2\r\x1b[K")) << "also when the work stops half way";
}

/// A step of minutes must not look as if it stood still.
TEST(ProgressBar, ItsTimeGoesOnWhileNothingIsReported) {
    std::promise<std::string> again;
    int drawn = 0;
    {
        const ProgressSink sink = cli::progress_bar(
            [&](std::string_view text) {
                if (++drawn == 2) again.set_value(std::string(text));
            },
            false);
        sink({"reading", 0, 1});
        const std::string text = again.get_future().get();
        EXPECT_TRUE(text.starts_with("\r\x1b[Kreading  ...  ") && text.ends_with(" s")) << text;
    }
}

/// A table is read to its end: how many records it has nobody knows before.
TEST(ProgressBar, CountsWhereTheTotalIsNotKnown) {
    std::string screen;
    const auto write = [&](std::string_view text) { screen += text; };
    {
        const ProgressSink sink = cli::progress_bar(write, false);
        sink({"records", 100000, 0});
        EXPECT_EQ(screen, "\r\x1b[Krecords  100,000");
        sink({"records", 200000, 0});
        EXPECT_TRUE(screen.ends_with("\r\x1b[Krecords  200,000"));
        sink({"records", 0, 0});
        EXPECT_TRUE(screen.ends_with("200,000\r\x1b[K")) << "over";
        sink({"records", 300000, 0});
    }
    EXPECT_TRUE(screen.ends_with("300,000\r\x1b[K")) << "also when the work stops half way";
}

class ProgressTest : public CliTest {
  protected:
    /// What stderr gets when it is a terminal; stdout is not.
    std::string terminal_output(const std::vector<std::string>& arguments) const {
        int master = -1;
        int terminal = -1;
        EXPECT_EQ(::openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
        const pid_t child = start(arguments, {}, ::open("/dev/null", O_WRONLY), terminal);
        std::string text;
        std::array<char, 4096> buffer{};
        // Reading a terminal that nobody has open any more is an error, not an end.
        for (ssize_t n = 0; (n = ::read(master, buffer.data(), buffer.size())) > 0;) {
            text.append(buffer.data(), static_cast<std::size_t>(n));
        }
        ::close(master);
        EXPECT_EQ(finish(child), 0);
        return text;
    }
};

TEST_F(ProgressTest, BarOnATerminalOnly) {
    save("X.npy", smooth<double>({20, 20, 20}));
    const std::string bar = terminal_output({"decompose", "X.npy"});
    EXPECT_NE(bar.find("decompose"), std::string::npos);
    EXPECT_TRUE(bar.ends_with("\r\x1b[K")) << "removed at the end";
    EXPECT_EQ(terminal_output({"decompose", "X.npy", "--quiet"}), "");
    EXPECT_NE(terminal_output({"ranks", "X.npy", "--json"}).find("unfolding"), std::string::npos);
    for (const char* verb : {"decompose", "ranks"})
        EXPECT_EQ(couplet({verb, "X.npy"}).err, "") << "none in a pipe or file";
}

/// Consensus draws its bar many times a second, so that a signal comes while it does.
TEST_F(ProgressTest, NothingIsDrawnAfterAnInterrupt) {
    ::signal(SIGINT, SIG_DFL);
    for (int i = 0; i < 8; ++i) {
        int master = -1;
        int terminal = -1;
        ASSERT_EQ(::openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
        const pid_t child =
            start({"simulate", "--synthetic", "40x6x5", "--network", "decentralized", "--graph", "ring", "--rank", "3",
                   "--aggregate", "subspace", "--consensus", "plain", "--iterations", "1000000", "-o", "result/of"},
                  {}, ::open("/dev/null", O_WRONLY), terminal);
        std::string screen;
        std::array<char, 4096> buffer{};
        bool sent = false;
        for (ssize_t n = 0; (n = ::read(master, buffer.data(), buffer.size())) > 0;) {
            screen.append(buffer.data(), static_cast<std::size_t>(n));
            if (sent || screen.find("consensus  ") == std::string::npos) continue;
            sent = ::kill(child, SIGINT) == 0;
        }
        ::close(master);
        EXPECT_EQ(finish(child), 128 + SIGINT);
        EXPECT_EQ(files(), std::vector<std::string>{}) << "a folder for nothing";
        EXPECT_TRUE(screen.ends_with("\r\x1b[K"))
            << screen.substr(screen.size() - std::min<std::size_t>(screen.size(), 200));
    }
}

/// Whoever shows it may have other work: a terminal that is full when the signal comes is read later.
TEST_F(ProgressTest, AnInterruptedBarGoesWhereTheTerminalIsReadSlowly) {
    ::signal(SIGINT, SIG_DFL);
    int master = -1;
    int terminal = -1;
    ASSERT_EQ(::openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
    const int same = ::fcntl(terminal, F_DUPFD_CLOEXEC, 0);
    const pid_t child =
        start({"simulate", "--synthetic", "40x6x5", "--network", "decentralized", "--graph", "ring", "--rank", "3",
               "--aggregate", "subspace", "--consensus", "plain", "--iterations", "1000000"},
              {}, ::open("/dev/null", O_WRONLY), terminal);
    EXPECT_TRUE(support::eventually([same] {
        pollfd room{same, POLLOUT, 0};
        return ::poll(&room, 1, 0) == 0;
    })) << "it is full";
    ::close(same);
    ASSERT_EQ(::kill(child, SIGINT), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::string screen;
    std::array<char, 4096> buffer{};
    for (ssize_t n = 0; (n = ::read(master, buffer.data(), buffer.size())) > 0;) {
        screen.append(buffer.data(), static_cast<std::size_t>(n));
    }
    ::close(master);
    EXPECT_EQ(finish(child), 128 + SIGINT);
    EXPECT_TRUE(screen.ends_with("\r\x1b[K"))
        << screen.substr(screen.size() - std::min<std::size_t>(screen.size(), 200));
}

TEST_F(ProgressTest, ConsensusIsCounted) {
    const std::string consensus = terminal_output({"simulate", "--synthetic", "40x6x5", "--network", "decentralized",
                                                   "--graph", "ring", "--rank", "3", "--aggregate", "subspace"});
    EXPECT_NE(consensus.find("reading  "), std::string::npos) << consensus;
    EXPECT_NE(consensus.find("consensus  "), std::string::npos) << consensus;
    EXPECT_EQ(consensus.find("consensus  ..."), std::string::npos) << "its steps are counted: " << consensus;
}

TEST_F(ProgressTest, PublicDataIsReadAndWrittenInSight) {
    std::string csv;
    for (int beat = 0; beat < 4; ++beat) {
        for (int t = 0; t < 140; ++t) csv += std::to_string(t % (beat + 2)) + ",";
        csv += "1\n";
    }
    put("ecg.csv", csv);
    const std::string bar =
        terminal_output({"data", "ecg", "--data", "ecg.csv", "--count", "all", "--clients", "2", "-o", "ecg"});
    EXPECT_NE(bar.find("reading  ..."), std::string::npos) << bar;
    EXPECT_NE(bar.find("writing  "), std::string::npos) << bar;
    EXPECT_NE(bar.find("1/2"), std::string::npos) << bar;
}

}  // namespace
}  // namespace couplet::testing
