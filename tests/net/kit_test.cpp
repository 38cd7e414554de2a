#include "couplet/net/kit.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "couplet/io/text.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class KitTest : public NetTest {};

Kit some_kit() {
    return {.folder = {},
            .identity = {"fed1", Role::coordinator, "coordinator"},
            .coordinator = "host.example:7443",
            .listen = "0.0.0.0:7443",
            .http_port = 7444,
            .roster = {"a", "hospital-b"},
            .limits = {.max_message_mib = 64, .stall_seconds = 2.5}};
}

TEST_F(KitTest, IsReadBack) {
    const Kit kit = parse_kit(kit_text(some_kit()), "kit.toml");
    EXPECT_EQ(kit.identity, some_kit().identity);
    EXPECT_EQ(kit.coordinator, "host.example:7443");
    EXPECT_EQ(kit.listen, "0.0.0.0:7443");
    EXPECT_EQ(kit.http_port, 7444);
    EXPECT_EQ(kit.roster, some_kit().roster);
    EXPECT_EQ(kit.limits, some_kit().limits);
    Kit client = some_kit();
    client.identity = {"fed1", Role::client, "a"};
    EXPECT_EQ(parse_kit(kit_text(client), "kit.toml").identity, client.identity);
}

TEST_F(KitTest, NamesWhatIsWrong) {
    const auto refused = [](const std::string& from, const std::string& to) {
        std::string text = kit_text(some_kit());
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
        return complaint([&] { parse_kit(text, "kit.toml"); });
    };
    EXPECT_NE(refused("version = 1", "version = 2").find("version"), std::string::npos);
    EXPECT_NE(refused("role = \"coordinator\"", "role = \"king\"").find("role"), std::string::npos);
    EXPECT_NE(refused("name = \"coordinator\"", "name = 3").find("name"), std::string::npos);
    EXPECT_NE(refused("host.example:7443", "host.example").find("HOST:PORT"), std::string::npos);
    EXPECT_NE(refused("http_port = 7444", "http_port = 70000").find("http_port"), std::string::npos);
    EXPECT_NE(refused("\"hospital-b\"", "\"a\"").find("twice"), std::string::npos);
    EXPECT_NE(refused("[\"a\", \"hospital-b\"]", "[]").find("nobody"), std::string::npos);
    EXPECT_NE(refused("stall_seconds", "stal_seconds").find("stall_seconds"), std::string::npos);
    EXPECT_NE(refused("listen =", "speed = 3\nlisten =").find("unknown key 'speed'"), std::string::npos);
    EXPECT_NE(refused("roster =", "roster").find("line"), std::string::npos);
    EXPECT_NE(complaint([&] { load_kit(path("none")); }).find("no such file"), std::string::npos);
}

