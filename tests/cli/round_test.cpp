#include "arithmetic_support.hpp"

namespace couplet::testing {
namespace {

using RoundTest = ArithmeticTest;

TEST_F(RoundTest, ShrinksASumWithoutLoss) {
    ASSERT_EQ(couplet({"add", "a.npz", "a.npz", "-o", "S.npz"}).status, 0);
    const Outcome run = couplet({"round", "S.npz", "--eps", "1e-10", "-o", "R.npz", "--json"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json json = run.json();
    EXPECT_LE(json["rel_error"].get<double>(), 1e-10);
    for (std::size_t n = 1; n < 3; ++n) EXPECT_LE(2 * json["ranks"][n].get<int>(), json["ranks_before"][n].get<int>());
    ASSERT_EQ(couplet({"reconstruct", "R.npz", "-o", "R.npy"}).status, 0);
    Tensor<double> twice(a_.shape());
    for (Index i = 0; i < twice.size(); ++i) twice.data()[i] = 2 * a_.data()[i];
    EXPECT_LE(relative_difference(twice, load("R.npy")), 1e-10);
}

TEST_F(RoundTest, KeepsTheErrorAndTheRank) {
    for (const auto& how : std::vector<std::vector<std::string>>{{"--eps", "0.1"}, {"--max-rank", "2"}}) {
        std::vector<std::string> arguments{"round", "b.npz", "-o", "R.npz", "--json", "--force"};
        arguments.insert(arguments.end(), how.begin(), how.end());
        const Outcome run = couplet(arguments);
        ASSERT_EQ(run.status, 0) << run.err;
        ASSERT_EQ(couplet({"reconstruct", "R.npz", "-o", "R.npy", "--force"}).status, 0);
        const double error = relative_difference(b_, load("R.npy"));
        EXPECT_NEAR(error, run.json()["rel_error"].get<double>(), 1e-10);
        if (how.front() == "--eps") {
            EXPECT_LE(error, 0.1);
        } else {
            EXPECT_EQ(run.json()["ranks"], Json({1, 2, 2, 1}));
        }
    }
}

TEST_F(RoundTest, AsksHowMuch) {
    const Outcome run = couplet({"round", "a.npz", "-o", "R.npz"});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.err.find("couplet round: --eps: missing; expected --eps E, --max-rank R or both."), 0U) << run.err;
}

TEST_F(RoundTest, FeaturesStayFeatures) {
    Model<float> features{.first_mode = 2, .cores = {}, .labels = {{"diagnosis", {}}, {"drug", {"x", "y", "z"}}}};
    features.cores.push_back(smooth<float>({2, 4, 2}));
    features.cores.push_back(smooth<float>({2, 3, 1}));
    save_model(path("features.npz"), features, false);
    ASSERT_EQ(couplet({"round", "features.npz", "--eps", "0.01", "-o", "R.npz"}).status, 0);
    const Json info = couplet({"info", "R.npz", "--json"}).json();
    EXPECT_EQ(info["kind"], "features");
    EXPECT_EQ(info["ranks"][0], 2);
    EXPECT_EQ(info["dtype"], "float32");
    EXPECT_EQ(info["labels"][1]["entries"], Json({"x", "y", "z"}));
}

}  // namespace
}  // namespace couplet::testing
