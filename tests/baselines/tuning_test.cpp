#include "couplet/baselines/tuning.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

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
    EXPECT_EQ(blamed(Method::trip, {.step = 1}), "`step`");
    EXPECT_EQ(blamed(Method::trip, {.fibers = 5}), "`fibers`");
    EXPECT_EQ(blamed(Method::fedgtf_ef, {.tau = 2}), "`tau`");
    EXPECT_EQ(blamed(Method::dpsgd, {.rho = 1}), "`rho`");
    EXPECT_EQ(blamed(Method::dpsgd, {.prox = 0.1}), "`prox`");
    EXPECT_EQ(blamed(Method::cidertf, {.clip = 1}), "`gradient_clip`");
    EXPECT_EQ(blamed(Method::cidertf, {.noise = 1}), "`gradient_noise`");
    EXPECT_EQ(blamed(Method::dpfact, {.threshold = 1}), "`threshold`");
    EXPECT_EQ(blamed(Method::dpfact, {.gossip = 1}), "`gossip`");
    EXPECT_EQ(blamed(Method::fedsvd, {.decay = 1}), "`decay`");
}

TEST(Tuning, OutOfRangeIsRefused) {
    EXPECT_EQ(blamed(Method::dpsgd, {.step = 0}), "`step`");
    EXPECT_EQ(blamed(Method::dpsgd, {.step = NAN}), "`step`");
    EXPECT_EQ(blamed(Method::dpsgd, {.step = INFINITY}), "`step`");
    EXPECT_EQ(blamed(Method::dpsgd, {.decay = -1}), "`decay`");
    EXPECT_EQ(blamed(Method::dpsgd, {.fibers = -1}), "`fibers`");
    EXPECT_EQ(blamed(Method::dpsgd, {.tau = 0}), "`tau`");
    EXPECT_EQ(blamed(Method::dpfact, {.rho = 1.5}), "`rho`");
    EXPECT_EQ(blamed(Method::trip, {.rho = 1.5}), "");
    EXPECT_EQ(blamed(Method::trip, {.rho = 0}), "`rho`");
    EXPECT_EQ(blamed(Method::fedgtf_ef, {.prox = 1}), "`prox`");
    EXPECT_EQ(blamed(Method::cidertf, {.gossip = 2}), "`gossip`");
    EXPECT_EQ(blamed(Method::cidertf, {.threshold = -1}), "`threshold`");
}

