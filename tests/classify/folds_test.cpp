#include "couplet/classify/folds.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(FoldsTest, EveryClassOfEverySiteIsSpreadEvenly) {
    std::vector<Label> labels;
    std::vector<Index> sites;
    for (Index i = 0; i < 203; ++i) {
        labels.push_back(i % 7 == 0 ? 1 : 0);
        sites.push_back(i < 50 ? 0 : i < 60 ? 1 : 2);
    }
    const auto folds = assign_folds(labels, sites, 5, 1);
    std::map<std::pair<Index, Label>, std::map<Index, Index>> counts;
    for (std::size_t i = 0; i < labels.size(); ++i) ++counts[{sites[i], labels[i]}][folds[i]];
    for (const auto& [kind, of] : counts) {
        Index least = 1000;
        Index most = 0;
        for (Index f = 0; f < 5; ++f) {
            const Index count = of.contains(f) ? of.at(f) : 0;
            least = std::min(least, count);
            most = std::max(most, count);
        }
        EXPECT_LE(most - least, 1) << "site " << kind.first << ", class " << kind.second;
    }
    EXPECT_EQ(assign_folds(labels, sites, 5, 1), folds);
    EXPECT_NE(assign_folds(labels, sites, 5, 2), folds);
}

TEST(FoldsTest, ASmallSiteIsNeverTestedAtOnce) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::vector<Label> labels(40, 0);
        std::vector<Index> sites(40, 0);
        for (Index i = 37; i < 40; ++i) {  // three people, two classes
            sites[static_cast<std::size_t>(i)] = 1;
            labels[static_cast<std::size_t>(i)] = i % 2;
        }
        const auto folds = assign_folds(labels, sites, 5, seed);
        EXPECT_EQ(std::set<Index>(folds.begin() + 37, folds.end()).size(), 3U);
    }
}

TEST(FoldsTest, AGroupGoesToOneFoldAndTheOthersAreDealtAsBefore) {
    std::vector<Label> labels(60);
    std::vector<Index> sites(60, 0);
    std::vector<Index> groups(60);
    for (std::size_t i = 0; i < 60; ++i) {
        labels[i] = static_cast<Label>(i / 2 % 2);
        groups[i] = static_cast<Index>(i / 2);
        sites[i] = i < 40 ? 0 : 1;
    }
    const auto folds = assign_folds(labels, sites, 5, 3, groups);
    std::map<Index, Index> sizes;
    for (std::size_t i = 0; i < 60; ++i) {
        EXPECT_EQ(folds[i], folds[i / 2 * 2]) << i;
        ++sizes[folds[i]];
    }
    for (const auto& [fold, size] : sizes) EXPECT_EQ(size, 12) << fold;
    std::vector<Index> own(60);
    for (std::size_t i = 0; i < 60; ++i) own[i] = static_cast<Index>(i);
    EXPECT_EQ(assign_folds(labels, sites, 5, 3, own), assign_folds(labels, sites, 5, 3));
}

TEST(FoldsTest, ASiteOfOneGroupIsStillLearnedFrom) {
    const std::vector<Label> labels{0, 1, 0, 1, 0, 1};
    const std::vector<Index> sites{0, 0, 0, 1, 1, 1};
    for (const auto& groups : {std::vector<Index>{0, 1, 2, 3, 3, 3}, std::vector<Index>{0, 1, 2, 3, 3, 5}}) {
        const auto folds = assign_folds(labels, sites, 2, 0, groups);
        EXPECT_EQ(std::set<Index>(folds.begin() + 3, folds.end()).size(), 2U);
    }
    EXPECT_THROW(assign_folds(labels, sites, 2, 0, std::vector<Index>{0}), InputError);
}

TEST(FoldsTest, RefusesWhatCannotBeDealt) {
    const std::vector<Label> labels{0, 1, 0};
    const std::vector<Index> sites{0, 0, 0};
    EXPECT_THROW(assign_folds(labels, sites, 1, 0), InputError);
    EXPECT_THROW(assign_folds(labels, sites, 4, 0), InputError);
    EXPECT_THROW(assign_folds(labels, std::vector<Index>{0}, 2, 0), InputError);
    EXPECT_EQ(assign_folds(labels, sites, 3, 0).size(), 3U);
}

}  // namespace
}  // namespace couplet
