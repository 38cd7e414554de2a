#include "promised_sums.hpp"

#include "net_test_support.hpp"

namespace couplet::net {
namespace {

using Want = SubspaceIteration::Want;
const Shape features{6, 5};

PromisedSums promised(Sketch sketch = Sketch::random) {
    JobOptions options;
    options.rank = 3;
    options.aggregate = Aggregate::subspace;
    options.sketch = sketch;
    options.oversampling = 4;
    options.passes = 2;
    return {resolve_job(options), features};
}

SumRequest request(Index pass, Want want, Index columns) {
    if (pass == 0) return {pass, want, {}};
    auto basis = Matrix<double>::zeros(features.size(), columns);
    for (Index j = 0; j < columns; ++j) basis(j, j) = 1;
    return {pass, want, std::move(basis)};
}

TEST(PromisedSums, FollowFromTheJob) {
    const PromisedSums blocks = promised();
    EXPECT_FALSE(blocks.is_gram());
    EXPECT_EQ(blocks.count(), 3);
    EXPECT_EQ(blocks.width(), 7);
    EXPECT_EQ(blocks.directions(), 14);
    const PromisedSums gram = promised(Sketch::gram);
    EXPECT_TRUE(gram.is_gram());
    EXPECT_EQ(gram.count(), 1);
    EXPECT_EQ(gram.width(), 30);
    EXPECT_EQ(gram.directions(), 30);
}

TEST(PromisedSums, OneThatIsAskedForAgainIsNotAnother) {
    PromisedSums sums = promised();
    const auto ask = [&](std::uint32_t attempt, Index pass) {
        const SumRequest asked = request(pass, pass == 2 ? Want::projected : Want::sketch, 7);
        const Index number = sums.number(attempt, asked);
        sums.answer(asked);
        return number;
    };
    EXPECT_EQ(ask(1, 0), 1);
    EXPECT_EQ(ask(1, 1), 2);
    EXPECT_EQ(ask(1, 1), 2);
    EXPECT_EQ(ask(1, 2), 3);
    EXPECT_EQ(complaint([&] { ask(1, 0); }),
              "coordinator: sum 4 of the job; expected 3, as the job said at its start. Nothing was answered.");
    EXPECT_EQ(ask(2, 0), 1) << "a new attempt begins anew";
    EXPECT_NE(complaint([&] { ask(2, 3); }).find("sum 4 of the job"), std::string::npos);
}

TEST(PromisedSums, BlocksShowTheirColumnsWhole) {
    const PromisedSums sums = promised();
    EXPECT_EQ(sums.directions_in(request(0, Want::sketch, 0)), 7);
    EXPECT_EQ(sums.directions_in(request(1, Want::sketch, 5)), 5);
    EXPECT_EQ(sums.directions_in(request(2, Want::projected, 14)), 0) << "products of two columns alone";
    EXPECT_EQ(promised(Sketch::gram).directions_in(request(0, Want::gram, 0)), 30);
}

TEST(PromisedSums, AreOfTheirKindAndOnAnOrthonormalBasis) {
    const auto says = [](const SumRequest& asked, const char* words) {
        const std::string said = complaint([&] { promised().require_fitting(asked); });
        EXPECT_NE(said.find(words), std::string::npos) << said;
    };
    EXPECT_NO_THROW(promised().require_fitting(request(0, Want::sketch, 0)));
    EXPECT_NO_THROW(promised().require_fitting(request(1, Want::sketch, 7)));
    EXPECT_NO_THROW(promised().require_fitting(request(2, Want::projected, 14)));
    says(request(0, Want::gram, 0), "a sum of another kind; expected a block");
    says(request(1, Want::sketch, 8), "a sum 8 columns wide; expected at most 7");
    says(request(2, Want::projected, 15), "a sum 15 columns wide; expected at most 14");
    says(request(0, Want::projected, 0), "another kind of sum as number 1");
    says(request(2, Want::sketch, 7), "another kind of sum as number 3");
    SumRequest long_column = request(1, Want::sketch, 7);
    long_column.basis(0, 0) = 1000;
    says(long_column, "not orthonormal");
    says({1, Want::sketch, Matrix<double>::zeros(2, 1)}, "not orthonormal");
    EXPECT_NE(complaint([&] {
                  promised(Sketch::gram).require_fitting(request(1, Want::sketch, 2));
              }).find("expected a Gram matrix"),
              std::string::npos);
}

}  // namespace
}  // namespace couplet::net
