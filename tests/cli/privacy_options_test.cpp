#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

using PrivacyOptionsTest = CliTest;

TEST_F(PrivacyOptionsTest, AGuaranteeIsTriedWhenItIsAskedFor) {
    python("np.save('x.npy', np.random.default_rng(1).standard_normal((60, 4, 5)))");
    const Outcome run = couplet({"audit", "--split", "3", "x.npy", "--rank", "2", "--dp-epsilon", "0.5", "--dp-delta",
                                 "1e-6", "--clip", "3", "--json", "--quiet"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json last = run.json()["findings"].back();
    EXPECT_EQ(last["mode"], "private");
    EXPECT_EQ(last["guarantee"], (Json{{"epsilon", 0.5}, {"delta", 1e-6}}));
    EXPECT_EQ(last["policy"][0], "records clipped at norm 3.00");
    const Outcome without = couplet({"audit", "--split", "3", "x.npy", "--rank", "2", "--json", "--quiet"});
    EXPECT_EQ(without.json()["findings"].back()["mode"], "secure");
}

TEST_F(PrivacyOptionsTest, NumbersThatMeanNothingAreRefused) {
    for (const auto& [flag, value] : std::vector<std::pair<std::string, std::string>>{{"--dp-epsilon", "0"},
                                                                                      {"--dp-epsilon", "-1"},
                                                                                      {"--dp-epsilon", "nan"},
                                                                                      {"--dp-epsilon", "inf"},
                                                                                      {"--dp-delta", "1"},
                                                                                      {"--dp-delta", "0"},
                                                                                      {"--clip", "0"},
                                                                                      {"--clip", "x"}}) {
        const Outcome run = couplet({"audit", "x.npy", "--rank", "2", flag, value});
        EXPECT_EQ(run.status, 2);
        EXPECT_NE(run.err.find(flag + ": '" + value + "'; expected a number greater than 0"), std::string::npos)
            << run.err;
    }
}

class ShieldedSimulateTest : public CliTest {
  protected:
    ShieldedSimulateTest() { python("np.save('x.npy', np.random.default_rng(1).standard_normal((200, 4, 5)))"); }
    Outcome simulate(std::vector<std::string> flags) {
        flags.insert(flags.begin(), {"simulate", "--split", "4", "x.npy", "--rank", "2", "--json"});
        return couplet(flags);
    }
};

TEST_F(ShieldedSimulateTest, SecureGivesTheSameAsPlainSums) {
    const Json plain = simulate({"--aggregate", "subspace", "--sketch", "random"}).json();
    const Outcome run = simulate({"--secure", "--policy", "off", "--sketch", "random"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.err.find("--policy off"), std::string::npos);
    const Json secure = run.json();
    EXPECT_NEAR(secure["rse"].get<double>(), plain["rse"].get<double>(), 1e-9);
    EXPECT_EQ(secure["aggregate"], "subspace");
    EXPECT_EQ(secure["privacy"]["secure"], true);
    EXPECT_EQ(secure["privacy"]["threshold"], 3);
    EXPECT_EQ(secure["privacy"]["policy"], "off");
    const Json peers =
        simulate({"--secure", "--policy", "off", "--sketch", "random", "--network", "decentralized"}).json();
    EXPECT_NEAR(peers["rse"].get<double>(), plain["rse"].get<double>(), 1e-9);
}

TEST_F(ShieldedSimulateTest, ThePolicyIsOnAndSaysWhatItChanges) {
    const Outcome run = simulate({"--secure"});
    ASSERT_EQ(run.status, 0) << run.err;
    const Json privacy = run.json()["privacy"];
    EXPECT_EQ(privacy["policy"], "on");
    EXPECT_GT(privacy["clip"], 0);
    EXPECT_LE(privacy["directions"], 15);
    EXPECT_NE(run.err.find("policy: "), std::string::npos);
}

TEST_F(ShieldedSimulateTest, NoiseIsAnnouncedWithWhatItMayCost) {
    const Outcome run = simulate({"--dp-epsilon", "1", "--clip", "6"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.err.find("the RSE rises by at most about"), std::string::npos) << run.err;
    const Json privacy = run.json()["privacy"];
    EXPECT_EQ(privacy["epsilon"], 1);
    EXPECT_EQ(privacy["delta"], 1e-5);
    EXPECT_EQ(privacy["noise"], "local");
    EXPECT_EQ(privacy["against"], "everybody, the coordinator included");
    EXPECT_EQ(simulate({"--secure", "--dp-epsilon", "1", "--clip", "6"}).json()["privacy"]["noise"], "distributed");
}

TEST_F(ShieldedSimulateTest, RefusesWhatMeansNothing) {
    const auto refused = [&](const std::vector<std::string>& flags, const std::string& message) {
        const Outcome run = simulate(flags);
        EXPECT_EQ(run.status, 2) << run.err;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
    };
    refused({"--dp-epsilon", "1"}, "--clip: missing");
    refused({"--dp-delta", "1e-6"}, "--dp-delta: given with no --dp-epsilon");
    refused({"--secure", "--aggregate", "stack"}, "--aggregate: stack");
    refused({"--secure", "--method", "centralized"}, "--secure: given with --method centralized");
    refused({"--secure", "--save-state", "s.npz"}, "--save-state");
    refused({"--clip", "3", "--network", "decentralized"}, "without --secure");
    refused({"--dp-epsilon", "1", "--clip", "3", "--dp-noise", "distributed"}, "distributed without --secure");
}

}  // namespace
}  // namespace couplet::testing
