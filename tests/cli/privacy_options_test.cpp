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
    EXPECT_EQ(last["policy"][0], "records clipped at norm 3");
    const Outcome without = couplet({"audit", "--split", "3", "x.npy", "--rank", "2", "--json", "--quiet"});
    EXPECT_EQ(without.json()["findings"].back()["mode"], "secure");
    // A clip that was looked up in the data would be no guarantee.
    const Outcome clipless = couplet({"audit", "--split", "3", "x.npy", "--rank", "2", "--dp-epsilon", "0.5"});
    EXPECT_EQ(clipless.status, 2);
    EXPECT_NE(clipless.err.find("--clip: missing with --dp-epsilon"), std::string::npos) << clipless.err;
    const Outcome weak = couplet({"audit", "--split", "3", "x.npy", "--rank", "2", "--dp-epsilon", "1000000", "--clip",
                                  "3", "--json", "--quiet"});
    ASSERT_EQ(weak.status, 0) << weak.err;
    EXPECT_NE(weak.json()["findings"].back()["verdict"], "differentially-private");
    EXPECT_TRUE(weak.json()["findings"].back()["guarantee"].contains("weakness"));
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
    EXPECT_NE(run.err.find("warning: masking hides who contributed what, not the records"), std::string::npos);
    EXPECT_NE(run.err.find("Only noise (--dp-epsilon) protects records"), std::string::npos) << run.err;
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
    EXPECT_NE(run.err.find("not the records"), std::string::npos) << "the policy does not change that: " << run.err;
    const Json privacy = run.json()["privacy"];
    EXPECT_EQ(privacy["policy"], "on");
    EXPECT_GT(privacy["clip"], 0);
    EXPECT_LE(privacy["directions"], 15);
    EXPECT_NE(run.err.find("policy: "), std::string::npos);
    // A longer clip does not take the policy's away.
    EXPECT_EQ(simulate({"--secure", "--clip", "1e9"}).json()["privacy"]["clip"], privacy["clip"]);
}

TEST_F(ShieldedSimulateTest, DataThatDoesNotFitTheMasksIsRefused) {
    for (const char* scale : {"1e50", "1e-50"}) {
        python(std::string("np.save('far.npy', np.load('x.npy') * ") + scale + ")");
        const Outcome run = couplet({"simulate", "--split", "4", "far.npy", "--rank", "2", "--secure", "--json"});
        EXPECT_EQ(run.status, 2) << scale << run.out;
        EXPECT_NE(run.err.find("a norm of"), std::string::npos) << run.err;
    }
}

TEST_F(ShieldedSimulateTest, NoiseIsAnnouncedWithWhatItMayCost) {
    const Outcome run = simulate({"--dp-epsilon", "1", "--clip", "6"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.err.find("the RSE rises by at most about 0.01 with"), std::string::npos) << run.err;
    EXPECT_EQ(run.err.find("with the patients of --dp-patients"), std::string::npos) << run.err;
    const Json privacy = run.json()["privacy"];
    EXPECT_GT(privacy["patients_needed"], 1000);
    EXPECT_FALSE(privacy.contains("expected_loss"));
    EXPECT_GT(privacy["noise_cost"], 0);
    // Nothing that counts patients, and what has no noise is named.
    EXPECT_FALSE(privacy.contains("clipped"));
    EXPECT_FALSE(run.json().contains("bytes_raw"));
    EXPECT_EQ(privacy["not_covered"], (Json{"rse", "rse_per_client", "personal_ranks", "seconds"}));
    const Outcome told = simulate({"--dp-epsilon", "1", "--clip", "6", "--dp-patients", "10"});
    EXPECT_EQ(told.json()["privacy"]["expected_loss"], 1) << told.err;
    EXPECT_NE(told.err.find("nothing may be left of the features"), std::string::npos) << told.err;
    EXPECT_EQ(privacy["epsilon"], 1);
    EXPECT_EQ(privacy["delta"], 1e-5);
    EXPECT_EQ(privacy["noise"], "local");
    EXPECT_EQ(privacy["against"], "everybody, the coordinator included");
    EXPECT_EQ(simulate({"--secure", "--dp-epsilon", "1", "--clip", "6"}).json()["privacy"]["noise"], "distributed");
}

TEST_F(ShieldedSimulateTest, PublishedFilesHaveNothingWithoutNoise) {
    const auto metadata = [&](const std::vector<std::string>& flags) {
        auto all = flags;
        all.insert(all.end(), {"-o", "out", "--force", "--sketch", "gram"});
        const Outcome run = simulate(all);
        EXPECT_EQ(run.status, 0) << run.err;
        return Json::parse(python("print(str(np.load('out/features.npz')['meta_json']))"));
    };
    const Json open = metadata({"--aggregate", "subspace"});
    const Json first = metadata({"--dp-epsilon", "1", "--clip", "6", "--dp-noise", "central"});
    const Json second = metadata({"--dp-epsilon", "1", "--clip", "6", "--dp-noise", "central"});
    for (const char* field : {"rse", "rse_per_client", "gain", "rel_error_bound"}) {
        EXPECT_FALSE(first.contains(field)) << field;
    }
    EXPECT_TRUE(open.contains("rse"));
    EXPECT_EQ(first["seed"], second["seed"]);
    // The same seed, and other noise.
    EXPECT_NE(first["sigma"], second["sigma"]);
}

TEST_F(ShieldedSimulateTest, WarnsOfAGuaranteeThatPromisesLittle) {
    const Outcome run = simulate({"--dp-epsilon", "100", "--clip", "6"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.err.find("warning: epsilon 100 is more than 10"), std::string::npos) << run.err;
    EXPECT_EQ(simulate({"--secure", "--dp-epsilon", "1", "--clip", "6"}).err.find("warning"), std::string::npos);
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
    refused({"--dp-epsilon", "1", "--clip", "3", "--heldout", "0.2"}, "--heldout: given with --dp-epsilon");
    refused({"--dp-epsilon", "1", "--clip", "3", "--scale-clients", "norm"}, "--scale-clients: norm with --dp-epsilon");
    refused({"--dp-epsilon", "1", "--clip", "3", "--secure", "--policy", "on"}, "--policy: on with --dp-epsilon");
    refused({"--policy", "on"}, "--policy: on without --secure");
    refused({"--dp-patients", "10"}, "--dp-patients: given with no --dp-epsilon");
}

}  // namespace
}  // namespace couplet::testing
