#include "couplet/experiments/paper_numbers.hpp"

#include <algorithm>

#include "couplet/experiments/cost_model.hpp"
#include "couplet/experiments/style.hpp"

namespace couplet {
namespace {

TEST(PaperNumbersTest, TablesAgreeWithThePapersOwnFormula) {
    for (const auto& [id, features] : {std::pair{DataId::diabetes, std::vector<Index>{20, 24}},
                                       std::pair{DataId::synthetic3, std::vector<Index>{30, 30}}}) {
        const PaperTable* table = paper_r1_table(id);
        ASSERT_NE(table, nullptr);
        for (std::size_t i = 0; i < 7; ++i) {
            for (Index l = 1; l <= 4; ++l) {
                const double predicted = peers_numbers({4, 1, features, {table->ranks[i], 1}, l});
                // The tables are printed with three digits, one of them rounded carelessly (5.70e4 for 57600).
                EXPECT_NEAR(table->numbers[static_cast<std::size_t>(l)][i], predicted, 0.011 * predicted);
            }
        }
        EXPECT_TRUE(std::is_sorted(table->ranks.begin(), table->ranks.end()));
    }
    EXPECT_EQ(paper_r1_table(DataId::ecg), nullptr);
}

TEST(PaperNumbersTest, TheComparisonRepeatsTheTables) {
    EXPECT_EQ(paper_comparison().size(), 15U);
    for (const PaperComparison& line : paper_comparison()) {
        EXPECT_FALSE(method_style(line.method).label.empty());
        const PaperTable* table = paper_r1_table(line.data);
        if (table == nullptr || line.method != "printed-star") continue;
        // R1 = 50 and 20.
        const std::size_t at = line.data == DataId::diabetes ? 4 : 6;
        EXPECT_EQ(line.rse, table->rse[0][at]);
        EXPECT_EQ(line.seconds, table->seconds[0][at]);
    }
}

}  // namespace
}  // namespace couplet
