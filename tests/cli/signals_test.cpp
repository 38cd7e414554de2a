#include "signals.hpp"

#include <signal.h>

#include "cli_test_support.hpp"
#include "couplet/io/atomic_file.hpp"

namespace couplet::testing {
namespace {

class SignalsTest : public CliTest {
  protected:
    /// Starts a run that would take hours, waits until it reports progress, sends the signal. The run has a temporary
    /// file by then, as if it were writing.
    void interrupt(int signal) {
        ::signal(signal, SIG_DFL);  // a shell ignores SIGINT in what it starts in the background
        save("X.npy", smooth<double>({10, 10, 10}));
        std::filesystem::create_directory(path("out"));
        int master = -1;
        int terminal = -1;
        ASSERT_EQ(::openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
        const pid_t child = start({"decompose", "X.npy", "--repeat", "1000000", "-o", "out/M.npz"}, {},
                                  ::open(path("stdout").c_str(), O_CREAT | O_WRONLY, 0600), terminal);
        char first = 0;
        ASSERT_EQ(::read(master, &first, 1), 1) << "the bar";
        put("out/.couplet-" + std::to_string(child) + "-0.tmp", "half");
        put("out/.couplet-" + std::to_string(child) + "-0.tmp.Ab12", "half, by libzip");
        put("out/.couplet-1-0.tmp", "of another process");
        ASSERT_EQ(::kill(child, signal), 0);
        EXPECT_EQ(finish(child), 128 + signal);
        ::close(master);
        EXPECT_EQ(get("stdout"), "");
        std::vector<std::string> left;
        for (const auto& entry : std::filesystem::directory_iterator(path("out")))
            left.push_back(entry.path().filename());
        EXPECT_EQ(left, std::vector<std::string>{".couplet-1-0.tmp"});
    }
};

TEST_F(SignalsTest, InterruptExits130AndCleansUp) { interrupt(SIGINT); }

TEST_F(SignalsTest, TerminateExits143AndCleansUp) { interrupt(SIGTERM); }

TEST_F(SignalsTest, RemovesOnlyTheProcessesOwnTemporaries) {
    put(".couplet-12-0.tmp", "");
    put(".couplet-123-0.tmp", "");
    put("couplet-12-0.tmp", "");
    cli::remove_temporaries(folder_, 12);
    EXPECT_EQ(files(), (std::vector<std::string>{".couplet-123-0.tmp", "couplet-12-0.tmp"}));
    cli::remove_temporaries(folder_ / "missing", 12);
}

/// The names that signals.cpp looks for are those that AtomicFile makes.
TEST_F(SignalsTest, KnowsTheNamesOfAtomicFile) {
    {
        const AtomicFile file(folder_ / "result", false);
        ASSERT_EQ(files().size(), 1U);
        cli::remove_temporaries(folder_, ::getpid());
        EXPECT_EQ(files().size(), 0U);
    }
}

}  // namespace
}  // namespace couplet::testing
