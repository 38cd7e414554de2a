#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

/// What classify makes of its inputs: sites, people, labels and rows, as its report and its predictions show.
class ClassifySitesTest : public CliTest {
  protected:
    ClassifySitesTest() {
        python(
            "np.save('x.npy', np.random.default_rng(1).normal(size=(9, 2, 2)))\n"
            "np.save('z.npy', np.random.default_rng(2).normal(size=(6, 2, 2)))");
        put("y.csv", "label\na\nb\na\na\nb\na\nb\na\nb\n");
    }
    Json evaluation(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), "classify");
        for (const char* word : {"--splits", "0", "--folds", "2", "--predictions", "out", "--force", "--json"}) {
            arguments.emplace_back(word);
        }
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 0) << run.err;
        return run.status == 0 ? run.json()["evaluation"] : Json();
    }
    /// The first `count` lines of a file of predictions up to the third comma.
    std::vector<std::string> beginnings(const std::string& file, std::size_t count) const {
        std::vector<std::string> lines;
        std::istringstream text(get(file));
        for (std::string line; lines.size() < count && std::getline(text, line);) {
            std::size_t end = 0;
            for (int comma = 0; comma < 2; ++comma) end = line.find(',', end) + 1;
            lines.push_back(line.substr(0, end));
        }
        return lines;
    }
};

TEST_F(ClassifySitesTest, OneTensorIsDealtInItsOrder) {
    put("y.csv", "label\na\nb\n?\na\nb\na\nb\na\nb\n");
    const Json told = evaluation({"x.npy", "--labels", "y.csv", "--clients", "2"});
    ASSERT_EQ(told["sites"].size(), 2U);
    EXPECT_EQ(told["sites"][0]["site"], "client 1");
    EXPECT_EQ(told["sites"][0]["class_counts"], (std::vector<int>{2, 2}));
    EXPECT_EQ(told["sites"][0]["unlabelled"], 1);
    EXPECT_EQ(told["sites"][1]["unlabelled"], 0);
    EXPECT_EQ(beginnings("out/predictions_1.csv", 5),
              (std::vector<std::string>{"row,label,", "1,a,", "2,b,", "4,a,", "5,b,"}));
    EXPECT_EQ(beginnings("out/predictions_2.csv", 3), (std::vector<std::string>{"row,label,", "1,a,", "2,b,"}));
    // So few people are dealt to fewer sites: everybody needs somebody to learn from.
    put("y.csv", "label\na\nb\nb\na\nb\na\nb\na\nb\n");
    EXPECT_EQ(evaluation({"x.npy", "--labels", "y.csv", "--clients", "8"})["sites"].size(), 4U);
}

TEST_F(ClassifySitesTest, SeveralTensorsAreSitesOfTheirNames) {
    put("z.csv", "id,class\nn1,a\nn2,NA\nn3,b\nn4,a\nn5,b\nn6,b\n");
    const Json told = evaluation({"x.npy", "z.npy", "--labels", "y.csv", "--labels", "z.csv"});
    ASSERT_EQ(told["sites"].size(), 2U);
    EXPECT_EQ(told["sites"][0]["site"], "x");
    EXPECT_EQ(told["sites"][1]["site"], "z");
    EXPECT_EQ(told["sites"][1]["unlabelled"], 1);
    EXPECT_EQ(told["class_names"], (std::vector<std::string>{"a", "b"}));
    python("import os; os.mkdir('other'); np.save('other/x.npy', np.random.default_rng(3).normal(size=(9, 2, 2)))");
    const Json twice = evaluation({"x.npy", "other/x.npy", "--labels", "y.csv", "--labels", "y.csv"});
    EXPECT_EQ(twice["sites"][1]["site"], "x (2)");
    EXPECT_EQ(twice["notes"].size(), 0U) << twice["notes"];
}

TEST_F(ClassifySitesTest, APatientAtTwoSitesIsRefusedAndNotNamed) {
    put("n.csv", "id,class\nann,a\nbob,b\ncem,a\ndan,b\nuna,b\nfay,a\n");
    put("m.csv", "id,class\ngus,a\nhal,b\ncem,a\nida,b\nuna,b\njon,a\n");
    python("np.save('m.npy', np.random.default_rng(4).normal(size=(6, 2, 2)))");
    const std::vector<std::string> how{"classify", "z.npy", "m.npy",   "--labels", "n.csv",
                                       "--labels", "m.csv", "--folds", "2"};
    const Outcome run = couplet(how);
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find("m.npy: 2 patients of z.npy; expected every identifier at one site"), std::string::npos)
        << run.err;
    EXPECT_EQ(run.err.find("cem"), std::string::npos) << run.err;
    EXPECT_EQ(run.err.find("una"), std::string::npos) << run.err;
    // Who is left out does no harm.
    put("m.csv", "id,class\ngus,a\nhal,b\ncem,NA\nida,b\nuna,NA\njon,a\n");
    EXPECT_EQ(couplet(how).status, 0);
}

