#include "couplet/experiments/federate.hpp"

#include "couplet/core/error.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/linalg/products.hpp"
#include "datasets.hpp"

namespace couplet {
namespace {

MemorySource source(Index clients) { return MemorySource(support::synthetic_clients("48x8x7:rank=6", 3, clients)); }

TEST(FederateTest, JobsAreThoseOfThePaper) {
    const Job star = resolve_job(printed_star(5));
    EXPECT_EQ(star.aggregate, Aggregate::average);
    EXPECT_EQ(star.eps1, 0.1);
    EXPECT_EQ(star.eps2, 0.05);
    EXPECT_FALSE(star.refit);
    EXPECT_EQ(resolve_job(printed_peers(5, 4, 3)).consensus.weights, "magic");
    EXPECT_EQ(resolve_job(printed_peers(5, 2, 3)).consensus.weights, "paper");
    EXPECT_EQ(resolve_job(printed_peers(5, 4, 3, "ring")).consensus.weights, "paper");
    EXPECT_EQ(resolve_job(couplet_star(5)).aggregate, Aggregate::stack);
    EXPECT_EQ(resolve_job(couplet_peers(5)).aggregate, Aggregate::subspace);
}

/// With eq. M on a complete graph one iteration is the mean: from L = 2 on the evaluation is that of the star.
TEST(FederateTest, TableEvaluationAfterExactConsensusIsTheStar) {
    JobOptions peers = printed_peers(4, 3, 2);
    peers.weights = "paper";
    peers.eps2 = 0;
    JobOptions star = printed_star(4, 0, 0);
    EXPECT_NEAR(table_rse(source(3), peers), simulate(source(3), {.job = star}).rse, 1e-9);
}

/// L = 1 is the mean over j of the error with D_j for everybody: E + C (1 + 1) of the design notes, against E + C for
/// the star.
TEST(FederateTest, TableEvaluationAtOneIterationDoublesTheSpread) {
    JobOptions one = printed_peers(4, 4, 1);
    one.eps2 = 0;
    const double star = simulate(source(4), {.job = printed_star(4, 0, 0)}).rse;
    double cut = 0;  // the best rank 4 for every client: E
    const auto clients = support::synthetic_clients("48x8x7:rank=6", 3, 4);
    double whole = 0;
    for (const auto& x : clients) {
        const auto step = average_client(x.view(), 4, 0);
        cut += step.upload.norm2 - squared_norm<double>(step.weighted.view());
        whole += step.upload.norm2;
    }
    const double e = cut / whole;
    EXPECT_NEAR(table_rse(source(4), one), e + 2 * (star - e), 1e-9);
}

TEST(FederateTest, TableEvaluationRefusesWhatThePaperCannotRun) {
    EXPECT_THROW(table_rse(source(3), printed_peers(4, 3, 0)), InputError);
    EXPECT_THROW(table_rse(source(3), printed_peers(40, 3, 1)), InputError);
}

TEST(FederateTest, CostsAreAddedUp) {
    const auto result = simulate(source(3), {.job = couplet_star(4)});
    EXPECT_EQ(federation_seconds(result), result.seconds.clients_max + result.seconds.server);
    EXPECT_EQ(total_bytes(result), result.bytes_up + result.bytes_down);
    EXPECT_GT(total_bytes(result), 0);
}

}  // namespace
}  // namespace couplet
