#include "couplet/net/provision.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "couplet/net/consent.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

PeersPlan some_peers() {
    return {.peers = {{"a", "localhost:7001"}, {"b", "localhost:7002"}, {"c", "host.example:7003"}},
            .graph = "ring",
            .seed = 0,
            .days = 30};
}

class ProvisionTest : public NetTest {
  protected:
    unsigned mode(const std::string& name) const {
        struct stat about {};
        ::stat(path(name).c_str(), &about);
        return about.st_mode & 0777;
    }
    std::string serial(const std::string& name) const {
        return read_certificate(read_text(path("kits") / name / "cert.pem"), name).serial;
    }
    std::vector<std::string> revoked() const { return load_revoked(path("kits/coordinator/revoked.txt")); }
    void make() const { provision_star(path("kits"), {"localhost:7443", {"a", "b"}, 30}, false); }
};

TEST_F(ProvisionTest, MakesOneKitPerPartyWithPrivateKeys) {
    make();
    for (const char* key : {"kits/ca/ca.key", "kits/coordinator/key.pem", "kits/a/key.pem", "kits/b/key.pem"}) {
        EXPECT_EQ(mode(key), 0600U) << key;
    }
    for (const char* folder : {"kits", "kits/ca", "kits/a"}) EXPECT_EQ(mode(folder), 0700U) << folder;
    const Kit lead = load_kit(path("kits/coordinator"));
    EXPECT_EQ(lead.roster, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(lead.listen, "127.0.0.1:7443");
    EXPECT_EQ(lead.http_port, 7444);
    EXPECT_NO_THROW(load_credentials(lead, Role::coordinator));
    EXPECT_NO_THROW(load_credentials(load_kit(path("kits/b")), Role::client));
    EXPECT_FALSE(std::filesystem::exists(path("kits/a/ca.key"))) << "the authority's key stays";
    provision_star(path("wide"), {"host.example:9", {"a"}, 30}, false);
    EXPECT_EQ(load_kit(path("wide/coordinator")).listen, "0.0.0.0:9");
}

TEST_F(ProvisionTest, EverySiteGetsAPolicyAndKeepsItsOwn) {
    make();
    EXPECT_EQ(load_policy(path("kits/a/policy.toml")), SitePolicy{});
    EXPECT_FALSE(std::filesystem::exists(path("kits/coordinator/policy.toml")));
    write_text(path("kits/a/policy.toml"), "min_patients = 99\n");
    provision_star(path("kits"), {"localhost:7443", {"a", "b"}, 30}, true);
    EXPECT_EQ(load_policy(path("kits/a/policy.toml")).min_patients, 99);
    provision_client(path("kits"), "c", 30);
    EXPECT_EQ(load_policy(path("kits/c/policy.toml")), SitePolicy{});
    provision_peers(path("peers"), some_peers(), false);
    EXPECT_EQ(load_policy(path("peers/b/policy.toml")), SitePolicy{});
}

TEST_F(ProvisionTest, RefusesWhatCannotBe) {
    const auto refused = [&](StarPlan plan) { return complaint([&] { provision_star(path("x"), plan, false); }); };
    EXPECT_NE(refused({"localhost", {"a"}}).find("`coordinator`"), std::string::npos);
    EXPECT_NE(refused({"localhost:1", {}}).find("`clients`"), std::string::npos);
    EXPECT_NE(refused({"localhost:1", {"a", "a"}}).find("twice"), std::string::npos);
    EXPECT_NE(refused({"localhost:1", {"ca"}}).find("another folder"), std::string::npos);
    EXPECT_NE(refused({"localhost:1", {"../a"}}).find("`clients`"), std::string::npos);
    make();
    EXPECT_NE(complaint([&] { make(); }).find("`force`"), std::string::npos);
    EXPECT_NO_THROW(provision_star(path("kits"), {"localhost:7443", {"a"}, 30}, true));
}

TEST_F(ProvisionTest, SaysWhatCannotBe) {
    const auto refused = [&](StarPlan plan) { return complaint([&] { provision_star(path("x"), plan, false); }); };
    EXPECT_EQ(refused({"localhost:1", {}}), "`clients`: nobody; expected at least one name");
    EXPECT_EQ(refused({"localhost:1", {"a", "b", "a"}}), "`clients`: 'a' twice; expected every name once");
    for (const char* taken : {"ca", "coordinator"}) {
        EXPECT_EQ(refused({"localhost:1", {taken}}),
                  std::string("`clients`: '") + taken + "'; expected a name that is not used for another folder");
    }
    EXPECT_FALSE(std::filesystem::exists(path("x"))) << "nothing is made of a plan that is refused";
    make();
    EXPECT_EQ(complaint([&] { make(); }),
              path("kits").string() +
                  ": a federation that exists already; expected a new folder. Use `force` to replace it: no kit made "
                  "before will be let in any more.");
    EXPECT_EQ(complaint([&] { provision_client(path("kits"), "a", 30); }),
              "`add`: 'a'; expected a name that is not on the roster yet. To renew its certificate: couplet provision "
              "--rotate a");
    EXPECT_EQ(complaint([&] { provision_client(path("kits"), "ca", 30); }),
              "`clients`: 'ca'; expected a name that is not used for another folder");
    EXPECT_EQ(
        complaint([&] { revoke(path("kits"), "coordinator"); }),
        "`revoke`: 'coordinator'; expected a client. Replace the coordinator's certificate with `rotate`, or make a "
        "new federation.");
    EXPECT_EQ(
        complaint([&] { rotate(path("kits"), "x", 30); }),
        "x: no such file " + (path("kits") / "x" / "kit.toml").string() + "; expected a party of this federation");
    EXPECT_THROW(rotate(path("kits"), "../a", 30), InputError);
    EXPECT_EQ(
        complaint([&] { rotate(path("none"), "a", 30); }),
        path("none").string() +
            ": no such file ca/ca.key in it; expected the folder that couplet provision made. The authority's key is "
            "needed; bring it where this runs.");
    std::ofstream(path("file")) << "x";
    EXPECT_NE(complaint([&] { provision_star(path("file/kits"), {"localhost:1", {"a"}, 30}, false); }), "");
}

TEST_F(ProvisionTest, AKitIsForItsDaysAndItsPlace) {
    make();
    const std::int64_t now = std::time(nullptr);
    const auto days = [&](const std::string& name) {
        return static_cast<double>(read_certificate(read_text(path("kits") / name / "cert.pem"), name).not_after -
                                   now) /
               86400;
    };
    EXPECT_NEAR(days("a"), 30, 0.01);
    EXPECT_NEAR(days("coordinator"), 30, 0.01);
    rotate(path("kits"), "a", 7);
    EXPECT_NEAR(days("a"), 7, 0.01);
    provision_client(path("kits"), "c", 5);
    EXPECT_NEAR(days("c"), 5, 0.01);
    EXPECT_EQ(load_kit(path("kits/c")).coordinator, "localhost:7443");
    // The page's port is the next one, where there is one.
    provision_star(path("last"), {"[::1]:65535", {"a"}, 30}, false);
    EXPECT_EQ(load_kit(path("last/coordinator")).http_port, 0);
    EXPECT_EQ(load_kit(path("last/coordinator")).listen, "[::1]:65535");
    provision_star(path("nearly"), {"127.0.0.9:65534", {"a"}, 30}, false);
    EXPECT_EQ(load_kit(path("nearly/coordinator")).http_port, 65535);
    EXPECT_EQ(load_kit(path("nearly/coordinator")).listen, "127.0.0.1:65534");
    // A federation that is replaced knows nothing of who was revoked in the one before.
    revoke(path("kits"), "b");
    provision_star(path("kits"), {"localhost:7443", {"a"}, 30}, true);
    EXPECT_TRUE(revoked().empty());
    EXPECT_NE(load_kit(path("kits/a")).identity.federation, load_kit(path("last/a")).identity.federation);
}

TEST_F(ProvisionTest, RotatesRevokesAndAdds) {
    make();
    const std::string old = serial("a");
    rotate(path("kits"), "a", 30);
    EXPECT_NE(serial("a"), old);
    EXPECT_EQ(revoked(), std::vector<std::string>{old});
    EXPECT_EQ(load_revoked(path("kits/b/revoked.txt")), revoked()) << "who is in a masked sum, others look at, too";
    EXPECT_NO_THROW(load_credentials(load_kit(path("kits/a")), Role::client));
    revoke(path("kits"), "b");
    revoke(path("kits"), "b");
    EXPECT_EQ(revoked(), (std::vector<std::string>{old, serial("b")})) << "once each";
    provision_client(path("kits"), "c", 30);
    EXPECT_EQ(load_kit(path("kits/coordinator")).roster, (std::vector<std::string>{"a", "b", "c"}));
    EXPECT_NO_THROW(load_credentials(load_kit(path("kits/c")), Role::client));
    EXPECT_NE(complaint([&] { provision_client(path("kits"), "c", 30); }).find("--rotate c"), std::string::npos);
    EXPECT_NE(complaint([&] { revoke(path("kits"), "x"); }).find("no such file"), std::string::npos);
    EXPECT_NE(complaint([&] { revoke(path("kits"), "coordinator"); }).find("a client"), std::string::npos);
    EXPECT_NE(complaint([&] { rotate(path("none"), "a", 30); }).find("no such file"), std::string::npos);
}

/// Clients look at who answers them: without the list they take whoever has the old key for the coordinator.
TEST_F(ProvisionTest, ARotatedCoordinatorIsRevokedAtEveryClient) {
    make();
    const std::string old = serial("coordinator");
    rotate(path("kits"), "coordinator", 30);
    EXPECT_NE(serial("coordinator"), old);
    provision_client(path("kits"), "c", 30);
    for (const char* name : {"a", "b", "c", "coordinator"}) {
        EXPECT_EQ(load_revoked(path("kits") / name / "revoked.txt"), std::vector<std::string>{old}) << name;
    }
    provision_star(path("kits"), {"localhost:7443", {"a"}, 30}, true);
    EXPECT_TRUE(load_revoked(path("kits/a/revoked.txt")).empty()) << "of another federation";
}

TEST_F(ProvisionTest, AnAuthorityThatOthersCanUseOrReplaceIsNotUsed) {
    make();
    const auto said = [&] { return complaint([&] { provision_client(path("kits"), "c", 30); }); };
    for (const unsigned mode : {0666U, 0644U, 0640U}) {
        ::chmod(path("kits/ca/ca.key").c_str(), mode);
        EXPECT_NE(said().find("600: readable by its owner only"), std::string::npos) << mode;
    }
    ::chmod(path("kits/ca/ca.key").c_str(), 0600);
    ::chmod(path("kits/ca").c_str(), 0777);
    EXPECT_NE(said().find("a folder that others cannot write"), std::string::npos);
    ::chmod(path("kits/ca").c_str(), 0700);
    ::chmod(path("kits/ca/ca.pem").c_str(), 0666);
    EXPECT_NE(said().find("a file that others cannot write"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path("kits/c")));
    ::chmod(path("kits/ca/ca.pem").c_str(), 0644);
    EXPECT_EQ(said(), "");
}

TEST_F(ProvisionTest, MakesAKitForEveryPeer) {
    provision_peers(path("kits"), some_peers(), false);
    for (const char* name : {"a", "b", "c"}) {
        const Kit kit = load_kit(path("kits") / name);
        EXPECT_EQ(kit.identity.name, name);
        EXPECT_EQ(kit.peers, some_peers().peers);
        EXPECT_EQ(kit.links.size(), 3U);
        EXPECT_NO_THROW(load_credentials(kit, Role::peer));
        EXPECT_EQ(mode(std::string("kits/") + name + "/key.pem"), 0600U);
    }
    EXPECT_EQ(load_kit(path("kits/a")).listen, "127.0.0.1:7001");
    EXPECT_EQ(load_kit(path("kits/c")).listen, "0.0.0.0:7003");
    EXPECT_NE(complaint([&] { provision_peers(path("kits"), some_peers(), false); }).find("exists"), std::string::npos);
    EXPECT_NE(complaint([&] { provision_client(path("kits"), "d", 30); }).find("decentralized"), std::string::npos);
}

TEST_F(ProvisionTest, PeersThatCannotBeAreRefused) {
    const auto refused = [&](const std::function<void(PeersPlan&)>& change) {
        PeersPlan plan = some_peers();
        change(plan);
        return complaint([&] { provision_peers(path("x"), plan, false); });
    };
    EXPECT_NE(refused([](PeersPlan& p) { p.peers.resize(1); }).find("at least two"), std::string::npos);
    EXPECT_NE(refused([](PeersPlan& p) { p.peers[1].name = "a"; }).find("another folder"), std::string::npos);
    EXPECT_NE(refused([](PeersPlan& p) { p.peers[1].name = "ca"; }).find("another folder"), std::string::npos);
    EXPECT_NE(refused([](PeersPlan& p) { p.peers[1].address = "x"; }).find("HOST:PORT"), std::string::npos);
    EXPECT_NE(refused([](PeersPlan& p) { p.graph = "paper8"; }), "");
    EXPECT_FALSE(std::filesystem::exists(path("x")));
}

TEST_F(ProvisionTest, APeerIsRevokedAtAllOthers) {
    provision_peers(path("kits"), some_peers(), false);
    const std::string before = serial("b");
    rotate(path("kits"), "b", 30);
    EXPECT_NE(serial("b"), before);
    for (const char* name : {"a", "c"}) {
        EXPECT_EQ(load_revoked(path("kits") / name / "revoked.txt"), std::vector<std::string>{before}) << name;
    }
}

TEST_F(ProvisionTest, SignsRequestsOfKeysMadeElsewhere) {
    provision_star(path("kits"), {"localhost:7443", {"a", "b"}, 30, Keys::sites}, false);
    EXPECT_FALSE(std::filesystem::exists(path("kits/a/key.pem")));
    EXPECT_FALSE(std::filesystem::exists(path("kits/a/cert.pem")));
    const Requested asked = request_certificate(path("site"), "a", false);
    EXPECT_EQ(mode("site/key.pem"), 0600U);
    EXPECT_NE(complaint([&] { request_certificate(path("site"), "a", false); }).find("`force`"), std::string::npos);
    const Requested made = sign_certificate(path("kits"), path("site/request.pem"), 30);
    EXPECT_EQ(made.name, "a");
    EXPECT_EQ(made.fingerprint, asked.fingerprint);
    for (const char* file : {"cert.pem", "ca.pem", "kit.toml"}) {
        std::filesystem::copy(path("kits/a") / file, path("site") / file);
    }
    EXPECT_NO_THROW(load_credentials(load_kit(path("site")), Role::client));
    // Another key: what was signed before is revoked.
    const std::string before = serial("a");
    const std::string after = request_certificate(path("site"), "a", true).fingerprint;
    EXPECT_NE(after, asked.fingerprint);
    // Not before somebody has compared them: anybody can ask in another's name.
    const std::string refused = complaint([&] { sign_certificate(path("kits"), path("site/request.pem"), 30); });
    for (const std::string& part : {after, asked.fingerprint, std::string("`force`")}) {
        EXPECT_NE(refused.find(part), std::string::npos) << refused;
    }
    EXPECT_EQ(serial("a"), before);
    EXPECT_TRUE(revoked().empty());
    sign_certificate(path("kits"), path("site/request.pem"), 30, true);
    EXPECT_EQ(revoked(), std::vector<std::string>{before});
    EXPECT_NE(complaint([&] { rotate(path("kits"), "a", 30); }).find("made at its site"), std::string::npos);
    // The same key again is a renewal.
    const std::string renewed = serial("a");
    sign_certificate(path("kits"), path("site/request.pem"), 30);
    EXPECT_EQ(revoked(), (std::vector<std::string>{before, renewed}));
}

/// Its old request is still somewhere: who was put out does not come back with it unless somebody means it.
TEST_F(ProvisionTest, ARevokedPartysRequestIsNotSignedAgainWithoutAWord) {
    provision_star(path("kits"), {"localhost:7443", {"a", "b"}, 30, Keys::sites}, false);
    for (const char* name : {"coordinator", "a"}) {
        request_certificate(path("site") / name, name, false);
        sign_certificate(path("kits"), path("site") / name / "request.pem", 30);
    }
    const std::string first = serial("a");
    sign_certificate(path("kits"), path("site/a/request.pem"), 30);
    const std::string second = serial("a");
    EXPECT_NE(second, first) << "one that is not revoked is renewed, though the one before is on the list now";
    revoke(path("kits"), "a");
    const auto listed = revoked();
    EXPECT_EQ(complaint([&] { sign_certificate(path("kits"), path("site/a/request.pem"), 30); }),
              "request of a: a party whose certificate was revoked; expected one that is to be let in. If a is to come "
              "back, and nobody else has had its key, use `force`.");
    request_certificate(path("site/a"), "a", true);
    EXPECT_NE(complaint([&] { sign_certificate(path("kits"), path("site/a/request.pem"), 30); }).find("was revoked"),
              std::string::npos)
        << "nor with another key";
    EXPECT_EQ(serial("a"), second);
    EXPECT_EQ(revoked(), listed);
    sign_certificate(path("kits"), path("site/a/request.pem"), 30, true);
    EXPECT_NE(serial("a"), second);
    sign_certificate(path("kits"), path("site/a/request.pem"), 30);
}

TEST_F(ProvisionTest, RefusesRequestsOfNobody) {
    make();
    request_certificate(path("site"), "stranger", false);
    EXPECT_NE(complaint([&] { sign_certificate(path("kits"), path("site/request.pem"), 30); }).find("--add stranger"),
              std::string::npos);
    write_text(path("none.pem"), "nothing");
    EXPECT_NE(complaint([&] { sign_certificate(path("kits"), path("none.pem"), 30); }).find("no request"),
              std::string::npos);
    // A request that somebody has changed: its name is another, its signature is not.
    std::string text = read_text(path("site/request.pem"));
    const std::size_t middle = text.find('\n') + 20;
    text[middle] = text[middle] == 'A' ? 'B' : 'A';
    write_text(path("changed.pem"), text);
    EXPECT_NE(complaint([&] { sign_certificate(path("kits"), path("changed.pem"), 30); }), "");
    provision_client(path("kits"), "stranger", 30, Keys::sites);
    EXPECT_NE(complaint([&] { revoke(path("kits"), "stranger"); }).find("no certificate in its folder"),
              std::string::npos);
    EXPECT_EQ(sign_certificate(path("kits"), path("site/request.pem"), 30).name, "stranger");
}

}  // namespace
}  // namespace couplet::net
