#include "couplet/consensus/magic_square.hpp"

#include <set>

#include "support.hpp"

namespace couplet {
namespace {

void expect_square(Index n, const std::vector<double>& expected) {
    const Matrix<double> m = magic_square(n);
    EXPECT_EQ(std::vector<double>(m.data(), m.data() + m.size()), expected);
}

TEST(MagicSquareTest, EqualsMatlab) {
    expect_square(1, {1});
    expect_square(3, {8, 1, 6, 3, 5, 7, 4, 9, 2});
    expect_square(4, {16, 2, 3, 13, 5, 11, 10, 8, 9, 7, 6, 12, 4, 14, 15, 1});
    expect_square(6, {35, 1,  6,  26, 19, 24, 3,  32, 7,  21, 23, 25, 31, 9,  2,  22, 27, 20,
                      8,  28, 33, 17, 10, 15, 30, 5,  34, 12, 14, 16, 4,  36, 29, 13, 18, 11});
}

TEST(MagicSquareTest, IsMagic) {
    for (const Index n : {1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 18, 33}) {
        SCOPED_TRACE(n);
        const Matrix<double> m = magic_square(n);
        const double sum = static_cast<double>(n * (n * n + 1)) / 2;
        double diagonal = 0;
        double antidiagonal = 0;
        for (Index i = 0; i < n; ++i) {
            double row = 0;
            double column = 0;
            for (Index j = 0; j < n; ++j) {
                row += m(i, j);
                column += m(j, i);
            }
            EXPECT_EQ(row, sum);
            EXPECT_EQ(column, sum);
            diagonal += m(i, i);
            antidiagonal += m(i, n - 1 - i);
        }
        EXPECT_EQ(diagonal, sum);
        EXPECT_EQ(antidiagonal, sum);
        const std::set<double> numbers(m.data(), m.data() + m.size());
        EXPECT_EQ(static_cast<Index>(numbers.size()), n * n);
        EXPECT_EQ(*numbers.begin(), 1);
        EXPECT_EQ(*numbers.rbegin(), static_cast<double>(n * n));
    }
}

TEST(MagicSquareTest, TwoHasNone) {
    EXPECT_EQ(message_of([] { magic_square(2); }),
              "magic square: size 2; expected 1 or at least 3. There is no magic square of size 2: use the "
              "paper weights "
              "for two nodes.");
    EXPECT_THROW(magic_square(0), InputError);
}

TEST(MagicSquareTest, EqualsMatlabWhereColumnsAreSwappedOnBothSides) {
    expect_square(5, {17, 24, 1, 8, 15, 23, 5, 7, 14, 16, 4, 6, 13, 20, 22, 10, 12, 19, 21, 3, 11, 18, 25, 2, 9});
    const Matrix<double> m = magic_square(10);
    EXPECT_EQ(std::vector<double>(m.data(), m.data() + 10),
              (std::vector<double>{92, 99, 1, 8, 15, 67, 74, 51, 58, 40}));
    EXPECT_EQ(message_of([] { magic_square(0); }), "magic square: size 0; expected 1 or at least 3");
}

}  // namespace
}  // namespace couplet
