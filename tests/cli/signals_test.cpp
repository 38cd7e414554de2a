#include "signals.hpp"

#include <signal.h>

#include <set>

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

/// Who asked for JSON gets one object, whatever ends the run.
TEST_F(SignalsTest, AnInterruptedRunIsAnErrorInJson) {
    ::signal(SIGTERM, SIG_DFL);
    save("X.npy", smooth<double>({10, 10, 10}));
    int master = -1;
    int terminal = -1;
    ASSERT_EQ(::openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
    const pid_t child = start({"decompose", "X.npy", "--repeat", "1000000", "--json"}, {},
                              ::open(path("stdout").c_str(), O_CREAT | O_WRONLY, 0600), terminal);
    char first = 0;
    ASSERT_EQ(::read(master, &first, 1), 1) << "the bar";
    ASSERT_EQ(::kill(child, SIGTERM), 0);
    EXPECT_EQ(finish(child), 128 + SIGTERM);
    ::close(master);
    const Json error = Json::parse(get("stdout"))["error"];
    EXPECT_EQ(error["status"], 128 + SIGTERM);
    EXPECT_EQ(error["command"], "couplet decompose");
    EXPECT_EQ(error["found"], "ended by SIGTERM");
    for (const char* part : {"where", "expected", "remedy"}) EXPECT_NE(error[part], "") << part;
}

/// Clients under their names look like the data of a federation.
TEST_F(SignalsTest, InterruptedDataLeavesNoClient) {
    ::signal(SIGINT, SIG_DFL);
    for (const bool again : {false, true}) {
        if (again) {
            ASSERT_EQ(couplet({"data", "synthetic", "4x3x2", "--clients", "2", "-o", "x"}).status, 0);
        }
        const std::string before = again ? get("x/manifest.json") + get("x/client_1.npy") : "";
        int master = -1;
        int terminal = -1;
        ASSERT_EQ(::openpty(&master, &terminal, nullptr, nullptr, nullptr), 0);
        const pid_t child = start(
            {"data", "synthetic", "100x30x30:patients=each", "--clients", "100000", "-o", "x", "--force", "--json"}, {},
            ::open(path("stdout").c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), terminal);
        std::string bar;
        for (char next = 0; bar.find(" 3/") == std::string::npos && ::read(master, &next, 1) == 1;) bar += next;
        ASSERT_EQ(::kill(child, SIGINT), 0);
        EXPECT_EQ(finish(child), 128 + SIGINT);
        ::close(master);
        EXPECT_EQ(Json::parse(get("stdout"))["error"]["status"], 128 + SIGINT);
        EXPECT_EQ(std::filesystem::exists(path("x")), again) << "a folder for nothing";
        if (!again) continue;
        std::set<std::string> left;
        for (const auto& entry : std::filesystem::directory_iterator(path("x"))) left.insert(entry.path().filename());
        EXPECT_EQ(left, (std::set<std::string>{"client_1.npy", "client_2.npy", "manifest.json"}));
        EXPECT_EQ(get("x/manifest.json") + get("x/client_1.npy"), before);
    }
}

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
