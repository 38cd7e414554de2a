#include "cli_test_support.hpp"
#include "ports.hpp"

namespace couplet::testing {
namespace {

class PeerTest : public CliTest {
  protected:
    /// Kits for so many peers on a ring, in the folder kits, and their data in d.
    void provision(int peers) const {
        std::string list;
        for (int k = 1; k <= peers; ++k) {
            list += (k > 1 ? "," : "") + name(k) + "=127.0.0.1:" + std::to_string(support::free_port());
        }
        ASSERT_EQ(couplet({"provision", "--network", "decentralized", "--peers", list, "--graph", "ring", "-o",
                           path("kits"), "--quiet"})
                      .status,
                  0);
        ASSERT_EQ(couplet({"data", "synthetic", "36x6x7:rank=4,noise=0.05", "--clients", std::to_string(peers), "-o",
                           path("d"), "--quiet"})
                      .status,
                  0);
    }
    static std::string name(int k) { return "p" + std::to_string(k); }
    std::vector<std::string> command(int k, const std::vector<std::string>& flags) const {
        std::vector<std::string> words{"peer", "--kit", path("kits/" + name(k)), "--data",
                                       path("d/client_" + std::to_string(k) + ".npy")};
        words.insert(words.end(), flags.begin(), flags.end());
        return words;
    }
};

TEST_F(PeerTest, ThreeProcessesGiveWhatASimulationGives) {
    provision(3);
    std::vector<pid_t> running;
    for (int k = 1; k <= 3; ++k) {
        running.push_back(start(command(k, {"--rank", "3", "--json", "-o", path("r" + name(k))}), {},
                                ::open(path(name(k) + ".json").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600),
                                ::open(path(name(k) + ".err").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600)));
    }
    for (const pid_t process : running) EXPECT_EQ(finish(process), 0) << get("p1.err");
    const Outcome simulated =
        couplet({"simulate", path("d/client_1.npy"), path("d/client_2.npy"), path("d/client_3.npy"), "--network",
                 "decentralized", "--graph", "ring", "--rank", "3", "--json"});
    ASSERT_EQ(simulated.status, 0);
    const Json expected = simulated.json();
    for (int k = 1; k <= 3; ++k) {
        const Json json = Json::parse(get(name(k) + ".json"));
        for (const char* field : {"rse", "rse_per_client", "ranks", "personal_ranks", "rounds", "numbers_up_per_client",
                                  "numbers_total", "bytes_up", "seed", "network", "aggregate", "method"}) {
            EXPECT_EQ(json[field], expected[field]) << field;
        }
        EXPECT_EQ(json["members"], (std::vector<std::string>{"p1", "p2", "p3"}));
        EXPECT_TRUE(std::filesystem::exists(path("r" + name(k) + "/features.npz")));
        EXPECT_TRUE(std::filesystem::exists(path("r" + name(k) + "/personal.npz")));
    }
    const Outcome status = couplet({"status", "--kit", path("kits/p1")});
    EXPECT_EQ(status.status, 0);
    EXPECT_NE(status.out.find("state    done"), std::string::npos) << status.out;
    EXPECT_EQ(status.out.find("joined"), std::string::npos) << "of all alike: " << status.out;
    const Json stands = couplet({"status", "--kit", path("kits/p2"), "--json"}).json();
    EXPECT_EQ(stands["state"], "done");
    EXPECT_EQ(stands["members"], (std::vector<std::string>{"p1", "p2", "p3"}));
    EXPECT_EQ(stands["epochs"], 1);
    EXPECT_EQ(stands["neighbours"].size(), 2U);
    for (const Json& one : stands["neighbours"]) {
        EXPECT_TRUE(one["joined"]);
        EXPECT_GT(one["messages_sent"], 0);
        EXPECT_GT(one["bytes_received"], 0);
    }
    const Outcome again = couplet(command(1, {"--rank", "3", "-o", path("rp1")}));
    EXPECT_EQ(again.status, 2);
    EXPECT_NE(again.err.find("--force"), std::string::npos) << again.err;
}

TEST_F(PeerTest, MaskedSumsGiveEachPeerWhatASimulationGives) {
    provision(3);
    // Twelve patients each are too few for the defaults.
    std::vector<pid_t> running;
    for (int k = 1; k <= 3; ++k) {
        running.push_back(
            start(command(k, {"--rank", "3", "--secure", "--policy", "off", "--json", "-o", path("r" + name(k))}), {},
                  ::open(path(name(k) + ".json").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600),
                  ::open(path(name(k) + ".err").c_str(), O_CREAT | O_TRUNC | O_RDWR, 0600)));
    }
    for (const pid_t process : running) EXPECT_EQ(finish(process), 0) << get("p1.err");
    EXPECT_NE(get("p1.err").find("not the records"), std::string::npos) << get("p1.err");
    const Outcome simulated =
        couplet({"simulate", path("d/client_1.npy"), path("d/client_2.npy"), path("d/client_3.npy"), "--network",
                 "decentralized", "--graph", "ring", "--rank", "3", "--secure", "--policy", "off", "--json"});
    ASSERT_EQ(simulated.status, 0);
    const Json expected = simulated.json();
    for (int k = 1; k <= 3; ++k) {
        const Json json = Json::parse(get(name(k) + ".json"));
        const auto at = static_cast<std::size_t>(k - 1);
        EXPECT_NEAR(json["own_rse"].get<double>(), expected["rse_per_client"][at].get<double>(), 1e-9);
        EXPECT_FALSE(json.contains("rse"));
        EXPECT_EQ(json["privacy"]["sums"], expected["privacy"]["sums"]);
        EXPECT_EQ(json["privacy"]["policy"], "off");
        EXPECT_EQ(json["ranks"], expected["ranks"]);
    }
    const auto refused = [&](const std::vector<std::string>& flags, const std::string& words) {
        const Outcome outcome = couplet(command(1, flags));
        EXPECT_EQ(outcome.status, 2) << words;
        EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
    };
    refused({"--secure"}, "--rank");
    refused({"--secure", "--rank", "3", "--aggregate", "stack"}, "subspace with --secure");
    refused({"--rank", "3", "--dp-epsilon", "1"}, "no --secure");
    refused({"--secure", "--rank", "3", "--dp-epsilon", "1"}, "--clip");
    refused({"--secure", "--rank", "3", "--dp-epsilon", "1", "--clip", "3", "--heldout", "0.2"}, "--heldout");
    refused({"--secure", "--rank", "3", "--consensus", "plain"}, "--secure");
}

TEST_F(PeerTest, AloneItFailsByItsDeadlineAndSaysWhy) {
    provision(3);
    const Outcome outcome = couplet(command(2, {"--rank", "3", "--deadline", "1500ms"}));
    EXPECT_EQ(outcome.status, 1);
    EXPECT_TRUE(outcome.out.empty());
    EXPECT_NE(outcome.err.find("not reached: p1 (never seen), p3 (never seen)"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find("waiting for 2 of 3: p1, p3"), std::string::npos) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(path("kits/p2/features.npz")));
}

TEST_F(PeerTest, BadUsageIsTwo) {
    provision(2);
    const auto refused = [&](const std::vector<std::string>& flags, const std::string& expected) {
        const Outcome outcome = couplet(command(1, flags));
        EXPECT_EQ(outcome.status, 2) << outcome.err;
        EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
    };
    refused({"--rank", "3", "--deadline", "soon"}, "--deadline");
    refused({"--rank", "3", "--deadline", "1s"}, "--link-deadline");
    refused({"--rank", "3", "--aggregate", "stack", "--consensus", "tree"}, "--consensus");
    refused({"--rank", "3", "--aggregate", "average", "--passes", "2"}, "--passes");
    refused({"--rank", "3", "--graph", "ring"}, "--graph");
    refused({"--aggregate", "subspace"}, "rank");
    const Outcome missing =
        couplet({"peer", "--kit", path("nowhere"), "--data", path("d/client_1.npy"), "--rank", "3"});
    EXPECT_EQ(missing.status, 2);
    EXPECT_NE(missing.err.find("kit.toml"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace couplet::testing
