#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class TuneTest : public CliTest {
  protected:
    Outcome tune(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "tune");
        for (const char* more : {"--rank", "3", "--rounds", "6", "--cache", "tuning.json"})
            arguments.emplace_back(more);
        return couplet(arguments);
    }
    Outcome simulate(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "simulate");
        for (const char* more : {"--method", "dpsgd", "--tuned", "--cache", "tuning.json", "--json"}) {
            arguments.emplace_back(more);
        }
        return couplet(arguments);
    }
};

TEST_F(TuneTest, FindsKeepsAndPrintsATuningForEveryMethod) {
    const Outcome run = tune({"--synthetic", "24x6x5:rank=3", "--clients", "2", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    ASSERT_EQ(json["results"].size(), 6U);
    for (const Json& result : json["results"]) {
        ASSERT_EQ(result["trials"].size(), 12U);
        for (const Json& trial : result["trials"]) {
            EXPECT_TRUE(trial["rse"].is_null() || trial["rse"] >= result["rse"]) << trial;
            if (trial["rse"].is_null()) continue;
            EXPECT_EQ(trial["trace"].back()["round"], trial["rounds"]) << trial;
            EXPECT_EQ(trial["trace"].back()["bytes"], trial["bytes"]) << trial;
        }
        EXPECT_EQ(result["trials"][result["best"].get<std::size_t>()]["tuning"], result["tuning"]);
    }
    EXPECT_EQ(json["rank"], 3);
    EXPECT_EQ(json["clients"], 2);
    EXPECT_EQ(Json::parse(get("tuning.json"))["entries"].size(), 6U);
}

TEST_F(TuneTest, TheTableSaysWhatToType) {
    const Outcome run = tune({"--synthetic", "24x6x5:rank=3", "--clients", "2", "--method", "trip"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("--rho "), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("kept in tuning.json for 24x6x5 K=2"), std::string::npos) << run.out;
}

TEST_F(TuneTest, SimulateTakesItForTheSameDataOnly) {
    const Outcome tuned = tune({"--synthetic", "24x6x5:rank=3", "--clients", "2", "--method", "dpsgd", "--json"});
    ASSERT_EQ(tuned.status, 0) << tuned.err;
    const Outcome run = simulate({"--synthetic", "24x6x5:rank=3", "--clients", "2", "--rank", "3", "--rounds", "6"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["tuning"], tuned.json()["results"][0]["tuning"]);
    EXPECT_EQ(run.json()["rse"], tuned.json()["results"][0]["rse"]);
    EXPECT_EQ(run.json()["tuned"], true);
    // What the user says now comes first.
    const Outcome over = simulate({"--synthetic", "24x6x5:rank=3", "--clients", "2", "--rank", "3", "--step", "0.125"});
    ASSERT_EQ(over.status, 0) << over.err;
    EXPECT_EQ(over.json()["tuning"]["step"], 0.125);
    for (const auto& other : std::vector<std::vector<std::string>>{
             {"--synthetic", "24x6x5:rank=3", "--clients", "2", "--rank", "4"},
             {"--synthetic", "24x6x5:rank=3", "--clients", "3", "--rank", "3"},
             {"--synthetic", "24x6x5:rank=3", "--clients", "2", "--rank", "3", "--seed", "1"}}) {
        const Outcome refused = simulate(other);
        EXPECT_EQ(refused.status, 2);
        EXPECT_NE(refused.err.find("Run couplet tune"), std::string::npos) << refused.err;
    }
}

TEST_F(TuneTest, MethodsThatCannotRunAreLeftOutWithAWord) {
    const Outcome run = tune({"--synthetic", "12x3x3x2:rank=2", "--clients", "1", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["results"].size(), 3U);
    for (const char* word : {"dpfact left out", "dpsgd left out", "cidertf left out"}) {
        EXPECT_NE(run.err.find(word), std::string::npos) << run.err;
    }
}

TEST_F(TuneTest, RefusesBadInput) {
    put("tuning.json", "something else");
    EXPECT_EQ(tune({"--synthetic", "24x6x5:rank=3"}).status, 2);
    EXPECT_EQ(couplet({"tune", "--synthetic", "24x6x5"}).status, 2);
    EXPECT_EQ(couplet({"tune", "--synthetic", "24x6x5", "--rank", "3", "--method", "ctt"}).status, 2);
    EXPECT_EQ(couplet({"tune", "--rank", "3"}).status, 2);
    EXPECT_EQ(get("tuning.json"), "something else");
}

}  // namespace
}  // namespace couplet::testing
