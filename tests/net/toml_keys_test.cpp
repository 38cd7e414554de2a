#include "toml_keys.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

TEST(TomlKeys, ReadsWhatIsThereAndLeavesTheRest) {
    TomlKeys keys("n = 3\nx = 2\np = 0.25\non = true\nword = \"b\"\nlist = [\"a\", \"b\"]\n", "f", "a thing");
    Index n = 1;
    Index absent = 7;
    double x = 0;
    double p = 0;
    bool on = false;
    std::string word;
    std::vector<std::string> list{"c"};
    keys.count("n", n, 0);
    keys.count("absent", absent, 0);
    keys.number("x", x);
    keys.probability("p", p);
    keys.flag("on", on);
    keys.word("word", word, {"a", "b"});
    keys.list("list", list, {"a", "b", "c"});
    EXPECT_EQ(n, 3);
    EXPECT_EQ(absent, 7);
    EXPECT_EQ(x, 2);
    EXPECT_EQ(p, 0.25);
    EXPECT_TRUE(on);
    EXPECT_EQ(word, "b");
    EXPECT_EQ(list, (std::vector<std::string>{"a", "b"}));
    EXPECT_NO_THROW(keys.require_all_known(""));
}

TEST(TomlKeys, SaysWhichLineIsWrongAndWhatBelongsThere) {
    TomlKeys keys("# a comment\nn = 0.5\np = 1\nshare = -1\nx = inf\non = 1\nword = \"c\"\nlist = [1]\n", "f", "it");
    Index n = 1;
    double x = 0;
    bool on = false;
    std::string word;
    std::vector<std::string> list;
    EXPECT_EQ(complaint([&] { keys.count("n", n, 2); }), "f line 2: n = 0.5; expected a whole number, at least 2");
    EXPECT_NE(complaint([&] { keys.probability("p", x); }).find("f line 3: p = 1; expected a number between 0 and 1"),
              std::string::npos);
    EXPECT_NE(complaint([&] { keys.share("share", x); }).find("a number from 0 to 1"), std::string::npos);
    EXPECT_NE(complaint([&] { keys.number("x", x); }).find("a number, at least 0"), std::string::npos);
    EXPECT_NE(complaint([&] { keys.flag("on", on); }).find("true or false"), std::string::npos);
    EXPECT_NE(complaint([&] { keys.word("word", word, {"a", "b"}); }).find("one of a, b"), std::string::npos);
    EXPECT_NE(complaint([&] { keys.list("list", list, {"a", "b"}); }).find("a list of a, b"), std::string::npos);
    EXPECT_EQ(n, 1);
    EXPECT_EQ(x, 0);
    EXPECT_EQ(word, "");
}

TEST(TomlKeys, AKeyThatNobodyReadsIsAnError) {
    TomlKeys keys("a = 1\nb = 2\n", "f", "it");
    Index a = 0;
    keys.count("a", a, 0);
    EXPECT_EQ(complaint([&] { keys.require_all_known("Nobody would know."); }),
              "f line 2: the key b; expected a. Nobody would know.");
}

TEST(TomlKeys, WhatIsNoTomlIsNotRead) {
    const std::string said = complaint([] { TomlKeys("a = 1\nb = = 2\n", "f", "a policy"); });
    EXPECT_TRUE(said.starts_with("f line 2: ")) << said;
    EXPECT_NE(said.find("expected a policy in TOML"), std::string::npos) << said;
}

}  // namespace
}  // namespace couplet::net
