#include "couplet/table/code_map.hpp"

#include "couplet/core/error.hpp"
#include "folder_test.hpp"

namespace couplet {
namespace {

using CodeMapTest = testing::FolderTest;

TEST_F(CodeMapTest, ReadsLocalAndSharedCodesWithLabelsAndModes) {
    put("codes.csv", "shared,local,label,mode\nE11,S-1,Diabetes,\nJ45,S-2,,dx\nR03,S-2,,rx\n");
    const CodeMap map = load_code_map(path("codes.csv"));
    EXPECT_EQ(map.size(), 3U);
    ASSERT_NE(map.find("dx", "S-1"), nullptr);
    EXPECT_EQ(map.find("dx", "S-1")->code, "E11");
    EXPECT_EQ(map.find("dx", "S-1")->label, "Diabetes");
    EXPECT_EQ(map.find("dx", "S-2")->code, "J45");
    EXPECT_EQ(map.find("rx", "S-2")->code, "R03");
    EXPECT_EQ(map.find("lab", "S-2"), nullptr);
    EXPECT_EQ(map.find("dx", "S-3"), nullptr);
}

TEST_F(CodeMapTest, KnowsTheTableOfOmop) {
    put("CONCEPT_RELATIONSHIP.csv",
        "concept_id_1\tconcept_id_2\trelationship_id\tinvalid_reason\n1\t100\tMaps to\t\n2\t101\tMaps to\tD\n"
        "3\t102\tIs a\t\n4\t4\tMaps to\t\n");
    const CodeMap map = load_code_map(path("CONCEPT_RELATIONSHIP.csv"));
    EXPECT_EQ(map.size(), 1U) << "valid rows that map, of concepts that are not standard themselves";
    EXPECT_EQ(map.find("", "1")->code, "100");
}

TEST_F(CodeMapTest, RefusesWhatIsNoMap) {
    put("other.csv", "a,b\n1,2\n");
    put("none.csv", "local,shared\n");
    put("two.csv", "local,shared\nx,1\nx,2\n");
    put("empty.csv", "local,shared\nx,\n");
    for (const char* name : {"other.csv", "none.csv", "two.csv", "empty.csv"}) {
        EXPECT_THROW(load_code_map(path(name)), InputError) << name;
    }
    put("same.csv", "local,shared\nx,1\nx,1\n");
    EXPECT_EQ(load_code_map(path("same.csv")).size(), 1U);
}

}  // namespace
}  // namespace couplet
