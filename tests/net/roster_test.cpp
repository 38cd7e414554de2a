#include "roster.hpp"

#include <gtest/gtest.h>

namespace couplet::net {
namespace {

TEST(Roster, NamesPlacesInTheirOrder) {
    const std::vector<std::string> roster{"a", "b", "c"};
    EXPECT_EQ(names_of(roster, {2, 0}), (std::vector<std::string>{"c", "a"}));
    EXPECT_EQ(list_of(roster, {2, 0}), "c, a");
    EXPECT_EQ(list_of(roster, {}), "");
}

}  // namespace
}  // namespace couplet::net
