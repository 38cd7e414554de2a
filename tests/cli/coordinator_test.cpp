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

TEST_F(CoordinatorVerbTest, ClientsAreToldWhyItFailed) {
    const pid_t lead =
        background({"coordinator", "--kit", "kits/coordinator", "--rank", "3", "--deadline", "1500ms"}, "coordinator");
    const pid_t a = client("a");
    EXPECT_EQ(finish(lead), 1);
    EXPECT_EQ(finish(a), 1);
    const std::string reason = "1 of 2 clients came before the deadline: a; at least 2 must";
    EXPECT_NE(get("coordinator.err").find(reason), std::string::npos) << get("coordinator.err");
    EXPECT_NE(get("a.err").find(reason), std::string::npos) << get("a.err");
}

TEST_F(CoordinatorVerbTest, OneAtATime) {
    const pid_t lead = coordinator({"--rank", "3"});
    for (int i = 0; i < 400 && get("coordinator.err").find("listening") == std::string::npos; ++i) ::usleep(25'000);
    refused({"coordinator", "--kit", "kits/coordinator", "--rank", "4"}, 1, "another coordinator runs on this kit");
    ::kill(lead, SIGTERM);
    EXPECT_EQ(finish(lead), 143);
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
