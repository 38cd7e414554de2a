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
    EXPECT_EQ(files(), std::vector<std::string>{"personal.npz"});
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
