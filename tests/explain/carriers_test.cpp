#include "couplet/explain/carriers.hpp"

#include "explain_test_support.hpp"

namespace couplet {
namespace {

TEST(CarriersTest, CountsBySiteAndWithholdsWhatIsFewAndWhatWouldTellIt) {
    Explanation told = explain(testing::paired_findings(), {.rotation = Rotation::none});
    auto clients = testing::paired_clients();
    count_carriers(told, clients);
    ASSERT_TRUE(told.components[0].carriers);
    EXPECT_EQ(told.components[0].carriers->sites, (std::vector<std::optional<Index>>{30, std::nullopt}));
    EXPECT_FALSE(told.components[0].carriers->all) << "38 - 30 are 8";
    EXPECT_FALSE(told.components[1].carriers) << "nothing is named";
    // Two sites withheld: the sum tells neither.
    clients.push_back(Tensor<double>::copy(clients[1].view()));
    count_carriers(told, clients);
    EXPECT_EQ(told.components[0].carriers->all, 46);
    // None at all is a number.
    clients.resize(1);
    clients.emplace_back(Shape{5, 3, 3});
    for (Index i = 0; i < clients[1].size(); ++i) clients[1].data()[i] = 0;
    count_carriers(told, clients);
    EXPECT_EQ(told.components[0].carriers->sites, (std::vector<std::optional<Index>>{30, 0}));
    EXPECT_EQ(told.components[0].carriers->all, 30);
}

}  // namespace
}  // namespace couplet
