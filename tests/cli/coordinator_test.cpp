#include "network_support.hpp"

namespace couplet::testing {
namespace {

class CoordinatorVerbTest : public NetworkVerbTest {};

TEST_F(CoordinatorVerbTest, GivesTheJsonAndTheCoresOfASimulation) {
    const pid_t lead = coordinator({"--rank", "3", "--save-state", "state.npz"});
    const pid_t a = client("a");
    const pid_t b = client("b", {"-o", "out"});
    EXPECT_EQ(finish(lead), 0) << get("coordinator.err");
    EXPECT_EQ(finish(a), 0) << get("a.err");
    EXPECT_EQ(finish(b), 0) << get("b.err");
    const Json real = Json::parse(get("coordinator.out"));
    const Json expected =
        couplet({"simulate", "a.npy", "b.npy", "--rank", "3", "--json", "-o", "sim", "--quiet"}).json();
    for (const auto& [field, value] : expected.items()) {
        // The raw data is the clients' to know.
        if (field == "seconds" || field == "output" || field == "bytes_raw") continue;
        EXPECT_EQ(real[field], value) << field;
    }
    EXPECT_EQ(
        python(
            "s = np.load('sim/features.npz')\n"
            "same = all((np.load(f)[c] == s[c]).all() for c in ('core_2', 'core_3')\n"
            "           for f in ('kits/coordinator/features.npz', 'kits/a/features.npz', 'out/features.npz'))\n"
            "for k, f in ((1, 'kits/a'), (2, 'out')):\n"
            "    same &= (np.load(f'sim/personal_{k}.npz')['core_1'] == np.load(f + '/personal.npz')['core_1']).all()\n"
            "print(same)"),
        "True\n");
    EXPECT_TRUE(std::filesystem::exists(path("state.npz")));
    EXPECT_NE(get("kits/coordinator/log.jsonl").find("\"event\":\"joined\""), std::string::npos);
    // The next job replaces nothing without being told to, and the one before stays as it is.
    const std::string before = get("kits/coordinator/job/job.json");
    refused({"coordinator", "--kit", "kits/coordinator", "--rank", "3"}, 2, "of another job");
    EXPECT_EQ(get("kits/coordinator/job/job.json"), before);
}

TEST_F(CoordinatorVerbTest, SecureSumsGiveTheJsonOfASimulation) {
    python(
        "r = np.random.default_rng(6); w = r.standard_normal((4, 5, 4))\n"
        "for name in 'abc':\n"
        "    np.save(name + '.npy', np.einsum('ia,ajk->ijk', r.random((200, 4)), w))\n");
    const int port = support::free_port();
    couplet({"provision", "--coordinator", "127.0.0.1:" + std::to_string(port), "--clients", "a,b,c", "-o", "three"});
    shell("rm -r kits; mv three kits; sed -i 's/^http_port.*/http_port = -1/' kits/coordinator/kit.toml");
    const std::vector<std::string> flags{"--secure", "--policy", "off", "--rank", "3"};
    pid_t lead = coordinator(flags);
    std::vector<pid_t> clients{client("a"), client("b"), client("c")};
    EXPECT_EQ(finish(lead), 0) << get("coordinator.err");
    for (const pid_t one : clients) EXPECT_EQ(finish(one), 0) << get("a.err");
    // Both ends are told what masks do not hide.
    EXPECT_NE(get("coordinator.err").find("not the records"), std::string::npos) << get("coordinator.err");
    EXPECT_NE(get("a.err").find("not the records"), std::string::npos) << get("a.err");
    const Json real = Json::parse(get("coordinator.out"));
    const Json expected = couplet({"simulate", "a.npy", "b.npy", "c.npy", "--rank", "3", "--secure", "--policy", "off",
                                   "--json", "--quiet"})
                              .json();
    for (const char* field :
         {"ranks", "personal_ranks", "rounds", "numbers_up_per_client", "numbers_down_per_client"}) {
        EXPECT_EQ(real[field], expected[field]) << field;
    }
    for (const char* field : {"secure", "policy", "sums", "directions", "ring_bits", "threshold", "clip", "changes"}) {
        EXPECT_EQ(real["privacy"].value(field, Json()), expected["privacy"].value(field, Json())) << field;
    }
    EXPECT_FALSE(real.contains("rse") || real.contains("rse_per_client"));
    EXPECT_NEAR(Json::parse(get("a.out"))["rse"], expected["rse_per_client"][0].get<double>(), 1e-9);
    // With noise every client books what the job spends, and refuses the next that its budget does not cover.
    put("kits/b/policy.toml", "dp_epsilon = 1.5\n");
    const std::vector<std::string> noised{"--secure", "--rank", "3", "--dp-epsilon", "1", "--clip", "5", "--force"};
    lead = coordinator(noised);
    clients = {client("a", {"--force"}), client("b", {"--force"}), client("c", {"--force"})};
    EXPECT_EQ(finish(lead), 0) << get("coordinator.err");
    for (const pid_t one : clients) EXPECT_EQ(finish(one), 0) << get("b.err");
    EXPECT_GT(Json::parse(get("coordinator.out"))["privacy"]["patients_needed"], 100);
    EXPECT_NE(get("coordinator.err").find("noise of standard deviation"), std::string::npos);
    EXPECT_EQ(get("coordinator.err").find("not the records"), std::string::npos) << "noise protects them";
    const Json account = couplet({"client", "--kit", "kits/b", "--data", "b.npy", "--account", "--json"}).json();
    ASSERT_EQ(account["data"].size(), 1U);
    EXPECT_NEAR(account["data"][0]["epsilon"], 1, 1e-3);
    EXPECT_TRUE(account["data"][0]["given"]);
    lead = coordinator({"--secure", "--rank", "3", "--dp-epsilon", "1.3", "--clip", "5", "--force"});
    clients = {client("a", {"--force"}), client("b", {"--force"}), client("c", {"--force"})};
    EXPECT_EQ(finish(lead), 1);
    for (const pid_t one : clients) EXPECT_NE(finish(one), 0);
    EXPECT_NE(get("b.err").find("privacy budget: epsilon"), std::string::npos) << get("b.err");
    // What other jobs have spent is not the coordinator's business.
    EXPECT_NE(get("coordinator.err").find("privacy budget: refused; the client's own log says why"), std::string::npos)
        << get("coordinator.err");
    EXPECT_EQ(get("coordinator.err").find("before it"), std::string::npos) << get("coordinator.err");
    // Nor is how many patients there are, which masks hide.
    put("kits/b/policy.toml", "min_patients = 1000\n");
    lead = coordinator({"--secure", "--rank", "3", "--force"});
    const pid_t few = client("b", {"--force"});
    EXPECT_EQ(finish(few), 2);
    ::kill(lead, SIGTERM);
    finish(lead);
    EXPECT_NE(get("b.err").find("patients take part; expected at least 1000"), std::string::npos) << get("b.err");
    EXPECT_NE(get("coordinator.err").find("this site's policy: refused (min_patients)"), std::string::npos)
        << get("coordinator.err");
    EXPECT_EQ(get("coordinator.err").find("patients take part"), std::string::npos);
}

TEST_F(CoordinatorVerbTest, RefusesSecureSumsThatMeanNothing) {
    const std::vector<std::string> start{"coordinator", "--kit", "kits/coordinator", "--rank", "3"};
    const auto with = [&](std::vector<std::string> flags) {
        flags.insert(flags.begin(), start.begin(), start.end());
        return flags;
    };
    refused(with({"--secure"}), 2, "2 clients on the roster");
    refused(with({"--secure", "--aggregate", "stack"}), 2, "subspace with --secure");
    refused(with({"--secure", "--insecure"}), 2, "--insecure");
    refused(with({"--dp-epsilon", "1"}), 2, "it with --secure");
    refused(with({"--secure", "--dp-epsilon", "1"}), 2, "--clip: missing");
    refused(with({"--secure", "--dp-noise", "central"}), 2, "distributed or local");
    refused(with({"--secure", "--centre"}), 2, "--centre");
    refused(with({"--secure", "--scale"}), 2, "--scale");
    refused(with({"--secure", "--dp-epsilon", "1", "--clip", "2", "--heldout", "0.2"}), 2, "--heldout");
    refused({"coordinator", "--kit", "kits/coordinator", "--secure"}, 2, "--rank: missing");
}

TEST_F(CoordinatorVerbTest, CentresAsASimulationDoesAndSaysWhatJoiningBrings) {
    const std::vector<std::string> flags{"--rank", "2", "--seed", "7", "--centre", "--scale", "--heldout", "0.2"};
    const pid_t lead = coordinator(flags);
    // Means, deviations and two rows are more than a site of seven would show.
    const pid_t a = client("a", {"--policy", "off"});
    const pid_t b = client("b", {"--policy", "off"});
    EXPECT_EQ(finish(lead), 0) << get("coordinator.err");
    EXPECT_EQ(finish(a), 0) << get("a.err");
    EXPECT_EQ(finish(b), 0) << get("b.err");
    std::vector<std::string> words{"simulate", "a.npy", "b.npy", "-o", "result", "--json"};
    words.insert(words.end(), flags.begin(), flags.end());
    const Json expected = couplet(words).json();
    const Json found = Json::parse(get("coordinator.out"));
    for (const char* key :
         {"rse", "rse_heldout", "rse_per_client", "ranks", "rounds", "numbers_total", "bytes_up", "bytes_down"}) {
        EXPECT_EQ(found[key], expected[key]) << key;
    }
    for (const int k : {0, 1}) {
        const Json own = Json::parse(get(k == 0 ? "a.out" : "b.out"));
        EXPECT_EQ(own["gain"]["alone"], expected["gain"][k]["alone"]);
        EXPECT_EQ(own["gain"]["together"], expected["gain"][k]["together"]);
    }
    // The same centring everywhere, and what it undoes is the data.
    EXPECT_EQ(python("import json\n"
                     "told = [json.loads(str(np.load(f)['meta_json']))['centring'] for f in ('result/features.npz',\n"
                     "        'kits/coordinator/features.npz', 'kits/a/features.npz', 'kits/b/features.npz')]\n"
                     "print(all(one == told[0] for one in told), len(told[0]['mean']), len(told[0]['scale']))"),
              "True 20 20\n");
    EXPECT_LT(couplet({"project", "kits/a/features.npz", "a.npy", "--json"}).json()["rse"].get<double>(), 1);
    const Outcome back =
        couplet({"reconstruct", "kits/a/features.npz", "--personal", "kits/a/personal.npz", "-o", "back.npy"});
    EXPECT_EQ(back.status, 0) << back.err;
    EXPECT_EQ(python("means = [np.load(f).mean(0).ravel() for f in ('back.npy', 'a.npy')]\n"
                     "print(np.corrcoef(*means)[0, 1] > 0.9)"),
              "True\n");
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{"--late", "merge"}, {"--missing", "impute"}, {"--save-state", "s.npz"}}) {
        std::vector<std::string> bad{"coordinator", "--kit", "kits/coordinator", "--rank", "2", "--centre"};
        bad.insert(bad.end(), more.begin(), more.end());
        refused(bad, 2, "--centre");
    }
}

