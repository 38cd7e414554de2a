#include "couplet/secure/shield_plan.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

using Want = SubspaceIteration::Want;

Job ranked(Index rank, Sketch sketch = Sketch::random) {
    Job job;
    job.aggregate = Aggregate::subspace;
    job.rank = rank;
    job.sketch = sketch;
    return job;
}

/// Ten clients of a hundred, exactly.
const Census people{1000, 100, 4, 2, 1000, std::vector<ClientSize>(10, {100, 100})};

TEST(ShieldPlan, WithoutPolicyIsTheJobAsItIs) {
    const ShieldPlan plan = plan_shield(ranked(6), {10, 10}, {.policy = false}, people, 10, 6);
    EXPECT_EQ(plan.job.passes, 3);
    EXPECT_EQ(plan.sums, 4);
    EXPECT_EQ(plan.directions, 48);
    EXPECT_FALSE(plan.clip);
    EXPECT_EQ(plan.bound, 1000 * 16);
    EXPECT_EQ(want_of(plan, 1), Want::sketch);
    EXPECT_EQ(want_of(plan, 3), Want::sketch);
    EXPECT_EQ(want_of(plan, 4), Want::projected);
    EXPECT_EQ(want_of(plan, 5), Want::nothing);
    EXPECT_EQ(block_width(plan, {10, 10}), 16);
    EXPECT_EQ(widest_basis(plan, {10, 10}), 48);
}

TEST(ShieldPlan, ThePolicyCountsHonestPatientsAndClips) {
    // Six of ten clients of 100 stay, of whom one colludes: 50 directions.
    const ShieldPlan plan = plan_shield(ranked(40), {20, 20}, {}, people, 10, 6);
    EXPECT_EQ(plan.directions, 50);
    EXPECT_EQ(plan.changes, (std::vector<std::string>{"passes 3 -> 1"}));
    EXPECT_EQ(plan.clip, 2);
    EXPECT_EQ(plan.bound, 1000 * 4);
    const ShieldPlan own = plan_shield(ranked(40), {20, 20}, {.clip = 1.5}, people, 10, 6);
    EXPECT_EQ(own.clip, 1.5);
    EXPECT_THROW(plan_shield(ranked(1), {20, 20}, {}, Census{100, 95, 1, 1}, 10, 6), InputError);
    // Where one client may have everybody, nobody is left: counts are of classes, which may end beyond the sum.
    const auto honest = [](const Census& census) {
        return plan_shield(ranked(1), {20, 20}, {.policy = false}, census, 10, 6).honest;
    };
    EXPECT_EQ(honest(people), 500);
    EXPECT_EQ(honest({100, 100, 1, 1}), 0);
    EXPECT_EQ(honest({100, 128, 1, 1}), 0);
}

/// Whoever is counted and then lost hides nobody: two large sites must not buy directions of four small ones.
TEST(ShieldPlan, CountsOnThoseWhoMayRemain) {
    const Census census{840, 400, 1, 1, 840, {{10, 10}, {10, 10}, {10, 10}, {10, 10}, {400, 400}, {400, 400}}};
    const ShieldPlan plan = plan_shield(ranked(20), {20, 20}, {}, census, 6, 4);
    EXPECT_EQ(plan.honest, 30);
    EXPECT_LE(plan.directions, 3);
    // Nobody can be lost where everybody must stay.
    EXPECT_EQ(plan_shield(ranked(20), {20, 20}, {}, census, 6, 6).honest, 440);
}

TEST(ShieldPlan, ALongerClipDoesNotTakeThePolicysAway) {
    const ShieldPlan plan = plan_shield(ranked(40), {20, 20}, {.clip = 1e9}, people, 10, 6);
    EXPECT_EQ(plan.clip, people.usual);
    EXPECT_EQ(plan.changes.back().rfind("clip 1e+09 -> ", 0), 0U) << plan.changes.back();
    EXPECT_EQ(plan_shield(ranked(40), {20, 20}, {.policy = false, .clip = 1e9}, people, 10, 6).clip, 1e9);
}

