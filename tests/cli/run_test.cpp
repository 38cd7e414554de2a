#include "run.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"

namespace couplet::testing {
namespace {

using RunTest = CliTest;

TEST_F(RunTest, Version) {
    const Outcome run = couplet({"--version"});
    EXPECT_EQ(run.status, 0);
    EXPECT_EQ(run.out, std::string("couplet ") + version() + "\n");
    EXPECT_EQ(run.err, "");
    EXPECT_EQ(couplet({"--version", "--json"}).json(), (Json{{"version", version()}}));
}

TEST_F(RunTest, NothingAtAllShowsTheVerbs) {
    const Outcome alone = couplet({});
    EXPECT_EQ(alone.status, 0);
    EXPECT_EQ(alone.out, couplet({"--help"}).out);
    EXPECT_EQ(alone.err, "");
    const Outcome run = couplet({"--quiet"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(run.err.starts_with("couplet: verb: missing; expected one of decompose, ranks, ")) << run.err;
    EXPECT_TRUE(run.err.ends_with(". See couplet --help.\n")) << run.err;
}

TEST_F(RunTest, HelpIsAlsoAVerb) {
    EXPECT_EQ(couplet({"help"}).out, couplet({"--help"}).out);
    EXPECT_EQ(couplet({"help", "simulate"}).out, couplet({"simulate", "--help"}).out);
    EXPECT_EQ(couplet({"help", "data", "ecg"}).out, couplet({"data", "ecg", "--help"}).out);
}

TEST_F(RunTest, HelpOfAVerbThatIsNoneIsBadUsage) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"simlate", "--help"}, {"help", "simlate"}, {"--help", "simlate"}}) {
        const Outcome run = couplet(words);
        EXPECT_EQ(run.status, 2);
        EXPECT_EQ(run.out, "");
        EXPECT_NE(run.err.find("Did you mean simulate?"), std::string::npos) << run.err;
    }
    EXPECT_EQ(couplet({"data", "egc", "--help"}).status, 2);
    EXPECT_EQ(couplet({"decompose", "a.npy", "b.npy", "--help"}).status, 0) << "help, whatever else is there";
}

TEST_F(RunTest, ErrorsAreJsonWhereResultsWouldBe) {
    const Outcome absent = couplet({"info", "none.npy", "--json"});
    EXPECT_EQ(absent.status, 2);
    const Json error = absent.json()["error"];
    EXPECT_EQ(error["command"], "couplet info");
    EXPECT_EQ(error["where"], "none.npy");
    EXPECT_EQ(error["found"], "no such file");
    EXPECT_EQ(error["expected"], "an existing file");
    EXPECT_EQ(error["status"], 2);
    EXPECT_EQ("couplet info: " + error["message"].get<std::string>() + "\n", absent.err);
    EXPECT_EQ(couplet({"decompose", "--json", "--max-rnk", "3"}).json()["error"]["where"], "'--max-rnk'");
    EXPECT_EQ(couplet({"--json"}).json()["error"]["where"], "verb");
    EXPECT_EQ(shell(couplet_binary() + " info none.npy --json 2>&1 > /dev/full; echo $?"), absent.err + "2\n");
}

TEST_F(RunTest, FullDiskBehindStdoutFails) {
    save("X.npy", smooth<double>({3, 4}));
    const std::string output = shell(couplet_binary() + " info X.npy > /dev/full; echo $?");
    EXPECT_EQ(output,
              "couplet info: standard output: writing failed: No space left on device; expected a place that takes all "
              "the bytes. Free some space.\n1\n");
}

TEST_F(RunTest, FullDiskBehindTheOutputLeavesNothing) {
    save("X.npy", smooth<double>({40, 40, 40}));
    // A file size limit stands for a full disk.
    const std::string output = shell("(trap '' XFSZ; ulimit -f 8; " + couplet_binary() +
                                     " decompose X.npy --eps 0 -o M.npz); echo \"status $?\"");
    EXPECT_NE(output.find("couplet decompose: M.npz: "), std::string::npos) << output;
    EXPECT_NE(output.find("status 1"), std::string::npos) << output;
    EXPECT_EQ(files(), std::vector<std::string>{"X.npy"});
}

TEST_F(RunTest, AReaderThatLeavesIsNoError) {
    save("X.npy", smooth<double>({30, 30, 30}));
    const std::string output =
        shell("bash -c '" + couplet_binary() + " ranks X.npy | head -1; echo ${PIPESTATUS[*]}; " + couplet_binary() +
              " ranks X.npy | true; echo ${PIPESTATUS[*]}'");
    EXPECT_EQ(output, "tensor  30 x 30 x 30, float64\n0 0\n0 0\n");
}

TEST_F(RunTest, NotEnoughMemoryFails) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer reserves more address space than the limit";
#endif
    Model<double> model;
    const auto failed = [&](Index side) {
        model.cores.clear();
        for (int n = 0; n < 3; ++n) model.cores.push_back(Tensor<double>::zeros({1, side, 1}));
        save_model(path("M.npz"), model, true);
        std::string output = shell("ulimit -v 1000000; " + couplet_binary() +
                                   " reconstruct M.npz -o Y.npy --threads 1; echo \"status $?\"");
        EXPECT_NE(output.find("status 1"), std::string::npos) << output;
        return output;
    };
    // What the process cannot have at all is said before it is tried; the program itself needs some of the rest.
    EXPECT_NE(failed(700).find("of more memory than there is; expected at most 976.6 MiB"), std::string::npos);
    const std::string output = failed(496);
    EXPECT_EQ(output.find("couplet reconstruct: memory: "), 0U) << output;
    EXPECT_EQ(files(), std::vector<std::string>{"M.npz"});
}

}  // namespace
}  // namespace couplet::testing
