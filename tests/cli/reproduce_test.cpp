#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class ReproduceTest : public CliTest {
  protected:
    /// One quick experiment that needs no data.
    Outcome reproduce(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "reproduce");
        arguments.insert(arguments.end(), {"--repeats", "1"});
        return couplet(arguments, {"COUPLET_DATA="});
    }
    void refused(std::vector<std::string> arguments, const std::string& message) {
        const Outcome run = reproduce(std::move(arguments));
        EXPECT_EQ(run.status, 2) << run.err;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
        EXPECT_EQ(run.out, "");
    }
};

TEST_F(ReproduceTest, LeavesAPageAndItsNumbers) {
    const Outcome run = reproduce({"quick", "eps1", "-o", "out", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["report"], "out/report.html");
    EXPECT_EQ(json["effort"], "quick");
    EXPECT_EQ(json["repeats"], 1);
    ASSERT_EQ(json["experiments"].size(), 1U);
    EXPECT_EQ(json["experiments"][0]["name"], "eps1");
    EXPECT_EQ(json["experiments"][0]["reused"], false);
    EXPECT_GT(json["experiments"][0]["rows"].get<int>(), 10);
    EXPECT_NE(run.err.find("1 of 1: eps1"), std::string::npos) << run.err;
    EXPECT_NE(get("out/report.html").find("</html>"), std::string::npos);
    EXPECT_TRUE(Json::parse(get("out/eps1.json")).contains("result"));
    const Outcome again = reproduce({"quick", "eps1", "-o", "out"});
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_NE(again.err.find("reused"), std::string::npos) << again.err;
    EXPECT_NE(again.out.find("out/report.html"), std::string::npos) << again.out;
    EXPECT_EQ(again.out.find("not all there"), std::string::npos) << "it needs no files\n" << again.out;
}

TEST_F(ReproduceTest, ExperimentsWithoutDataSayWhereToGetIt) {
    // Named, and nothing of it could run: bad input, but the page and the rest are there.
    const Outcome run = reproduce({"quick", "variances", "eps1", "-o", "out", "--json", "--quiet"});
    ASSERT_EQ(run.status, 2) << run.err;
    EXPECT_EQ(run.err,
              "couplet reproduce: variances: not run; expected data to run on. Diabetes: "
              "diabetes_012_health_indicators_BRFSS2015.csv: no folder to look in: COUPLET_DATA is not set. Name it "
              "with --data, or set COUPLET_DATA; it is on Kaggle as alexteboul/diabetes-health-indicators-dataset.\n");
    EXPECT_NE(get("out/report.html").find("Not run. Diabetes"), std::string::npos);
    const Json json = run.json();
    EXPECT_EQ(json["experiments"][0]["absent"].size() + json["experiments"][1]["absent"].size(), 1U);
}

TEST_F(ReproduceTest, PartsWithoutDataAreNoMistake) {
    const Outcome run = reproduce({"quick", "scalability", "-o", "out"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.err.find("scalability: ECG: "), std::string::npos) << run.err;
    EXPECT_NE(run.out.find("not all there for scalability"), std::string::npos) << run.out;
}

TEST_F(ReproduceTest, AWrongVariableIsAsWrongAsAWrongArgument) {
    const Outcome run = couplet({"reproduce", "quick", "-o", "out"}, {"COUPLET_DATA=nowhere"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.err,
              "couplet reproduce: COUPLET_DATA=nowhere: no such folder; expected the folder of the public data. Check "
              "the path.\n");
    EXPECT_TRUE(files().empty());
}

TEST_F(ReproduceTest, AFileThatIsNotThePublishedOneIsNoted) {
    std::filesystem::create_directory(path("data"));
    const std::string columns =
        "Diabetes_012,HighBP,HighChol,CholCheck,BMI,Smoker,Stroke,HeartDiseaseorAttack,PhysActivity,Fruits,Veggies,"
        "HvyAlcoholConsump,AnyHealthcare,NoDocbcCost,GenHlth,MentHlth,PhysHlth,DiffWalk,Sex,Age,Education,Income\n";
    std::string text = columns;
    for (int i = 0; i < 1000; ++i) {
        text += std::to_string(i % 3) + ",1,0,1," + std::to_string(18 + i % 29) + ",1,0,1,0,1,0,0,1,0," +
                std::to_string(1 + i % 5) + ",15," + std::to_string(i % 31) + ",1,0," + std::to_string(1 + i % 13) +
                "," + std::to_string(1 + i % 6) + "," + std::to_string(1 + i % 8) + "\n";
    }
    const std::string file = "data/diabetes_012_health_indicators_BRFSS2015.csv";
    put(file, text);
    const std::string note =
        "couplet reproduce: Diabetes: " + file + " has 1,000 rows; the published file has 253,680.";
    const Outcome run = reproduce({"quick", "variances", "-o", "out", "--data", "data"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.err.find(note), 0U) << run.err;
    const Outcome quiet = reproduce({"quick", "variances", "-o", "out", "--data", "data", "--quiet"});
    EXPECT_EQ(quiet.status, 0);
    EXPECT_EQ(quiet.err, "");
    put(file, text + text.substr(columns.size()));
    refused({"quick", "variances", "-o", "out", "--data", "data"}, "a result from another Diabetes file, " + file);
}

TEST_F(ReproduceTest, ListNamesEveryExperiment) {
    const Outcome run = reproduce({"--list", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["experiments"].size(), 16U);
    EXPECT_NE(reproduce({"--list"}).out.find("r1_diabetes"), std::string::npos);
}

TEST_F(ReproduceTest, RefusalsNameTheArgument) {
    refused({"eps2", "-o", "out"}, "NAME: 'eps2'");
    refused({"eps2", "-o", "out"}, "Did you mean eps1?");
    refused({"quick", "r1_synthetc", "-o", "out"}, "Did you mean r1_synthetic?");
    refused({"quick", "eps1"}, "--output: missing");
    refused({"quick", "eps1", "-o", "out", "--data", "nowhere"}, "nowhere: no such folder");
    put("file", "x");
    refused({"quick", "eps1", "-o", "file"}, "file: ");
    refused({"quick", "eps1", "-o", "file/out"}, "file/out: ");
    const Outcome none = couplet({"reproduce", "quick", "eps1", "-o", "out", "--repeats", "0"});
    EXPECT_EQ(none.status, 2);
    EXPECT_NE(none.err.find("--repeats"), std::string::npos);
    EXPECT_EQ(files(), std::vector<std::string>{"file"});
}

TEST_F(ReproduceTest, AFolderThatCannotBeWrittenIsNoPlace) {
    if (::geteuid() == 0) {
        refused({"quick", "eps1", "-o", "/proc/out"}, "/proc/out");
        return;
    }
    std::filesystem::create_directory(path("locked"));
    std::filesystem::permissions(path("locked"),
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    refused({"quick", "eps1", "-o", "locked"}, "locked");
}

TEST_F(ReproduceTest, FilesOfAnotherMakingAreKept) {
    std::filesystem::create_directory(path("out"));
    put("out/report.html", "mine");
    refused({"quick", "eps1", "-o", "out"}, "report.html");
    EXPECT_EQ(get("out/report.html"), "mine");
    EXPECT_EQ(reproduce({"quick", "eps1", "-o", "out", "--force"}).status, 0);
    EXPECT_NE(get("out/report.html"), "mine");
}

TEST_F(ReproduceTest, DamagedDataIsNamedWithItsSource) {
    std::filesystem::create_directory(path("data"));
    put("data/diabetes_012_health_indicators_BRFSS2015.csv", "HighBP,BMI\n1,20\n");
    refused({"quick", "variances", "-o", "out", "--data", "data"}, "Diabetes_012");
    refused({"quick", "variances", "-o", "out", "--data", "data"}, "alexteboul/diabetes-health-indicators-dataset");
    std::filesystem::remove(path("data/diabetes_012_health_indicators_BRFSS2015.csv"));
    put("data/ecg.csv", "1,2,3\n");
    refused({"quick", "r1_ecg", "-o", "out", "--data", "data"}, "devavratatripathy/ecg-dataset");
}

}  // namespace
}  // namespace couplet::testing
