#include "couplet/sim/source.hpp"

#include "couplet/core/error.hpp"
#include "trains.hpp"

namespace couplet {
namespace {

using namespace support;

TEST(SourceTest, SplitsRowsInOrderAndEvenly) {
    const auto x = random_tensor<double>({11, 2, 3});
    const auto parts = split_rows(x.view(), 4);
    ASSERT_EQ(parts.size(), 4u);
    Index row = 0;
    for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_EQ(parts[k].shape(), (Shape{k < 3 ? 3 : 2, 2, 3}));
        EXPECT_TRUE(std::equal(parts[k].data(), parts[k].data() + parts[k].size(), x.data() + row * 6));
        row += parts[k].shape()[0];
    }
    EXPECT_EQ(row, 11);
    EXPECT_EQ(split_rows(x.view(), 11).size(), 11u);
    EXPECT_THROW(split_rows(x.view(), 12), InputError);
    EXPECT_THROW(split_rows(x.view(), 0), InputError);
}

TEST(SourceTest, MemoryKeepsAndLazyMakesAgain) {
    const MemorySource memory(split_rows(random_tensor<double>({4, 3}).view(), 2));
    EXPECT_EQ(memory.clients(), 2);
    EXPECT_TRUE(memory.resident());
    EXPECT_EQ(memory.client(1).get(), memory.client(1).get());
    int made = 0;
    const LazySource lazy(3, [&](Index k) {
        ++made;
        return random_tensor<double>({2, 3}, static_cast<std::uint64_t>(k));
    });
    EXPECT_EQ(lazy.clients(), 3);
    EXPECT_FALSE(lazy.resident());
    EXPECT_EQ(made, 0);
    EXPECT_EQ(lazy.client(2)->data()[0], lazy.client(2)->data()[0]);
    EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace couplet
