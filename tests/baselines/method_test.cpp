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
    EXPECT_EQ(names,
              (std::set<std::string>{"fedsvd", "trip", "fedgtf-ef", "fedgtf-ef-pc", "dpfact", "dpsgd", "cidertf"}));
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

TEST(Method, OursAndWhatItIsMeasuredAgainstAreNoneOfThem) {
    for (const char* name : {"ctt", "centralized", "local"}) EXPECT_THROW(parse_method(name), InputError) << name;
}

TEST(Method, KnowsWhatTrainsACpModelAndWhere) {
    EXPECT_FALSE(is_cp(Method::fedsvd));
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
