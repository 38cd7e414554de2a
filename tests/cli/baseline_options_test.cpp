#include "baseline_options.hpp"

#include <CLI/CLI.hpp>

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"

namespace couplet::testing {
namespace {

class BaselineOptionsTest : public ::testing::Test {
  protected:
    BaselineOptionsTest() {
        cli::add_training_options(app_, flags_.options);
        cli::add_tuning_options(app_, flags_.options.tuning);
        cli::add_cache_options(app_, flags_);
    }
    void parse(std::vector<std::string> arguments) {
        std::reverse(arguments.begin(), arguments.end());
        app_.parse(std::move(arguments));
    }
    CLI::App app_;
    cli::BaselineFlags flags_;
};

TEST_F(BaselineOptionsTest, EveryFlagReachesItsParameter) {
    parse({"--rounds",
           "7",
           "--tolerance",
           "0.1",
           "--loss",
           "logistic",
           "--no-compression",
           "--step",
           "0.5",
           "--decay",
           "0.25",
           "--fibers",
           "9",
           "--tau",
           "3",
           "--rho",
           "2",
           "--prox",
           "0.125",
           "--gradient-clip",
           "4",
           "--gradient-noise",
           "8",
           "--threshold",
           "16",
           "--gossip",
           "0.75",
           "--tuned",
           "--cache",
           "x.json"});
    EXPECT_EQ(flags_.options.rounds, 7);
    EXPECT_EQ(flags_.options.tolerance, 0.1);
    EXPECT_EQ(flags_.options.loss, Loss::logistic);
    EXPECT_FALSE(flags_.options.compress);
    EXPECT_EQ(flags_.options.tuning, (Tuning{.step = 0.5,
                                             .decay = 0.25,
                                             .fibers = 9,
                                             .tau = 3,
                                             .rho = 2,
                                             .prox = 0.125,
                                             .clip = 4,
                                             .noise = 8,
                                             .threshold = 16,
                                             .gossip = 0.75}));
    EXPECT_TRUE(flags_.tuned);
    EXPECT_EQ(flags_.cache, "x.json");
}

TEST_F(BaselineOptionsTest, AllAreNamedAndGrouped) {
    std::size_t options = 0;
    for (const CLI::Option* option : app_.get_options()) {
        if (option->get_name() == "--help") continue;
        ++options;
        EXPECT_EQ(option->get_group(), cli::baselines_group) << option->get_name();
    }
    EXPECT_EQ(options, cli::baseline_flag_names().size());
    for (const char* name : cli::baseline_flag_names()) EXPECT_NE(app_.get_option_no_throw(name), nullptr) << name;
}

TEST_F(BaselineOptionsTest, WordsForNumbersAreRefused) {
    for (const char* flag : {"--step", "--rho", "--gradient-clip", "--rounds", "--fibers", "--tau"}) {
        EXPECT_THROW(parse({flag, "much"}), InputError) << flag;
    }
    EXPECT_THROW(parse({"--loss", "hinge"}), InputError);
    EXPECT_THROW(parse({"--rounds", "0"}), InputError);
}

TEST_F(BaselineOptionsTest, ATuningIsShownAsWhatToType) {
    const Tuning tuning{.step = 0.5, .fibers = 80, .clip = 1};
    EXPECT_EQ(cli::tuning_text(tuning), "--step 0.5 --fibers 80 --gradient-clip 1");
    EXPECT_EQ(cli::tuning_json(tuning), cli::Json({{"step", 0.5}, {"fibers", 80}, {"clip", 1.0}}));
    EXPECT_EQ(cli::tuning_text({}), "");
    EXPECT_EQ(cli::tuning_json({}), cli::Json::object());
}

}  // namespace
}  // namespace couplet::testing
