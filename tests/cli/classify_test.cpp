#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class ClassifyTest : public CliTest {
  protected:
    ClassifyTest() {
        // Two classes that differ in index 3 of mode 2.
        python(
            "r = np.random.default_rng(1); x = 0.1 * r.standard_normal((60, 6, 4)); y = np.arange(60) % 2\n"
            "x[:, 3, :] += np.where(y == 0, 2.0, -2.0)[:, None]\n"
            "np.save('x.npy', x); np.save('y.npy', y)");
    }
    void refused(const std::vector<std::string>& arguments, const std::string& message) {
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 2) << run.err;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
        EXPECT_EQ(run.out, "");
    }
};

TEST_F(ClassifyTest, ScoresEveryMethodAndClassifier) {
    const Outcome run = couplet({"classify", "x.npy", "--labels", "y.npy", "--rank", "4", "--clients", "2,3",
                                 "--features", "1,2", "--splits", "3", "--json", "--quiet"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["scores"].size(), 5U * 4U);
    EXPECT_EQ(json["people"], 60);
    EXPECT_EQ(json["classes"], 2);
    EXPECT_EQ(json["rank"], 4);
    EXPECT_EQ(json["splits"], 3);
    for (const Json& score : json["scores"]) {
        if (score["method"] != "printed") {
            EXPECT_EQ(score["test_accuracy"], 1) << score;
            EXPECT_EQ(score["test_accuracy_sd"], 0) << "the same in every split: " << score;
        }
        EXPECT_GE(score["test_accuracy_sd"], 0.0) << score;
        EXPECT_GT(score["training_accuracy"], 0.0) << score;
        EXPECT_EQ(score.contains("features"), score["classifier"] == "knn-features");
    }
    EXPECT_EQ(run.err, "");
}

TEST_F(ClassifyTest, AFolderOfClientsBringsItsLabels) {
    std::string csv;
    for (int beat = 0; beat < 40; ++beat) {
        for (int i = 0; i < 140; ++i) {
            csv += std::to_string((beat % 2 == 0 ? 1.0 : -1.0) + 0.01 * ((beat * 7 + i * 3) % 11)) + ",";
        }
        csv += beat % 2 == 0 ? "0.0\n" : "1.0\n";
    }
    put("ecg.csv", csv);
    ASSERT_EQ(couplet({"data", "ecg", "--data", "ecg.csv", "--count", "40", "--points", "4", "--embedding", "lag", "-o",
                       "beats"})
                  .status,
              0);
    const Outcome run = couplet({"classify", "beats", "--clients", "2", "--splits", "2"});
    ASSERT_EQ(run.status, 0) << run.err;
    for (const char* part : {"features of", "centralized", "federated, K = 2", "Zhang et al. 2024, K = 2", "100.0%",
                             "personal core, logistic", "40 in 2 classes", "most frequent class"}) {
        EXPECT_NE(run.out.find(part), std::string::npos) << part << " in\n" << run.out;
    }
    refused({"classify", "beats", "--labels", "y.npy"}, "--labels");
    python(
        "import json; m = json.load(open('beats/manifest.json')); m['clients'].append(m['clients'][0]); "
        "json.dump(m, open('beats/manifest.json', 'w'))");
    refused({"classify", "beats"}, "more than once; expected every file once");
    ASSERT_EQ(couplet({"data", "synthetic", "20x3x3", "-o", "bare"}).status, 0);
    refused({"classify", "bare"}, "without labels");
}

TEST_F(ClassifyTest, RefusalsNameTheArgument) {
    refused({"classify", "nothing"}, "nothing: no such file");
    refused({"classify", "x.npy"}, "--labels: missing");
    refused({"classify", "x.npy", "--labels", "x.npy"}, "one mode");
    refused({"classify", "x.npy", "--labels", "y.npy", "--rank", "30", "--clients", "2"}, "30");
    refused({"classify", "x.npy", "--labels", "y.npy", "--clients", "2,x"}, "--clients: 'x'");
    refused({"classify", "x.npy", "--labels", "y.npy", "--features", "2,"}, "--features");
    refused({"classify", "x.npy", "--labels", "y.npy", "--neighbours", "0"}, "--neighbours");
    python(
        "np.save('short.npy', np.zeros(3)); np.save('same.npy', np.zeros(60)); x = np.load('x.npy'); x[0, 0, 0] = "
        "np.nan; np.save('nan.npy', x)");
    refused({"classify", "x.npy", "--labels", "short.npy"}, "60, one per index");
    refused({"classify", "x.npy", "--labels", "same.npy"}, "one class");
    refused({"classify", "nan.npy", "--labels", "y.npy"}, "NaN");
    refused({"classify", "nan.npy", "--labels", "y.npy"}, "complete data only");
}

/// The result of an arm and a model.
Json result_of(const Json& json, const std::string& arm, const std::string& model) {
    for (const Json& result : json["evaluation"]["results"]) {
        if (result["arm"] == arm && result["model"] == model) return result;
    }
    return {};
}

TEST_F(ClassifyTest, EvaluatesFourArmsWithTwoModels) {
    const Outcome run = couplet({"classify", "x.npy", "--labels", "y.npy", "--rank", "4", "--clients", "3", "--splits",
                                 "1", "--folds", "4", "--json", "--quiet"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["scores"].size(), 3U * 3U);
    const Json& evaluation = json["evaluation"];
    EXPECT_EQ(evaluation["class_names"], (std::vector<std::string>{"0", "1"}));
    EXPECT_EQ(evaluation["class_counts"], (std::vector<int>{30, 30}));
    EXPECT_EQ(evaluation["results"].size(), 8U);
    EXPECT_EQ(evaluation["sites"].size(), 3U);
    EXPECT_EQ(evaluation["comparisons"].size(), 8U);
    EXPECT_EQ(evaluation["learn_from"], "training");
    for (const Json& result : evaluation["results"]) {
        EXPECT_EQ(result["auc"], 1) << result;
        EXPECT_EQ(result["balanced_accuracy"], 1) << result;
        EXPECT_LT(result["balanced_accuracy_interval"][0], 1);
        EXPECT_EQ(result["confusion"], (std::vector<std::vector<int>>{{30, 0}, {0, 30}}));
        EXPECT_EQ(result["sites"].size(), 3U);
        EXPECT_EQ(result["per_class"][1]["recall"], 1);
        EXPECT_FALSE(result["calibration"].empty());
    }
}

TEST_F(ClassifyTest, WithoutSplitsOnlyTheEvaluation) {
    const Outcome run =
        couplet({"classify", "x.npy", "--labels", "y.npy", "--splits", "0", "--folds", "2", "--rank", "3", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["scores"].size(), 0U);
    EXPECT_EQ(run.json()["splits"], 0);
    EXPECT_EQ(run.json()["majority_accuracy"], 0.5);
    EXPECT_EQ(run.json()["people"], 60);
    const Outcome text =
        couplet({"classify", "x.npy", "--labels", "y.npy", "--splits", "0", "--folds", "2", "--rank", "3"});
    ASSERT_EQ(text.status, 0) << text.err;
    for (const char* part : {"arm              model     ", "federated-joint  logistic  ", "AUC gained",
                             "60 at 2 sites, 2 folds, rank 3", "most frequent", "client 1"}) {
        EXPECT_NE(text.out.find(part), std::string::npos) << part << " in\n" << text.out;
    }
    EXPECT_EQ(text.out.find("Zhang"), std::string::npos);
}

/// Two hospitals as couplet table leaves them, and what happened to their patients, in an order of its own.
class ClassifySitesOfTablesTest : public CliTest {
  protected:
    ClassifySitesOfTablesTest() {
        python(
            "r = np.random.default_rng(2); out = []\n"
            "for site, people in (('north', 40), ('south', 30)):\n"
            "    rows = []\n"
            "    for p in range(people):\n"
            "        ill = p % 3 == 0\n"
            "        out.append((f'{site}-{p}', 'ill' if ill else 'well'))\n"
            "        for code in range(6):\n"
            "            value = r.normal() + (4 if ill and code == 2 else 0)\n"
            "            rows.append(f'{site}-{p},c{code},{value}')\n"
            "    open(site + '.csv', 'w').write('patient,code,value\\n' + '\\n'.join(rows) + '\\n')\n"
            "out[5] = (out[5][0], 'NA')\n"
            "order = r.permutation(len(out))\n"
            "open('outcomes.csv', 'w').write('id;age;state\\n' + ''.join(f'{out[i][0]};50;{out[i][1]}\\n' for i in "
            "order))\n"
            "open('twice.csv', 'w').write('id,state\\nnorth-1,a\\nnorth-1,b\\n')\n"
            "open('others.csv', 'w').write('id,state\\nq1,a\\nq2,b\\n')");
        for (const char* site : {"north", "south"}) {
            const Outcome run = couplet({"table", std::string(site) + ".csv", "--patient", "patient", "--modes", "code",
                                         "--value", "value", "-o", site});
            EXPECT_EQ(run.status, 0) << run.err;
        }
    }
    void refused(const std::vector<std::string>& arguments, const std::string& message) {
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 2) << run.err;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
        EXPECT_EQ(run.out, "");
    }
};

TEST_F(ClassifySitesOfTablesTest, LabelsFindTheirPatientsAndPredictionsTheirSites) {
    const std::vector<std::string> how{"classify",     "north",          "south",  "--labels",
                                       "outcomes.csv", "--label-column", "state",  "--predictions",
                                       "out",          "--json",         "--quiet"};
    const Outcome run = couplet(how);
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["scores"].size(), 0U);  // several sites: the paper's experiment when asked
    EXPECT_EQ(json["people"], 69);
    EXPECT_EQ(json["evaluation"]["unlabelled"], 1);
    EXPECT_EQ(json["evaluation"]["sites"][0]["site"], "north");
    EXPECT_EQ(json["evaluation"]["sites"][0]["people"], 39);
    EXPECT_EQ(json["evaluation"]["class_names"], (std::vector<std::string>{"ill", "well"}));
    EXPECT_GT(result_of(json, "federated", "logistic")["auc"], 0.95);
    EXPECT_GT(result_of(json, "centralized", "knn")["balanced_accuracy"], 0.8);
    EXPECT_EQ(json["evaluation"]["predictions"].size(), 2U);
    EXPECT_NE(get("out/predictions_1.csv").find("row,patient,label,fold,arm,model,predicted,p_ill,p_well"),
              std::string::npos);
    EXPECT_EQ(get("out/predictions_1.csv").find("south-"), std::string::npos);
    EXPECT_EQ(get("out/predictions_2.csv").find("north-"), std::string::npos);
    EXPECT_NE(get("out/predictions_2.csv").find(",south-3,ill,"), std::string::npos);
    EXPECT_EQ(std::filesystem::status(path("out/predictions_1.csv")).permissions() & std::filesystem::perms::all,
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_EQ(run.out.find("south-"), std::string::npos);  // what may be passed on names nobody
    refused({how.begin(), how.end() - 2}, "exists already");
    auto forced = how;
    forced.push_back("--force");
    EXPECT_EQ(couplet(forced).status, 0);
}

TEST_F(ClassifySitesOfTablesTest, RefusalsSayWhatDisagrees) {
    refused({"classify", "north", "south"}, "north: clients without labels");
    refused({"classify", "north", "south", "--labels", "twice.csv"}, "the identifier of line 2");
    refused({"classify", "north", "--labels", "others.csv"}, "none of the 40 patients of north");
    refused({"classify", "north", "--labels", "outcomes.csv"}, "--label-column");
    refused({"classify", "north", "--labels", "outcomes.csv", "--label-column", "died"},
            "no column 'died' in the first line");
    refused({"classify", "north", "south", "--labels", "a.csv", "--labels", "b.csv", "--labels", "c.csv"},
            "3 files for 2 sites");
    refused({"classify", "north", "--labels", "outcomes.csv", "--label-column", "state", "--folds", "1"}, "--folds");
    refused({"classify", "north", "--labels", "outcomes.csv", "--label-column", "state", "--ridge", "0"}, "--ridge");
    put("file", "x");
    refused({"classify", "north", "--labels", "outcomes.csv", "--label-column", "state", "--predictions", "file"},
            "--predictions");
    python("np.save('plain.npy', np.ones((40, 6)))");
    refused({"classify", "north", "plain.npy", "--labels", "outcomes.csv", "--label-column", "state"},
            "no identifiers in plain.npy");
    refused({"classify", "plain.npy", "--label-column", "state", "--labels", "outcomes.csv"}, "70 labels; expected 40");
    refused({"classify", "north", "--label-column", "state"}, "without labels");
}

}  // namespace
}  // namespace couplet::testing
