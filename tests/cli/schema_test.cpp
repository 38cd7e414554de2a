#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

/// What federations do with schemas is in tests/schema; here is what the verb says and writes.
class SchemaTest : public CliTest {
  protected:
    SchemaTest() {
        put("a.csv", "age [years],systolic [mmHg]\n1,2\n3,4\n");
        put("turned.csv", "systolic [mmHg],age [years]\n1,2\n3,4\n");
        put("other.csv", "age [months],systolic [mmHg]\n1,2\n3,4\n");
        put("bare.csv", "1,2\n3,4\n");
    }
};

TEST_F(SchemaTest, ShowsAndWritesNamesAndUnits) {
    const Outcome shown = couplet({"schema", "a.csv", "-o", "s.json"});
    ASSERT_EQ(shown.status, 0) << shown.err;
    EXPECT_NE(shown.out.find("age [years], systolic [mmHg]"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("s.json"), std::string::npos);
    const Json json = couplet({"schema", "s.json", "--json"}).json();
    EXPECT_EQ(json["named"], true);
    EXPECT_EQ(json, couplet({"schema", "a.csv", "--json"}).json()) << "what was written reads back";
    EXPECT_EQ(couplet({"schema", "bare.csv", "--json"}).json()["named"], false);
    EXPECT_EQ(couplet({"schema", "a.csv", "-o", "s.json"}).status, 2) << "it exists already";
    EXPECT_EQ(couplet({"schema", "a.csv", "-o", "s.json", "--force"}).status, 0);
}

TEST_F(SchemaTest, ManyLabelsAreCountedAndNoneMovesTheCursor) {
    std::string header = "a\x1b[2J";
    std::string row = "1";
    for (int i = 2; i <= 30; ++i) {
        header += ",c" + std::to_string(i);
        row += "," + std::to_string(i);
    }
    put("wide.csv", header + "\n" + row + "\n");
    const Outcome shown = couplet({"schema", "wide.csv"});
    ASSERT_EQ(shown.status, 0) << shown.err;
    EXPECT_EQ(shown.out.find('\x1b'), std::string::npos);
    EXPECT_NE(shown.out.find("a?[2J, c2"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("c24, ... (30 in all)"), std::string::npos) << shown.out;
}

TEST_F(SchemaTest, CompareSaysWhatAFederationWouldDo) {
    const auto verdict = [&](const std::string& a, const std::string& b, int status) {
        const Outcome run = couplet({"schema", "--compare", a, b, "--json"});
        EXPECT_EQ(run.status, status) << run.err;
        return run.json()["verdict"].get<std::string>();
    };
    EXPECT_EQ(verdict("a.csv", "a.csv", 0), "same");
    EXPECT_EQ(verdict("a.csv", "turned.csv", 0), "order");
    EXPECT_EQ(verdict("a.csv", "other.csv", 1), "different");
    EXPECT_EQ(verdict("a.csv", "bare.csv", 1), "unnamed");
    const Outcome refused = couplet({"schema", "--compare", "a.csv", "other.csv"});
    EXPECT_NE(refused.out.find("different: "), std::string::npos) << refused.out;
    EXPECT_NE(refused.out.find("months"), std::string::npos) << refused.out;
    EXPECT_NE(refused.err.find("other.csv: different: refused; expected the names and units of a.csv"),
              std::string::npos)
        << refused.err;
}

TEST_F(SchemaTest, FlagsOfAnotherUseAreRefused) {
    const auto said = [&](const std::vector<std::string>& arguments) {
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 2);
        return run.err;
    };
    EXPECT_NE(said({"schema", "a.csv", "bare.csv"}).find("2 files; expected one file"), std::string::npos);
    EXPECT_NE(said({"schema", "--compare", "a.csv"}).find("1 files; expected two files to compare"), std::string::npos);
    EXPECT_NE(said({"schema", "--compare", "a.csv", "a.csv", "-o", "s.json"}).find("given with --compare"),
              std::string::npos);
    EXPECT_NE(said({"schema", "a.csv", "--threshold", "5"}).find("given without --propose"), std::string::npos);
    EXPECT_NE(said({"schema", "a.csv", "--top", "5"}).find("given without --merge"), std::string::npos);
    EXPECT_NE(said({"schema", "--compare", "--merge", "a.csv", "a.csv"}).find("more than one of --compare"),
              std::string::npos);
    EXPECT_EQ(files(), (std::vector<std::string>{"a.csv", "bare.csv", "other.csv", "turned.csv"}));
}

}  // namespace
}  // namespace couplet::testing
