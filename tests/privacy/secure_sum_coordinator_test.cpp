#include <gtest/gtest.h>

#include "couplet/core/error.hpp"
#include "couplet/privacy/secure_sum.hpp"

namespace couplet {
namespace {

/// Four honest clients and a coordinator, up to the unmasking.
struct Circle {
    static constexpr Party size = 4;
    explicit Circle(int threshold) : keys{.threshold = threshold}, coordinator(keys, verifier()) {
        for (Party p = 0; p < size; ++p) {
            const Identity& identity = identities[static_cast<std::size_t>(p)];
            clients.emplace_back(
                p, keys, SumDemands{}, [&identity](Bytes text) { return identity.sign(text); }, verifier());
            coordinator.take_advertisement(p, clients.back().advertise());
        }
        for (Party p = 0; p < size; ++p) coordinator.take_shares(p, at(p).seal(coordinator.roster()));
        for (Party p = 0; p < size; ++p) at(p).open(coordinator.shares_for(p));
        coordinator.begin_sum(sum, coordinator.sharers());
    }
    Verifier verifier() const {
        return [this](Party party, Bytes message, const Signature& signature) {
            return verify_signature(identities.at(static_cast<std::size_t>(party)).verifying(), message, signature);
        };
    }
    SecureSumClient& at(Party p) { return clients[static_cast<std::size_t>(p)]; }
    void numbers() {
        for (Party p = 0; p < size; ++p) coordinator.take_masked(p, at(p).mask(sum, coordinator.members(), {5, 6}));
        coordinator.survivors();
    }

    std::vector<Identity> identities{size};
    KeyTerms keys;
    SumTerms sum{.sum = 0, .stretches = {{2, Ring(20), 1}}, .told = {}};
    SecureSumCoordinator coordinator;
    std::vector<SecureSumClient> clients;
};

TEST(SecureSumCoordinator, NamesWhatNoHonestClientSends) {
    Circle circle(3);
    SecureSumCoordinator fresh(circle.keys, circle.verifier());
    EXPECT_THROW(fresh.take_advertisement(0, {}), InputError);
    EXPECT_THROW(fresh.take_shares(0, {}), InputError);
    EXPECT_THROW(fresh.take_masked(0, {}), InputError);
    EXPECT_THROW(fresh.take_endorsement(0, {}), InputError);
    EXPECT_THROW(fresh.take_unmasking(0, {}), InputError);
    EXPECT_THROW(fresh.roster(), RunError);
    EXPECT_THROW(fresh.sum(), RunError);
    auto masked = circle.at(0).mask(circle.sum, circle.coordinator.members(), {1, 2});
    EXPECT_THROW(circle.coordinator.take_masked(1, masked), InputError) << "signed by another";
    masked.values.pop_back();
    EXPECT_THROW(circle.coordinator.take_masked(0, masked), InputError) << "too short";
}

/// Seeds are known by their hashes and masking keys by their public halves: a share that fits neither is found out.
TEST(SecureSumCoordinator, LeavesOutSharesThatDoNotFitAndNamesTheirSender) {
    for (const Party liar : {0, 2}) {
        Circle circle(3);
        circle.numbers();
        for (Party p = 0; p < Circle::size; ++p) {
            auto reveal = circle.at(p).unmask(circle.coordinator.endorsements());
            if (p == liar) reveal.alive.at(1)[9] ^= 4;
            circle.coordinator.take_unmasking(p, std::move(reveal));
        }
        EXPECT_EQ(circle.coordinator.sum(), (std::vector<std::uint64_t>{20, 24}));
        EXPECT_EQ(circle.coordinator.liars(), liar < 3 && liar != 0 ? std::set<Party>{liar} : std::set<Party>{0});
    }
    Circle exact(4);
    exact.numbers();
    for (Party p = 0; p < Circle::size; ++p) {
        auto reveal = exact.at(p).unmask(exact.coordinator.endorsements());
        if (p == 1) reveal.alive.at(2)[0] ^= 1;
        exact.coordinator.take_unmasking(p, std::move(reveal));
    }
    EXPECT_THROW(exact.coordinator.sum(), RunError) << "all shares are needed: nobody can say which is wrong";
}

}  // namespace
}  // namespace couplet
