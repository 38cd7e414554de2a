#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

using ReconstructTest = CliTest;

TEST_F(ReconstructTest, KeepsShapeAndElementType) {
    save("X.npy", smooth<float>({4, 3, 5}));
    ASSERT_EQ(couplet({"decompose", "X.npy", "--eps", "0", "-o", "M.npz"}).status, 0);
    const Outcome run = couplet({"reconstruct", "M.npz", "-o", "Y.npy", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_EQ(json["shape"], Json({4, 3, 5}));
    EXPECT_EQ(json["dtype"], "float32");
    EXPECT_EQ(json["output"], "Y.npy");
    for (const char* phase : {"read", "compute", "write"}) EXPECT_TRUE(json["seconds"][phase].is_number()) << phase;
    EXPECT_LE(relative_difference(load("X.npy"), load("Y.npy")), 1e-6);
    EXPECT_EQ(python("print(np.load('Y.npy').dtype)"), "float32\n");
}

TEST_F(ReconstructTest, OpenBondOfFeaturesComesFirst) {
    Model<double> features{.first_mode = 2, .cores = {}, .labels = {}};
    features.cores.push_back(smooth<double>({3, 4, 2}));
    features.cores.push_back(smooth<double>({2, 5, 1}));
    save_model(path("features.npz"), features, false);
    const Outcome run = couplet({"reconstruct", "features.npz", "-o", "Y.npy", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.json()["shape"], Json({3, 4, 5}));
    EXPECT_EQ(load("Y.npy").shape(), (Shape{3, 4, 5}));
}

TEST_F(ReconstructTest, PersonalCoreAloneIsRefused) {
    Model<double> personal;
    personal.cores.push_back(smooth<double>({1, 4, 3}));
    save_model(path("personal.npz"), personal, false);
    const Outcome run = couplet({"reconstruct", "personal.npz", "-o", "Y.npy"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.err.find("couplet reconstruct: personal.npz: a personal core alone"), 0U) << run.err;
    EXPECT_NE(run.err.find("couplet reconstruct features.npz --personal personal.npz -o Y.npy"), std::string::npos);
    EXPECT_EQ(files(), std::vector<std::string>{"personal.npz"});
}

TEST_F(ReconstructTest, TheModelOfAVectorIsNoPersonalCore) {
    save("v.npy", smooth<double>({5}));
    ASSERT_EQ(couplet({"decompose", "v.npy", "-o", "v.npz"}).status, 0);
    const Outcome run = couplet({"reconstruct", "v.npz", "-o", "Y.npy"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(load("Y.npy").shape(), Shape{5});
    // A personal core of rank 1 has the same form.
    ASSERT_EQ(couplet({"simulate", "--synthetic", "30x5x4:rank=1", "--clients", "2", "--rank", "1", "-o", "r"}).status,
              0);
    EXPECT_EQ(couplet({"reconstruct", "r/personal_1.npz", "-o", "Z.npy"}).status, 2);
}

/// Two files have an order, which is easily mistaken.
TEST_F(ReconstructTest, SaysHowTheTwoFilesAreGiven) {
    ASSERT_EQ(couplet({"simulate", "--synthetic", "30x5x4:rank=3", "--clients", "2", "--rank", "2", "-o", "r"}).status,
              0);
    const std::string meant = "couplet reconstruct r/features.npz --personal r/personal_1.npz -o Y.npy";
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"reconstruct", "r/personal_1.npz", "--personal", "r/features.npz", "-o", "Y.npy"},
          std::vector<std::string>{"reconstruct", "r/personal_1.npz", "-o", "Y.npy"}}) {
        const Outcome run = couplet(words);
        EXPECT_EQ(run.status, 2);
        EXPECT_NE(run.err.find("Write: " + meant), std::string::npos) << run.err;
    }
    const Outcome two = couplet({"reconstruct", "r/features.npz", "r/personal_1.npz", "-o", "Y.npy"});
    EXPECT_NE(two.err.find("Did you mean --personal r/personal_1.npz?"), std::string::npos) << two.err;
    const Outcome output = couplet({"reconstruct", "r/features.npz", "Y.npy"});
    EXPECT_NE(output.err.find("Did you mean -o Y.npy?"), std::string::npos) << output.err;
    const Outcome tensor = couplet({"reconstruct", "r/features.npz", "--personal", "x.npy", "-o", "Y.npy"});
    EXPECT_NE(tensor.err.find("couplet project r/features.npz x.npy -o P.npz"), std::string::npos) << tensor.err;
    EXPECT_EQ(files(), std::vector<std::string>{"r"});
}

TEST_F(ReconstructTest, ModesAreCalledByTheirNames) {
    Model<double> features{.first_mode = 2, .cores = {}, .labels = {{"diagnosis", {}, {}}, {}}};
    features.cores.push_back(smooth<double>({3, 4, 2}));
    features.cores.push_back(smooth<double>({2, 5, 1}));
    save_model(path("features.npz"), features, false);
    const Outcome run = couplet({"reconstruct", "features.npz", "-o", "Y.npy", "--json"});
    EXPECT_EQ(run.json()["modes"], Json({"component", "diagnosis", "mode 3"}));
    EXPECT_NE(couplet({"reconstruct", "features.npz", "-o", "Z.npy"}).out.find("component x diagnosis x mode 3"),
              std::string::npos);
    save("X.npy", smooth<double>({2, 3, 5}));
    const Outcome other = couplet({"project", "features.npz", "X.npy"});
    EXPECT_NE(other.err.find("X.npy: mode 2 (diagnosis) has size 3; expected 4"), std::string::npos) << other.err;
}

/// The same patients in the coordinates of two runs: joined crosswise they would be nobody's tensor.
TEST_F(ReconstructTest, ACoreOfOtherFeaturesIsRefused) {
    for (const std::string run : {"a", "b"}) {
        ASSERT_EQ(couplet({"simulate", "--synthetic", "30x5x4:rank=3", "--clients", "2", "--rank", "2", "-o", run,
                           "--centre", "--seed", run == "a" ? "1" : "2"})
                      .status,
                  0);
    }
    ASSERT_EQ(couplet({"data", "synthetic", "30x5x4:rank=3", "--clients", "2", "-o", "x"}).status, 0);
    ASSERT_EQ(couplet({"project", "a/features.npz", "x/client_1.npy", "-o", "p.npz"}).status, 0);
    const auto joined = [&](const std::string& features, const std::string& personal) {
        return couplet({"reconstruct", features, "--personal", personal, "-o", "Y.npy", "--force"});
    };
    for (const char* own : {"p.npz", "a/personal_2.npz"}) {
        EXPECT_EQ(joined("a/features.npz", own).status, 0);
        EXPECT_EQ(joined("a/features.npz", own).err, "");
        std::filesystem::remove(path("Y.npy"));
        const Outcome other = joined("b/features.npz", own);
        EXPECT_EQ(other.status, 2);
        EXPECT_EQ(other.err.find("couplet reconstruct: " + std::string(own) + ": a personal core of the features "), 0U)
            << other.err;
        EXPECT_NE(other.err.find(", as b/features.npz"), std::string::npos) << other.err;
        EXPECT_FALSE(std::filesystem::exists(path("Y.npy")));
    }
    // Rounded features are still those features, and know the means.
    ASSERT_EQ(couplet({"round", "a/features.npz", "--eps", "1e-9", "-o", "small.npz"}).status, 0);
    ASSERT_EQ(joined("a/features.npz", "p.npz").status, 0);
    const auto whole = load("Y.npy");
    const Outcome rounded = joined("small.npz", "p.npz");
    EXPECT_EQ(rounded.status, 0) << rounded.err;
    EXPECT_LE(relative_difference(whole, load("Y.npy")), 1e-8);
    // A core of an older version says nothing: it is taken, with a word.
    python("p = np.load('p.npz'); np.savez('old.npz', core_1=p['core_1'])");
    const Outcome old = joined("a/features.npz", "old.npz");
    EXPECT_EQ(old.status, 0) << old.err;
    EXPECT_NE(old.err.find("old.npz: it does not say of which features it is"), std::string::npos) << old.err;
}

/// 48 KB of cores that stand for 8 exabytes.
TEST_F(ReconstructTest, MoreThanTheMachineHoldsFailsBeforeAllocating) {
    Model<double> model;
    for (int n = 0; n < 6; ++n) model.cores.push_back(Tensor<double>::zeros({1, 1000, 1}));
    save_model(path("M.npz"), model, true);
    const Outcome run = couplet({"reconstruct", "M.npz", "-o", "Y.npy"});
    EXPECT_EQ(run.status, 1);
    EXPECT_EQ(run.err.find("couplet reconstruct: M.npz: a tensor 1000 x 1000 x"), 0U) << run.err;
    EXPECT_EQ(files(), std::vector<std::string>{"M.npz"});
}

}  // namespace
}  // namespace couplet::testing
