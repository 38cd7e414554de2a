#include "cli_test_support.hpp"

namespace couplet::testing {
namespace {

class ProvisionVerbTest : public CliTest {
  protected:
    Outcome provision(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "provision");
        arguments.insert(arguments.end(), {"-o", "kits"});
        return couplet(arguments);
    }
};

TEST_F(ProvisionVerbTest, MakesKitsAndChangesThem) {
    const Outcome made =
        provision({"--network", "star", "--coordinator", "localhost:7443", "--clients", "a,b", "--json"});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(made.json()["clients"], Json({"a", "b"}));
    EXPECT_EQ(shell("stat -c %a kits/*/key.pem kits/ca/ca.key | sort -u"), "600\n");
    EXPECT_EQ(shell("ls kits"), "a\nb\nca\ncoordinator\n");
    EXPECT_NE(shell("openssl x509 -in kits/a/cert.pem -noout -text").find("/client/a"), std::string::npos);
    EXPECT_EQ(shell("openssl verify -CAfile kits/a/ca.pem kits/a/cert.pem kits/coordinator/cert.pem 2>&1 | grep -c OK"),
              "2\n");
    EXPECT_EQ(provision({"--add", "c"}).status, 0);
    EXPECT_EQ(provision({"--rotate", "a"}).status, 0);
    const Outcome revoked = provision({"--revoke", "b", "--json"});
    EXPECT_EQ(revoked.json()["revoke"], "b");
    EXPECT_EQ(shell("grep -vc '#' kits/coordinator/revoked.txt"), "2\n");
    EXPECT_NE(get("kits/coordinator/kit.toml").find("[\"a\", \"b\", \"c\"]"), std::string::npos);
}

TEST_F(ProvisionVerbTest, MakesAKitForEveryPeer) {
    const Outcome made = provision({"--network", "decentralized", "--peers",
                                    "a=localhost:7001,b=localhost:7002,c=host:7003", "--graph", "path", "--json"});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(made.json()["peers"], Json({"a", "b", "c"}));
    EXPECT_EQ(made.json()["graph"], "path");
    EXPECT_EQ(shell("ls kits"), "a\nb\nc\nca\n");
    EXPECT_NE(get("kits/b/kit.toml").find("links = [[1, 2], [2, 3]]"), std::string::npos);
    EXPECT_NE(shell("openssl x509 -in kits/a/cert.pem -noout -text").find("/peer/a"), std::string::npos);
    EXPECT_EQ(provision({"--revoke", "b"}).status, 0);
    EXPECT_EQ(shell("grep -hc ' b' kits/a/revoked.txt kits/c/revoked.txt"), "1\n1\n");
}

TEST_F(ProvisionVerbTest, RefusesWhatMakesNoSense) {
    const auto refused = [&](const std::vector<std::string>& arguments, const std::string& message) {
        const Outcome run = provision(arguments);
        EXPECT_EQ(run.status, 2) << message;
        EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
    };
    refused({}, "--coordinator: missing");
    refused({"--network", "decentralized", "--peers", "a"}, "NAME=HOST:PORT");
    refused({"--network", "decentralized", "--peers", "a=h:1"}, "at least two");
    refused({"--network", "decentralized", "--peers", "a=h:1,b=h:2", "--clients", "a"}, "--clients");
    refused({"--coordinator", "h:1", "--clients", "a", "--graph", "ring"}, "--graph");
    refused({"--coordinator", "localhost", "--clients", "a"}, "HOST:PORT");
    refused({"--coordinator", "localhost:1", "--clients", "A"}, "lower-case");
    refused({"--add", "a"}, "no such file");
    refused({"--add", "a", "--revoke", "b"}, "one of them");
    EXPECT_EQ(provision({"--coordinator", "localhost:1", "--clients", "a"}).status, 0);
    refused({"--coordinator", "localhost:1", "--clients", "a"}, "--force");
    EXPECT_EQ(provision({"--coordinator", "localhost:1", "--clients", "a", "--force"}).status, 0);
}

}  // namespace
}  // namespace couplet::testing
