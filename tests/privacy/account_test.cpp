#include "couplet/privacy/account.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

double rho_of_job(double epsilon) { return gaussian_rho(gaussian_sigma({epsilon, 1e-5}, 1), 1); }

TEST(PrivacyAccount, AddsJobsOfOneDataSet) {
    PrivacyAccount account;
    const PrivacyGuarantee budget{2, 1e-5};
    account.spend({"aaaa", "job 1", rho_of_job(1)}, budget);
    EXPECT_NEAR(account.spent_epsilon("aaaa", 1e-5), 1, 1e-9);
    EXPECT_EQ(account.spent_epsilon("bbbb", 1e-5), 0);
    account.spend({"aaaa", "job 2", rho_of_job(1)}, budget);
    // Two jobs of epsilon 1 cost less than 2: variances add, not standard deviations.
    EXPECT_GT(account.spent_epsilon("aaaa", 1e-5), 1.3);
    EXPECT_LT(account.spent_epsilon("aaaa", 1e-5), 1.6);
    account.spend({"aaaa", "job 3", rho_of_job(1)}, budget);
    try {
        account.spend({"aaaa", "job 4", rho_of_job(1)}, budget);
        account.spend({"aaaa", "job 5", rho_of_job(1)}, budget);
        FAIL() << "the budget was exceeded";
    } catch (const InputError& error) {
        EXPECT_NE(std::string(error.what()).find("privacy budget: epsilon 2."), std::string::npos) << error.what();
    }
    account.spend({"bbbb", "job 4", rho_of_job(1)}, budget);
}

TEST(PrivacyAccount, BooksAJobOnce) {
    PrivacyAccount account;
    for (int i = 0; i < 10; ++i) account.spend({"aaaa", "job 1", rho_of_job(1)}, {1.01, 1e-5});
    EXPECT_EQ(account.entries().size(), 1U);
}

TEST(PrivacyAccount, IsReadBackToTheBit) {
    PrivacyAccount account;
    account.spend({"aaaa", "job 1", 1.0 / 3}, {100, 1e-5});
    account.spend({"bb", "a job with blanks", 1e-17}, {100, 1e-5});
    EXPECT_EQ(PrivacyAccount::parse(account.text(), "f").entries(), account.entries());
}

TEST(PrivacyAccount, BooksNothingThatItCouldNotRead) {
    PrivacyAccount account;
    const PrivacyGuarantee any{std::numeric_limits<double>::infinity(), 1e-5};
    for (const double rho : {std::nan(""), 0.0, -1.0, std::numeric_limits<double>::infinity()}) {
        EXPECT_THROW(account.spend({"aaaa", "job 1", rho}, any), InputError) << rho;
    }
    EXPECT_TRUE(account.entries().empty());
}

TEST(PrivacyAccount, WhatCannotBeReadIsNotEmpty) {
    const std::string head = "couplet privacy account 1\n";
    for (const std::string& text : {std::string(), std::string("something else\n"), head + "x aaaa job\n",
                                    head + "-1 aaaa job\n", head + "nan aaaa job\n", head + "1 aaaa\n", head + "\n"}) {
        EXPECT_THROW(PrivacyAccount::parse(text, "f"), InputError) << text;
    }
    EXPECT_TRUE(PrivacyAccount::parse(head, "f").entries().empty());
}

}  // namespace
}  // namespace couplet
