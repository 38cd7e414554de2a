#include <sys/stat.h>

#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

/// What models are is in tests/models; here is what the verb says, refuses and writes.
class FactorTest : public CliTest {
  protected:
    FactorTest() {
        python(
            "r = np.random.default_rng(1)\n"
            "b, c = np.zeros((8, 3)), np.zeros((7, 3))\n"
            "for k in range(3): b[2 * k:2 * k + 3, k] = [1, 2, 1]; c[2 * k:2 * k + 2, k] = [2, 1]\n"
            "np.savez('truth.npz', b=b, c=c)\n"
            "for k, n in enumerate((60, 0, 40)):\n"
            "    x = np.einsum('pr,ir,jr->pij', r.random((n, 3)), b, c)\n"
            "    np.save(f'x{k + 1}.npy', x + 0.05 * r.random(x.shape))\n");
        ok({"simulate", "x1.npy", "x3.npy", "--rank", "6", "-o", "result"});
    }
    Outcome ok(const std::vector<std::string>& arguments) const {
        Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 0) << run.err;
        return run;
    }
    Json told(std::vector<std::string> arguments) const {
        arguments.insert(arguments.begin(), {"factor", "result"});
        arguments.insert(arguments.end(), {"--json", "--quiet"});
        const Outcome run = ok(arguments);
        return run.status == 0 ? run.json() : Json();
    }
    void refused(std::vector<std::string> arguments, const std::string& message, int status = 2) const {
        const auto before = files();
        arguments.insert(arguments.begin(), "factor");
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, status) << run.out;
        EXPECT_EQ(run.result(), "");
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
        EXPECT_EQ(files(), before);
    }
};

