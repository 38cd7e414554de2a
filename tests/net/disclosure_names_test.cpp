#include "disclosure_names.hpp"

#include <set>

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

wire::JobSpec spec_of(Aggregate aggregate) {
    JobOptions options;
    options.rank = 3;
    options.aggregate = aggregate;
    return {resolve_job(options), {}};
}

Matrix<double> basis(double value) {
    auto result = Matrix<double>::zeros(4, 2);
    result(0, 0) = value;
    return result;
}

TEST(DisclosureNames, RowsAreKnownByWhatWasDoneToThem) {
    wire::JobSpec spec = spec_of(Aggregate::stack);
    DisclosureNames plain(spec, "1");
    EXPECT_EQ(plain.rows(), "");
    EXPECT_EQ(DisclosureNames(spec_of(Aggregate::average), "1").rows(), "average");
    DisclosureNames moved(spec, "1");
    moved.set_centring({{1, 2}, {}});
    DisclosureNames elsewhere(spec, "2");
    elsewhere.set_centring({{1, 3}, {}});
    EXPECT_NE(moved.rows(), plain.rows());
    EXPECT_NE(moved.rows(), elsewhere.rows());
    elsewhere.set_centring({{1, 2}, {}});
    EXPECT_EQ(moved.rows(), elsewhere.rows()) << "the job does not matter";
    spec.preparation.scale_clients = true;
    EXPECT_EQ(DisclosureNames(spec, "1").rows(), " scaled");
}

TEST(DisclosureNames, SumsAreKnownByTheirBasisAndTheOrderOfTheFeatures) {
    DisclosureNames names(spec_of(Aggregate::subspace), "1");
    const std::string first = names.sum(basis(1));
    EXPECT_NE(first, names.sum(basis(2)));
    EXPECT_EQ(names.sum({}), "gram");
    EXPECT_EQ(names.feature_sums(2), "features 2");
    names.set_order({ModeLabels{.name = "lab", .entries = {"a", "b"}}});
    EXPECT_NE(first, names.sum(basis(1)));
    EXPECT_NE(names.feature_sums(2), "features 2");
    names.set_order({});
    EXPECT_EQ(first, names.sum(basis(1)));
}

FeaturesMessage filling_from(double value, double step = 1) {
    std::vector<Tensor<double>> cores;
    cores.push_back(Tensor<double>::zeros({1, 4, 1}));
    cores[0].data()[0] = value;
    return {{TensorTrain<double>(std::move(cores)), {}, false}, {}, Filling{.means = 0.2, .step = step}};
}

/// What is filled in is other data every time: the name says from what, and the same filling has the same name.
TEST(DisclosureNames, WhatIsFilledInIsKnownByTheJobAndTheFilling) {
    wire::JobSpec spec = spec_of(Aggregate::stack);
    spec.missing.emplace();
    DisclosureNames one(spec, "1");
    const std::string first = one.rows();
    std::set<std::string> rows{first, DisclosureNames(spec, "2").rows(),
                               DisclosureNames(spec_of(Aggregate::stack), "1").rows()};
    std::set<std::string> sums{one.sum(basis(1))};
    std::set<std::string> fills;
    for (const auto& [value, step] : {std::pair{1.0, 1.0}, {2.0, 1.0}, {2.0, 2.0}}) {
        one.set_filling(filling_from(value, step));
        rows.insert(one.rows());
        sums.insert(one.sum(basis(1)));
        fills.insert(one.fill());
        const std::string told = one.fill();
        one.set_filling(filling_from(value, step));
        EXPECT_EQ(one.fill(), told) << "told again";
    }
    EXPECT_EQ(rows.size(), 6U);
    EXPECT_EQ(sums.size(), 4U);
    EXPECT_EQ(fills.size(), 3U);
    one.forget_filling();
    EXPECT_EQ(one.rows(), first);
    EXPECT_NE(one.report(filling_from(1).features), one.report(filling_from(2).features));
}

TEST(DisclosureNames, MaskedSumsAreKnownByTheirMembersInAnyOrder) {
    const ShieldPlan plan;
    const Matrix<double> numbers = basis(1);
    const auto sum = [&](std::vector<std::string> members, SubspaceIteration::Want want) {
        return MaskedSum{plan, 1, want, numbers, std::move(members), true};
    };
    constexpr auto sketch = SubspaceIteration::Want::sketch;
    const DisclosureNames one(spec_of(Aggregate::subspace), "1");
    const DisclosureNames two(spec_of(Aggregate::subspace), "2");
    EXPECT_EQ(one.masked_by_members(sum({"a", "b", "c"}, sketch)), two.masked_by_members(sum({"c", "a", "b"}, sketch)));
    EXPECT_NE(one.masked_by_members(sum({"a", "b", "c"}, sketch)), one.masked_by_members(sum({"a", "b"}, sketch)));
    EXPECT_NE(one.masked_for_job(sum({"a"}, sketch)), two.masked_for_job(sum({"a"}, sketch)));
    EXPECT_EQ(one.masked_for_job(sum({"a"}, sketch)), one.masked_for_job(sum({"b"}, sketch)));
    EXPECT_NE(one.masked(sum({"a"}, sketch)), one.masked(sum({"a"}, SubspaceIteration::Want::projected)));
    MaskedSum ordered = sum({"a"}, sketch);
    ordered.order = "peers";
    EXPECT_EQ(one.masked(ordered), one.masked(sum({"a"}, sketch)) + " in peers");
}

}  // namespace
}  // namespace couplet::net
