#include "couplet/audit/attack.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace couplet {
namespace {

TEST(AttackCounts, TellsWhoIsCounted) {
    // Norms of their own: a class that nobody else is in says that its patient took part.
    Tensor<double> members({40, 2});
    Tensor<double> controls({40, 2});
    for (Index i = 0; i < 40; ++i) {
        members.data()[2 * i] = std::exp2(static_cast<double>(i) / 4 + 0.06);
        controls.data()[2 * i] = std::exp2(static_cast<double>(i) / 4 + 0.19);
        members.data()[2 * i + 1] = controls.data()[2 * i + 1] = 0;
    }
    const Finding finding = attack_counts("secure", {members.view()}, controls.view(), {});
    EXPECT_EQ(finding.membership.value, 1);
    EXPECT_EQ(finding.verdict, Verdict::membership);
    EXPECT_EQ(finding.moment.small_cells, 40);
    const Finding crowd = attack_counts("secure", Clients(20, members.view()), members.view(), {});
    EXPECT_NEAR(crowd.membership.value, 0.5, 1e-12);
    EXPECT_EQ(crowd.moment.small_cells, 0);
    EXPECT_EQ(crowd.verdict, Verdict::features_only);
}

}  // namespace
}  // namespace couplet
