#include "checks.hpp"

#include <cmath>
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
    EXPECT_EQ(text("\u00b5g/l R\u2081", "a"), "\u00b5g/l R\u2081");
    EXPECT_EQ(modes_of(numbers({3, 2}), "a"), (Shape{3, 2}));
    EXPECT_EQ(ranks_of(numbers({4, 2, 1}), Shape{3, 2}, "a"), (std::vector<Index>{4, 2, 1}));
    EXPECT_EQ(train_numbers(Shape{3, 2}, {4, 2, 1}, "client a"), 4 * 3 * 2 + 2 * 2);
}

TEST(ChecksTest, BadOnesBlameTheirSender) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::function<void()>> bad{[] { to_index(1ULL << 63, "peer b", "rank"); },
                                                 [&] { finite(nan, "peer b", "norm"); },
                                                 [] { squares(-1, "peer b", "norm"); },
                                                 [&] { part(nan, "peer b", "eps"); },
                                                 [] { part(1, "peer b", "eps"); },
                                                 [] { text("two\nlines", "peer b"); },
                                                 [] { text("\x1b[2J", "peer b"); },
                                                 [] { text("a\x7f", "peer b"); },
                                                 [] {
                                                     text(
                                                         "\xc2\x9b"
                                                         "2J",
                                                         "peer b");
                                                 },
                                                 [] { text("R\xe9sum\xe9", "peer b"); },
                                                 [] { text("\xff", "peer b"); },
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

/// The last value that is taken and the first that is not, and what is said of it.
TEST(ChecksTest, EveryLimitIsWhereItSays) {
    constexpr std::uint64_t largest = std::numeric_limits<Index>::max();
    EXPECT_EQ(to_index(largest, "b", "rank"), std::numeric_limits<Index>::max());
    EXPECT_EQ(refusal([] { to_index(largest + 1, "b", "rank"); }),
              "b: rank of 9223372036854775808; expected fewer than 2^63");
    EXPECT_EQ(finite(-1, "b", "norm"), -1);
    EXPECT_EQ(refusal([] { finite(std::numeric_limits<double>::infinity(), "b", "norm"); }),
              "b: norm of inf; expected a finite number");
    EXPECT_EQ(squares(2, "b", "norm"), 2);
    EXPECT_EQ(refusal([] { squares(-1e-6, "b", "norm"); }), "b: norm of -0.000001; expected a number of at least 0");
    EXPECT_EQ(part(0, "b", "eps"), 0);
    EXPECT_EQ(part(std::nextafter(1.0, 0.0), "b", "eps"), std::nextafter(1.0, 0.0));
    EXPECT_EQ(refusal([] { part(1, "b", "eps"); }), "b: eps of 1.000000; expected a number from 0 up to 1");
    EXPECT_EQ(refusal([] { part(-0.5, "b", "eps"); }), "b: eps of -0.500000; expected a number from 0 up to 1");
    EXPECT_EQ(text(std::string(most_text, 'x'), "b").size(), most_text);
    EXPECT_EQ(
        refusal([] { text(std::string(most_text + 1, 'x'), "b"); }),
        "b: a text of " + std::to_string(most_text + 1) + " bytes; expected at most " + std::to_string(most_text));
    EXPECT_EQ(text(" ~\xc3\xa9", "b"), " ~\xc3\xa9") << "a space, a tilde and what is not ASCII are plain text";
    for (const char control : {'\x01', '\x1f', '\x7f'}) {
        EXPECT_EQ(refusal([&] { text(std::string("a") + control, "b"); }),
                  "b: a text with control characters; expected plain text");
    }
    EXPECT_EQ(indices(numbers({1, 7}), "b", "modes", 2), (std::vector<Index>{1, 7}));
    EXPECT_EQ(refusal([] { indices(numbers({1, 2, 3}), "b", "modes", 2); }), "b: 3 modes; expected at most 2");
    EXPECT_EQ(refusal([] { indices(numbers({1, 0}), "b", "modes", 2); }), "b: modes of 0; expected at least 1");
    EXPECT_EQ(refusal([] { modes_of(numbers({}), "b"); }), "b: no feature modes; expected at least one");
    const auto ones = [](int count) {
        const std::vector<std::uint64_t> values(static_cast<std::size_t>(count), 1);
        return Numbers(values.begin(), values.end());
    };
    EXPECT_EQ(modes_of(ones(most_modes), "b").order(), most_modes);
    EXPECT_NE(refusal([&] { modes_of(ones(most_modes + 1), "b"); }), "");
}

TEST(ChecksTest, RanksFitTheModesOnBothSides) {
    const Shape modes{3, 2};
    EXPECT_EQ(ranks_of(numbers({6, 2, 1}), modes, "b"), (std::vector<Index>{6, 2, 1})) << "the largest there are";
    EXPECT_EQ(ranks_of(numbers({1, 2, 1}), modes, "b"), (std::vector<Index>{1, 2, 1}));
    const std::vector<std::pair<Numbers, std::string>> bad{
        {numbers({7, 2, 1}), "ranks 7 and 2 around a mode of 3; expected at most 6 and 21"},
        {numbers({6, 3, 1}), "ranks 3 and 1 around a mode of 2; expected at most 2 and 6"},
        {numbers({1, 4, 1}), "ranks 1 and 4 around a mode of 3; expected at most 6 and 3"},
        {numbers({6, 2}), "2 ranks; expected 3, the last of them 1"},
        {numbers({6, 2, 1, 1}), "4 ranks; expected 3, the last of them 1"},
        {numbers({6, 2, 2}), "3 ranks; expected 3, the last of them 1"}};
    for (const auto& [ranks, expected] : bad) {
        EXPECT_EQ(refusal([&, &ranks = ranks] { ranks_of(ranks, modes, "b"); }), "b: " + expected);
    }
    // A rank whose product with the mode does not fit is no reason to overflow.
    EXPECT_NE(refusal([] { ranks_of(numbers({1ULL << 62, 1, 1}), Shape{4, 2}, "b"); }), "");
    EXPECT_EQ(train_numbers(Shape{2, 3, 4}, {5, 2, 3, 1}, "client a"), 5 * 2 * 2 + 2 * 3 * 3 + 3 * 4 * 1);
    const Index half = Index{1} << 62;
    EXPECT_NE(refusal([&] {
                  train_numbers(Shape{1, 1, 1}, {half, 1, half, 1}, "client a");
              }),
              "")
        << "each fits, their sum does not";
}

}  // namespace
}  // namespace couplet::wire
