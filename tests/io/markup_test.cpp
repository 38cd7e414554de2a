#include "couplet/io/markup.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

TEST(MarkupTest, EscapesWhatMarkupReads) {
    EXPECT_EQ(escape_markup("a<b & \"c\" > 'd'"), "a&lt;b &amp; &quot;c&quot; &gt; &#39;d&#39;");
    EXPECT_EQ(escape_markup("&lt;"), "&amp;lt;");
}

TEST(MarkupTest, WhatAPageWouldObeyIsNotPartOfIt) {
    EXPECT_EQ(escape_markup("a\x1b\x7f\u009b\u202e\u2028\u2066z\xff"), "a\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDz\uFFFD");
    EXPECT_EQ(escape_markup("a\tb\nc"), "a\tb\nc");
}

TEST(MarkupTest, LeavesTheRest) {
    EXPECT_EQ(escape_markup(""), "");
    EXPECT_EQ(escape_markup("R\u2081 = 20\n"), "R\u2081 = 20\n");
}

}  // namespace
}  // namespace couplet
