#include "session.hpp"

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class SessionTest : public CliTest {
  protected:
    void SetUp() override { save("X.npy", smooth<double>({4, 3, 2})); }

    void expect_refused(const std::string& output, const std::string& message, bool force) {
        const auto before = files();
        const std::string input = get("X.npy");
        std::vector<std::string> arguments{"decompose", "X.npy", "-o", output};
        if (force) arguments.push_back("--force");
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 2) << run.err;
        EXPECT_EQ(run.out, "");
        EXPECT_EQ(run.err, "couplet decompose: " + output + ": " + message + "\n");
        EXPECT_EQ(files(), before);
        EXPECT_EQ(get("X.npy"), input);
    }
};

TEST_F(SessionTest, OutputIntoAMissingFolder) {
    expect_refused("no/such/M.npz",
                   "no folder no/such; expected an existing folder to write into. Create it with: mkdir -p no/such",
                   false);
    expect_refused("no/such/M.npz",
                   "no folder no/such; expected an existing folder to write into. Create it with: mkdir -p no/such",
                   true);
}

TEST_F(SessionTest, OutputBelowAFile) {
    expect_refused("X.npy/M.npz",
                   "no folder X.npy; expected an existing folder to write into. Create it with: mkdir -p X.npy", true);
}

TEST_F(SessionTest, OutputThatIsAFolder) {
    std::filesystem::create_directory(path("M.npz"));
    expect_refused("M.npz", "a folder; expected the name of a file to write. Choose another name.", true);
}

TEST_F(SessionTest, ExistingOutputIsReplacedOnlyWithForce) {
    put("M.npz", "older");
    expect_refused("M.npz", "a file that exists already; expected a new name. Use --force to replace it.", false);
    EXPECT_EQ(get("M.npz"), "older");
    EXPECT_EQ(couplet({"decompose", "X.npy", "-o", "M.npz", "--force"}).status, 0);
    EXPECT_EQ(couplet({"norm", "M.npz"}).status, 0);
}

TEST_F(SessionTest, OutputEqualToAnInputIsRefusedByWhateverName) {
    ASSERT_EQ(couplet({"decompose", "X.npy", "-o", "M.npz"}).status, 0);
    ASSERT_EQ(couplet({"decompose", "X.npy", "-o", "N.npz"}).status, 0);
    std::filesystem::create_symlink("M.npz", path("link.npz"));
    const std::string model = get("M.npz");
    const auto before = files();
    for (const std::string output : {"M.npz", "./M.npz", "link.npz"}) {
        for (const auto& verb : std::vector<std::vector<std::string>>{
                 {"round", "M.npz", "--eps", "0.1"}, {"add", "M.npz", "N.npz"}, {"add", "N.npz", "M.npz"}}) {
            auto arguments = verb;
            arguments.insert(arguments.end(), {"-o", output, "--force"});
            const Outcome run = couplet(arguments);
            EXPECT_EQ(run.status, 2);
            EXPECT_EQ(run.err,
                      "couplet " + verb.front() + ": " + output +
                          ": a file that is also an input; expected an output of its own. Choose another name.\n");
        }
    }
    EXPECT_EQ(get("M.npz"), model);
    EXPECT_EQ(files(), before);
}

TEST_F(SessionTest, OutputIsCheckedBeforeTheInputIsRead) {
    put("bad.npy", "nothing that could be read");
    const Outcome run = couplet({"decompose", "bad.npy", "-o", "no/such/M.npz"});
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find("no folder no/such"), std::string::npos) << run.err;
}

TEST_F(SessionTest, JsonReplacesBytesThatAreNoText) {
    cli::Globals globals;
    globals.json = true;
    ::testing::internal::CaptureStdout();
    cli::Session(globals, "couplet").print({{"output", "\xFF.npz"}}, "unused");
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "{\"output\":\"\xEF\xBF\xBD.npz\"}\n");
}

TEST_F(SessionTest, NotesGoToStderrUnlessQuiet) {
    cli::Globals quiet;
    quiet.quiet = true;
    ::testing::internal::CaptureStderr();
    cli::Session({}, "couplet verb").note("something");
    cli::Session(quiet, "couplet verb").note("unheard");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "couplet verb: something\n");
}

TEST(SessionListenerTest, HearsWhatTheTerminalWould) {
    std::vector<std::string> notes;
    std::vector<std::int64_t> done;
    const cli::Listener listener{.progress = [&](const ProgressEvent& event) { done.push_back(event.done); },
                                 .note = [&](std::string_view text) { notes.emplace_back(text); }};
    const cli::Session session({}, "couplet simulate", listener);
    ::testing::internal::CaptureStderr();
    session.note("warning: something");
    report(session.progress(), "phase", 3, 4);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(notes, (std::vector<std::string>{"warning: something"}));
    EXPECT_EQ(done, (std::vector<std::int64_t>{3}));
    const cli::Session quiet({.quiet = true}, "couplet simulate", listener);
    quiet.note("more");
    EXPECT_EQ(notes.size(), 1U);
}

}  // namespace
}  // namespace couplet::testing
