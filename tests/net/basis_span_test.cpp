#include "basis_span.hpp"

#include <cmath>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

Matrix<double> units(std::vector<Index> which) {
    auto basis = Matrix<double>::zeros(8, static_cast<Index>(which.size()));
    for (std::size_t j = 0; j < which.size(); ++j) basis(which[j], static_cast<Index>(j)) = 1;
    return basis;
}

TEST(BasisSpan, KnowsWhatWasAskedOn) {
    BasisSpan span;
    EXPECT_EQ(span.outside(units({0, 1, 2})), 3);
    span.add(units({0, 1, 2}));
    EXPECT_EQ(span.outside(units({2, 0})), 0);
    EXPECT_EQ(span.outside(units({2, 3})), 1);
    span.add(units({2, 3}));
    EXPECT_EQ(span.outside(units({0, 1, 2, 3, 4})), 1);
    EXPECT_EQ(span.outside({}), 0);
    // Turned within the span, and out of it by next to nothing.
    Matrix<double> turned = units({0});
    turned(0, 0) = std::sqrt(0.5);
    turned(3, 0) = -std::sqrt(0.5);
    EXPECT_EQ(span.outside(turned), 0);
    turned(6, 0) = 1e-7;
    EXPECT_EQ(span.outside(turned), 1);
}

TEST(BasisSpan, OfOtherDataNothingIsKnown) {
    BasisSpan span;
    span.set_data("one");
    span.add(units({0, 1}));
    span.set_data("one");
    EXPECT_EQ(span.outside(units({1})), 0);
    span.set_data("two");
    EXPECT_EQ(span.outside(units({1})), 1);
}

}  // namespace
}  // namespace couplet::net