TEST_F(ClassifySitesTest, TheSameFileOrRecordAtTwoSites) {
    const Outcome run = couplet({"classify", "x.npy", "./x.npy", "--labels", "y.csv", "--labels", "y.csv"});
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find("./x.npy: named twice, as sites 1 and 2"), std::string::npos) << run.err;
    // Two records of z.npy are in x.npy too, and two that are empty say nothing.
    python(
        "x = np.load('x.npy'); z = np.load('z.npy'); z[1] = x[4]; z[2] = x[5]; z[3] = 0; x[0] = 0; np.save('x.npy', "
        "x); "
        "np.save('z.npy', z)");
    put("z.csv", "label\na\nb\na\nb\na\nb\n");
    const Json told = evaluation({"x.npy", "z.npy", "--labels", "y.csv", "--labels", "z.csv"});
    ASSERT_EQ(told["notes"].size(), 1U) << told["notes"];
    EXPECT_EQ(told["notes"][0].get<std::string>().find("4 records are the same as one of another site"), 0U);
}

TEST_F(ClassifySitesTest, MagnitudesThatCannotBeSquaredTogetherAreToldInTheWordsOfClassify) {
    python("x = np.load('x.npy'); x[2, 0, 0] = 1e160; np.save('x.npy', x)");
    const Outcome run = couplet({"classify", "x.npy", "--labels", "y.csv", "--clients", "2", "--splits", "0"});
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find("client 1: a value of about 1e+160, where most people of client 1 have values up to"),
              std::string::npos)
        << run.err;
    EXPECT_EQ(run.err.find("--scale-clients"), std::string::npos) << run.err;
}

TEST_F(ClassifySitesTest, FoldsWithoutAPairAreTold) {
    // Nine people in nine folds: nobody meets anybody.
    const Outcome run =
        couplet({"classify", "x.npy", "--labels", "y.csv", "--clients", "1", "--splits", "0", "--folds", "9"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.out.find("no area: no fold of a site has two classes"), std::string::npos) << run.out;
    EXPECT_NE(run.out.find("9 of 9 people meet no other class"), std::string::npos) << run.out;
    const Json told = evaluation({"x.npy", "--labels", "y.csv", "--clients", "1"});
    EXPECT_EQ(told["results"][0]["auc_pairs"], 10);  // two of b and two or three of a in each of two folds
    EXPECT_EQ(told["notes"].size(), 0U) << told["notes"];
}

TEST_F(ClassifySitesTest, ATableOfItsOwnNamesTheRows) {
    put("z.csv", "patient,class\nn1,a\nn2,NA\nn3,b\nn4,a\nn5,b\nn6,b\n");
    evaluation({"z.npy", "--labels", "z.csv", "--clients", "1"});
    EXPECT_EQ(beginnings("out/predictions_1.csv", 3), (std::vector<std::string>{"row,patient,", "1,n1,", "3,n3,"}));
    put("z.csv", "patient,class\nn1,a\nn2,NA\nn3,\nn4,b\nn5,b\nn6,a\n");
    const Outcome run = couplet({"classify", "z.npy", "--labels", "z.csv", "--clients", "2"});
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find("client 1: 1 people with a label"), std::string::npos) << run.err;
}

TEST_F(ClassifySitesTest, HugeAndTinyValuesGiveTheSameFigures) {
    const Json usual = evaluation({"x.npy", "--labels", "y.csv"})["results"];
    for (const char* factor : {"2.0**500", "2.0**-500"}) {
        python(std::string("np.save('h.npy', np.load('x.npy') * ") + factor + ")");
        const Json scaled = evaluation({"h.npy", "--labels", "y.csv"})["results"];
        for (std::size_t i = 0; i < usual.size(); ++i) EXPECT_EQ(scaled[i]["auc"], usual[i]["auc"]) << factor;
    }
}

TEST_F(ClassifySitesTest, SitesMustHaveTheSameFeatures) {
    python("np.save('w.npy', np.ones((9, 2, 3)))");
    const Outcome run = couplet({"classify", "x.npy", "w.npy", "--labels", "y.csv", "--labels", "y.csv"});
    EXPECT_EQ(run.status, 2);
    EXPECT_NE(run.err.find("mode 3 has size 3"), std::string::npos) << run.err;
}

}  // namespace
}  // namespace couplet::testing
