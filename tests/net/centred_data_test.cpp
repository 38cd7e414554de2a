#include "centred_data.hpp"

#include <cmath>
#include <limits>

#include "couplet/ctt/star.hpp"
#include "net_test_support.hpp"

namespace couplet::net {
namespace {

std::shared_ptr<const Tensor<double>> numbers(bool labelled = false) {
    auto x = Tensor<double>::zeros({4, 2});
    for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<double>(i * i);
    if (labelled) x.set_labels({ModeLabels{}, ModeLabels{.name = "lab", .entries = {"a", "b"}}});
    return std::make_shared<const Tensor<double>>(std::move(x));
}

wire::JobSpec centring_job() {
    JobOptions options;
    options.rank = 1;
    wire::JobSpec spec{resolve_job(options), {}};
    spec.centring.centre = true;
    return spec;
}

TEST(CentredData, TellsSumsOfTheDataAsItIsAndMovesItByThoseOfAll) {
    CentredData data(centring_job(), numbers(), 0);
    const auto told = data.sums();
    EXPECT_EQ(told.get(), (std::vector<double>{4, 0 + 4 + 16 + 36, 1 + 9 + 25 + 49})) << "patients, then their sums";
    EXPECT_NE(complaint([&] { data.moved(); }).find("not centred yet"), std::string::npos);
    EXPECT_TRUE(data.move({{14, 21}, {}}));
    EXPECT_FALSE(data.move({{14, 21}, {}})) << "told again";
    EXPECT_EQ(data.moved().training->data()[0], -14);
    EXPECT_EQ(data.moved().training->data()[7], 49 - 21);
    // Fewer clients, other means: from what the data was, not from what it was moved to.
    EXPECT_TRUE(data.move({{1, 1}, {}}));
    EXPECT_EQ(data.moved().training->data()[0], -1);
    EXPECT_EQ(data.sums().get(), told.get());
}

TEST(CentredData, IsPutInTheJobsOrderFirst) {
    CentredData data(centring_job(), numbers(true), 0);
    Start start;
    start.labels = {ModeLabels{.name = "lab", .entries = {"a", "b"}}};
    data.follow(start);
    EXPECT_EQ(data.reordered(), "");
    EXPECT_TRUE(data.move({{0, 1}, {}}));
    start.labels = {ModeLabels{.name = "lab", .entries = {"b", "a"}}};
    data.follow(start);
    EXPECT_NE(data.reordered(), "");
    EXPECT_TRUE(data.centring().empty()) << "what was moved was in another order";
    EXPECT_EQ(data.sums()->at(1), 1 + 9 + 25 + 49);
    EXPECT_TRUE(data.move({{0, 1}, {}}));
    EXPECT_EQ(data.moved().training->data()[0], 1);
    EXPECT_EQ(data.moved().schema.modes, start.labels);
}

TEST(CentredData, DataWithHolesIsRefusedWithAWayOut) {
    auto x = Tensor<double>::zeros({2, 2});
    x.data()[1] = std::numeric_limits<double>::quiet_NaN();
    const auto shared = std::make_shared<const Tensor<double>>(std::move(x));
    EXPECT_NE(complaint([&] { prepare_complete(shared, {}, 0, 0); }).find("`missing` impute"), std::string::npos);
}

}  // namespace
}  // namespace couplet::net
