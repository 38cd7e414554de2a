#include "couplet/sim/centring_file.hpp"

#include <gtest/gtest.h>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(CentringFileTest, ReadsBackWhatItKeeps) {
    const Centring centring{.mean = {1.5, -1e-300}, .scale = {0.1, 3}};
    EXPECT_EQ(read_centring({{"centring", centring_json(centring)}}, "f"), centring);
    EXPECT_EQ(read_centring(nlohmann::json::parse(nlohmann::json{{"centring", centring_json(centring)}}.dump()), "f"),
              centring);
    EXPECT_TRUE(read_centring(nlohmann::json::object(), "f").empty());
    const Centring weighted{.mean = {1, 0.25}, .weight = Weight::sqrt, .any_at = {0}, .patients = 40};
    EXPECT_EQ(read_centring({{"centring", centring_json(weighted)}}, "f"), weighted);
}

TEST(CentringFileTest, RefusesWhatCannotBe) {
    for (const char* bad :
         {R"({"mean": "x"})", R"({"scale": [1, "x"]})", R"({"scale": [0]})", R"({"scale": [-1]})", "7", "[]", "\"x\"",
          R"({"weight": "sqrt"})", R"({"weight": "x", "any": [0], "patients": 3})",
          R"({"weight": "sqrt", "any": [-1], "patients": 3})"}) {
        EXPECT_THROW(read_centring({{"centring", nlohmann::json::parse(bad)}}, "f"), InputError) << bad;
    }
}

}  // namespace
}  // namespace couplet
