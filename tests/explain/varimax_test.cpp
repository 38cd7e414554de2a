#include "couplet/explain/varimax.hpp"

#include "explain_test_support.hpp"

namespace couplet {
namespace {

/// Sum over rows of the variance of the squared entries.
double criterion(const Matrix<double>& rows) {
    double sum = 0;
    const auto count = static_cast<double>(rows.cols());
    for (Index r = 0; r < rows.rows(); ++r) {
        double square = 0;
        double fourth = 0;
        for (Index i = 0; i < rows.cols(); ++i) {
            const double s = rows(r, i) * rows(r, i);
            square += s / count;
            fourth += s * s / count;
        }
        sum += fourth - square * square;
    }
    return sum;
}

TEST(VarimaxTest, FindsThePatternsThatWereMixed) {
    Matrix<double> rows = testing::mixed_findings().rows;
    varimax(rows);
    for (Index r = 0; r < 3; ++r) {
        double largest = 0;
        for (Index i = 0; i < 12; ++i) largest = std::max(largest, std::abs(rows(r, i)));
        EXPECT_NEAR(largest, 1, 1e-6);
    }
}

TEST(VarimaxTest, TurnsOnlyAndNeverForTheWorse) {
    Random random(3);
    for (const Index count : {Index{1}, Index{2}, Index{7}}) {
        Matrix<double> rows(count, 31);
        for (Index i = 0; i < rows.size(); ++i) rows.data()[i] = random.normal();
        const Matrix<double> before = Matrix<double>::copy(rows.view());
        const Matrix<double> rotation = varimax(rows);
        const Matrix<double> back = product<double>(rotation.view(), before.view(), Op::transpose, Op::none);
        for (Index i = 0; i < rows.size(); ++i) EXPECT_NEAR(back.data()[i], rows.data()[i], 1e-10);
        const Matrix<double> square = product<double>(rotation.view(), rotation.view(), Op::transpose, Op::none);
        for (Index i = 0; i < count; ++i) {
            for (Index j = 0; j < count; ++j) EXPECT_NEAR(square(i, j), i == j ? 1 : 0, 1e-12);
        }
        EXPECT_GE(criterion(rows), criterion(before) - 1e-12);
    }
    auto zeros = Matrix<double>::zeros(2, 5);
    varimax(zeros);
    EXPECT_EQ(zeros(0, 0), 0);
}

}  // namespace
}  // namespace couplet
