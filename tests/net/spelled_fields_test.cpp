#include "spelled_fields.hpp"

#include <gtest/gtest.h>

#include <string>

namespace couplet::net {
namespace {

using Fields = nlohmann::ordered_json;

std::string in_capitals(std::string_view name) {
    std::string text(name);
    for (char& c : text) c = static_cast<char>(c == '_' ? '-' : c - 'a' + 'A');
    return text;
}

TEST(SpelledFieldsTest, EveryTextIsSpelledAtAnyDepthAndNothingElseChanges) {
    const Fields fields{{"`rank`", "use `max_rank` 3"},
                        {"doubts", {{{"client", "a"}, {"reason", "`seed` 1"}}}},
                        {"rows", 3},
                        {"done", true},
                        {"nothing", nullptr}};
    EXPECT_EQ(spelled_fields(fields, in_capitals).dump(),
              R"({"`rank`":"use MAX-RANK 3","doubts":[{"client":"a","reason":"SEED 1"}],"rows":3,"done":true,)"
              R"("nothing":null})");
    EXPECT_EQ(spelled_fields(fields, {}), fields);
    EXPECT_EQ(spelled_fields(Fields("`seed`"), in_capitals), "SEED");
    EXPECT_EQ(spelled_fields(Fields(), in_capitals), Fields());
}

}  // namespace
}  // namespace couplet::net