TEST_F(CoordinatorVerbTest, ClientsAreToldWhyItFailed) {
    const pid_t lead = background({"coordinator", "--kit", "kits/coordinator", "--rank", "3", "--deadline",
                                   support::text_of(support::at_ease(std::chrono::milliseconds(1500)))},
                                  "coordinator");
    const pid_t a = client("a");
    EXPECT_EQ(finish(lead), 1);
    EXPECT_EQ(finish(a), 1);
    const std::string reason = "1 of 2 clients came before the deadline: a; at least 2 must";
    EXPECT_NE(get("coordinator.err").find(reason), std::string::npos) << get("coordinator.err");
    EXPECT_NE(get("a.err").find(reason), std::string::npos) << get("a.err");
}

TEST_F(CoordinatorVerbTest, OneAtATime) {
    const pid_t lead = coordinator({"--rank", "3"});
    EXPECT_TRUE(support::eventually([&] { return get("coordinator.err").find("listening") != std::string::npos; }));
    refused({"coordinator", "--kit", "kits/coordinator", "--rank", "4"}, 1, "another coordinator runs on this kit");
    ::kill(lead, SIGTERM);
    EXPECT_EQ(finish(lead), 143);
}

/// Clients of norm 1 and clients as they are do not mix.
TEST_F(CoordinatorVerbTest, ASavedMergeGoesOnAsItWasBegun) {
    const std::vector<std::string> begin{"simulate", "a.npy", "b.npy", "--rank", "3", "--quiet"};
    const auto save = [&](const std::string& state, const std::vector<std::string>& more) {
        std::vector<std::string> arguments = begin;
        arguments.insert(arguments.end(), {"--save-state", state});
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome run = couplet(arguments);
        EXPECT_EQ(run.status, 0) << run.err;
    };
    save("plain.npz", {});
    save("scaled.npz", {"--scale-clients", "norm"});
    const std::vector<std::string> lead{"coordinator", "--kit", "kits/coordinator", "--rank", "3", "--resume"};
    const auto resume = [&](const std::string& state, const std::vector<std::string>& more) {
        std::vector<std::string> arguments = lead;
        arguments.push_back(state);
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    };
    refused(resume("plain.npz", {"--scale-clients", "norm"}), 2,
            "plain.npz: a merge of clients as they are; expected a merge of clients of norm 1. Leave --scale-clients "
            "out, as it was begun.");
    refused(resume("scaled.npz", {}), 2,
            "scaled.npz: a merge of clients of norm 1; expected a merge of clients as they are. Use --scale-clients "
            "norm, as it was begun.");
    EXPECT_FALSE(std::filesystem::exists(path("kits/coordinator/job"))) << "no job was begun";
}

