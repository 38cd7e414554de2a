#include "network_support.hpp"

namespace couplet::testing {
namespace {

class StatusVerbTest : public NetworkVerbTest {};

TEST_F(StatusVerbTest, ShowsAJobThatWaits) {
    refused({"status", "--kit", "kits/a", "--deadline", "200ms"}, 1, "a coordinator that answers");
    const pid_t lead = coordinator({"--rank", "3"});
    const pid_t a = client("a");
    Json json;
    EXPECT_TRUE(support::eventually([&] {
        const Outcome run = couplet({"status", "--kit", "kits/coordinator", "--json"});
        if (run.status == 0) json = run.json();
        return !json.is_null() && json["waiting"] == Json({"b"});
    }));
    EXPECT_EQ(json["phase"], "joining");
    EXPECT_EQ(json["waiting"], Json({"b"}));
    EXPECT_EQ(json["clients"][0]["state"], "joined");
    EXPECT_EQ(json["clients"][0]["rows"], 12);
    const Outcome text = couplet({"status", "--kit", "kits/b"});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_NE(text.out.find("for 1 of 2: b, "), std::string::npos) << text.out;
    ::kill(lead, SIGTERM);
    ::kill(a, SIGTERM);
    EXPECT_EQ(finish(lead), 143);
    EXPECT_EQ(finish(a), 143);
}

}  // namespace
}  // namespace couplet::testing
