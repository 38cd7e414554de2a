#include "couplet/privacy/derived_secrets.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace couplet {
namespace {

std::vector<Key> draw(const Secret& root, const Key& purpose) {
    const SecretSource source = derived_secrets(root, purpose);
    std::vector<Key> keys;
    for (int i = 0; i < 4; ++i) keys.push_back(source().bytes());
    return keys;
}

TEST(DerivedSecrets, ComeAgainFromTheirRootAndPurposeAlone) {
    const Secret root = Secret::random();
    const Secret other = Secret::random();
    EXPECT_EQ(draw(root, {}), draw(root, {}));
    std::set<Key> all;
    for (const auto& keys : {draw(root, {}), draw(root, {1}), draw(other, {})}) all.insert(keys.begin(), keys.end());
    EXPECT_EQ(all.size(), 12U);
    EXPECT_FALSE(all.contains(root.bytes()));
}

TEST(DerivedSecrets, AreASeriesThatOutlivesItsRoot) {
    auto root = std::make_unique<Secret>(Secret::random());
    const std::vector<Key> expected = draw(*root, {});
    const SecretSource source = derived_secrets(*root, {});
    const SecretSource same_series = source;
    root.reset();
    EXPECT_EQ(source().bytes(), expected[0]);
    EXPECT_EQ(same_series().bytes(), expected[1]);
}

}  // namespace
}  // namespace couplet
