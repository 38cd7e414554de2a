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
    EXPECT_NE(run.err.find("Only noise (--mu or --dp-epsilon) protects records"), std::string::npos) << run.err;
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

TEST_F(ShieldedSimulateTest, SecureHasABudgetUnlessItIsTakenAway) {
    const Outcome run = simulate({"--secure"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.err.find("not the records"), std::string::npos) << "noise protects them: " << run.err;
    const Json privacy = run.json()["privacy"];
    EXPECT_EQ(privacy["mu"], 4);
    EXPECT_EQ(privacy["policy"], "on");
    EXPECT_EQ(privacy["noise"], "distributed");
    EXPECT_EQ(privacy["threshold"], 3);
    EXPECT_GT(privacy["clip"], 0);
    EXPECT_LE(privacy["sums"], 4);
    EXPECT_FALSE(run.json().contains("bytes_raw"));
    EXPECT_TRUE(privacy["error"].contains("low"));
    double parts = 0;
    for (const auto& [sum, part] : privacy["split"].items()) {
        parts += part.get<double>();
        EXPECT_GT(privacy["sigma"][sum], 0);
    }
    EXPECT_NEAR(parts, 1, 1e-12);
    // Noise is drawn anew, whatever the seed.
    EXPECT_NE(simulate({"--secure"}).json()["rse"], run.json()["rse"]);
    for (const std::vector<std::string>& off :
         {std::vector<std::string>{"--policy", "off"}, std::vector<std::string>{"--mu", "off"}}) {
        std::vector<std::string> flags{"--secure"};
        flags.insert(flags.end(), off.begin(), off.end());
        const Outcome exact = simulate(flags);
        EXPECT_FALSE(exact.json()["privacy"].contains("mu"));
        EXPECT_NE(exact.err.find("not the records"), std::string::npos) << exact.err;
    }
}

TEST_F(ShieldedSimulateTest, EpsilonIsMuByAnotherName) {
    const Json mu = simulate({"--secure", "--mu", "1", "--clip", "6"}).json()["privacy"];
    const std::string epsilon = std::to_string(mu["epsilon"].get<double>());
    const Json same = simulate({"--secure", "--dp-epsilon", epsilon, "--clip", "6"}).json()["privacy"];
    EXPECT_NEAR(same["mu"], 1, 1e-5);
    EXPECT_NEAR(same["sigma"]["modes"].get<double>() / mu["sigma"]["modes"].get<double>(), 1, 1e-5);
    EXPECT_EQ(same["clip"], 6);
    const Json local = simulate({"--mu", "1"}).json()["privacy"];
    EXPECT_EQ(local["noise"], "local");
    EXPECT_EQ(local["against"], "everybody, the coordinator included");
    EXPECT_EQ(local["delta"], 1e-5);
    EXPECT_EQ(simulate({"--mu", "1", "--dp-noise", "central"}).json()["privacy"]["noise"], "central");
    EXPECT_EQ(local["not_covered"],
              (Json{"rse", "rse_heldout", "rse_per_client", "personal_ranks", "gain", "seconds"}));
}

TEST_F(ShieldedSimulateTest, DataInAnyUnitGivesTheSame) {
    const double rse = simulate({"--secure", "--mu", "1000"}).json()["rse"];
    for (const char* scale : {"1e17", "1e-17"}) {
        python(std::string("np.save('far.npy', np.load('x.npy') * ") + scale + ")");
        const Outcome run = couplet(
            {"simulate", "--split", "4", "far.npy", "--rank", "2", "--secure", "--mu", "1000", "--json", "--quiet"});
        ASSERT_EQ(run.status, 0) << run.err;
        EXPECT_NEAR(run.json()["rse"], rse, 0.02) << scale;
    }
}

TEST_F(ShieldedSimulateTest, SaysWhereNothingUsefulFits) {
    const Outcome run = simulate({"--secure", "--mu", "0.001"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.err.find("mu 0.001 is too little for about"), std::string::npos) << run.err;
}

TEST_F(ShieldedSimulateTest, APlainJobSaysWhatTheMaskedOneWouldGive) {
    const Outcome run = couplet({"simulate", "--split", "4", "x.npy", "--rank", "2"});
    EXPECT_NE(run.out.find("with --secure: RSE "), std::string::npos) << run.out;
    const Json first = simulate({}).json();
    EXPECT_EQ(first["masked"]["mu"], 4);
    EXPECT_GE(first["masked"]["rse"], first["rse"]);
    EXPECT_GT(first["masked"]["bytes_total"], 0);
    EXPECT_GT(first["masked"]["rounds"], 0);
    EXPECT_EQ(simulate({}).json()["masked"], first["masked"]) << "it follows from the seed";
    EXPECT_FALSE(simulate({"--plain"}).json().contains("masked"));
    EXPECT_FALSE(simulate({"--secure"}).json().contains("masked"));
    // Two sites cannot mask.
    EXPECT_FALSE(couplet({"simulate", "--split", "2", "x.npy", "--rank", "2", "--json"}).json().contains("masked"));
}

TEST_F(ShieldedSimulateTest, ADryRunShowsErrorsAgainstMu) {
    const Json json = simulate({"--secure", "--dry-run"}).json();
    ASSERT_EQ(json["expected"].size(), 5U);
    EXPECT_EQ(json["expected"][0]["mu"], 1);
    EXPECT_EQ(json["expected"][4]["mu"], "off");
    for (const Json& one : json["expected"]) {
        EXPECT_GT(one["rse"], 0);
        EXPECT_LT(one["rse"], 1);
    }
    EXPECT_EQ(json["dry_run"], true);
    EXPECT_FALSE(json.contains("rse"));
    const Outcome text = couplet({"simulate", "--split", "4", "x.npy", "--rank", "2", "--secure", "--dry-run"});
    EXPECT_NE(text.out.find("at mu 8, "), std::string::npos) << text.out;
}

TEST_F(ShieldedSimulateTest, PublishedFilesHaveNothingWithoutNoise) {
    const auto metadata = [&](const std::vector<std::string>& flags) {
        auto all = flags;
        all.insert(all.end(), {"-o", "out", "--force"});
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
    EXPECT_EQ(simulate({"--secure", "--dp-epsilon", "1", "--clip", "6"}).err.find("warning: epsilon"),
              std::string::npos);
    EXPECT_EQ(simulate({"--secure"}).err.find("warning: epsilon"), std::string::npos);
}

TEST_F(ShieldedSimulateTest, RefusesWhatMeansNothing) {
    const auto refused = [&](const std::vector<std::string>& flags, const std::string& message) {
        const Outcome run = simulate(flags);
        EXPECT_EQ(run.status, 2) << run.err;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err << "should say " << message;
    };
    refused({"--dp-delta", "1e-6"}, "--dp-delta: given with no budget");
    refused({"--secure", "--aggregate", "stack"}, "--aggregate: stack");
    refused({"--secure", "--method", "centralized"}, "--secure: given with --method centralized");
    refused({"--secure", "--save-state", "s.npz"}, "--save-state");
    refused({"--clip", "3", "--network", "decentralized"}, "without --secure");
    refused({"--mu", "1", "--dp-noise", "distributed"}, "distributed without --secure");
    refused({"--secure", "--dp-noise", "central"}, "central with --secure");
    refused({"--mu", "1", "--dp-epsilon", "1"}, "--mu: given with --dp-epsilon");
    refused({"--mu", "1", "--secure", "--policy", "off"}, "--policy: off with a budget");
    refused({"--mu", "off"}, "--mu: off without --secure");
    refused({"--mu", "0"}, "--mu: '0'; expected a number greater than 0");
    refused({"--plain", "--secure"}, "--plain: given with --secure");
    refused({"--secure", "--scale-clients", "norm"}, "--scale-clients: norm with a budget");
    refused({"--secure", "--sketch", "gram"}, "--sketch: given with a budget");
    refused({"--policy", "on"}, "--policy: on without --secure");
}

}  // namespace
}  // namespace couplet::testing
