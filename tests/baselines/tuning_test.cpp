#include "couplet/baselines/tuning.hpp"

#include <gtest/gtest.h>

#include <string>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

std::string blamed(Method method, const Tuning& tuning) {
    try {
        resolve_tuning(method, tuning, 3);
    } catch (const InputError& error) {
        return error.parts().where;
    }
    return "";
}

TEST(Tuning, DefaultsLeaveNothingOfTheMethodOpen) {
    for (const Method method : all_methods()) {
        const Tuning once = resolve_tuning(method, {}, 5);
        EXPECT_EQ(resolve_tuning(method, once, 5), once);
        int parameters = 0;
        for_each_parameter(once, [&](const char*, const auto& value) { parameters += value ? 1 : 0; });
        EXPECT_EQ(parameters > 0, is_cp(method)) << to_string(method);
    }
}

TEST(Tuning, WhatIsAskedForIsTaken) {
    const Tuning tuning = resolve_tuning(Method::cidertf, {.step = 0.1, .tau = 3, .gossip = 1}, 5);
    EXPECT_EQ(tuning.step, 0.1);
    EXPECT_EQ(tuning.tau, 3);
    EXPECT_EQ(tuning.gossip, 1);
    EXPECT_EQ(tuning.threshold, resolve_tuning(Method::cidertf, {}, 5).threshold);
}

TEST(Tuning, IsDescribedByWhatIsSet) {
    EXPECT_EQ(describe({}), "");
    EXPECT_EQ(describe({.step = 0.5, .fibers = 1024, .tau = 3}), "step=0.5 fibers=1024 tau=3");
}

TEST(Tuning, ParametersOfOtherMethodsAreRefused) {
    EXPECT_EQ(blamed(Method::trip, {.step = 1}), "--step");
    EXPECT_EQ(blamed(Method::trip, {.fibers = 5}), "--fibers");
    EXPECT_EQ(blamed(Method::fedgtf_ef, {.tau = 2}), "--tau");
    EXPECT_EQ(blamed(Method::dpsgd, {.rho = 1}), "--rho");
    EXPECT_EQ(blamed(Method::dpsgd, {.prox = 0.1}), "--prox");
    EXPECT_EQ(blamed(Method::cidertf, {.clip = 1}), "--gradient-clip");
    EXPECT_EQ(blamed(Method::cidertf, {.noise = 1}), "--gradient-noise");
    EXPECT_EQ(blamed(Method::dpfact, {.threshold = 1}), "--threshold");
    EXPECT_EQ(blamed(Method::dpfact, {.gossip = 1}), "--gossip");
    EXPECT_EQ(blamed(Method::ctt, {.decay = 1}), "--decay");
}

TEST(Tuning, OutOfRangeIsRefused) {
    EXPECT_EQ(blamed(Method::dpsgd, {.step = 0}), "--step");
    EXPECT_EQ(blamed(Method::dpsgd, {.step = NAN}), "--step");
    EXPECT_EQ(blamed(Method::dpsgd, {.step = INFINITY}), "--step");
    EXPECT_EQ(blamed(Method::dpsgd, {.decay = -1}), "--decay");
    EXPECT_EQ(blamed(Method::dpsgd, {.fibers = -1}), "--fibers");
    EXPECT_EQ(blamed(Method::dpsgd, {.tau = 0}), "--tau");
    EXPECT_EQ(blamed(Method::dpfact, {.rho = 1.5}), "--rho");
    EXPECT_EQ(blamed(Method::trip, {.rho = 1.5}), "");
    EXPECT_EQ(blamed(Method::trip, {.rho = 0}), "--rho");
    EXPECT_EQ(blamed(Method::fedgtf_ef, {.prox = 1}), "--prox");
    EXPECT_EQ(blamed(Method::cidertf, {.gossip = 2}), "--gossip");
    EXPECT_EQ(blamed(Method::cidertf, {.threshold = -1}), "--threshold");
}

TEST(Tuning, NoiseNeedsAClipAndNothingThatLooksAtAllPatients) {
    EXPECT_EQ(blamed(Method::dpfact, {.noise = 1}), "--gradient-noise");
    EXPECT_EQ(blamed(Method::dpfact, {.prox = 0.1, .clip = 1, .noise = 1}), "--prox");
    EXPECT_EQ(blamed(Method::dpfact, {.fibers = 10, .clip = 1}), "--fibers");
    const Tuning tuning = resolve_tuning(Method::dpfact, {.clip = 1, .noise = 1}, 3);
    EXPECT_EQ(tuning.prox, 0);
    EXPECT_EQ(tuning.fibers, 0);
}

TEST(Tuning, GridsAreOfEqualSizeAndValid) {
    for (const Method method : all_methods()) {
        const auto grid = tuning_grid(method);
        EXPECT_EQ(grid.size(), is_cp(method) ? grid_size : 0) << to_string(method);
        for (std::size_t i = 0; i < grid.size(); ++i) {
            EXPECT_EQ(blamed(method, grid[i]), "");
            for (std::size_t j = 0; j < i; ++j) EXPECT_NE(grid[i], grid[j]) << to_string(method);
        }
    }
}

TEST(Tuning, OverlayKeepsWhatIsNotSet) {
    const Tuning both = overlay({.step = 1, .tau = 4, .rho = 2}, {.step = 0.5, .gossip = 1});
    EXPECT_EQ(both, (Tuning{.step = 0.5, .tau = 4, .rho = 2, .gossip = 1}));
}

TEST(Tuning, LossesReadBack) {
    EXPECT_EQ(parse_loss(to_string(Loss::square)), Loss::square);
    EXPECT_EQ(parse_loss(to_string(Loss::logistic)), Loss::logistic);
    EXPECT_THROW(parse_loss("hinge"), InputError);
}

}  // namespace
}  // namespace couplet
