#include "couplet/net/disclosure_ledger.hpp"

#include <sys/stat.h>

#include <cmath>
#include <set>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

class DisclosureLedgerTest : public NetTest {
  protected:
    /// Patients with these numbers.
    static Cohort cohort(Index from, Index until) {
        auto x = Tensor<double>::zeros({until - from, 2, 2});
        for (Index i = from; i < until; ++i) x.data()[4 * (i - from)] = static_cast<double>(i + 1);
        return make_cohort(x, 0, 0, 0);
    }
    static Disclosure sum(const std::string& job, Index directions, const std::string& basis) {
        return {job, Exposure::sums, directions, basis};
    }
    std::filesystem::path file() const { return path("disclosed.jsonl"); }
};

TEST_F(DisclosureLedgerTest, ACohortIsWhoTakesPartInTheJob) {
    auto x = Tensor<double>::zeros({50, 2, 2});
    for (Index i = 0; i < 50; ++i) x.data()[4 * i] = static_cast<double>(i + 1);
    const Cohort all = make_cohort(x, 0, 5, 3);
    EXPECT_EQ(all.records.size(), 50U);
    EXPECT_EQ(all.id, make_cohort(x, 0, 6, 4).id) << "nobody is held out: seed and place do not matter";
    const Cohort some = make_cohort(x, 0.2, 5, 3);
    const auto data = std::make_shared<const Tensor<double>>(Tensor<double>::copy(x.view()));
    EXPECT_EQ(some.id,
              make_cohort(*prepare_client(data, {.scale_clients = false, .heldout = 0.2}, 5, 3).training, 0, 0, 0).id);
    EXPECT_NE(some.id, make_cohort(x, 0.2, 6, 3).id);
    EXPECT_NE(some.id, make_cohort(x, 0.2, 5, 2).id);
    // The same patients in another order are the same.
    auto turned = Tensor<double>::zeros({50, 2, 2});
    for (Index i = 0; i < 50; ++i) turned.data()[4 * i] = static_cast<double>(50 - i);
    EXPECT_EQ(all.id, make_cohort(turned, 0, 0, 0).id);
}

TEST_F(DisclosureLedgerTest, KnowsPatientsByTheirValues) {
    auto x = Tensor<double>::zeros({3, 2});
    auto y = Tensor<double>::zeros({3, 2});
    y.data()[1] = -0.0;
    x.data()[3] = std::numeric_limits<double>::quiet_NaN();
    y.data()[3] = -x.data()[3];
    EXPECT_EQ(make_cohort(x, 0, 0, 0).id, make_cohort(y, 0, 0, 0).id);
    DisclosureLedger ledger(file());
    ledger.enter(cohort(0, 10));
    ledger.enter(cohort(0, 10));
    ledger.enter(cohort(9, 20));
    ledger.enter(cohort(30, 40));
    EXPECT_EQ(ledger.related(cohort(5, 12)), (std::set<std::string>{cohort(0, 10).id, cohort(9, 20).id}));
    EXPECT_TRUE(ledger.related(cohort(50, 60)).empty());
}