TEST_F(FactorTest, PlantedPhenotypesAreWrittenWithTheirLoadings) {
    const Json json =
        told({"--model", "nncp", "--components", "3", "--data", "x1.npy", "x3.npy", "-o", "made/factors"});
    EXPECT_EQ(json["model"], "nncp");
    EXPECT_EQ(json["components"], 3);
    EXPECT_EQ(json["shape"], Json({8, 7}));
    EXPECT_LE(std::sqrt(json["rse"].get<double>()), 0.1);
    EXPECT_GE(json["rel_error_bound"], json["rel_error"]);
    EXPECT_GT(json["replicability"]["halves"]["corrected"], 0.9);
    EXPECT_GT(json["replicability"]["starts"]["corrected"], 0.9);
    EXPECT_EQ(json["loadings"]["of"], "data");
    EXPECT_EQ(json["loadings"]["sites"][1]["patients"], 40);
    EXPECT_FALSE(json.contains("warnings")) << json["warnings"];
    EXPECT_EQ(
        python("f = np.load('made/factors/factors.npz'); l = np.load('made/factors/loadings_2.npz')['core_1'][0]\n"
               "t = np.load('truth.npz')\n"
               "cos = lambda a, b: (a / np.linalg.norm(a, axis=0)).T @ (b / np.linalg.norm(b, axis=0))\n"
               "m = abs(cos(f['factor_2'], t['b']) * cos(f['factor_3'], t['c']))\n"
               "x = np.load('x3.npy'); y = np.einsum('pr,ir,jr->pij', l, f['factor_2'], f['factor_3'])\n"
               "print(m.max(0).min() > 0.95, (f['factor_2'] >= 0).all(), (l >= 0).all(),\n"
               "      f['weights'].shape, np.linalg.norm(x - y) < 0.1 * np.linalg.norm(x))"),
        "True True True (3,) True\n");
    struct stat facts {};
    ASSERT_EQ(::stat(path("made/factors/loadings_1.npz").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0077U, 0U) << "patients are their owner's";
}

TEST_F(FactorTest, FactorsTakeThePlaceOfFeatures) {
    for (const std::string model : {"pca", "cp", "nncp", "tucker"}) {
        told({"--model", model, "--components", "3", "--data", "x1.npy", "x3.npy", "-o", model});
        const Json json = ok({"project", model + "/factors.npz", "x1.npy", "-o", model + ".npz", "--json"}).json();
        EXPECT_EQ(json["rank"], 3);
        EXPECT_EQ(python("print(np.abs(np.load('" + model + ".npz')['core_1'] - np.load('" + model +
                         "/loadings_1.npz')['core_1']).max() < 1e-6)"),
                  "True\n")
            << model;
        ok({"reconstruct", model + "/factors.npz", "--personal", model + "/loadings_1.npz", "-o", model + ".npy"});
        EXPECT_EQ(python("x = np.load('x1.npy'); print(np.linalg.norm(x - np.load('" + model +
                         ".npy')) < 0.1 * np.linalg.norm(x))"),
                  "True\n")
            << model;
    }
    EXPECT_EQ(python("f = np.load('tucker/factors.npz'); print(f['core'].shape, f['factor_3'].shape)"),
              "(3, 3, 3) (7, 3)\n");
    const Outcome gaps = couplet({"project", "nncp/factors.npz", "x1.npy", "--missing", "impute"});
    EXPECT_EQ(gaps.status, 2);
    EXPECT_NE(gaps.err.find("non-negative factors"), std::string::npos) << gaps.err;
}

TEST_F(FactorTest, ComponentsAreExplainedAsTheyAre) {
    const Json fit = told({"--model", "nncp", "--components", "3", "--data", "x1.npy", "x3.npy", "-o", "out"});
    const Json json = ok({"explain", "out", "-o", "page.html", "--json"}).json();
    EXPECT_EQ(json["model"], "nncp");
    EXPECT_EQ(json["rotation"], "none");
    EXPECT_EQ(json["share_of"], "data");
    EXPECT_NEAR(json["explained"].get<double>(), 1 - fit["rse"].get<double>(), 1e-9);
    ASSERT_EQ(json["components"].size(), 3U);
    for (const auto& component : json["components"]) EXPECT_NEAR(component["product_share"].get<double>(), 1, 1e-6);
    EXPECT_NE(get("page.html").find("</html>"), std::string::npos);
    told({"--model", "cp", "--components", "3", "-o", "projected"});
    EXPECT_EQ(ok({"explain", "projected", "--json"}).json()["share_of"], "explained");
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--data", "x1.npy", "x3.npy"}, {"--compare", "result"}, {"--rotate", "varimax"}}) {
        std::vector<std::string> arguments{"explain", "out"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 2) << more[0];
        EXPECT_NE(run.err.find("the factors of a model (nncp)"), std::string::npos) << run.err;
    }
}

TEST_F(FactorTest, AModelIsFittedAndExplainedAtOnce) {
    told({"--model", "nncp", "--components", "3", "-o", "out"});
    const Json apart = ok({"explain", "out", "--json"}).json();
    const auto before = files();
    const Json once = ok({"explain", "result", "--model", "nncp", "--components", "3", "--json"}).json();
    EXPECT_EQ(once["components"], apart["components"]);
    EXPECT_EQ(once["result"], "result");
    EXPECT_EQ(files(), before);
    const Outcome half = couplet({"explain", "result", "--model", "nncp"});
    EXPECT_EQ(half.status, 2);
    EXPECT_NE(half.err.find("--components"), std::string::npos) << half.err;
}

TEST_F(FactorTest, AutoExplainsItselfAndDraws) {
    const Json json = told({"--model", "nncp", "--components", "auto", "--most", "5", "-o", "chosen"});
    EXPECT_EQ(json["components"], 3);
    EXPECT_EQ(json["choice"]["compared"], "halves");
    EXPECT_EQ(json["choice"]["points"].size(), 5U);
    EXPECT_NE(get("chosen/choice.svg").find("core consistency"), std::string::npos);
    EXPECT_EQ(json["loadings"]["of"], "projections");
    EXPECT_FALSE(json.contains("rse")) << "nothing was measured";
}

