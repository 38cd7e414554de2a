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
        }
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

}  // namespace
}  // namespace couplet::testing
