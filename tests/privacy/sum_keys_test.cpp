#include "sum_keys.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

using Vector = std::vector<std::uint64_t>;

TEST(PairwiseMasks, CancelOverAllMembersAndNoFewer) {
    constexpr int n = 6;
    std::vector<Secret> keys;
    std::map<Party, Key> members;
    for (int k = 0; k < n; ++k) {
        keys.push_back(Secret::random());
        members[k] = public_key(keys.back());
    }
    const SumTerms terms{.sum = 0, .stretches = {{300, Ring(40), 1}, {200, Ring::modulo(999), 1}}, .told = {}};
    const Key session = Secret::random().bytes();
    Vector sum(500, 0);
    Vector all_but_one(500, 0);
    for (int k = 0; k < n; ++k) {
        Vector x(500, static_cast<std::uint64_t>(k));
        add_pairwise_masks(x, terms, session, k, keys[static_cast<std::size_t>(k)], members);
        EXPECT_NE(x, Vector(500, static_cast<std::uint64_t>(k)));
        for (std::size_t i = 0; i < 500; ++i) {
            const Ring& ring = terms.stretches[i < 300 ? 0 : 1].ring;
            sum[i] = ring.sum(sum[i], x[i]);
            if (k > 0) all_but_one[i] = ring.sum(all_but_one[i], x[i]);
        }
    }
    EXPECT_EQ(sum, Vector(500, 15));
    EXPECT_NE(all_but_one, Vector(500, 15));
}

TEST(SharedKey, IsBoundToSessionPurposeAndPair) {
    const Secret a = Secret::random();
    const Secret b = Secret::random();
    const Key session{1};
    const Key key = shared_key(a, public_key(b), session, "x", 0, 1).bytes();
    EXPECT_EQ(shared_key(b, public_key(a), session, "x", 0, 1).bytes(), key);
    EXPECT_NE(shared_key(a, public_key(b), Key{2}, "x", 0, 1).bytes(), key);
    EXPECT_NE(shared_key(a, public_key(b), session, "y", 0, 1).bytes(), key);
    EXPECT_NE(shared_key(a, public_key(b), session, "x", 0, 2).bytes(), key);
    EXPECT_THROW(shared_key(a, Key{}, session, "x", 0, 1), InputError) << "a key of small order";
}

TEST(OwnStream, IsBoundToItsSum) {
    const Secret seed = Secret::random();
    EXPECT_EQ(own_stream(seed, Key{1}).bytes(), own_stream(seed, Key{1}).bytes());
    EXPECT_NE(own_stream(seed, Key{1}).bytes(), own_stream(seed, Key{2}).bytes());
    EXPECT_NE(commitment(seed), seed.bytes());
    EXPECT_NE(commitment(seed), own_stream(seed, Key{1}).bytes());
}

TEST(SealedShares, OpenForTheirReceiverAlone) {
    const Secret key = Secret::random();
    ByteText plain(64, 3);
    const ShareRoute route{Key{1}, 2, 3};
    const ByteText sealed = seal_shares(key, plain, route);
    EXPECT_EQ(sealed.size(), sealed_bytes(1));
    const auto opened = open_shares(key, sealed, route, 2);
    ASSERT_TRUE(opened);
    EXPECT_EQ((*opened)[1].bytes()[31], 3);
    EXPECT_FALSE(open_shares(key, sealed, {Key{1}, 3, 2}, 2));
    EXPECT_FALSE(open_shares(key, sealed, {Key{2}, 2, 3}, 2));
    EXPECT_FALSE(open_shares(key, sealed, route, 3));
    EXPECT_FALSE(open_shares(Secret::random(), sealed, route, 2));
}

}  // namespace
}  // namespace couplet
