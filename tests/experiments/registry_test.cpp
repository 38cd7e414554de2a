#include <set>

#include "experiment_test_support.hpp"

namespace couplet {
namespace {

TEST(RegistryTest, EveryExperimentExplainsItself) {
    std::set<std::string_view> names;
    for (const Experiment* one : experiments()) {
        EXPECT_TRUE(names.insert(one->name).second) << one->name;
        EXPECT_FALSE(one->title.empty() || one->about.empty() || one->run == nullptr) << one->name;
    }
    EXPECT_EQ(names.size(), 16U);
}

TEST(RegistryTest, NamesChooseInTheOrderOfTheReport) {
    EXPECT_EQ(find_experiments({}).size(), 16U);
    const std::vector<std::string> names{"heldout", "eps1"};
    const auto chosen = find_experiments(names);
    ASSERT_EQ(chosen.size(), 2U);
    EXPECT_EQ(chosen[0]->name, "eps1");
    const std::vector<std::string> wrong{"eps3"};
    const std::string error = testing::refusal([&] { find_experiments(wrong); });
    EXPECT_NE(error.find("eps3"), std::string::npos);
    EXPECT_NE(error.find("eps_grid"), std::string::npos);
}

}  // namespace
}  // namespace couplet
