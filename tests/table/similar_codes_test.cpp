#include "couplet/table/similar_codes.hpp"

#include <gtest/gtest.h>

#include "couplet/tensor/any_label.hpp"

namespace couplet {
namespace {

Vocabulary site(std::vector<Term> terms) { return {{{"c", TermKind::codes, std::move(terms)}}, 0}; }

TEST(SimilarCodesTest, CapitalsAndBlanksAreNoDifferenceThatAnybodyMeans) {
    const Vocabulary one = site({{"I10", "a", "", 5}, {"i10", "b", "", 4}, {"I 10", "c", "", 3}, {"I11", "d", "", 2}});
    const auto found = similar_codes(one);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].one, "I10");
    EXPECT_EQ(found[0].other, "i10");
    EXPECT_EQ(found[1].other, "I 10");
    EXPECT_EQ(
        similar_text(found),
        "codes that look alike count as two: 'I10' and 'i10' (but for capitals or blanks), 'I10' and 'I 10' (but for "
        "capitals or blanks)");
    EXPECT_EQ(similar_json(found)[1]["codes"][1], "I 10");
    EXPECT_EQ(similar_json(found)[1]["why"], "capitals or blanks");
}

TEST(SimilarCodesTest, AccentsPunctuationAndListsAreNamedAsWhatTheyAre) {
    // One letter, and a letter with a mark behind it.
    const auto accents = similar_codes(site({{"Caf\u00e9", "a"}, {"Cafe\u0301", "b"}}));
    ASSERT_EQ(accents.size(), 1U);
    EXPECT_EQ(accents[0].why, "accents");
    const auto lists = similar_codes(site({{"E11.9", "a"}, {"ICD10:E119", "b"}, {"E11", "c"}}));
    ASSERT_EQ(lists.size(), 1U) << "a code below another is another code";
    EXPECT_EQ(lists[0].why, "punctuation or the name of a code list");
    EXPECT_TRUE(similar_codes(site({{any_label, any_label}, {"any", "any"}})).empty());
}

TEST(SimilarCodesTest, OneLabelOfTwoCodesCountsBetweenSitesOnly) {
    const Vocabulary both = site({{"a", "Asthma", "", 1}, {"b", "asthma", "", 1}, {"c", "Cough", "", 1}});
    EXPECT_TRUE(similar_codes(both).empty());
    const auto found = similar_codes(both, true);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].why, "label");
    EXPECT_NE(similar_text(found).find("'a' and 'b' (one label)"), std::string::npos);
}

}  // namespace
}  // namespace couplet
