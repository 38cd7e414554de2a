#include "couplet/data/frequent_codes.hpp"

#include "data_test_support.hpp"

namespace couplet {
namespace {

using Codes = std::vector<std::string>;

TEST(FrequentCodes, MostFirstThenByNumber) {
    const CodeCounts counts{{"100", 2}, {"9", 2}, {"7", 1}, {"20", 5}};
    EXPECT_EQ(frequent_codes(counts, 3, "x.csv", "codes"), (Codes{"20", "9", "100"}));
    EXPECT_EQ(frequent_codes(counts, 4, "x.csv", "codes"), (Codes{"20", "9", "100", "7"}));
}

TEST(FrequentCodes, SaysHowManyThereAre) {
    const CodeCounts counts{{"1", 2}, {"2", 2}};
    EXPECT_EQ(testing::refusal([&] { frequent_codes(counts, 3, "x.csv", "diagnoses"); }),
              "x.csv: 2 different diagnoses; expected at least the 3 asked for, and that at least 1. Ask for a number "
              "from 1 to 2, or check that the file is complete.");
    EXPECT_NE(testing::refusal([&] { frequent_codes(counts, 0, "x.csv", "diagnoses"); }), "nothing thrown");
}

}  // namespace
}  // namespace couplet
