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
    const std::string first = names.sum(basis(1), 1);
    EXPECT_EQ(first, names.sum(basis(1), 2)) << "asked again in another attempt";
    EXPECT_NE(first, names.sum(basis(2), 1));
    EXPECT_EQ(names.sum({}, 1), "gram");
    EXPECT_EQ(names.feature_sums(2), "features 2");
    names.set_order({ModeLabels{.name = "lab", .entries = {"a", "b"}}});
    EXPECT_NE(first, names.sum(basis(1), 1));
    EXPECT_NE(names.feature_sums(2), "features 2");
    names.set_order({});
    EXPECT_EQ(first, names.sum(basis(1), 1));
}

TEST(DisclosureNames, WhatIsFilledInIsAnotherSumEveryTime) {
    wire::JobSpec spec = spec_of(Aggregate::subspace);
    spec.missing.emplace();
    const DisclosureNames one(spec, "1");
    const std::set<std::string> different{one.sum(basis(1), 1), one.sum(basis(1), 2),
                                          DisclosureNames(spec, "2").sum(basis(1), 1)};
    EXPECT_EQ(different.size(), 3U);
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
