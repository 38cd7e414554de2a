#include "couplet/baselines/method.hpp"

#include <gtest/gtest.h>

#include <set>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

TEST(Method, NamesReadBack) {
    std::set<std::string> names;
    for (const Method method : all_methods()) {
        EXPECT_EQ(parse_method(to_string(method)), method);
        names.emplace(to_string(method));
    }
    EXPECT_EQ(names, (std::set<std::string>{"ctt", "centralized", "local", "fedsvd", "trip", "fedgtf-ef",
                                            "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}));
    EXPECT_EQ(method_names().size(), names.size());
}

TEST(Method, AnUnknownNameIsToldTheOthers) {
    try {
        parse_method("sgd");
        FAIL();
    } catch (const InputError& error) {
        EXPECT_EQ(error.parts().where, "`method`");
        EXPECT_NE(error.parts().expected.find("fedgtf-ef-pc"), std::string::npos);
    }
}

TEST(Method, KnowsWhatTrainsACpModelAndWhere) {
    for (const char* name : {"ctt", "centralized", "local", "fedsvd"}) EXPECT_FALSE(is_cp(parse_method(name))) << name;
    for (const char* name : {"trip", "fedgtf-ef", "fedgtf-ef-pc", "dpfact"}) {
        EXPECT_TRUE(is_cp(parse_method(name))) << name;
        EXPECT_EQ(network_of(parse_method(name)), Network::star) << name;
    }
    for (const char* name : {"dpsgd", "cidertf"}) {
        EXPECT_TRUE(is_cp(parse_method(name))) << name;
        EXPECT_EQ(network_of(parse_method(name)), Network::decentralized) << name;
    }
}

}  // namespace
}  // namespace couplet
