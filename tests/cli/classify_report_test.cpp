#include <numeric>

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

/// Two sites, one of one class, and two people of whom nobody knows the class.
class ClassifyReportTest : public CliTest {
  protected:
    ClassifyReportTest() {
        python(
            "r = np.random.default_rng(3); y = np.arange(30) % 3 == 0; x = r.normal(size=(30, 4)); x[:, 1] += 3 * y\n"
            "np.save('north.npy', x); np.save('south.npy', r.normal(size=(12, 4)))\n"
            "open('n.csv', 'w').write('label\\n' + ''.join('yes\\n' if one else 'no\\n' for one in y[:-2]) + "
            "'NA\\nNA\\n')\n"
            "open('s.csv', 'w').write('label\\n' + 'no\\n' * 12)");
    }
    Outcome classify(std::vector<std::string> more) const {
        std::vector<std::string> words{"classify", "north.npy", "south.npy", "--labels", "n.csv", "--labels", "s.csv"};
        words.insert(words.end(), more.begin(), more.end());
        return couplet(words);
    }
};

TEST_F(ClassifyReportTest, JsonHoldsEverythingAndItsFiguresAgree) {
    const Outcome run = classify({"--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json told = run.json()["evaluation"];
    EXPECT_EQ(told["class_counts"], (std::vector<int>{30, 10}));
    EXPECT_EQ(told["unlabelled"], 2);
    ASSERT_EQ(told["results"].size(), 8U);
    for (const Json& result : told["results"]) {
        const auto confusion = result["confusion"].get<std::vector<std::vector<double>>>();
        const double yes = confusion[1][1] / 10;
        EXPECT_EQ(std::accumulate(confusion[0].begin(), confusion[0].end(), 0.0), 30);
        EXPECT_NEAR(result["balanced_accuracy"], (confusion[0][0] / 30 + yes) / 2, 1e-12);
        EXPECT_NEAR(result["accuracy"], (confusion[0][0] + confusion[1][1]) / 40, 1e-12);
        EXPECT_EQ(result["majority_share"], 0.75);
        EXPECT_NEAR(result["per_class"][1]["recall"], yes, 1e-12);
        EXPECT_LT(result["auc_interval"][0], result["auc"]);
        EXPECT_FALSE(result["sites"][0]["auc"].is_null());
        EXPECT_TRUE(result["sites"][1]["auc"].is_null());
        EXPECT_TRUE(result["sites"][1]["auc_interval"].is_null());
        EXPECT_EQ(result["sites"][0]["people"].get<int>() + result["sites"][1]["people"].get<int>(), 40);
    }
    const Json& first = told["comparisons"][0];
    EXPECT_EQ(first["arm"], "federated");
    EXPECT_EQ(first["against"], "local");
    EXPECT_NEAR(first["auc_difference"],
                told["results"][2]["auc"].get<double>() - told["results"][0]["auc"].get<double>(), 1e-12);
    EXPECT_EQ(told["notes"].size(), 2U) << told["notes"];
}

TEST_F(ClassifyReportTest, TextIsAShortTableWithWordsToTheLeft) {
    const Outcome run = classify({"--learn-from", "all", "--rank", "3"});
    ASSERT_EQ(run.status, 0) << run.err;
    for (const char* part :
         {"arm              model     ", "local            logistic  ", "federated-joint  knn       ",
          "Logistic regression, site by site", "north", "40 at 2 sites, 5 folds, rank 3", "no: 30, yes: 10",
          "2 people without a label left out", "south has one class only", "learned from the test people's data"}) {
        EXPECT_NE(run.out.find(part), std::string::npos) << part << " in\n" << run.out;
    }
    std::istringstream text(run.out);
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 80U) << line;
}

/// Without identifiers; with them everybody is somebody else.
TEST_F(ClassifyReportTest, CopiesOfARecordAreInOneFoldAndCounted) {
    python(
        "r = np.random.default_rng(5); x = np.repeat(r.normal(size=(60, 6)), 2, 0); y = np.repeat(r.random(60) < .5, "
        "2)\n"
        "np.save('twice.npy', x); np.save('coin.npy', y.astype(int))\n"
        "open('named.csv', 'w').write('patient,a,b,c\\n' + ''.join('p%d,%.17g,%.17g,%.17g\\n' % (i, *x[i, :3]) "
        "for i in range(120)))\n"
        "open('coins.csv', 'w').write('patient,label\\n' + ''.join('p%d,%d\\n' % (i, y[i]) for i in range(120)))");
    const Outcome run = couplet({"classify", "twice.npy", "--labels", "coin.npy", "--clients", "1", "--splits", "0",
                                 "--rank", "5", "--neighbours", "1", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json told = run.json()["evaluation"];
    for (const Json& result : told["results"]) EXPECT_LT(result["auc"], 0.68) << result;
    ASSERT_EQ(told["notes"].size(), 1U) << told["notes"];
    EXPECT_TRUE(told["notes"][0].get<std::string>().starts_with("60 records are another of the same site again"));
    ASSERT_EQ(couplet({"table", "named.csv", "--wide", "--patient", "patient", "-o", "named"}).status, 0);
    const Outcome named =
        couplet({"classify", "named", "--labels", "coins.csv", "--clients", "1", "--splits", "0", "--json"});
    ASSERT_EQ(named.status, 0) << named.err;
    EXPECT_EQ(named.json()["evaluation"]["notes"], Json::array());
}

}  // namespace
}  // namespace couplet::testing
