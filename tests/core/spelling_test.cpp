#include "couplet/core/spelling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace couplet {
namespace {

std::string as_option(std::string_view name) {
    std::string text = "--" + std::string(name);
    std::replace(text.begin(), text.end(), '_', '-');
    return text;
}

TEST(Spelling, ParametersAreWrittenAsTheInterfaceWritesThem) {
    const std::string text = "`eps1` with `aggregate` average; expected no `eps1`. Use `max_rank` 3.";
    EXPECT_EQ(spelled(text, as_option), "--eps1 with --aggregate average; expected no --eps1. Use --max-rank 3.");
    EXPECT_EQ(spelled(text, [](std::string_view name) { return std::string(name); }),
              "eps1 with aggregate average; expected no eps1. Use max_rank 3.");
    EXPECT_EQ(spelled("`rank`", as_option), "--rank");
    EXPECT_EQ(spelled("`a``b`", as_option), "--a--b");
}

TEST(Spelling, WithoutOneTheTextStays) {
    EXPECT_EQ(spelled("`eps`: 2", {}), "`eps`: 2");
    EXPECT_EQ(spelled("", as_option), "");
}

TEST(Spelling, WhatIsNoNameStays) {
    for (const char* text : {"no parameter", "`", "a ` b", "``", "`Rank`", "`my file.csv`", "`_a`", "`a_`", "`1a`",
                             "`a-b`", "`--rank`", "`rank", "rank`", "couplet provision --rotate a -o KITS"}) {
        EXPECT_EQ(spelled(text, as_option), text);
    }
}

TEST(Spelling, ANameAfterALoneBacktickIsFound) {
    EXPECT_EQ(spelled("it's ` here, see `rank`", as_option), "it's ` here, see --rank");
    EXPECT_EQ(spelled("`A B`rank` C`", as_option), "`A B--rank C`");
}

TEST(Spelling, AllFourPartsAreSpelled) {
    const ErrorParts parts = spelled(ErrorParts{"`eps`", "`eps` 2", "no `eps`", "Leave `eps` out."}, as_option);
    EXPECT_EQ(parts.where, "--eps");
    EXPECT_EQ(parts.found, "--eps 2");
    EXPECT_EQ(parts.expected, "no --eps");
    EXPECT_EQ(parts.remedy, "Leave --eps out.");
}

}  // namespace
}  // namespace couplet
