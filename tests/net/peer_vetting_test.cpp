#include "peer_vetting.hpp"

#include <thread>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

TEST(PeerVettingTest, WhatTheSiteRefusesIsThrownAndNoQuestionIsNoRefusal) {
    PeerOptions options;
    PeerVetting vetting(options);
    const wire::Message message{{}, wire::Beat{}};
    const ShieldPlan plan{};
    const Matrix<double> basis;
    EXPECT_NO_THROW(vetting.message(message));
    EXPECT_NO_THROW(vetting.plan(plan, "run"));
    EXPECT_NO_THROW(vetting.sum({.plan = plan, .basis = basis, .members = {}}, "run"));
    std::vector<std::string> heard;
    options.vet = [](const wire::Message&) { throw InputError({"site", "a message", "none", ""}); };
    options.vet_plan = [&](const ShieldPlan&, const std::string& run) { heard.push_back("plan " + run); };
    options.vet_sum = [&](const MaskedSum& sum, const std::string& run) {
        heard.push_back((sum.agreed ? "agreed " : "asked ") + run);
    };
    EXPECT_THROW(vetting.message(message), InputError);
    vetting.plan(plan, "run");
    vetting.sum({.plan = plan, .basis = basis, .members = {}}, "run");
    EXPECT_EQ(heard, (std::vector<std::string>{"plan run", "asked run", "agreed run"}));
}

TEST(PeerVettingTest, AsksOneQuestionAtATime) {
    PeerOptions options;
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    std::atomic<int> asked = 0;
    const auto look = [&] {
        most = std::max(most.load(), ++inside);
        std::this_thread::yield();
        --inside;
        ++asked;
    };
    options.vet = [&](const wire::Message&) { look(); };
    options.vet_plan = [&](const ShieldPlan&, const std::string&) { look(); };
    PeerVetting vetting(options);
    const auto ask = [&] {
        for (int i = 0; i < 200; ++i) {
            vetting.message({{}, wire::Beat{}});
            vetting.plan({}, "run");
        }
    };
    std::thread other(ask);
    ask();
    other.join();
    EXPECT_EQ(asked, 800);
    EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace couplet::net
