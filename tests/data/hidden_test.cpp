#include "couplet/data/hidden.hpp"

#include <cmath>

#include "couplet/core/error.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

Tensor<double> ones(Shape shape) {
    Tensor<double> x(std::move(shape));
    for (double& e : x.elements()) e = 1;
    return x;
}

Tensor<double> hidden(Shape shape, const HiddenEntries& how) {
    auto x = ones(std::move(shape));
    hide_entries(x.view(), how);
    return x;
}

double part_missing(const Tensor<double>& x) {
    double count = 0;
    for (const double e : x.elements()) count += std::isnan(e) ? 1 : 0;
    return count / static_cast<double>(x.size());
}

TEST(HiddenTest, HidesAboutTheFractionAskedFor) {
    for (const double fraction : {0.0, 0.1, 0.5, 0.9, 1.0}) {
        const auto x = hidden({100, 20, 10}, {.fraction = fraction, .seed = 3});
        // Five standard deviations of a binomial of 20000.
        EXPECT_NEAR(part_missing(x), fraction, 5 * std::sqrt(fraction * (1 - fraction) / 20000.0)) << fraction;
    }
}

TEST(HiddenTest, ALargerFractionHidesTheSameEntriesAndMore) {
    const auto few = hidden({30, 7}, {.fraction = 0.2, .seed = 5});
    const auto many = hidden({30, 7}, {.fraction = 0.6, .seed = 5});
    Index more = 0;
    for (Index i = 0; i < few.size(); ++i) {
        if (std::isnan(few.data()[i])) {
            EXPECT_TRUE(std::isnan(many.data()[i])) << i;
        }
        more += std::isnan(many.data()[i]) && !std::isnan(few.data()[i]) ? 1 : 0;
    }
    EXPECT_GT(more, 0);
}

TEST(HiddenTest, TheSamePatientsHoweverManyClientsShareThem) {
    const auto all = hidden({10, 9}, {.fraction = 0.5, .seed = 7});
    const auto second = hidden({6, 9}, {.fraction = 0.5, .seed = 7, .first_patient = 4});
    for (Index i = 0; i < second.size(); ++i) {
        EXPECT_EQ(std::isnan(second.data()[i]), std::isnan(all.data()[4 * 9 + i])) << i;
    }
    EXPECT_GT(part_missing(hidden({10, 9}, {.fraction = 0.5, .seed = 8})), 0);
}

TEST(HiddenTest, ZeroIsThePapersWay) {
    const auto nan = hidden({10, 9}, {.fraction = 0.4, .seed = 2});
    const auto zero = hidden({10, 9}, {.fraction = 0.4, .as = MissingAs::zero, .seed = 2});
    for (Index i = 0; i < nan.size(); ++i) EXPECT_EQ(zero.data()[i], std::isnan(nan.data()[i]) ? 0.0 : 1.0) << i;
}

TEST(HiddenTest, RefusesWhatIsNoFraction) {
    auto x = ones({2, 2});
    for (const double fraction : {-0.1, 1.1, std::nan("")}) {
        EXPECT_THROW(hide_entries(x.view(), {.fraction = fraction}), InputError) << fraction;
    }
}

}  // namespace
}  // namespace couplet
