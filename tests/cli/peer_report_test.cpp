#include "peer_report.hpp"

#include "cli_test_support.hpp"
#include "trains.hpp"

namespace couplet::testing {
namespace {

net::PeerResult some_result() {
    net::PeerResult result;
    result.job = "00ff";
    result.spec.job =
        resolve_job({.network = Network::decentralized, .aggregate = Aggregate::subspace, .rank = 3, .seed = 4});
    result.graph = "ring";
    result.features.train = support::random_train<double>({6, 7}, {3, 2, 1}, 1);
    result.rse = 0.04;
    result.rse_per_client = {0.03, 0.05};
    result.personal_ranks = {3, 2};
    result.members = {"a", "c"};
    result.missing = {"b"};
    result.links = {{0, 1}};
    result.place = 1;
    result.restarts = 1;
    result.rounds = 9;
    result.lambda2 = 0.5;
    result.iterations = 4;
    result.numbers_per_link = 20.5;
    result.numbers_total = 1000;
    result.messages_sent = 12;
    return result;
}

TEST(PeerReport, HasTheFieldsOfASimulationAndWhoIsInIt) {
    const cli::Json json = cli::peer_json(some_result(), "out");
    EXPECT_EQ(json["rse"], 0.04);
    EXPECT_EQ(json["ranks"], (std::vector<int>{3, 2, 1}));
    EXPECT_EQ(json["numbers_up_per_client"], 20.5);
    EXPECT_TRUE(json["numbers_total"].is_number_integer());
    EXPECT_EQ(json["consensus"]["iterations"], 4);
    EXPECT_EQ(json["network"], "decentralized");
    EXPECT_EQ(json["aggregate"], "subspace");
    EXPECT_EQ(json["members"], (std::vector<std::string>{"a", "c"}));
    EXPECT_EQ(json["missing"], (std::vector<std::string>{"b"}));
    EXPECT_EQ(json["links"], (std::vector<std::vector<int>>{{1, 2}}));
    EXPECT_EQ(json["place"], 2);
    EXPECT_EQ(json["restarts"], 1);
    EXPECT_EQ(json["messages_sent"], 12);
    EXPECT_EQ(json["seed"], 4);
    EXPECT_EQ(json["output"], "out");
    for (const char* absent : {"rse_heldout", "rel_error_bound", "doubts"})
        EXPECT_FALSE(json.contains(absent)) << absent;
}

TEST(PeerReport, NamesWhomItDoubtsAndWhy) {
    net::PeerResult result = some_result();
    result.doubts = {{"c", "a norm far above the others"}};
    EXPECT_EQ(cli::peer_json(result, "out")["doubts"].dump(),
              R"([{"client":"c","reason":"a norm far above the others"}])");
}

TEST(PeerReport, GivesNoErrorWhenAReportWasLost) {
    net::PeerResult result = some_result();
    result.rse.reset();
    result.rse_per_client.clear();
    result.personal_ranks.clear();
    EXPECT_FALSE(cli::peer_json(result, "out").contains("rse"));
    EXPECT_EQ(cli::peer_text(result, "out").find("relative error"), std::string::npos);
}

TEST(PeerReport, SaysWhoIsMissing) {
    const std::string text = cli::peer_text(some_result(), "out");
    EXPECT_NE(text.find("2 of 3; without b"), std::string::npos) << text;
    EXPECT_NE(text.find("0.04 (relative error 0.2)"), std::string::npos) << text;
    EXPECT_NE(text.find("out/features.npz"), std::string::npos) << text;
}

}  // namespace
}  // namespace couplet::testing
