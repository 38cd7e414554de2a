#include "couplet/net/privacy_book.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

using PrivacyBookTest = NetTest;

NoisePlan noise(double epsilon) { return plan_noise({epsilon, 1e-5}, 1, 1, NoisePlace::local, 3, 3); }

TEST_F(PrivacyBookTest, RefusesWhenTheBudgetIsSpentAndRemembers) {
    const PrivacyGuarantee budget{1.5, 1e-5};
    {
        PrivacyBook book(path("account"));
        book.spend("data", "job 1", noise(1), budget);
        book.spend("data", "job 1", noise(1), budget);  // interrupted and taken up again
        EXPECT_NEAR(book.account().spent_epsilon("data", 1e-5), 1, 1e-3);
        EXPECT_NE(complaint([&] { book.spend("data", "job 2", noise(1.3), budget); }).find("privacy budget"),
                  std::string::npos);
        book.spend("other data", "job 2", noise(1.3), budget);
    }
    PrivacyBook again(path("account"));
    EXPECT_NE(complaint([&] { again.spend("data", "job 3", noise(1.3), budget); }), "");
    EXPECT_EQ(again.account().entries().size(), 2U);
    // Without a budget it is booked all the same.
    again.spend("data", "job 4", noise(5), {});
    EXPECT_GT(PrivacyBook(path("account")).account().spent_epsilon("data", 1e-5), 5);
}

TEST_F(PrivacyBookTest, SaysWhatAJobWouldComeTo) {
    PrivacyBook book(path("account"));
    EXPECT_NEAR(book.epsilon_with("data", "job 1", noise(1)), 1, 1e-3);
    PrivacyBook(path("account")).spend("data", "job 1", noise(1), {});
    EXPECT_NEAR(book.epsilon_with("data", "job 1", noise(1)), 1, 1e-3) << "booked already";
    EXPECT_GT(book.epsilon_with("data", "job 2", noise(1)), 1.3);
    EXPECT_NEAR(book.epsilon_with("other", "job 2", noise(1)), 1, 1e-3);
    EXPECT_GT(book.epsilon_with("other", "job 2", noise(1), {"data"}), 1.3) << "patients in both";
}

TEST_F(PrivacyBookTest, MuOfJobsAddsUpInSquares) {
    NoisePlan three = noise(1);
    three.rho = rho_of_mu(3);
    NoisePlan four = noise(1);
    four.rho = rho_of_mu(4);
    PrivacyBook book(path("account"));
    EXPECT_NEAR(book.mu_with("data", "job 1", three), 3, 1e-12);
    book.spend("data", "job 1", three, {});
    EXPECT_NEAR(book.mu_with("data", "job 1", three), 3, 1e-12) << "booked already";
    EXPECT_NEAR(book.mu_with("data", "job 2", four), 5, 1e-12);
    EXPECT_NEAR(book.mu_with("other", "job 2", four), 4, 1e-12);
    EXPECT_NEAR(book.mu_with("other", "job 2", four, {"data"}), 5, 1e-12) << "patients in both";
}

TEST_F(PrivacyBookTest, AnAccountThatCannotBeReadIsNotEmpty) {
    write_text(path("account"), "nonsense\n");
    EXPECT_NE(complaint([&] { PrivacyBook{path("account")}; }), "");
}

TEST_F(PrivacyBookTest, TwoProcessesOfAKitSpendOneBudget) {
    const PrivacyGuarantee budget{1, 1e-5};
    PrivacyBook first(path("account"));
    PrivacyBook second(path("account"));
    second.spend("data", "job 1", noise(0.9), budget);
    EXPECT_NE(complaint([&] { first.spend("data", "job 2", noise(0.9), budget); }).find("privacy budget"),
              std::string::npos);
    first.spend("other", "job 3", noise(0.9), budget);
    EXPECT_EQ(PrivacyBook(path("account")).account().entries().size(), 2U) << "nothing is erased";
}

TEST_F(PrivacyBookTest, WhatWasSpentOfPatientsIsSpentInWhateverFileTheyCome) {
    const PrivacyGuarantee budget{1, 1e-5};
    PrivacyBook book(path("account"));
    book.spend("january", "job 1", noise(0.9), budget);
    EXPECT_NE(complaint([&] {
                  book.spend("february", "job 2", noise(0.9), budget, {"january", "february"});
              }).find("0.9 before it"),
              std::string::npos);
    EXPECT_NEAR(book.spent_epsilon("february", 1e-5, {"january"}), 0.9, 1e-2);
    EXPECT_EQ(book.spent_epsilon("february", 1e-5), 0);
    EXPECT_EQ(complaint([&] { book.spend("strangers", "job 3", noise(0.9), budget, {"strangers"}); }), "");
}

}  // namespace
}  // namespace couplet::net
