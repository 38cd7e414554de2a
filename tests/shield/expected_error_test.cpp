#include "couplet/shield/expected_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace couplet {
namespace {

TEST(TypicalRecords, AreSparseProductsThatRepeatAndAreOfOnePopulation) {
    const auto x = typical_records(200, {12, 10}, 3);
    const auto again = typical_records(200, {12, 10}, 3);
    EXPECT_TRUE(std::equal(x.elements().begin(), x.elements().end(), again.elements().begin()));
    const auto other = typical_records(200, {12, 10}, 4);
    EXPECT_FALSE(std::equal(x.elements().begin(), x.elements().end(), other.elements().begin()));
    const auto rows = x.view().unfold(1);
    double ones = 0;
    for (Index p = 0; p < rows.rows; ++p) {
        double own = 0;
        for (Index j = 0; j < rows.cols; ++j) {
            ASSERT_TRUE(rows(p, j) == 0 || rows(p, j) == 1);
            own += rows(p, j);
        }
        EXPECT_GT(own, 0);
        ones += own;
    }
    EXPECT_LT(ones, 0.5 * static_cast<double>(x.size()));
    EXPECT_EQ(typical_records(3, {4, 3, 2}, 1).shape(), (Shape{3, 4, 3, 2}));
}

TEST(ExpectedErrors, FallWithTheBudgetAndWithThePatients) {
    const auto few = expected_errors(100, {20, 20}, 10, 4, 2);
    const auto many = expected_errors(4000, {20, 20}, 10, 4, 2);
    ASSERT_EQ(few.size(), 5U);
    EXPECT_FALSE(few.back().mu);
    EXPECT_GT(few.front().rse, few[3].rse);
    EXPECT_GT(few.front().rse, many.front().rse + 0.02);
    EXPECT_GE(many[2].rse, many.back().rse - 0.01);
    EXPECT_LT(many[2].rse, 1.05 * many.back().rse);  // mu 4 costs little with thousands of patients
    // Of millions a part is made, with as much less noise.
    EXPECT_LT(expected_errors(3'000'000, {20, 20}, 10, 4, 2).front().rse, many.front().rse);
}

}  // namespace
}  // namespace couplet