TEST_F(DisclosureLedgerTest, CountsWhatIsNewAndRemembersIt) {
    const Cohort patients = cohort(0, 40);
    {
        DisclosureLedger ledger(file());
        ledger.book(patients, 30, sum("one", 5, "Q1"), {});
        ledger.book(patients, 30, sum("two", 5, "Q1"), {});
        ledger.book(patients, 30, sum("two", 4, "Q2"), {});
        ledger.book(patients, 30, {"three", Exposure::rows, 6}, {});
        ledger.book(patients, 30, {"four", Exposure::rows, 4}, {});
        ledger.book(patients, 30, {"five", Exposure::masked, 8, "five"}, {});
        EXPECT_EQ(ledger.shown(patients, 30, false), 15);
        EXPECT_EQ(ledger.shown(patients, 30, true), 8);
        EXPECT_EQ(ledger.shown(patients, 12, false), 12) << "there are no more than features";
    }
    DisclosureLedger again(file());
    EXPECT_EQ(again.shown(patients, 30, false), 15);
    EXPECT_TRUE(again.knows(patients, sum("six", 5, "Q1")));
    EXPECT_FALSE(again.knows(patients, sum("six", 5, "Q3")));
    EXPECT_EQ(again.shown(cohort(0, 41), 30, false), 0);
    struct stat about {};
    ::stat(file().c_str(), &about);
    EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(DisclosureLedgerTest, JobsOnSharedPatientsAddUpAndOthersDoNot) {
    DisclosureLedger ledger(file());
    const DisclosureLimits limits{.most = 10, .most_key = "key"};
    ledger.book(cohort(0, 40), 30, sum("one", 6, "a"), limits);
    EXPECT_EQ(complaint([&] { ledger.book(cohort(100, 140), 30, sum("two", 6, "a"), limits); }), "");
    EXPECT_NE(complaint([&] { ledger.book(cohort(20, 60), 30, sum("two", 6, "a"), limits); })
                  .find("12 directions of 40 patients, with those that job one showed; expected at most 10 by all jobs "
                        "together (key)"),
              std::string::npos);
    EXPECT_EQ(complaint([&] { ledger.book(cohort(20, 60), 30, sum("two", 4, "a"), limits); }), "");
    EXPECT_EQ(complaint([&] {
                  ledger.require_room(cohort(0, 40), 30, {"six", Exposure::masked, 9, "six"}, limits);
              }),
              "")
        << "masked sums are counted by themselves";
}

TEST_F(DisclosureLedgerTest, TwoCohortsMustNotDifferByAFew) {
    DisclosureLedger ledger(file());
    const DisclosureLimits limits{.per_patient = 0.5, .least_difference = 6};
    ledger.book(cohort(0, 40), 30, sum("one", 6, "a"), limits);
    const auto refused = [&](Index from, Index until, Index directions) {
        return complaint([&] { ledger.require_room(cohort(from, until), 30, sum("two", directions, "b"), limits); });
    };
    EXPECT_NE(refused(0, 41, 1).find("a job on the patients of job one but for 1"), std::string::npos);
    EXPECT_NE(refused(1, 40, 1), "");
    EXPECT_NE(refused(3, 42, 1).find("but for 5"), std::string::npos) << "three are gone, two are new";
    EXPECT_EQ(refused(3, 43, 3), "");
    EXPECT_NE(refused(3, 43, 4).find("4 directions take 8"), std::string::npos) << refused(3, 43, 4);
    EXPECT_EQ(refused(40, 60, 9), "") << "nobody in common";
    EXPECT_EQ(complaint([&] { ledger.require_room(cohort(0, 41), 30, sum("two", 9, "b"), {}); }), "")
        << "without limits everything goes";
}

/// A Gram matrix of 30 features is 465 numbers: so many are 30 directions.
TEST_F(DisclosureLedgerTest, SingleNumbersAddUpToDirections) {
    DisclosureLedger ledger(file());
    const Cohort patients = cohort(0, 40);
    const auto numbers = [](const std::string& job, Index count) {
        return Disclosure{job, Exposure::sums, 0, job + std::to_string(count), count};
    };
    const DisclosureLimits limits{.most = 2, .own_figures = 20};
    ledger.book(patients, 30, numbers("one", 15), limits);
    EXPECT_EQ(ledger.shown(patients, 30, false), 0);
    ledger.book(patients, 30, numbers("two", 16), limits);
    EXPECT_EQ(DisclosureLedger(file()).shown(patients, 30, false), 2);
    EXPECT_EQ(complaint([&] { ledger.book(patients, 30, numbers("three", 20), limits); }), "") << "its own";
    EXPECT_NE(complaint([&] { ledger.book(patients, 30, numbers("four", 1), limits); }), "") << "of others";
    EXPECT_NE(complaint([&] { ledger.book(patients, 30, numbers("three", 1), limits); }), "") << "more than promised";
    EXPECT_EQ(complaint([&] { ledger.book(patients, 30, numbers("three", 20), limits); }), "") << "again";
    ledger.book(patients, 30, numbers("five", 1000), {});
    EXPECT_EQ(ledger.shown(patients, 30, false), 30);
}

TEST_F(DisclosureLedgerTest, WhoTookPartInTheSameJobsIsALargeGroup) {
    DisclosureLedger ledger(file());
    const DisclosureLimits limits{.per_patient = 0.5, .least_difference = 6};
    const auto refused = [&](Index from, Index until, Index directions = 1) {
        return complaint([&] { ledger.require_room(cohort(from, until), 30, sum("new", directions, "b"), limits); });
    };
    ledger.book(cohort(0, 40), 30, sum("one", 1, "a"), limits);
    ledger.book(cohort(0, 20), 30, sum("two", 1, "a"), limits);
    EXPECT_NE(refused(19, 40).find("leave a group of 1 who took part in the same jobs"), std::string::npos);
    EXPECT_NE(refused(15, 60), "") << "five are in all of them";
    EXPECT_EQ(refused(14, 60), "");
    EXPECT_NE(refused(14, 60, 4).find("4 directions take 8"), std::string::npos);
    EXPECT_EQ(refused(20, 40), "");
    EXPECT_EQ(refused(0, 40), "");
    // Through a third one: nobody is in both of the outer ones, and what is between them is one patient.
    ledger.book(cohort(100, 120), 30, sum("three", 1, "a"), limits);
    ledger.book(cohort(121, 140), 30, sum("four", 1, "a"), limits);
    EXPECT_NE(refused(100, 140).find("group of 1"), std::string::npos);
}

TEST_F(DisclosureLedgerTest, ALineThatACrashCutOffWasNeverShown) {
    {
        DisclosureLedger ledger(file());
        ledger.book(cohort(0, 9), 30, sum("one", 6, "a"), {});
    }
    const std::string whole = read_text(file());
    write_text(file(), whole + R"({"cohort":"12)", 0600);
    DisclosureLedger ledger(file());
    EXPECT_EQ(ledger.shown(cohort(0, 9), 30, false), 6);
    ledger.book(cohort(0, 9), 30, sum("two", 2, "b"), {});
    EXPECT_EQ(ledger.shown(cohort(0, 9), 30, false), 8);
    EXPECT_TRUE(read_text(file()).starts_with(whole)) << "nothing is rewritten";
}

TEST_F(DisclosureLedgerTest, ALineWhoseEndAnEditorTookCounts) {
    DisclosureLedger ledger(file());
    ledger.book(cohort(0, 9), 30, sum("one", 6, "a"), {});
    std::string whole = read_text(file());
    write_text(file(), whole.substr(0, whole.size() - 1), 0600);
    EXPECT_EQ(ledger.shown(cohort(0, 9), 30, false), 6);
    ledger.book(cohort(0, 9), 30, sum("two", 2, "b"), {});
    EXPECT_EQ(ledger.shown(cohort(0, 9), 30, false), 8);
    EXPECT_TRUE(read_text(file()).starts_with(whole));
}

TEST_F(DisclosureLedgerTest, IsItsOwnersToWrite) {
    DisclosureLedger ledger(file());
    ledger.book(cohort(0, 9), 30, sum("one", 6, "a"), {});
    std::filesystem::permissions(file(), std::filesystem::perms::others_write, std::filesystem::perm_options::add);
    EXPECT_THROW(ledger.shown(cohort(0, 9), 30, false), InputError);
    EXPECT_THROW(ledger.book(cohort(0, 9), 30, sum("two", 2, "b"), {}), InputError);
    EXPECT_THROW(ledger.enter(cohort(20, 9)), InputError);
}

TEST_F(DisclosureLedgerTest, AConvertedFileHoldsTheSamePatients) {
    auto x = Tensor<double>::zeros({7, 2, 3});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = std::sin(static_cast<double>(i) + 0.3);
    const Cohort all = make_cohort(x, 0, 0, 0);
    auto single = Tensor<double>::copy(x.view());
    for (Index i = 0; i < x.size(); ++i) single.data()[i] = static_cast<float>(x.data()[i]);
    EXPECT_EQ(make_cohort(single, 0, 0, 0).id, all.id);
    single.data()[0] += 1e-3;
    EXPECT_NE(make_cohort(single, 0, 0, 0).id, all.id);
    // Columns in another order, where it is said which they are.
    auto turned = Tensor<double>::copy(x.view());
    for (Index row = 0; row < 14; ++row) std::swap(turned.data()[3 * row], turned.data()[3 * row + 2]);
    EXPECT_NE(make_cohort(turned, 0, 0, 0).id, all.id) << "nobody knows which is which";
    x.set_labels({{}, {}, {.name = "value", .entries = {"a", "b", "c"}}});
    turned.set_labels({{}, {}, {.name = "value", .entries = {"c", "b", "a"}}});
    EXPECT_EQ(make_cohort(turned, 0, 0, 0).id, make_cohort(x, 0, 0, 0).id);
}

TEST_F(DisclosureLedgerTest, WhatCannotBeReadIsNotEmpty) {
    const std::string cohort_one = R"({"cohort":"c","records":"0000000000000001"})"
                                   "\n";
    for (const std::string& bad :
         {std::string("nonsense\n"),
          std::string(R"({"cohort":"c","records":"00"})"
                      "\n"),
          cohort_one + R"({"cohort":"c","job":"j","exposure":"glance","directions":1,"basis":""})"
                       "\n",
          cohort_one + R"({"cohort":"c","job":"j","exposure":"rows","directions":-1,"basis":""})"
                       "\n",
          std::string(R"({"cohort":"d","job":"j","exposure":"rows","directions":1,"basis":""})"
                      "\n"),
          std::string(R"({"cohort":"c","records":"00000000000000020000000000000001"})"
                      "\n")}) {
        write_text(file(), bad, 0600);
        DisclosureLedger ledger(file());
        EXPECT_NE(
            complaint([&] { ledger.book(cohort(0, 9), 30, sum("one", 1, "a"), {}); }).find("must not be forgotten"),
            std::string::npos)
            << bad;
        EXPECT_EQ(read_text(file()), bad);
    }
}

}  // namespace
}  // namespace couplet::net
