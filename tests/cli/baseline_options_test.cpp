#include "baseline_options.hpp"

#include "cli_test_support.hpp"
#include "command.hpp"
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
    void parse(std::vector<std::string> arguments) { app_.parse(std::move(arguments)); }
    cli::Command app_;
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
    for (const cli::CommandOption& option : app_.options()) {
        ++options;
        EXPECT_EQ(option.group(), cli::baselines_group) << option.name();
    }
    EXPECT_EQ(options, cli::baseline_flag_names().size());
    for (const char* name : cli::baseline_flag_names()) EXPECT_TRUE(app_.option(name)) << name;
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

class BaselineTest : public CliTest {
  protected:
    Outcome simulate(const std::string& method, const std::vector<std::string>& more) const {
        std::vector<std::string> arguments{"simulate", "--synthetic", "24x6x5:rank=3", "--clients", "2",
                                           "--rank",   "3",           "--json",        "--method",  method};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return couplet(arguments);
    }
};

TEST_F(BaselineTest, AMethodThatDivergesEndsWithStatusOneAndPrintsNothing) {
    for (const char* method : {"fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}) {
        std::vector<std::string> steps{"--step", "1e150", "-o", "result"};
        if (method == std::string_view("dpfact")) steps.insert(steps.end(), {"--prox", "0"});
        const Outcome run = simulate(method, steps);
        EXPECT_EQ(run.status, 1) << method;
        EXPECT_EQ(run.result(), "") << method;
        EXPECT_NE(run.err.find("diverged at round "), std::string::npos) << method << run.err;
        EXPECT_FALSE(std::filesystem::exists(path("result/features.npz"))) << method;
    }
}

TEST_F(BaselineTest, PeersOfThePrintedMethodRefuseWhatHasNoEffect) {
    const std::vector<std::string> job{"--aggregate", "average", "--rank", "3"};
    const auto refused = [&](std::vector<std::string> arguments, const std::vector<std::string>& more,
                             const std::string& message) {
        arguments.insert(arguments.end(), job.begin(), job.end());
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 2) << message;
        EXPECT_EQ(run.out, "") << message;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
    };
    put("x.npy", "");
    for (const auto& verb : std::vector<std::vector<std::string>>{
             {"simulate", "--synthetic", "24x6x5:rank=3", "--clients", "3", "--network", "decentralized"},
             {"peer", "--kit", "kit", "--data", "x.npy"}}) {
        refused(verb, {"--eps1", "0.1"}, "--eps1 with --aggregate average among peers");
        refused(verb, {"--eps", "0.1"}, "--eps: a certified error");
        refused(verb, {"--sketch", "gram"}, "--sketch: given with --aggregate average");
        refused(verb, {"--passes", "2"}, "--passes: given with --aggregate average");
        refused(verb, {"--weights", "paper", "--consensus", "tree"}, "--weights: given with --consensus tree");
        refused(verb, {"--heldout", "0.2"}, "--heldout: held-out patients without a refit");
    }
}

}  // namespace
}  // namespace couplet::testing
