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
        "decompose, ranks, reconstruct, info, round, add, dot, norm, data, table, simulate, tune, project, schema, "
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

}  // namespace
}  // namespace couplet::testing
