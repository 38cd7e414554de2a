#include "couplet/audit/row_relations.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "couplet/core/random.hpp"

namespace couplet {
namespace {

/// Rows that add up vectors of records: row i, those of the records in holders[i].
Matrix<double> rows_of(const std::vector<std::vector<Index>>& holders, Index records) {
    Random random(7);
    Matrix<double> vectors(records, 4);
    for (Index i = 0; i < vectors.size(); ++i) vectors.data()[i] = random.normal();
    auto rows = Matrix<double>::zeros(static_cast<Index>(holders.size()), 4);
    for (Index i = 0; i < rows.rows(); ++i) {
        for (const Index record : holders[static_cast<std::size_t>(i)]) {
            for (Index j = 0; j < 4; ++j) rows(i, j) += vectors(record, j);
        }
    }
    return rows;
}

TEST(EqualRows, AreThoseOfTheSameRecords) {
    auto rows = rows_of({{0}, {1, 2}, {}, {2, 1}, {0}, {2}, {0, 1, 2}, {}}, 3);
    rows(4, 1) += 1e-9;
    auto groups = equal_rows(rows.view(), 1e-8);
    for (auto& group : groups) std::sort(group.begin(), group.end());
    std::sort(groups.begin(), groups.end());
    EXPECT_EQ(groups, (std::vector<std::vector<Index>>{{0, 4}, {1, 3}, {5}, {6}}));
    EXPECT_EQ(equal_rows(rows.view(), 1e-10).size(), 5U) << "a billionth apart";
    EXPECT_TRUE(equal_rows(MatrixView<const double>(nullptr, 0, 4), 1).empty());
}

TEST(RowRelations, HoldForEveryRecord) {
    const std::vector<std::vector<Index>> holders{{0, 1}, {2}, {0, 2}, {1}, {3, 3}, {3}, {4}};
    const auto relations = row_relations(rows_of(holders, 5).view(), 1e-9, 1000);
    // {0,1} + {2} = {0,2} + {1}; {3,3} = 2 {3}. Each once for a side; nothing about the last.
    ASSERT_EQ(relations.size(), 2U);
    for (const auto& relation : relations) {
        for (Index record = 0; record < 5; ++record) {
            std::int64_t sum = 0;
            for (const auto& [row, times] : relation) {
                const auto& who = holders[static_cast<std::size_t>(row)];
                sum += times * std::count(who.begin(), who.end(), record);
            }
            EXPECT_EQ(sum, 0);
        }
        EXPECT_FALSE(relation.contains(6));
    }
    EXPECT_EQ(relations[0].size(), 2U) << "shorter ones first";
    EXPECT_EQ(row_relations(rows_of(holders, 5).view(), 1e-9, 1).size(), 1U);
}

TEST(Elimination, TellsUnknownsByFreeOnes) {
    Elimination known(5);
    EXPECT_TRUE(known.add({{0, 1}, {1, 1}, {2, -1}}));
    EXPECT_TRUE(known.add({{1, 1}, {3, -2}}));
    EXPECT_FALSE(known.add({{0, 1}, {2, -1}, {3, 2}})) << "follows";
    EXPECT_FALSE(known.add({{3, 2}, {4, -4}})) << "nobody is told whole by the other";
    EXPECT_EQ(known.free_unknowns(), (std::vector<Index>{2, 3, 4}));
    EXPECT_EQ(known.told(0), (Relation{{2, 1}, {3, -2}}));
    EXPECT_EQ(known.told(1), (Relation{{3, 2}}));
    EXPECT_EQ(known.told(4), (Relation{{4, 1}}));
}

}  // namespace
}  // namespace couplet
