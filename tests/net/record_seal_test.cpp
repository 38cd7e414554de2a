#include "record_seal.hpp"

#include "peer_test_support.hpp"

namespace couplet::net {
namespace {

class RecordSealTest : public NetTest {
  protected:
    RecordSeal seal(std::size_t k, std::uint8_t job = 1) {
        const Kit kit = peers_.kit(k);
        return RecordSeal(kit, load_credentials(kit, Role::peer), wire::JobId{job});
    }
    static wire::PeerRecord record(Index peer) {
        return {.peer = peer, .incarnation = 7, .version = 3, .features = {3, 3}, .rows = 4, .hears = {0, 9, 0}};
    }
    std::string refused(const wire::PeerRecord& record) {
        RecordSeal mine = seal(2);
        return complaint([&] { mine.check(record); });
    }
    TestPeers peers_{path("kits"), population(3, {4, 3, 3}, 2, 0.7, 0.05, 4), "path"};
};

TEST_F(RecordSealTest, WhatAPeerHasSignedIsItsWord) {
    wire::PeerRecord said = record(0);
    seal(0).seal(said);
    EXPECT_EQ(refused(said), "");
    EXPECT_EQ(refused(said), "");
}

TEST_F(RecordSealTest, NobodySpeaksForAnother) {
    const std::string name = peers_.kit(0).identity.name;
    EXPECT_NE(refused(record(0)).find("record of peer " + name + ": no signature"), std::string::npos);
    wire::PeerRecord forged = record(0);
    seal(1).seal(forged);
    EXPECT_NE(refused(forged).find("expected by " + name + " itself"), std::string::npos) << refused(forged);
    // The certificate of who it speaks for, and the signature of another.
    wire::PeerRecord mixed = record(0);
    seal(0).seal(mixed);
    mixed.signature = forged.signature;
    EXPECT_NE(refused(mixed).find("a signature that does not fit"), std::string::npos);
    mixed.signature = "x";
    EXPECT_NE(refused(mixed).find("a signature that does not fit"), std::string::npos);
    RecordSeal mine = seal(2);
    for (const wire::PeerRecord& false_word : {record(0), forged, mixed}) {
        EXPECT_THROW(mine.check(false_word), ForgedRecord);
    }
    EXPECT_NE(refused(record(3)).find("one of peer 4; expected one of 3 provisioned peers"), std::string::npos);
}

TEST_F(RecordSealTest, WhatWasChangedOrSaidInAnotherJobDoesNotCount) {
    wire::PeerRecord changed = record(0);
    seal(0).seal(changed);
    changed.promised = 1;
    EXPECT_NE(refused(changed).find("does not fit what it says"), std::string::npos);
    wire::PeerRecord other = record(0);
    seal(0, 2).seal(other);
    EXPECT_NE(refused(other).find("does not fit what it says"), std::string::npos);
}

TEST_F(RecordSealTest, AForeignOrRevokedCertificateDoesNotCount) {
    const TestPeers others(path("others"), population(3, {4, 3, 3}, 2, 0.7, 0.05, 4), "path");
    wire::PeerRecord foreign = record(0);
    RecordSeal(others.kit(0), load_credentials(others.kit(0), Role::peer), wire::JobId{1}).seal(foreign);
    EXPECT_NE(refused(foreign).find("signed by another authority"), std::string::npos);
    wire::PeerRecord said = record(0);
    seal(0).seal(said);
    RecordSeal mine = seal(2);
    EXPECT_NO_THROW(mine.check(said));
    mine.revoke({read_certificate(said.certificate, "").serial});
    EXPECT_NE(complaint([&] { mine.check(said); }).find("revoked"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