TEST(Tuning, NoiseNeedsAClipAndNothingThatLooksAtAllPatients) {
    EXPECT_EQ(blamed(Method::dpfact, {.noise = 1}), "`gradient_noise`");
    EXPECT_EQ(blamed(Method::dpfact, {.prox = 0.1, .clip = 1, .noise = 1}), "`prox`");
    EXPECT_EQ(blamed(Method::dpfact, {.fibers = 10, .clip = 1}), "`fibers`");
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

std::string refusal(Method method, const Tuning& tuning) {
    try {
        resolve_tuning(method, tuning, 3);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(Tuning, DefaultsAreThoseOfTheDocumentation) {
    EXPECT_EQ(resolve_tuning(Method::trip, {}, 5), (Tuning{.rho = 1}));
    EXPECT_EQ(resolve_tuning(Method::fedgtf_ef, {}, 5),
              (Tuning{.step = 0.5, .decay = 0.01, .fibers = 1024, .prox = 1e-4}));
    EXPECT_EQ(resolve_tuning(Method::fedgtf_ef_pc, {}, 5),
              (Tuning{.step = 0.5, .decay = 0.01, .fibers = 1024, .tau = 8, .prox = 0}));
    EXPECT_EQ(
        resolve_tuning(Method::dpfact, {}, 5),
        (Tuning{.step = 0.5, .decay = 0, .fibers = 1024, .tau = 4, .rho = 0.9, .prox = 1e-4, .clip = 0, .noise = 0}));
    EXPECT_EQ(resolve_tuning(Method::dpsgd, {}, 5), (Tuning{.step = 1, .decay = 0, .fibers = 1024, .tau = 1}));
    EXPECT_EQ(resolve_tuning(Method::cidertf, {}, 5),
              (Tuning{.step = 1, .decay = 0.01, .fibers = 1024, .tau = 8, .threshold = 1e-6, .gossip = 1}));
    EXPECT_EQ(resolve_tuning(Method::dpsgd, {}, 64).fibers, 1024);
    EXPECT_EQ(resolve_tuning(Method::dpsgd, {}, 65).fibers, 1040);
    EXPECT_EQ(resolve_tuning(Method::fedsvd, {}, 5), Tuning{});
}

TEST(Tuning, BoundsAreTakenAndOneBeyondIsRefused) {
    const auto accepted = [](Method method, const Tuning& tuning) { EXPECT_EQ(refusal(method, tuning), ""); };
    accepted(Method::dpsgd, {.step = 1e-300});
    EXPECT_EQ(refusal(Method::dpsgd, {.step = 0}), "`step`: 0; expected a number, more than 0");
    accepted(Method::dpsgd, {.decay = 0});
    EXPECT_EQ(refusal(Method::dpsgd, {.decay = -0.5}), "`decay`: -0.5; expected a number, at least 0");
    accepted(Method::dpsgd, {.fibers = 0});
    EXPECT_EQ(refusal(Method::dpsgd, {.fibers = -1}), "`fibers`: -1; expected a number, at least 0");
    accepted(Method::dpsgd, {.tau = 1});
    accepted(Method::dpsgd, {.tau = 1'000'000});
    EXPECT_EQ(refusal(Method::dpsgd, {.tau = 0}), "`tau`: 0; expected a number, at least 1 and at most 1000000");
    EXPECT_EQ(refusal(Method::dpsgd, {.tau = 1'000'001}),
              "`tau`: 1000001; expected a number, at least 1 and at most 1000000");
    accepted(Method::dpfact, {.rho = 1});
    EXPECT_EQ(refusal(Method::dpfact, {.rho = 1.5}), "`rho`: 1.5; expected a number, more than 0 and at most 1");
    EXPECT_EQ(refusal(Method::dpfact, {.rho = 0}), "`rho`: 0; expected a number, more than 0 and at most 1");
    accepted(Method::trip, {.rho = 1e6});
    EXPECT_EQ(refusal(Method::trip, {.rho = -1}), "`rho`: -1; expected a number, more than 0");
    accepted(Method::fedgtf_ef, {.prox = 0});
    accepted(Method::fedgtf_ef_pc, {.prox = 0.999});
    EXPECT_EQ(refusal(Method::fedgtf_ef, {.prox = 1}), "`prox`: 1; expected a number, at least 0 and below 1");
    EXPECT_EQ(refusal(Method::fedgtf_ef, {.prox = -0.25}), "`prox`: -0.25; expected a number, at least 0 and below 1");
    accepted(Method::dpfact, {.clip = 0});
    EXPECT_EQ(refusal(Method::dpfact, {.clip = -1}), "`gradient_clip`: -1; expected a number, at least 0");
    EXPECT_EQ(refusal(Method::dpfact, {.clip = 1, .noise = -1}), "`gradient_noise`: -1; expected a number, at least 0");
    accepted(Method::cidertf, {.threshold = 0});
    EXPECT_EQ(refusal(Method::cidertf, {.threshold = -1}), "`threshold`: -1; expected a number, at least 0");
    accepted(Method::cidertf, {.gossip = 1});
    EXPECT_EQ(refusal(Method::cidertf, {.gossip = 0}), "`gossip`: 0; expected a number, more than 0 and at most 1");
    EXPECT_EQ(refusal(Method::cidertf, {.gossip = 1.25}),
              "`gossip`: 1.25; expected a number, more than 0 and at most 1");
    EXPECT_EQ(refusal(Method::trip, {.step = 1}),
              "`step`: given with `method` trip; expected a parameter that this method has. Leave it out.");
}

/// Every parameter that is not in a method's defaults is refused there, by its flag.
TEST(Tuning, EveryParameterIsRefusedWhereItIsNotKnown) {
    const std::vector<std::pair<std::string, Tuning>> one{{"`step`", {.step = 0.5}},
                                                          {"`decay`", {.decay = 0.5}},
                                                          {"`fibers`", {.fibers = 5}},
                                                          {"`tau`", {.tau = 5}},
                                                          {"`rho`", {.rho = 0.5}},
                                                          {"`prox`", {.prox = 0.5}},
                                                          {"`gradient_clip`", {.clip = 0.5}},
                                                          {"`gradient_noise`", {.noise = 0.5}},
                                                          {"`threshold`", {.threshold = 0.5}},
                                                          {"`gossip`", {.gossip = 0.5}}};
    for (const Method method : all_methods()) {
        std::vector<bool> known;
        const Tuning defaults = resolve_tuning(method, {}, 3);
        for_each_parameter(defaults, [&](const char*, const auto& value) { known.push_back(value.has_value()); });
        for (std::size_t i = 0; i < one.size(); ++i) {
            if (known[i]) continue;
            EXPECT_EQ(blamed(method, one[i].second), one[i].first) << to_string(method);
        }
    }
}

TEST(Tuning, AStepOfDpfactLeavesSomeOfThePrivateFactor) {
    EXPECT_EQ(refusal(Method::dpfact, {.step = 1.5, .prox = 0.5}), "");
    EXPECT_EQ(refusal(Method::dpfact, {.step = 2, .prox = 0.5}),
              "`prox`: 0.5 with a step of 2; expected step x prox below 1, or a step takes all of the private factor. "
              "Give a smaller `step` or `prox`.");
    EXPECT_EQ(refusal(Method::dpfact, {.step = 2, .prox = 0}), "");
    EXPECT_EQ(refusal(Method::fedgtf_ef, {.step = 2, .prox = 0.5}), "");
}

TEST(Tuning, PrivacyRulesSayWhatTheyWant) {
    EXPECT_EQ(refusal(Method::dpfact, {.noise = 1}),
              "`gradient_noise`: given without `gradient_clip`; expected `gradient_clip` C, which bounds what one "
              "patient adds. For example: `gradient_clip` 1 `gradient_noise` 1");
    EXPECT_EQ(refusal(Method::dpfact, {.fibers = 10, .clip = 1}),
              "`fibers`: given with `gradient_clip`; expected all fibers: whole patients are clipped. Leave it out.");
    EXPECT_EQ(refusal(Method::dpfact, {.fibers = 0, .clip = 1}), "");
    EXPECT_EQ(refusal(Method::dpfact, {.prox = 0.1, .clip = 1, .noise = 1}),
              "`prox`: given with `gradient_noise`; expected no shrinkage of the private factor under noise. Leave it "
              "out.");
    EXPECT_EQ(refusal(Method::dpfact, {.prox = 0, .clip = 1, .noise = 1}), "");
    EXPECT_EQ(resolve_tuning(Method::dpfact, {.clip = 1}, 3).prox, 1e-4);  // without noise it stays
    EXPECT_EQ(resolve_tuning(Method::dpfact, {.clip = 1}, 3).fibers, 0);
    EXPECT_EQ(resolve_tuning(Method::dpfact, {.clip = 0}, 3).fibers, 1024);
}

TEST(Tuning, GridsAreThoseOfTheDocumentation) {
    const auto expect = [](Method method, const std::vector<Tuning>& expected) {
        const auto grid = tuning_grid(method);
        EXPECT_EQ(std::vector<Tuning>(grid.begin(), grid.end()), expected) << to_string(method);
    };
    std::vector<Tuning> trip;
    for (const double rho : {0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 300.0}) {
        trip.push_back({.rho = rho});
    }
    expect(Method::trip, trip);
    const auto crossed = [](Index few, Index many, auto set) {
        std::vector<Tuning> all;
        for (const Index fibers : {256, 1024}) {
            for (const Index second : {few, many}) {
                for (const double step : {0.5, 1.0, 1.5}) {
                    Tuning one{.step = step, .fibers = fibers};
                    set(one, second);
                    all.push_back(one);
                }
            }
        }
        return all;
    };
    const auto tau = [](Tuning& one, Index value) { one.tau = value; };
    expect(Method::fedgtf_ef,
           crossed(0, 2, [](Tuning& one, Index value) { one.decay = static_cast<double>(value) / 100; }));
    expect(Method::fedgtf_ef_pc, crossed(8, 16, tau));
    expect(Method::dpfact, crossed(4, 8, tau));
    expect(Method::dpsgd, crossed(1, 4, tau));
    expect(Method::cidertf, crossed(4, 12, tau));
}

TEST(Tuning, OverlayKnowsEveryParameter) {
    const Tuning base{.step = 1,
                      .decay = 2,
                      .fibers = 3,
                      .tau = 4,
                      .rho = 5,
                      .prox = 6,
                      .clip = 7,
                      .noise = 8,
                      .threshold = 9,
                      .gossip = 10};
    EXPECT_EQ(overlay(base, {}), base);
    EXPECT_EQ(overlay({}, base), base);
    const Tuning other{.step = 11,
                       .decay = 12,
                       .fibers = 13,
                       .tau = 14,
                       .rho = 15,
                       .prox = 16,
                       .clip = 17,
                       .noise = 18,
                       .threshold = 19,
                       .gossip = 20};
    EXPECT_EQ(overlay(base, other), other);
    EXPECT_EQ(describe(base), "step=1 decay=2 fibers=3 tau=4 rho=5 prox=6 clip=7 noise=8 threshold=9 gossip=10");
    try {
        parse_loss("hinge");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(std::string(error.what()), "`loss`: hinge; expected square or logistic");
    }
}

}  // namespace
}  // namespace couplet