TEST_F(CoordinatorVerbTest, RefusesWhatMakesNoSense) {
    const auto bad = [&](std::vector<std::string> flags, const std::string& message) {
        flags.insert(flags.begin(), {"coordinator", "--kit", "kits/coordinator"});
        refused(flags, 2, message);
    };
    refused({"coordinator", "--kit", "none"}, 2, "no such file");
    refused({"coordinator", "--kit", "kits/a"}, 2, "the kit of a client");
    bad({"--deadline", "soon"}, "--deadline");
    bad({"--min-clients", "3"}, "--min-clients");
    bad({"--passes", "2"}, "--passes");
    bad({"--aggregate", "average", "--rank", "3", "--late", "merge"}, "--late");
    bad({"--aggregate", "average", "--rank", "3", "--save-state", "s.npz"}, "--save-state");
    bad({"--aggregate", "average", "--rank", "3", "--heldout", "0.2"}, "--heldout");
    bad({"--missing", "impute"}, "--rank R, and no --eps");
    bad({"--missing", "impute", "--rank", "3", "--eps", "0.1"}, "--rank R, and no --eps");
    bad({"--missing", "impute", "--rank", "3", "--heldout", "0.2"}, "--heldout");
    bad({"--missing", "impute", "--rank", "3", "--late", "merge"}, "--late");
    bad({"--missing", "impute", "--rank", "3", "--save-state", "s.npz"}, "--save-state");
    bad({"--missing", "impute", "--rank", "3", "--aggregate", "average", "--no-refit"}, "--no-refit");
    refused({"coordinator", "--kit", "kits/coordinator", "--rank", "3", "--deadline", "100ms"}, 1,
            "0 of 2 clients came before the deadline");
}

}  // namespace
}  // namespace couplet::testing
