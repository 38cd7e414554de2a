#include "couplet/privacy/records.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace couplet {
namespace {

TEST(DistinctRecords, LeavesOutEmptyOnesAndCopies) {
    const double nan = std::nan("");
    const std::vector<double> rows{0,   0,   0,    //
                                   1,   2,   0,    //
                                   nan, 0,   nan,  //
                                   1,   2,   0,    //
                                   nan, 2,   0,    //
                                   nan, nan, nan,  //
                                   1,   2,   1e-300};
    EXPECT_EQ(distinct_records({rows.data(), 7, 3}), (std::vector<Index>{1, 4, 6}));
    EXPECT_TRUE(distinct_records({rows.data(), 1, 3}).empty());
    EXPECT_TRUE(distinct_records({rows.data(), 0, 3}).empty());
}

TEST(RecordKey, KnowsAConvertedRecordAgain) {
    const std::vector<double> record{1.0 / 3, -2e160, 5e-320, 0, 0.1};
    std::vector<double> other{1.0 / 3, -2e160, 5e-320, -0.0, 0.1};
    EXPECT_EQ(record_key(record, Likeness::exact), record_key(other, Likeness::exact));
    other[0] = static_cast<double>(static_cast<float>(other[0]));
    other[4] = static_cast<double>(static_cast<float>(other[4]));
    EXPECT_NE(record_key(record, Likeness::exact), record_key(other, Likeness::exact));
    EXPECT_EQ(record_key(record, Likeness::rounded), record_key(other, Likeness::rounded));
    other[0] *= 1 + 1e-6;
    EXPECT_NE(record_key(record, Likeness::rounded), record_key(other, Likeness::rounded));
}

TEST(CountPatients, OfATensor) {
    auto x = Tensor<double>::zeros({100, 2, 2});
    EXPECT_EQ(count_patients(x.view()), 0);
    for (Index i = 0; i < 9; ++i) x.data()[4 * i] = static_cast<double>(1 + i / 3);
    EXPECT_EQ(count_patients(x.view()), 3);
}

}  // namespace
}  // namespace couplet
