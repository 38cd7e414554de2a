#include "couplet/explain/titles.hpp"

#include <map>

#include "explain_test_support.hpp"

namespace couplet {
namespace {

/// 6 x 6 labels of which every pair comes together, but those of `apart`.
Evidence all_together(const std::vector<Index>& apart = {}) {
    Evidence evidence{.features = Shape{6, 6}, .patients = 1000, .least_deviations = 4};
    evidence.alone.assign(2, std::vector<double>(6, 0.2));
    evidence.together.assign(36, 0.12);
    for (const Index at : apart) evidence.together[static_cast<std::size_t>(at)] = 0.04;
    return evidence;
}

TEST(TitlesTest, LabelsOfTheLargestWeightsOfWhichEveryPairComesTogether) {
    auto rows = Matrix<double>::zeros(1, 36);
    rows(0, 7) = 0.8;   // 1, 1
    rows(0, 8) = 0.7;   // 1, 2
    rows(0, 13) = 0.6;  // 2, 1
    rows(0, 14) = 0.3;  // 2, 2
    rows(0, 21) = 0.5;  // 3, 3
    rows(0, 0) = 0.1;   // less than a third
    const auto all = name_components(rows, all_together());
    EXPECT_EQ(all[0].labels, (std::vector<std::vector<Index>>{{1, 2}, {1, 2}})) << "two of the first mode at most";
    EXPECT_EQ(named_cells(all[0]).size(), 4U);
    // Of 2 and 2 the pair is no more frequent than chance: 2 does not join 1.
    const auto some = name_components(rows, all_together({2 * 6 + 2}));
    EXPECT_EQ(some[0].labels, (std::vector<std::vector<Index>>{{1}, {1, 2}}));
    rows(0, 14) = 0.1;  // comes together, but hardly in this component
    EXPECT_EQ(name_components(rows, all_together())[0].labels, (std::vector<std::vector<Index>>{{1}, {1, 2}}));
    for (Index i = 0; i < 36; ++i) rows(0, i) = -rows(0, i);
    EXPECT_TRUE(name_components(rows, all_together())[0].empty()) << "what is rarer together is no name";
}

TEST(TitlesTest, WhatIsNoMoreFrequentThanChanceNamesNothing) {
    auto rows = Matrix<double>::zeros(1, 36);
    rows(0, 7) = 0.9;
    rows(0, 8) = 0.2;
    const auto names = name_components(rows, all_together({7}));
    EXPECT_EQ(names[0].labels, (std::vector<std::vector<Index>>{{1}, {2}})) << "a smaller weight that does";
    EXPECT_TRUE(name_components(rows, all_together({7, 8}))[0].empty());
    EXPECT_TRUE(named_cells({}).empty());
}

TEST(TitlesTest, NoLabelIsInMoreThanAThirdOfTheTitles) {
    auto rows = Matrix<double>::zeros(6, 36);
    for (Index r = 0; r < 6; ++r) {
        rows(r, r) = 0.9;                               // label 0 of the first mode with everything
        if (r < 5) rows(r, (r + 1) * 6 + r + 1) = 0.5;  // a pair of its own
    }
    const auto names = name_components(rows, all_together());
    std::map<std::pair<std::size_t, Index>, Index> uses;
    for (const NamedLabels& named : names) {
        for (std::size_t n = 0; n < named.labels.size(); ++n) {
            for (const Index label : named.labels[n]) ++uses[{n, label}];
        }
    }
    for (const auto& [label, count] : uses)
        EXPECT_LE(count, 1) << "five titles: " << label.first << " " << label.second;
    EXPECT_EQ(names[2].labels, (std::vector<std::vector<Index>>{{3}, {3}})) << "by its own pair";
    EXPECT_TRUE(names[5].empty()) << "it has none";
    EXPECT_EQ(names[5].within, 0);
}

}  // namespace
}  // namespace couplet
