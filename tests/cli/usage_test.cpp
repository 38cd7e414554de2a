#include "usage.hpp"

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class UsageTest : public CliTest {
  protected:
    void expect(const std::vector<std::string>& arguments, const std::string& message) {
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 2);
        EXPECT_EQ(run.result(), "");
        EXPECT_EQ(run.err, message + "\n");
    }
};

TEST_F(UsageTest, UnknownVerbs) {
    const std::string verbs =
        "decompose, ranks, reconstruct, info, round, add, dot, norm, data, table, simulate, tune, factor, project, "
        "schema, "
        "explain, "
        "classify, audit, reproduce, provision, coordinator, client, peer, status, completion";
    expect({"decompos", "X.npy", "--eps", "0.1"}, "couplet: 'decompos': no such verb; expected one of " + verbs +
                                                      ". Did you mean decompose? See couplet --help.");
    expect({"--json", "rnaks"},
           "couplet: 'rnaks': no such verb; expected one of " + verbs + ". Did you mean ranks? See couplet --help.");
    expect({"frobnicate"}, "couplet: 'frobnicate': no such verb; expected one of " + verbs + ". See couplet --help.");
}

TEST_F(UsageTest, UnknownOptions) {
    expect({"decompose", "X.npy", "--maxrank", "3"},
           "couplet decompose: '--maxrank': no such option; expected an option of couplet decompose. Did you mean "
           "--max-rank? See couplet decompose --help.");
    expect({"info", "X.npy", "--eps=3"},
           "couplet info: '--eps': no such option; expected an option of couplet info. See couplet info --help.");
    expect({"--bogus"}, "couplet: '--bogus': no such option; expected an option of couplet. See couplet --help.");
    expect({"reproduce", "--quick"},
           "couplet reproduce: '--quick': no option, but a word with dashes; expected quick. Did you mean couplet "
           "reproduce quick? See couplet reproduce --help.");
    expect({"decompose", "--bogus"},
           "couplet decompose: '--bogus': no such option; expected an option of couplet "
           "decompose. See couplet decompose --help.");
}

TEST_F(UsageTest, MissingAndSuperfluousArguments) {
    expect(
        {"decompose"},
        "couplet decompose: X.npy: missing; expected couplet decompose X.npy [options]. See couplet decompose --help.");
    expect({"dot", "A.npz"},
           "couplet dot: B.npz: missing; expected couplet dot A.npz B.npz [options]. See couplet dot --help.");
    expect({"info", "a.npy", "b.npy"},
           "couplet info: 'b.npy': one argument too many; expected couplet info FILE [options]. "
           "See couplet info --help.");
    expect({"decompose", "X.npy", "--eps"},
           "couplet decompose: --eps: nothing after it; expected a value E. See couplet decompose --help.");
    expect({"decompose", "X.npy", "--eps", "0.1", "--eps", "0.2"},
           "couplet decompose: --eps: given 2 times; expected one value. Leave the others out.");
}

TEST_F(UsageTest, AFileMayBeCalledLikeAVerb) {
    const Outcome run = couplet({"info", "ranks"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.err.find("couplet info: ranks: no such file"), 0U) << run.err;
}

TEST_F(UsageTest, TwoDashesEndTheOptions) {
    save("-x.npy", smooth<double>({4, 3, 2}));
    save("--json", smooth<double>({4, 3, 2}));
    std::filesystem::rename(path("--json"), path("--json.npy"));
    EXPECT_EQ(couplet({"info", "--", "-x.npy"}).status, 0);
    EXPECT_EQ(couplet({"info", "--json", "--", "--json.npy"}).json()["shape"], Json({4, 3, 2}));
    const Outcome made = couplet({"decompose", "--eps", "0.1", "-o", "M.npz", "--", "-x.npy"});
    EXPECT_EQ(made.status, 0) << made.err;
    const Outcome many = couplet({"info", "--", "-x.npy", "-y.npy"});
    EXPECT_EQ(many.status, 2);
    EXPECT_NE(many.err.find("'-y.npy': one argument too many"), std::string::npos) << many.err;
    const Outcome text = couplet({"info", "--", "--json"});
    EXPECT_EQ(text.status, 2);
    EXPECT_EQ(text.out, "") << "a file of that name asks for no JSON";
}

/// The library writes the name of a parameter in backticks; so may a user that of a file.
TEST_F(UsageTest, NamesOfTheUserAreNoParameters) {
    const std::string file = couplet({"decompose", "`rank`.npy"}).err;
    EXPECT_EQ(file.find("couplet decompose: `rank`.npy: no such file"), 0U) << file;
    const std::string output = couplet({"simulate", "--synthetic", "20x4x3", "--rank", "2", "-o", "`eps`/`rank`"}).err;
    EXPECT_EQ(output.find("--rank"), std::string::npos) << output;
    save("`rank`.npy", smooth<double>({4, 3, 2}));
    const std::string taken = couplet({"decompose", "`rank`.npy", "--output=`rank`.npy"}).err;
    EXPECT_NE(taken.find("For example: -o `rank`.npz"), std::string::npos) << taken;
    // Labels of files.
    put("a.csv", "`rank`,b\n1,2\n3,4\n");
    put("b.csv", "c,b\n1,2\n3,4\n");
    const std::string labels = couplet({"simulate", "a.csv", "b.csv", "--rank", "1"}).err;
    EXPECT_NE(labels.find("rank"), std::string::npos) << labels;
    EXPECT_EQ(labels.find("--rank"), std::string::npos) << labels;
    // The library's own names are still those of options.
    const std::string own =
        couplet({"simulate", "a.csv", "--rank", "1", "--save-state", "`rank`.npz", "--aggregate", "subspace"}).err;
    EXPECT_NE(own.find("--aggregate"), std::string::npos) << own;
}

TEST_F(UsageTest, NamesAreShownAsATerminalMayShowThem) {
    const std::string name = "e\x1b[31mvil\n.npy";
    const Outcome missing = couplet({"info", name});
    EXPECT_EQ(missing.status, 2);
    EXPECT_EQ(missing.err.find("couplet info: e\\x1b[31mvil\\x0a.npy: no such file"), 0U) << missing.err;
    save(name, smooth<double>({4, 3, 2}));
    const Outcome made = couplet({"reconstruct", name, "-o", "Y.npy"});
    EXPECT_EQ(made.err.find('\x1b'), std::string::npos);
    const Outcome listed = couplet({"simulate", name, "--rank", "1"});
    EXPECT_EQ(listed.status, 0) << listed.err;
    EXPECT_EQ((listed.out + listed.err).find('\x1b'), std::string::npos) << listed.out;
    EXPECT_EQ(couplet({"decompose", "x", "--json", "-o", name}).json()["error"]["status"], 2);
}

}  // namespace
}  // namespace couplet::testing
