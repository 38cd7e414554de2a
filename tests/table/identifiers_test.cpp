#include "identifiers.hpp"

#include <gtest/gtest.h>

namespace couplet {
namespace {

std::string found(const std::vector<std::string>& cells, const std::string& label = "value",
                  const std::string& unit = "") {
    ColumnWatch watch;
    for (const std::string& cell : cells) watch.see(cell);
    const auto doubt = watch.doubt(label, unit);
    return doubt ? doubt->found : "";
}

std::vector<std::string> numbers(int from, int count) {
    std::vector<std::string> cells;
    for (int i = 0; i < count; ++i) cells.push_back(std::to_string(from + 13 * i));
    return cells;
}

TEST(IdentifiersTest, DifferentWholeNumbersAreIdentifiersByTheirNameOrLength) {
    EXPECT_NE(found(numbers(100, 25), "MRN").find("no two alike"), std::string::npos);
    EXPECT_NE(found(numbers(1'000'000, 25)).find("no two alike"), std::string::npos) << "seven digits";
    EXPECT_EQ(found(numbers(150'000, 25), "platelets"), "") << "a measurement";
    EXPECT_EQ(found(numbers(1'000'000, 25), "platelets", "1/L"), "") << "in a unit";
    EXPECT_EQ(found(numbers(100, 19), "MRN"), "") << "too few to say";
    auto twice = numbers(100, 25);
    twice.push_back("100");
    EXPECT_EQ(found(twice, "patient_id"), "");
}

TEST(IdentifiersTest, SocialSecurityNumbersNeedNoOtherSign) {
    EXPECT_NE(found({"123-45-6789", "123-45-6789"}).find("social security"), std::string::npos);
    EXPECT_EQ(found({"123-45-6789", "12-345-6789"}), "");
    EXPECT_EQ(found({}), "");
}

TEST(IdentifiersTest, NamesOfIdentifiers) {
    for (const char* label : {"ID", "mrn", "Patient-ID", "person_no", "SSN"})
        EXPECT_TRUE(names_identifier(label)) << label;
    for (const char* label : {"fluid", "age", "number of visits", "rapid"})
        EXPECT_FALSE(names_identifier(label)) << label;
}

}  // namespace
}  // namespace couplet
