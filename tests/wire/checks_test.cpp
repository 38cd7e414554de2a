#include "checks.hpp"

#include <limits>

#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

Numbers numbers(std::initializer_list<std::uint64_t> values) { return {values.begin(), values.end()}; }

TEST(ChecksTest, GoodValuesPass) {
    EXPECT_EQ(to_index(7, "a", "rank"), 7);
    EXPECT_EQ(squares(0, "a", "norm"), 0);
    EXPECT_EQ(part(0.5, "a", "eps"), 0.5);
    EXPECT_EQ(text("hospital-a", "a"), "hospital-a");
    EXPECT_EQ(modes_of(numbers({3, 2}), "a"), (Shape{3, 2}));
    EXPECT_EQ(ranks_of(numbers({4, 2, 1}), Shape{3, 2}, "a"), (std::vector<Index>{4, 2, 1}));
    EXPECT_EQ(train_numbers(Shape{3, 2}, {4, 2, 1}), 4 * 3 * 2 + 2 * 2);
}

TEST(ChecksTest, BadOnesBlameTheirSender) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::function<void()>> bad{[] { to_index(1ULL << 63, "peer b", "rank"); },
                                                 [&] { finite(nan, "peer b", "norm"); },
                                                 [] { squares(-1, "peer b", "norm"); },
                                                 [&] { part(nan, "peer b", "eps"); },
                                                 [] { part(1, "peer b", "eps"); },
                                                 [] { text("two\nlines", "peer b"); },
                                                 [] { text(std::string(most_text + 1, 'x'), "peer b"); },
                                                 [] {
                                                     indices(numbers({1, 2, 3}), "peer b", "modes", 2);
                                                 },
                                                 [] { modes_of(numbers({}), "peer b"); },
                                                 [] {
                                                     modes_of(numbers({1ULL << 40, 1ULL << 40}), "peer b");
                                                 },
                                                 [] {
                                                     ranks_of(numbers({7, 2, 1}), Shape{3, 2}, "peer b");
                                                 },
                                                 [] {
                                                     ranks_of(numbers({4, 3, 1}), Shape{3, 2}, "peer b");
                                                 },
                                                 [] {
                                                     ranks_of(numbers({4, 2}), Shape{3, 2}, "peer b");
                                                 }};
    for (std::size_t i = 0; i < bad.size(); ++i) EXPECT_EQ(refusal(bad[i]).find("peer b"), 0U) << i;
}

}  // namespace
}  // namespace couplet::wire