/// The last value that is taken and the first that is not.
TEST_F(KitTest, EveryLimitIsWhereItSays) {
    const auto refused = [](const std::string& from, const std::string& to) {
        std::string text = kit_text(some_kit());
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
        return complaint([&] { parse_kit(text, "kit.toml"); });
    };
    const std::string remedy = ". Use the kit as couplet provision made it.";
    for (const char* good : {"-1", "0", "65535"}) EXPECT_EQ(refused("7444", good), "") << good;
    EXPECT_EQ(refused("7444", "-2"), "kit.toml http_port: -2; expected a number from -1 to 65535" + remedy);
    EXPECT_EQ(refused("7444", "65536"), "kit.toml http_port: 65536; expected a number from -1 to 65535" + remedy);
    EXPECT_EQ(refused("7444", "\"x\""), "kit.toml http_port: another type; expected a whole number" + remedy);
    EXPECT_EQ(refused("http_port = 7444", ""), "kit.toml http_port: missing; expected a whole number" + remedy);
    const std::string limits = "kit.toml limits ";
    for (const char* good : {"= 1", "= 1048576"}) EXPECT_EQ(refused("= 64", good), "") << good;
    EXPECT_EQ(refused("= 64", "= 0"), limits + "max_message_mib: 0; expected a number from 1 to 1048576" + remedy);
    EXPECT_EQ(refused("= 64", "= 1048577"),
              limits + "max_message_mib: 1048577; expected a number from 1 to 1048576" + remedy);
    for (const char* good : {"= 0.1", "= 86400", "= 1"}) EXPECT_EQ(refused("= 2.5", good), "") << good;
    EXPECT_EQ(refused("= 2.5", "= 0.09"),
              limits + "stall_seconds: 0.090000; expected a number from 0.1 to 86400" + remedy);
    EXPECT_EQ(refused("= 2.5", "= 86401"),
              limits + "stall_seconds: 86401.000000; expected a number from 0.1 to 86400" + remedy);
    EXPECT_EQ(refused("= 2.5", "= nan"), limits + "stall_seconds: nan; expected a number from 0.1 to 86400" + remedy);
    EXPECT_EQ(refused("= 2.5", "= \"x\""),
              limits + "stall_seconds: missing or no number; expected a number from 0.1 to 86400" + remedy);
    EXPECT_EQ(refused("[limits]", "[limits]\nspeed = 1"),
              "kit.toml limits: unknown key 'speed'; expected those that provision writes" + remedy);
    EXPECT_EQ(refused("version = 1", "version = 0"), "kit.toml version: 0; expected a number from 1 to 1" + remedy);
    EXPECT_EQ(refused("role = \"coordinator\"", "role = \"peer\""),
              "kit.toml role: an unknown role; expected coordinator or client" + remedy);
    EXPECT_EQ(refused("network = \"star\"", "network = \"ring\""),
              "kit.toml network: 'ring'; expected star or decentralized" + remedy);
    EXPECT_EQ(refused("roster = [\"a\", \"hospital-b\"]", "roster = 3"),
              "kit.toml roster: no list; expected a list of names" + remedy);
    EXPECT_EQ(refused("\"a\", ", "3, "), "kit.toml roster: another type; expected a list of names" + remedy);
    EXPECT_EQ(refused("\"hospital-b\"", "\"a\""), "kit.toml roster: 'a' twice; expected every name once" + remedy);
    EXPECT_EQ(refused("[\"a\", \"hospital-b\"]", "[]"),
              "kit.toml roster: nobody; expected at least one client" + remedy);
    EXPECT_NE(refused("\"hospital-b\"", "\"Hospital\"").find("kit.toml roster: 'Hospital'"), std::string::npos);
    EXPECT_NE(refused("name = \"coordinator\"", "name = \"C\"").find("kit.toml name: 'C'"), std::string::npos);
    EXPECT_NE(refused("coordinator = \"host.example:7443\"", "coordinator = \"x\"").find("kit.toml coordinator: 'x'"),
              std::string::npos);
    EXPECT_NE(refused("listen = \"0.0.0.0:7443\"", "listen = \"x\"").find("kit.toml listen: 'x'"), std::string::npos);
    EXPECT_EQ(refused("[limits]", "").find("kit.toml: unknown key"), 0U) << "limits have their own table";
}

TEST_F(KitTest, LimitsHaveDefaultsWhenNobodySetsThem) {
    std::string text = kit_text(some_kit());
    text.erase(text.find("[limits]"));
    EXPECT_EQ(parse_kit(text, "kit.toml").limits, KitLimits{});
}

TEST_F(KitTest, AKeyIsPrivateToItsOwner) {
    provision_star(path("kits"), {"localhost:7443", {"a"}, 30}, false);
    const Kit kit = load_kit(path("kits/a"));
    for (const unsigned open : {0640U, 0620U, 0610U, 0604U, 0602U, 0601U}) {
        ::chmod(kit.file("key.pem").c_str(), open);
        const std::string file = kit.file("key.pem").string();
        EXPECT_EQ(complaint([&] { load_credentials(kit, Role::client); }),
                  fmt::format("{0}: permissions {1:o}; expected 600: readable by its owner only. Run: chmod 600 {0}",
                              file, open));
    }
    for (const unsigned good : {0600U, 0400U, 0700U}) {
        ::chmod(kit.file("key.pem").c_str(), good);
        EXPECT_EQ(complaint([&] { load_credentials(kit, Role::client); }), "") << good;
    }
}

/// Whoever may write a folder may put another file in the place of one that nobody else can write.
TEST_F(KitTest, WhatOthersMayReplaceIsNotUsed) {
    provision_star(path("kits"), {"localhost:7443", {"a"}, 30}, false);
    const Kit kit = load_kit(path("kits/a"));
    const auto said = [&] { return complaint([&] { load_credentials(kit, Role::client); }); };
    const std::string folder = path("kits/a").string();
    for (const auto& [mode, who] : {std::pair{0777U, "anybody"}, {0770U, "its group"}, {0702U, "anybody"}}) {
        ::chmod(folder.c_str(), mode);
        EXPECT_EQ(said(), fmt::format("{0}: permissions {1:o}: {2} may change it; expected a folder that others cannot "
                                      "write. Run: chmod go-w {0}",
                                      folder, mode, who));
        EXPECT_NE(complaint([&] { load_revoked(kit.file("revoked.txt")); }), "") << "a list that was taken away";
    }
    ::chmod(folder.c_str(), 01777);
    EXPECT_EQ(said(), "") << "nobody replaces what is of others where the sticky bit is set";
    ::chmod(folder.c_str(), 0755);
    EXPECT_EQ(said(), "");
    for (const char* file : {"ca.pem", "kit.toml"}) {
        for (const unsigned mode : {0664U, 0646U}) {
            ::chmod(kit.file(file).c_str(), mode);
            EXPECT_NE(said().find("a file that others cannot write"), std::string::npos) << file << " " << mode;
        }
        ::chmod(kit.file(file).c_str(), 0644);
    }
    // A link is as safe as the folder that it leads to.
    std::filesystem::create_directory(path("open"));
    std::filesystem::rename(kit.file("ca.pem"), path("open/ca.pem"));
    std::filesystem::create_symlink(path("open/ca.pem"), kit.file("ca.pem"));
    EXPECT_EQ(said(), "");
    ::chmod(path("open").c_str(), 0777);
    EXPECT_NE(said().find("a folder that others cannot write"), std::string::npos);
    ::chmod(path("open").c_str(), 0755);
    if (::geteuid() != 0) return;  // only root can give files away
    ASSERT_EQ(::chown(path("open/ca.pem").c_str(), 65534, 65534), 0);
    EXPECT_NE(said().find("owned by user 65534, who may change it"), std::string::npos);
}

