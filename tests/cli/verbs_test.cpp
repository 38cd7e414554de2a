#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "verb.hpp"

namespace couplet::testing {
namespace {

TEST(Verbs, NamesAreUniqueAndEveryPartIsThere) {
    std::set<std::string_view> names;
    for (const cli::Verb* verb : cli::verbs()) {
        EXPECT_TRUE(names.insert(verb->name).second) << verb->name;
        EXPECT_FALSE(verb->group.empty() || verb->summary.empty() || verb->description.empty()) << verb->name;
        EXPECT_FALSE(verb->output.empty() || verb->examples.empty() || verb->setup == nullptr) << verb->name;
        EXPECT_NE(verb->summary.back(), '.') << verb->name;
    }
}

TEST(Verbs, OneGroupIsOneBlock) {
    std::set<std::string_view> closed;
    std::string_view open;
    for (const cli::Verb* verb : cli::verbs()) {
        if (verb->group == open) continue;
        closed.insert(open);
        open = verb->group;
        EXPECT_EQ(closed.count(open), 0U) << verb->name << " is apart from its group";
    }
}

}  // namespace
}  // namespace couplet::testing
