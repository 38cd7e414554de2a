#include "couplet/net/kit.hpp"

#include <sys/stat.h>

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
    for (const char* bad : {"", "host", ":80", "host:", "host:0", "host:70000", "host:8x", "ho st:80"}) {
        EXPECT_THROW(parse_address(bad, "x"), InputError) << bad;
    }
    EXPECT_TRUE(is_loopback("localhost") && is_loopback("127.0.0.1") && is_loopback("::1"));
    EXPECT_FALSE(is_loopback("0.0.0.0") || is_loopback("example.org"));
}

TEST_F(KitTest, TextFilesAreWrittenWithTheirPermissions) {
    write_text(path("secret"), "x", 0600);
    struct stat about {};
    ::stat(path("secret").c_str(), &about);
    EXPECT_EQ(about.st_mode & 0777, 0600U);
    EXPECT_EQ(read_text(path("secret")), "x");
    std::ofstream(path("large")) << std::string(2 << 20, 'x');
    EXPECT_THROW(read_text(path("large")), InputError);
    EXPECT_THROW(read_text(path("none")), InputError);
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
    EXPECT_NE(refused("\"c\"", "\"a\"").find("twice"), std::string::npos);
    EXPECT_NE(refused("host-a:7001", "host-a").find("HOST:PORT"), std::string::npos);
    EXPECT_NE(refused("name = \"b\"\nlisten", "name = \"x\"\nlisten").find("owner"), std::string::npos);
    EXPECT_NE(refused("role = \"peer\"", "role = \"client\"").find("role"), std::string::npos);
    EXPECT_NE(refused("graph = ", "grpah = ").find("graph"), std::string::npos);
    EXPECT_NE(refused("network = \"decentralized\"", "network = \"mesh\"").find("network"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
