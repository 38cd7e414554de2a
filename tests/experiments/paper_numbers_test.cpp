#include "couplet/experiments/paper_numbers.hpp"

#include <array>

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

/// Every number of the tables, weighted by its column: one digit that changes is noticed.
TEST(PaperNumbersTest, NoDigitChanges) {
    const auto weighted = [](const auto& row) {
        double sum = 0;
        for (std::size_t i = 0; i < row.size(); ++i) sum += static_cast<double>(i + 1) * static_cast<double>(row[i]);
        return sum;
    };
    struct Case {
        DataId id;
        double ranks;
        std::array<double, 5> rse;
        std::array<double, 5> numbers;
        std::array<double, 5> seconds;
    };
    for (const Case& one : {Case{DataId::diabetes,
                                 1660,
                                 {6.3206, 9.7899, 6.6972, 6.3506, 6.3261},
                                 {419770, 796800, 1590000, 2389400, 3192000},
                                 {1.0766, 1.0724, 1.093, 1.1076, 1.1429}},
                            Case{DataId::synthetic3,
                                 420,
                                 {5.0827, 10.1189, 5.6316, 5.1402, 5.0886},
                                 {218270, 378000, 756000, 1134000, 1512000},
                                 {0.1871, 0.1873, 0.1939, 0.2019, 0.2068}}}) {
        const PaperTable& table = *paper_r1_table(one.id);
        EXPECT_EQ(weighted(table.ranks), one.ranks);
        for (std::size_t l = 0; l < 5; ++l) {
            EXPECT_NEAR(weighted(table.rse[l]), one.rse[l], 1e-9) << l;
            EXPECT_NEAR(weighted(table.numbers[l]), one.numbers[l], 1e-6) << l;
            EXPECT_NEAR(weighted(table.seconds[l]), one.seconds[l], 1e-9) << l;
        }
    }
    double rounds = 0;
    double seconds = 0;
    double rse = 0;
    double place = 0;
    for (const PaperComparison& line : paper_comparison()) {
        ++place;
        rounds += place * static_cast<double>(line.rounds);
        seconds += place * line.seconds;
        rse += place * line.rse;
    }
    EXPECT_EQ(rounds, 2472);
    EXPECT_NEAR(seconds, 333.641, 1e-9);
    EXPECT_NEAR(rse, 42.4191, 1e-9);
}

}  // namespace
}  // namespace couplet