TEST_F(KitTest, ACertificateOfSomebodyElseIsNotUsed) {
    provision_star(path("kits"), {"localhost:7443", {"a", "b"}, 30}, false);
    const Kit kit = load_kit(path("kits/a"));
    EXPECT_EQ(complaint([&] { load_credentials(kit, Role::coordinator); }),
              path("kits/a").string() + ": the kit of a client; expected that of a coordinator");
    for (const char* file : {"key.pem", "cert.pem"}) {
        std::filesystem::copy_file(path("kits/b") / file, kit.file(file),
                                   std::filesystem::copy_options::overwrite_existing);
    }
    const std::string federation = kit.identity.federation;
    EXPECT_EQ(
        complaint([&] { load_credentials(kit, Role::client); }),
        fmt::format("{0}: a certificate of couplet://{1}/client/b; expected one of couplet://{1}/client/a as kit.toml "
                    "says. Use the kit as couplet provision made it.",
                    kit.file("cert.pem").string(), federation));
}

TEST_F(KitTest, CredentialsMustFitTheKitAndBePrivate) {
    provision_star(path("kits"), {"localhost:7443", {"a", "b"}, 30}, false);
    const Kit kit = load_kit(path("kits/a"));
    EXPECT_EQ(load_credentials(kit, Role::client).info.identity, kit.identity);
    EXPECT_THROW(load_credentials(kit, Role::coordinator), InputError);
    ::chmod(kit.file("key.pem").c_str(), 0644);
    const std::string open = complaint([&] { load_credentials(kit, Role::client); });
    EXPECT_NE(open.find("chmod 600"), std::string::npos) << open;
    std::filesystem::remove(kit.file("key.pem"));
    EXPECT_THROW(load_credentials(kit, Role::client), InputError);
}

TEST_F(KitTest, Addresses) {
    EXPECT_EQ(parse_address("host:80", "x").host, "host");
    EXPECT_EQ(parse_address("[::1]:80", "x").host, "::1");
    EXPECT_EQ(parse_address("host:80", "x").port, 80);
    for (const char* good : {"a:1", "Z.z-9_0:65535", "0:80", "a:00080", "::1:80", "[a]:80"}) {
        EXPECT_NO_THROW(parse_address(good, "x")) << good;
    }
    EXPECT_EQ(parse_address("a:65535", "x").port, 65535);
    EXPECT_EQ(parse_address("[a]:80", "x").host, "a");
    EXPECT_EQ(parse_address("azAZ09.-_:80", "x").host, "azAZ09.-_");
    for (const char* bad :
         {"", "host", ":80", "host:", "host:0", "host:70000", "host:8x", "ho st:80", "host:65536", "a:000080", "[]:80",
          "`:80", "{:80", "@:80", "[a:80", "a]:80", "/:80", "h:7:8", "host::80"}) {
        EXPECT_EQ(complaint([&] { parse_address(bad, "listen"); }),
                  fmt::format("listen: {}; expected HOST:PORT with a port from 1 to 65535. For example: localhost:7443",
                              shown(bad)));
    }
    EXPECT_FALSE(is_loopback("128.0.0.1") || is_loopback("::2"));
    EXPECT_TRUE(is_loopback("localhost") && is_loopback("127.0.0.1") && is_loopback("::1"));
    EXPECT_FALSE(is_loopback("0.0.0.0") || is_loopback("example.org"));
    EXPECT_TRUE(is_loopback("127.255.0.1"));
    EXPECT_FALSE(is_loopback("127.evil.example") || is_loopback("127.0.0.1.evil.example") || is_loopback("127.0.0.1x"))
        << "a name, and its owner says what it stands for";
}

