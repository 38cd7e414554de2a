#include "peer_links.hpp"

#include "couplet/wire/encoder.hpp"
#include "peer_test_support.hpp"

namespace couplet::net {
namespace {

/// The links of one peer and what they told.
struct Owner {
    std::mutex mutex;
    std::vector<Index> connected = {};
    std::vector<std::string> received = {};
    std::string refusal = {};
    Log log{{}, {}};
    PeerLinks links;

    Owner(const Kit& kit, const Credentials& credentials, wire::Incarnation own)
        : links(kit, credentials, own, LinkSettings{.job = "job", .version = "1", .id = {}, .beat = 50ms},
                NeighbourEvents{[this](Index k, auto, bool) {
                                    const std::lock_guard lock(mutex);
                                    connected.push_back(k);
                                },
                                [this](Index, auto, wire::Message message) {
                                    const std::lock_guard lock(mutex);
                                    received.emplace_back(wire::to_string(message.kind()));
                                },
                                [this](Index, const std::string& reason) {
                                    const std::lock_guard lock(mutex);
                                    refusal = reason;
                                }},
                log) {}
    explicit Owner(const Kit& kit, wire::Incarnation own) : Owner(kit, load_credentials(kit, Role::peer), own) {}

    template <class F>
    bool soon(F happens) {
        return eventually([&] {
            const std::lock_guard lock(mutex);
            return happens(*this);
        });
    }
};

class PeerLinksTest : public NetTest {
  protected:
    TestPeers peers_{path("kits"), population(3, {4, 3, 3}, 2, 0.7, 0.05, 4), "path"};
};

TEST_F(PeerLinksTest, NeighboursFindEachOtherAndSpeak) {
    Owner b(peers_.kit(1), 2);
    Owner a(peers_.kit(0), 1);
    Owner c(peers_.kit(2), 3);
    EXPECT_TRUE(b.soon([](Owner& o) { return o.connected.size() == 2; }));
    EXPECT_TRUE(a.soon([](Owner& o) { return o.connected == std::vector<Index>{1}; }));
    a.links.link(1).post(std::make_shared<const wire::Message>(wire::Message{{}, wire::Bulletin{}}));
    EXPECT_TRUE(b.soon([](Owner& o) { return o.received == std::vector<std::string>{"bulletin"}; }));
    EXPECT_THROW(a.links.link(2), std::out_of_range) << "no neighbour";
}

/// The head of a message may be as long as the longest chunk: neither the side that was called nor the one that called
/// takes less.
TEST_F(PeerLinksTest, AMessageAsLongAsAnyMayBeArrivesOnBothSides) {
    // Of all that peers send the names of features can be the longest.
    wire::Message totals{{}, wire::StartNotice{{.clients = 2, .rows = 6, .norm2 = 1, .labels = {{"feature"}}}}};
    auto& names = std::get<wire::StartNotice>(totals.body).start.labels[0].entries;
    const auto length = [&] { return static_cast<Index>(wire::Encoder(totals).head().size()); };
    const auto add = [&](Index count) {
        while (count-- > 0) names.push_back(std::to_string(names.size() + 1'000'000) + std::string(193, 'x'));
    };
    add(5000);
    add((wire::most_chunk_bytes - length()) / 210);
    ASSERT_LE(length(), wire::most_chunk_bytes);
    ASSERT_GT(length(), wire::most_chunk_bytes - 2000);
    const auto posted = std::make_shared<const wire::Message>(std::move(totals));

    Owner b(peers_.kit(1), 2);
    Owner a(peers_.kit(0), 1);
    ASSERT_TRUE(a.soon([](Owner& o) { return o.connected == std::vector<Index>{1}; }));
    ASSERT_TRUE(b.soon([](Owner& o) { return o.connected == std::vector<Index>{0}; }));
    a.links.link(1).post(posted);
    b.links.link(0).post(posted);
    const auto arrived = [](Owner& o) { return o.received == std::vector<std::string>{"start"}; };
    EXPECT_TRUE(b.soon(arrived)) << b.refusal;
    EXPECT_TRUE(a.soon(arrived)) << a.refusal;
}

TEST_F(PeerLinksTest, AnAddressInUseIsNamed) {
    Owner a(peers_.kit(0), 1);
    EXPECT_NE(complaint([&] { Owner again(peers_.kit(0), 9); }).find("cannot be used"), std::string::npos);
}

/// A certificate speaks for its own peer alone: c's cannot answer as b, nor call as a.
TEST_F(PeerLinksTest, NobodySpeaksForAnother) {
    const Credentials stolen = load_credentials(peers_.kit(2), Role::peer);
    Owner impostor(peers_.kit(1), stolen, 2);
    Owner a(peers_.kit(0), 1);
    EXPECT_TRUE(a.soon([](Owner& o) { return o.refusal.find("/peer/c") != std::string::npos; })) << a.refusal;
    EXPECT_TRUE(a.connected.empty());
}

TEST_F(PeerLinksTest, AnotherCallerThanTheNeighbourIsRefused) {
    const Credentials stolen = load_credentials(peers_.kit(2), Role::peer);
    Owner b(peers_.kit(1), 2);
    Owner impostor(peers_.kit(0), stolen, 1);
    EXPECT_TRUE(impostor.soon([](Owner& o) { return o.refusal.find("should not open") != std::string::npos; }))
        << impostor.refusal;
    EXPECT_TRUE(b.connected.empty());
}

TEST_F(PeerLinksTest, ARevokedPeerIsNotLetIn) {
    revoke(peers_.kits, "a");
    Owner b(peers_.kit(1), 2);
    Owner a(peers_.kit(0), 1);
    EXPECT_TRUE(a.soon([](Owner& o) { return o.refusal.find("revoked") != std::string::npos; })) << a.refusal;
    EXPECT_TRUE(b.connected.empty());
}

/// Who is at the other end may be on it, whichever of the two called.
TEST_F(PeerLinksTest, AListThatCannotBeReadEndsLinksThatWereOpenedHere) {
    Owner b(peers_.kit(1), 2);
    Owner a(peers_.kit(0), 1);
    const auto is_connected = [](Owner& o) { return o.links.link(1).view().connected; };
    ASSERT_TRUE(a.soon(is_connected));
    const auto list = peers_.kit(0).file("revoked.txt");
    std::ofstream(list) << "# nobody\n";
    std::filesystem::permissions(list, std::filesystem::perms(0664));
    EXPECT_TRUE(a.soon([&](Owner& o) { return !is_connected(o); }));
    EXPECT_TRUE(a.soon([](Owner& o) { return o.refusal.find("its group may change it") != std::string::npos; }));
    EXPECT_FALSE(is_connected(a));
    std::filesystem::permissions(list, std::filesystem::perms(0644));
    EXPECT_TRUE(a.soon(is_connected));
}

TEST_F(PeerLinksTest, AnotherFederationIsNotLetIn) {
    const TestPeers others(path("others"), population(3, {4, 3, 3}, 2, 0.7, 0.05, 4), "path");
    Owner b(peers_.kit(1), 2);
    Kit foreign = others.kit(0);
    foreign.peers[1].address = peers_.kit(1).peers[1].address;
    Owner a(foreign, 1);
    std::this_thread::sleep_for(400ms);
    const std::lock_guard lock(b.mutex);
    EXPECT_TRUE(b.connected.empty());
}

}  // namespace
}  // namespace couplet::net
