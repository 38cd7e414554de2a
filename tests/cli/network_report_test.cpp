#include "network_report.hpp"

#include "cli_test_support.hpp"
#include "couplet/core/error.hpp"
#include "result_folder.hpp"

namespace couplet::testing {
namespace {

using cli::JobOutput;

class NetworkReportTest : public CliTest {
  protected:
    static net::CoordinatorResult some_result() {
        net::CoordinatorResult r;
        r.job = "00ff";
        r.members = {"a", "c"};
        r.late = {"d"};
        r.missing = {"b"};
        r.rse_per_client = {0.1, 0.2, 0.3};
        r.rse_late_merges = {0, 0, 1};
        r.rel_error_bound = 0.5;
        r.ranks = {3, 2, 1};
        r.personal_ranks = {3, 3, 2};
        r.rounds = 2;
        r.bytes_up = 1024;
        r.spec.job.seed = 7;
        return r;
    }
};

TEST_F(NetworkReportTest, WhatWasFilledInIsSaidByBoth) {
    auto lead = some_result();
    lead.imputed = MissingReport{.fraction = 0.5, .iterations = 4, .change = 0.01, .settled = false};
    const Json json = Json::parse(cli::coordinator_json(lead, "out").dump());
    EXPECT_EQ(json["imputed"]["settled"], false);
    EXPECT_EQ(json["imputed"]["iterations"], 4);
    EXPECT_EQ(json["missing"], Json({"b"}));
    EXPECT_NE(cli::coordinator_text(lead, "out").find("NO: the filled values still move"), std::string::npos);
}

TEST_F(NetworkReportTest, ACoordinatorHasTheFieldsOfASimulationAndSaysWhoIsIn) {
    const Json json = Json::parse(cli::coordinator_json(some_result(), "out").dump());
    for (const char* field :
         {"rse_per_client", "rel_error_bound", "ranks", "personal_ranks", "rounds", "numbers_up_per_client",
          "numbers_down_per_client", "numbers_total", "bytes_up", "bytes_down", "seconds", "method", "network",
          "aggregate", "clients", "seed", "version", "job", "members"}) {
        EXPECT_TRUE(json.contains(field)) << field;
    }
    EXPECT_EQ(json["clients"], 3);
    EXPECT_EQ(json["missing"], Json({"b"}));
    EXPECT_FALSE(json.contains("imputed"));
    const std::string text = cli::coordinator_text(some_result(), "out");
    for (const char* part : {"3 of 4: a, c, d; without b", "merged late", "0.2", "out/features.npz"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << text;
    }
    auto silent = some_result();
    silent.rse_per_client.clear();
    EXPECT_FALSE(cli::coordinator_json(silent, "out").contains("rse_per_client"));
    EXPECT_EQ(cli::coordinator_text(silent, "out").find("RSE"), std::string::npos);
}

TEST_F(NetworkReportTest, AnErrorIsThatOfFeaturesWhichAreNamed) {
    const Json late = Json::parse(cli::coordinator_json(some_result(), "out").dump());
    EXPECT_FALSE(late.contains("rse"));
    EXPECT_EQ(late["rse_late_merges"], Json({0, 0, 1}));
    const std::string text = cli::coordinator_text(some_result(), "out");
    for (const char* part : {"with the features of", "the members\n", "the members, d\n"}) {
        EXPECT_NE(text.find(part), std::string::npos) << part << text;
    }
    auto together = some_result();
    together.members = {"a", "c", "d"};
    together.late.clear();
    together.rse = 0.25;
    const Json json = Json::parse(cli::coordinator_json(together, "out").dump());
    EXPECT_EQ(json["rse"], 0.25);
    EXPECT_FALSE(json.contains("rse_late_merges"));
    EXPECT_EQ(cli::coordinator_text(together, "out").find("with the features of"), std::string::npos);
}

TEST_F(NetworkReportTest, AClientAndAStatusReadWell) {
    net::ClientResult r;
    r.job = "00ff";
    r.members = {"a"};
    r.rse = 0.25;
    r.personal_rank = 3;
    const Json json = Json::parse(cli::client_json(r, "out").dump());
    EXPECT_EQ(json["rse"], 0.25);
    EXPECT_EQ(json["personal_ranks"], Json({3}));
    EXPECT_NE(cli::client_text(r, "out").find("1 of 1: a"), std::string::npos);
    net::StatusReport status;
    status.phase = "joining";
    status.clients.push_back({"hospital-c", "absent", {}, 0, 0, {}, ""});
    status.waiting = {"hospital-c"};
    const std::string text = cli::status_text(status);
    EXPECT_NE(text.find("for 1 of 1: hospital-c"), std::string::npos) << text;
    EXPECT_NE(text.find("absent"), std::string::npos);
}

TEST_F(NetworkReportTest, ResultsOfTheSameJobAreReplacedOthersAreNot) {
    Features features;
    cli::save_features(path("features.npz"), features, {}, {{"job", "one"}}, true);
    const JobOutput output(folder_, {"features.npz"}, false);
    EXPECT_NO_THROW(output.require_free("one"));
    EXPECT_THROW(output.require_free("two"), InputError);
    EXPECT_NO_THROW(JobOutput(folder_, {"features.npz"}, true).require_free("two"));
    put("features.npz", "something else");
    EXPECT_THROW(output.require_free("one"), InputError);
    put("file", "x");
    EXPECT_THROW(JobOutput(path("file"), {}, false), InputError);
    EXPECT_EQ(output.put_aside("two"), "") << "nobody's result stays where it is";
    const std::string first(32, 'a');
    cli::save_features(path("features.npz"), features, {}, {{"job", first}}, true);
    EXPECT_EQ(output.put_aside(first), "");
    EXPECT_EQ(output.put_aside(std::string(32, 'b')), path(first));
    EXPECT_TRUE(std::filesystem::exists(path(first + "/features.npz")));
    EXPECT_FALSE(std::filesystem::exists(path("features.npz")));
    {
        const JobOutput made(path("new/folder"), {}, false);
        EXPECT_TRUE(std::filesystem::is_directory(path("new/folder")));
    }
    EXPECT_FALSE(std::filesystem::exists(path("new"))) << "a folder for nothing";
}

}  // namespace
}  // namespace couplet::testing
