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

TEST_F(PrivacyBookTest, AnAccountThatCannotBeReadIsNotEmpty) {
    write_text(path("account"), "nonsense\n");
    EXPECT_NE(complaint([&] { PrivacyBook{path("account")}; }), "");
}

TEST_F(PrivacyBookTest, DataIsKnownByItsContent) {
    auto x = Tensor<double>::zeros({4, 3});
    const std::string before = data_fingerprint(x);
    EXPECT_EQ(before, data_fingerprint(Tensor<double>::zeros({4, 3})));
    EXPECT_NE(before, data_fingerprint(Tensor<double>::zeros({3, 4})));
    x.data()[11] = 1e-300;
    EXPECT_NE(before, data_fingerprint(x));
}

}  // namespace
}  // namespace couplet::net
