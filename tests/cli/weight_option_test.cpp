#include "weight_option.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"

namespace couplet::testing {
namespace {

class WeightOptionTest : public CliTest {
  protected:
    /// Two tables of codes of sixty patients, and their tensors with and without the label of every patient.
    WeightOptionTest() {
        std::string dx = "p,c\n";
        std::string rx = "p,d\n";
        for (int p = 0; p < 60; ++p) {
            dx += std::to_string(p) + (p % 3 == 0 ? ",flu\n" : ",cold\n");
            rx += std::to_string(p) + (p % 3 == 0 ? ",syrup\n" : p % 2 == 0 ? ",drops\n" : ",tea\n");
            if (p % 7 == 0) dx += std::to_string(p) + ",cough\n";
        }
        put("dx.csv", dx);
        put("rx.csv", rx);
        for (const char* any : {"auto", "off"}) {
            const Outcome run = couplet({"table", "dx.csv", "rx.csv", "--patient", "p", "--modes", "dx:c", "rx:d",
                                         "--any", any, "--layout", "dense", "-o", any});
            EXPECT_EQ(run.status, 0) << run.err;
        }
    }
    Json simulated(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"simulate", "--split", "3", "--rank", "3", "--json"});
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 0) << run.err;
        said = run.err;
        return run.json();
    }
    std::string said;
};

TEST_F(WeightOptionTest, AutoWeighsTablesOfCodesAndNothingElse) {
    EXPECT_EQ(simulated({"auto/tensor.npy"})["weight"], "sqrt");
    EXPECT_TRUE(simulated({"auto/tensor.npy"}).contains("rse_original"));
    EXPECT_EQ(simulated({"auto/tensor.npy", "--weight", "pearson"})["weight"], "pearson");
    EXPECT_FALSE(simulated({"auto/tensor.npy", "--weight", "none"}).contains("weight"));
    EXPECT_FALSE(simulated({"off/tensor.npy"}).contains("weight"));
    EXPECT_FALSE(simulated({"auto/tensor.npy", "--centre"}).contains("weight"));
    EXPECT_NE(said.find("note: --centre: features are formed from the records as they are"), std::string::npos) << said;
    EXPECT_EQ(simulated({"auto/tensor.npy", "--secure", "--policy", "off"})["weight"], "sqrt");
}

TEST_F(WeightOptionTest, AWeightThatCannotBeIsRefused) {
    const Outcome none = couplet({"simulate", "--split", "2", "off/tensor.npy", "--rank", "2", "--weight", "sqrt"});
    EXPECT_EQ(none.status, 2);
    EXPECT_NE(none.err.find("couplet table --any on"), std::string::npos) << none.err;
    for (const std::vector<std::string>& with : std::vector<std::vector<std::string>>{{"--centre"},
                                                                                      {"--scale"},
                                                                                      {"--missing", "impute"},
                                                                                      {"--save-state", "s.npz"},
                                                                                      {"--method", "local"},
                                                                                      {"--clip", "3"}}) {
        std::vector<std::string> arguments{"simulate", "--split", "2",        "auto/tensor.npy",
                                           "--rank",   "2",       "--weight", "sqrt"};
        arguments.insert(arguments.end(), with.begin(), with.end());
        EXPECT_EQ(couplet(arguments).status, 2) << with.front();
    }
}

}  // namespace
}  // namespace couplet::testing