TEST_F(KitTest, TextFilesAreWrittenWithTheirPermissions) {
    write_text(path("secret"), "x", 0600);
    struct stat about {};
    ::stat(path("secret").c_str(), &about);
    EXPECT_EQ(about.st_mode & 0777, 0600U);
    EXPECT_EQ(read_text(path("secret")), "x");
    std::ofstream(path("large")) << std::string(2 << 20, 'x');
    EXPECT_EQ(complaint([&] { read_text(path("large")); }),
              path("large").string() + ": 2097152 bytes; expected a small text file");
    EXPECT_EQ(complaint([&] { read_text(path("none")); }),
              path("none").string() + ": no such file; expected a readable file");
    std::ofstream(path("ten")) << std::string(10, 'x');
    EXPECT_EQ(read_text(path("ten"), 10).size(), 10U);
    EXPECT_THROW(read_text(path("ten"), 9), InputError);
    EXPECT_TRUE(load_revoked(path("none")).empty());
    write_text(path("list"), "# comment\nABC a\nDEF b\n\n");
    EXPECT_EQ(load_revoked(path("list")), (std::vector<std::string>{"ABC", "DEF"}));
}

Kit some_peer() {
    Kit kit;
    kit.identity = {"fed1", Role::peer, "b"};
    kit.network = "decentralized";
    kit.listen = "127.0.0.1:7002";
    kit.graph = "path";
    kit.peers = {{"a", "host-a:7001"}, {"b", "host-b:7002"}, {"c", "host-c:7003"}};
    kit.links = {{0, 1}, {1, 2}};
    return kit;
}

TEST_F(KitTest, OfAPeerIsReadBack) {
    const Kit kit = parse_kit(kit_text(some_peer()), "kit.toml");
    EXPECT_EQ(kit.identity, some_peer().identity);
    EXPECT_EQ(kit.network, "decentralized");
    EXPECT_EQ(kit.listen, "127.0.0.1:7002");
    EXPECT_EQ(kit.graph, "path");
    EXPECT_EQ(kit.peers, some_peer().peers);
    EXPECT_EQ(kit.links, some_peer().links);
    EXPECT_EQ(kit.limits, some_peer().limits);
}

TEST_F(KitTest, OfAPeerNamesWhatIsWrong) {
    const auto refused = [](const std::string& from, const std::string& to) {
        std::string text = kit_text(some_peer());
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << from;
        text.replace(at, from.size(), to);
        return complaint([&] { parse_kit(text, "kit.toml"); });
    };
    EXPECT_NE(refused("[1, 2], [2, 3]", "[1, 2]").find("links"), std::string::npos) << "not connected";
    EXPECT_NE(refused("[1, 2]", "[1, 9]").find("1 to 3"), std::string::npos);
    EXPECT_NE(refused("[1, 2]", "[1]").find("links"), std::string::npos);
    const std::string no_link =
        "kit.toml links: a link that is none; expected two numbers from 1 to 3. Use the kit as couplet provision made "
        "it.";
    for (const char* bad : {"[0, 2]", "[1, 0]", "[4, 2]", "[1, 4]", "[2, 2]", "[1, 2, 3]", "3", "[\"a\", 2]"}) {
        EXPECT_EQ(refused("[1, 2]", bad), no_link) << bad;
    }
    EXPECT_EQ(refused("[1, 2]", "[3, 1]"), "") << "the last peer";
    EXPECT_NE(refused("links = [[1, 2], [2, 3]]", "links = 3").find("no list; expected pairs of peers"),
              std::string::npos);
    EXPECT_NE(refused("address = \"host-a:7001\"", "address = \"host-a:7001\"\nspeed = 1").find("unknown key 'speed'"),
              std::string::npos);
    EXPECT_NE(refused("name = \"c\"", "name = \"C\"").find("kit.toml peers: 'C'"), std::string::npos);
    EXPECT_NE(refused("listen = \"127.0.0.1:7002\"", "listen = \"x\"").find("kit.toml listen: 'x'"), std::string::npos);
    EXPECT_NE(refused("\"c\"", "\"a\"").find("twice"), std::string::npos);
    EXPECT_NE(refused("host-a:7001", "host-a").find("HOST:PORT"), std::string::npos);
    EXPECT_NE(refused("name = \"b\"\nlisten", "name = \"x\"\nlisten").find("owner"), std::string::npos);
    EXPECT_NE(refused("role = \"peer\"", "role = \"client\"").find("role"), std::string::npos);
    EXPECT_NE(refused("graph = ", "grpah = ").find("graph"), std::string::npos);
    EXPECT_NE(refused("network = \"decentralized\"", "network = \"mesh\"").find("network"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
