#include "spectrum.hpp"

#include "cli_test_support.hpp"
#include "couplet/linalg/reference.hpp"

namespace couplet::testing {
namespace {

template <Real T>
void expect_like_reference(Index rows, Index cols, double scale, double tolerance) {
    Matrix<double> a(rows, cols);
    Matrix<T> b(rows, cols);
    for (Index i = 0; i < a.size(); ++i) {
        b.data()[i] = static_cast<T>(scale * std::sin(static_cast<double>(i * i % 1009)));
        a.data()[i] = static_cast<double>(b.data()[i]) / scale;
    }
    const auto expected = reference::svd(a.view()).sigma;
    const auto found = cli::spectrum<T>(std::as_const(b).view()).values;
    ASSERT_EQ(found.size(), static_cast<std::size_t>(std::min(rows, cols)));
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i] / scale, expected[i], tolerance * expected[0]) << rows << "x" << cols << " " << i;
    }
}

TEST(Spectrum, AgreesWithTheReference) {
    for (const auto& [rows, cols] :
         std::vector<std::pair<Index, Index>>{{1, 1}, {1, 7}, {7, 1}, {5, 13}, {13, 5}, {17, 17}}) {
        expect_like_reference<double>(rows, cols, 1, 1e-13);
        expect_like_reference<float>(rows, cols, 1, 1e-13);
    }
}

TEST(Spectrum, MagnitudesWhoseSquaresOverflow) {
    expect_like_reference<double>(5, 13, 1e200, 1e-13);
    expect_like_reference<double>(5, 13, 1e-200, 1e-13);
}

TEST(Spectrum, LargeOnesUseTheGramMatrix) {
    Matrix<double> a = Matrix<double>::zeros(1100, 9100);
    for (Index i = 0; i < a.rows(); ++i) a(i, i) = static_cast<double>(a.rows() - i);
    const cli::Spectrum found = cli::spectrum<double>(std::as_const(a).view());
    EXPECT_EQ(found.method, SvdMethod::gram);
    ASSERT_EQ(found.values.size(), 1100U);
    for (std::size_t i = 0; i < found.values.size(); ++i)
        EXPECT_NEAR(found.values[i], 1100.0 - static_cast<double>(i), 1e-6);
}

TEST(Spectrum, TruncationErrors) {
    const auto errors = cli::truncation_errors(std::vector{4.0, 3.0, 0.0});
    ASSERT_EQ(errors.size(), 4U);
    EXPECT_DOUBLE_EQ(errors[0], 1);
    EXPECT_DOUBLE_EQ(errors[1], 0.6);
    EXPECT_EQ(errors[2], 0);
    EXPECT_EQ(errors[3], 0);
    EXPECT_EQ(cli::truncation_errors(std::vector{0.0, 0.0}), (std::vector{0.0, 0.0, 0.0}));
    EXPECT_TRUE(std::isfinite(cli::truncation_errors(std::vector{1e200, 1e200})[1]));
}

TEST(Spectrum, RankForError) {
    const std::vector errors{1.0, 0.6, 0.1, 0.0};
    EXPECT_EQ(cli::rank_for_error(errors, 0.7), 1);
    EXPECT_EQ(cli::rank_for_error(errors, 0.6), 1);
    EXPECT_EQ(cli::rank_for_error(errors, 0.5), 2);
    EXPECT_EQ(cli::rank_for_error(errors, 0.01), 3);
    EXPECT_EQ(cli::rank_for_error(errors, 1.0), 1) << "the rank is at least 1";
}

}  // namespace
}  // namespace couplet::testing