TEST_F(FactorTest, AutoSaysThatNoiseHoldsNothing) {
    python("r = np.random.default_rng(2)\nfor k in (1, 2): np.save(f'n{k}.npy', r.normal(size=(60, 12, 11)))");
    ok({"simulate", "n1.npy", "n2.npy", "--rank", "20", "-o", "noise"});
    refused({"noise", "--components", "auto", "--most", "3", "-o", "out"}, "nothing is stable", 1);
}

TEST_F(FactorTest, WithoutPatientsOnlyTheFeaturesAreNeeded) {
    const std::vector<std::string> same{"--components", "2", "--json", "--quiet"};
    std::filesystem::create_directory(path("alone"));
    std::filesystem::copy(path("result/features.npz"), path("alone/features.npz"));
    auto arguments = same;
    arguments.insert(arguments.begin(), {"factor", "alone/features.npz"});
    const Json alone = ok(arguments).json();
    const Json beside = told({"--components", "2"});
    EXPECT_EQ(alone["weights"], beside["weights"]) << "to the bit";
    EXPECT_FALSE(alone.contains("loadings"));
    EXPECT_GE(alone["rel_error_bound"], beside["rel_error_bound"]) << "projections only help";
    EXPECT_FALSE(alone["replicability"].contains("halves"));
}

TEST_F(FactorTest, MaskedJobsHaveModelsAndNoCertificate) {
    ok({"simulate", "--synthetic", "400x5x4:rank=2", "--clients", "4", "--rank", "4", "--secure", "-o", "masked",
        "--quiet"});
    const Outcome run = ok({"factor", "masked", "--components", "2", "--json", "--quiet"});
    EXPECT_LT(run.json()["rel_error"], 0.5);
    EXPECT_FALSE(run.json().contains("rel_error_bound"));
}

TEST_F(FactorTest, AnEarlierFitStaysUnlessForced) {
    told({"--components", "3", "-o", "out"});
    refused({"result", "--components", "2", "-o", "out"}, "--force");
    std::ofstream(path("out/loadings_7.npz")) << "old";
    told({"--components", "2", "-o", "out", "--force"});
    EXPECT_FALSE(std::filesystem::exists(path("out/loadings_7.npz"))) << "of an older, larger federation";
    EXPECT_EQ(python("print(np.load('out/factors.npz')['weights'].shape)"), "(2,)\n");
}

TEST_F(FactorTest, WhatMakesNoSenseIsRefused) {
    refused({"result", "--components", "0"}, "--components");
    refused({"result", "--components", "7"}, "at most 6");
    refused({"result", "--components", "many"}, "--components");
    refused({"result"}, "--components");
    refused({"result", "--components", "2", "--model", "ica"}, "--model");
    refused({"result", "--components", "2", "--most", "4"}, "--components auto");
    refused({"result", "--components", "2", "--data", "x1.npy"}, "1 files; expected 2");
    refused({"result", "--components", "2", "--data", "x1.npy", "truth.npz"}, "truth.npz");
    refused({"x1.npy", "--components", "2"}, "x1.npy");
    ok({"simulate", "x1.npy", "x3.npy", "--aggregate", "average", "--rank", "3", "-o", "average"});
    refused({"average", "--components", "2"}, "singular values");
}

TEST_F(FactorTest, TextSaysErrorCertificateAndAgreement) {
    const std::string text = ok({"factor", "result", "--components", "3", "--data", "x1.npy", "x3.npy"}).out;
    for (const char* part : {"certified", "measured", "starts agree", "halves agree", "beyond chance"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
    }
}

TEST_F(FactorTest, NegativeEntriesAreWarnedOf) {
    python("r = np.random.default_rng(3); np.save('s1.npy', r.normal(size=(30, 5, 4)))");
    ok({"simulate", "s1.npy", "--rank", "4", "-o", "signed"});
    const Json json = ok({"factor", "signed", "--model", "nncp", "--components", "2", "--json", "--quiet"}).json();
    EXPECT_NE(json["warnings"][0].get<std::string>().find("negative entries"), std::string::npos);
}

}  // namespace
}  // namespace couplet::testing
