#include <regex>

#include "network_support.hpp"

namespace couplet::testing {
namespace {

class ClientVerbTest : public NetworkVerbTest {};

TEST_F(ClientVerbTest, RefusesWhatMakesNoSense) {
    refused({"client", "--kit", "none", "--data", "a.npy"}, 2, "no such file");
    refused({"client", "--kit", "kits/a", "--data", "none.npy"}, 2, "no such file");
    refused({"client", "--kit", "kits/coordinator", "--data", "a.npy"}, 2, "the kit of a coordinator");
    refused({"client", "--kit", "kits/a", "--data", "a.npy", "--deadline", "100ms"}, 1, "a job that goes on within");
    shell("chmod 644 kits/a/key.pem");
    refused({"client", "--kit", "kits/a", "--data", "a.npy"}, 2, "chmod 600");
}

TEST_F(ClientVerbTest, ToldWhyItIsRefused) {
    couplet({"provision", "--revoke", "b", "-o", "kits"});
    const pid_t lead = coordinator({"--rank", "3"});
    const Outcome run = couplet({"client", "--kit", "kits/b", "--data", "b.npy", "--deadline", "600s"});
    EXPECT_EQ(run.status, 1);
    EXPECT_NE(run.err.find("a certificate that was revoked"), std::string::npos) << run.err;
    ::kill(lead, SIGTERM);
    EXPECT_EQ(finish(lead), 143);
}

TEST_F(ClientVerbTest, ASiteDecidesForItselfAndBothEndsLearnWhy) {
    const pid_t lead = coordinator({"--rank", "3", "--heldout", "0.4"});
    put("kits/a/policy.toml", "max_heldout = 0.25\n");
    const Outcome own = couplet({"client", "--kit", "kits/a", "--data", "a.npy", "--deadline", "600s"});
    EXPECT_EQ(own.status, 2);
    EXPECT_NE(own.err.find("this site's policy: a job that holds out 0.4 of the patients"), std::string::npos)
        << own.err;
    EXPECT_NE(own.err.find("the job: aggregate stack, rank 3, 0.4 held out, 2 clients on the roster"),
              std::string::npos);
    // Five of nine patients take part: fewer than the defaults allow.
    const Outcome few = couplet({"client", "--kit", "kits/b", "--data", "b.npy", "--deadline", "600s"});
    EXPECT_EQ(few.status, 2);
    EXPECT_NE(few.err.find("(min_patients)"), std::string::npos) << few.err;
    const Outcome asked =
        couplet({"client", "--kit", "kits/b", "--data", "b.npy", "--deadline", "600s", "--policy", "off", "--ask"});
    EXPECT_EQ(asked.status, 2);
    EXPECT_NE(asked.err.find("no terminal to ask on"), std::string::npos) << asked.err;
    ::kill(lead, SIGTERM);
    EXPECT_EQ(finish(lead), 143);
    EXPECT_NE(get("coordinator.err").find("refused: this site's policy"), std::string::npos) << get("coordinator.err");
    refused({"client", "--kit", "kits/a", "--data", "a.npy", "--policy", "none.toml"}, 2, "none.toml");
    put("odd.toml", "min_pateints = 5\n");
    refused({"client", "--kit", "kits/a", "--data", "a.npy", "--policy", "odd.toml"}, 2, "the key min_pateints");
}

/// Parties tell each other of parameters; every line that people read here has the options of the command line.
TEST_F(ClientVerbTest, BothEndsReadOfOptionsWhereverItIsWritten) {
    shell("sed -i 's/^http_port.*/http_port = 0/' kits/coordinator/kit.toml");
    const pid_t lead = coordinator({"--rank", "3"});
    put("kits/a/policy.toml", "aggregates = [\"subspace\"]\n");
    const Outcome own = couplet({"client", "--kit", "kits/a", "--data", "a.npy", "--deadline", "600s", "--json"});
    const std::string said = "a job with --aggregate stack; expected subspace (aggregates)";
    const std::string remedy = "policy.toml in its kit, or --policy.";
    EXPECT_EQ(own.status, 2);
    EXPECT_NE(own.err.find(said), std::string::npos) << own.err;
    const auto error = nlohmann::json::parse(own.out)["error"];
    EXPECT_EQ(error["found"], "a job with --aggregate stack");
    EXPECT_TRUE(error["remedy"].get<std::string>().ends_with(remedy)) << error;
    std::smatch page;
    const std::string log = get("coordinator.err");
    ASSERT_TRUE(std::regex_search(log, page, std::regex("status page on (http://[^ ]*)/"))) << log;
    shell("curl -s " + page[1].str() + "/status.json > status.json");
    const auto clients = nlohmann::json::parse(get("status.json"))["clients"];
    EXPECT_NE(clients[0]["last_refusal"].get<std::string>().find(said), std::string::npos) << clients;
    ::kill(lead, SIGTERM);
    EXPECT_EQ(finish(lead), 143);
    for (const char* file :
         {"coordinator.err", "kits/coordinator/log.jsonl", "kits/a/log.jsonl", "kits/a/audit.jsonl"}) {
        EXPECT_NE(get(file).find(said), std::string::npos) << file << "\n" << get(file);
        EXPECT_NE(get(file).find(remedy), std::string::npos) << file << "\n" << get(file);
    }
    for (const char* file : {"coordinator.err", "status.json", "kits/coordinator/log.jsonl",
                             "kits/coordinator/audit.jsonl", "kits/a/log.jsonl", "kits/a/audit.jsonl"}) {
        EXPECT_EQ(get(file).find('`'), std::string::npos) << file << "\n" << get(file);
    }
}

TEST_F(ClientVerbTest, WarnsOfAJobThatRevealsPatients) {
    // Sparse records, as health records are.
    python(
        "r = np.random.default_rng(3); x = np.zeros((40, 30, 20))\n"
        "for i in range(40): x.reshape(40, -1)[i, r.integers(0, 600, 6)] = 1\n"
        "np.save('a.npy', x)\n");
    const pid_t lead = coordinator({"--rank", "18"});
    const pid_t waiting = client("a");
    EXPECT_TRUE(support::eventually([&] { return get("a.err").find("agreed to") != std::string::npos; }));
    EXPECT_NE(get("a.err").find("warning: what this job asks for, tried on this data: reveals individual patients"),
              std::string::npos)
        << get("a.err");
    ::kill(waiting, SIGTERM);
    finish(waiting);
    ::kill(lead, SIGTERM);
    EXPECT_EQ(finish(lead), 143);
}

TEST_F(ClientVerbTest, TwoJobsThatDifferByOnePatientAreNotBothAnswered) {
    for (const char* name : {"a", "b"}) {
        put(std::string("kits/") + name + "/policy.toml",
            "min_patients = 1\nmax_rank_share = 0.9\nmax_directions_share = 0.9\n");
    }
    const auto job = [&](const std::vector<std::string>& flags) {
        const pid_t lead = coordinator(flags);
        const std::vector<pid_t> sites{client("a", {"--force"}), client("b", {"--force"})};
        std::vector<int> codes;
        for (const pid_t site : sites) codes.push_back(finish(site));
        if (codes[0] != 0) ::kill(lead, SIGTERM);
        finish(lead);
        return codes;
    };
    EXPECT_EQ(job({"--rank", "3", "--force"}), (std::vector<int>{0, 0})) << get("a.err");
    EXPECT_NE(get("a.err").find("allows what the defaults refuse: min_patients, max_rank_share, max_directions_share"),
              std::string::npos);
    EXPECT_EQ(job({"--rank", "3", "--force"}), (std::vector<int>{0, 0})) << "the same shows nothing new";
    EXPECT_EQ(job({"--rank", "3", "--heldout", "0.1", "--force"}), (std::vector<int>{2, 2}));
    EXPECT_NE(get("a.err").find("but for 1, who are what both differ by"), std::string::npos) << get("a.err");
    EXPECT_NE(get("a.err").find("(any_cohort)"), std::string::npos);
    EXPECT_NE(get("coordinator.err").find("refused: this site's policy"), std::string::npos);
}

}  // namespace
}  // namespace couplet::testing
