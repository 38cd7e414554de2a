#include "couplet/core/error.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <type_traits>

namespace couplet {
namespace {

TEST(Error, MessageNamesWhereFoundExpectedAndRemedy) {
    const InputError error({"`eps`", "2", "a number from 0 to 1", "Use 0.01 for one percent."});
    EXPECT_STREQ(error.what(), "`eps`: 2; expected a number from 0 to 1. Use 0.01 for one percent.");
}

TEST(Error, MessageLeavesOutEmptyParts) {
    EXPECT_STREQ(InputError({"a.npy", "not found", "", ""}).what(), "a.npy: not found");
    EXPECT_STREQ(InputError({"a.npy", "empty", "a tensor", ""}).what(), "a.npy: empty; expected a tensor");
    EXPECT_STREQ(RunError({"disk", "full", "", "Free some space."}).what(), "disk: full. Free some space.");
}

TEST(Error, PartsSurviveCatchingTheBaseClass) {
    try {
        throw RunError({"peer b", "silent for 60 s", "an answer", "Start it."});
    } catch (const Error& error) {
        EXPECT_EQ(error.parts().where, "peer b");
        EXPECT_EQ(error.parts().found, "silent for 60 s");
        EXPECT_EQ(error.parts().expected, "an answer");
        EXPECT_EQ(error.parts().remedy, "Start it.");
    }
}

TEST(Error, InputAndRunErrorsAreToldApart) {
    static_assert(!std::is_base_of_v<InputError, RunError> && !std::is_base_of_v<RunError, InputError>);
    EXPECT_THROW(throw InputError({"x", "y", "", ""}), InputError);
    EXPECT_THROW(throw RunError({"x", "y", "", ""}), std::runtime_error);
}

TEST(Error, VersionHasThreeNumbers) {
    EXPECT_TRUE(std::regex_match(version(), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+"))) << version();
}

}  // namespace
}  // namespace couplet