TEST(ShieldPlan, CopiesCountForTheRingThoughNotForThePolicy) {
    const Census copies{1000, 100, 2, 1, 50'000};
    EXPECT_EQ(plan_shield(ranked(6), {10, 10}, {.policy = false}, copies, 10, 6).bound, 50'000 * 4);
}

/// Parts that are all at their bound must not wrap together, however much noise there is.
TEST(ShieldPlan, TheRingHoldsTheSumOfAllNoise) {
    for (const double epsilon : {1.0, 1e-12, 1e6}) {
        for (const Index clients : {3, 60, 255}) {
            const ShieldTerms terms{.guarantee = PrivacyGuarantee{epsilon, 5e-11}, .clip = 1.0};
            const ShieldPlan plan =
                plan_shield(ranked(2, Sketch::gram), {2}, terms, std::nullopt, clients, clients / 2 + 2);
            EXPECT_GE(static_cast<double>(plan.how.ring.largest()) * plan.how.step,
                      2 * largest_noise * plan.noise->own);
            const std::vector<double> part{plan.bound, -plan.bound};
            const auto one = encode_fixed(part, plan.how, plan.bound);
            std::vector<std::uint64_t> sum(2, 0);
            for (Index k = 0; k < clients; ++k) {
                for (std::size_t i = 0; i < 2; ++i) sum[i] += one[i];
            }
            const auto all = decode_fixed(sum, plan.how);
            const double truth = plan.bound * static_cast<double>(clients);
            const double rounding = static_cast<double>(clients) * plan.how.step;
            EXPECT_NEAR(all[0], truth, rounding);
            EXPECT_NEAR(all[1], -truth, rounding);
            EXPECT_LT(plan.how.step, (epsilon <= 1 ? 1e-3 : 1) * plan.noise->own);
        }
    }
}

TEST(RequirePossible, AClipHasASizeThatCanBeCountedWith) {
    for (const double good : {1e-100, 1e-30, 1.0, 1e100}) {
        const ShieldTerms terms{.guarantee = PrivacyGuarantee{1, 1e-5}, .clip = good};
        const ShieldPlan plan = plan_shield(ranked(2, Sketch::gram), {2}, terms, std::nullopt, 5, 4);
        EXPECT_NEAR(epsilon_of_gaussian_rho(plan.noise->rho, 1e-5), 1, 1e-6) << good;
    }
    for (const double bad : {0.0, 1e-101, 1.1e100, 1e300, std::nan("")}) {
        try {
            require_possible({.clip = bad});
            FAIL() << bad;
        } catch (const InputError& error) {
            EXPECT_EQ(error.parts().where, "`clip`");
        }
    }
}

TEST(RequirePrivatePreparation, RefusesWhatMakesOnePatientChangeOthers) {
    const PrivacyGuarantee one{1, 1e-5};
    EXPECT_THROW(require_private_preparation({.guarantee = one}, {.scale_clients = true}), InputError);
    EXPECT_THROW(require_private_preparation({.guarantee = one}, {.heldout = 0.1}), InputError);
    EXPECT_NO_THROW(require_private_preparation({.guarantee = one}, {}));
    EXPECT_NO_THROW(require_private_preparation({}, {.scale_clients = true, .heldout = 0.1}));
}

TEST(ShieldPlan, UnderAGuaranteeNothingIsCounted) {
    const ShieldTerms terms{.guarantee = PrivacyGuarantee{1, 1e-5}, .clip = 1.0};
    const ShieldPlan plan = plan_shield(ranked(6, Sketch::gram), {5, 5}, terms, std::nullopt, 5, 4);
    EXPECT_EQ(plan.patients, 0);
    EXPECT_EQ(plan.sums, 1);
    EXPECT_NEAR(plan.noise->sigma, 3.73, 0.01);
    EXPECT_EQ(want_of(plan, 1), Want::gram);
    EXPECT_TRUE(plan.changes.empty());
    EXPECT_THROW(plan_shield(ranked(6), {5, 5}, {.guarantee = PrivacyGuarantee{1, 1e-5}}, people, 5, 4), InputError);
    EXPECT_THROW(plan_shield(ranked(6), {5, 5}, {}, std::nullopt, 5, 4), InputError);
}

}  // namespace
}  // namespace couplet
