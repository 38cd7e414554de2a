#include "couplet/experiments/federate.hpp"

#include <cmath>
#include <utility>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/consensus/weights.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/linalg/products.hpp"
#include "datasets.hpp"
#include "matrices.hpp"

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
    EXPECT_EQ(resolve_job(couplet_peers(5)).aggregate, Aggregate::stack);
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

TEST(FederateTest, JobsAreThoseOfThePaperAndOurs) {
    const JobOptions star = printed_star(5, 0.2, 0.3);
    EXPECT_EQ(star.network, Network::star);
    EXPECT_EQ(star.aggregate, Aggregate::average);
    EXPECT_EQ(star.rank, 5);
    EXPECT_EQ(star.eps1, 0.2);
    EXPECT_EQ(star.eps2, 0.3);
    EXPECT_FALSE(resolve_job(star).refit);
    EXPECT_TRUE(resolve_job(printed_refit(5)).refit);
    EXPECT_EQ(resolve_job(printed_refit(5)).eps2, 0.05);
    const Job peers = resolve_job(printed_peers(5, 3, 7));
    EXPECT_EQ(peers.network, Network::decentralized);
    EXPECT_EQ(peers.consensus.iterations, 7);
    EXPECT_EQ(peers.consensus.weights, "magic");
    EXPECT_EQ(peers.consensus.engine, ConsensusEngine::plain);
    EXPECT_EQ(peers.graph, "complete");
    EXPECT_EQ(peers.eps2, 0.05);
    EXPECT_EQ(resolve_job(couplet_peers(5, "ring")).graph, "ring");
    SimulationResult result;
    result.seconds = {.clients_max = 2, .clients_sum = 5, .server = 3, .total = 100};
    result.bytes_up = 10;
    result.bytes_down = 7;
    EXPECT_EQ(federation_seconds(result), 5);
    EXPECT_EQ(total_bytes(result), 17);
}

/// Mean over nodes j of the error with Z_j[L-1] for all clients, by the definition.
TEST(FederateTest, TableEvaluationIsItsDefinition) {
    const auto clients = support::synthetic_clients("48x8x7:rank=6", 3, 3);
    const Matrix<double> m = magic_weights(complete_graph(3));
    for (const Index l : {1, 2, 3}) {
        std::vector<Matrix<double>> z;
        std::vector<Matrix<double>> u;
        double whole = 0;
        for (const auto& x : clients) {
            auto split = split_personal(x.view(), 4);
            z.push_back(std::move(split.weighted));
            u.push_back(std::move(split.personal));
            whole += squared_norm(x.view().unfold(1));
        }
        for (Index t = 1; t < l; ++t) {
            std::vector<Matrix<double>> next;
            for (Index k = 0; k < 3; ++k) {
                auto sum = Matrix<double>::zeros(4, 56);
                for (Index j = 0; j < 3; ++j) {
                    for (Index i = 0; i < sum.size(); ++i) {
                        sum.data()[i] += m(k, j) * z[static_cast<std::size_t>(j)].data()[i];
                    }
                }
                next.push_back(std::move(sum));
            }
            z = std::move(next);
        }
        double mean = 0;
        for (const auto& state : z) {
            for (std::size_t k = 0; k < 3; ++k) {
                const auto model = product<double>(u[k].view(), state.view());
                const auto x = clients[k].view().unfold(1);
                for (Index i = 0; i < model.size(); ++i) mean += std::pow(x.data[i] - model.data()[i], 2) / 3;
            }
        }
        JobOptions job = printed_peers(4, 3, l);
        job.eps2 = 0.0;
        EXPECT_NEAR(table_rse(source(3), job), mean / whole, 1e-10) << "L = " << l;
    }
}

TEST(FederateTest, TableEvaluationSaysWhatItNeeds) {
    const auto refusal = [](Index clients, const JobOptions& job) {
        return support::message_of([&] { table_rse(source(clients), job); });
    };
    EXPECT_EQ(refusal(3, printed_peers(4, 3, 0)), "iterations: none; expected a rank, and at least one iteration");
    EXPECT_EQ(refusal(3, printed_peers(16, 3, 1)), "");
    EXPECT_EQ(refusal(3, printed_peers(17, 3, 1)), "`rank`: 17; expected at most the 16 patients of client 1");
}

TEST(FederateTest, TableEvaluationCutsTheFeatureBonds) {
    JobOptions exact = printed_peers(4, 3, 2);
    exact.eps2 = 0.0;
    JobOptions coarse = exact;
    coarse.eps2 = 0.5;
    EXPECT_GT(table_rse(source(3), coarse), table_rse(source(3), exact) + 1e-3);
}

}  // namespace
}  // namespace couplet
