#include "average_peer.hpp"

#include "couplet/consensus/weights.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/operations.hpp"
#include "couplet/linalg/eigen.hpp"
#include "peer_test_support.hpp"

namespace couplet {
namespace {

using namespace support;

/// dec: sum ||X_k - U_k Z_k||^2 = sum ||E_k||^2 + sum_i (1 - l_i^L)^2 ||q_i^T D||^2 for symmetric M.
TEST(AveragePeerTest, PrintedMethodObeysItsIdentity) {
    const Shape shape{10, 4, 5};
    const auto data = population(8, shape, 6, 0.8, 0.1, 3);
    double norm2 = 0;
    double cut2 = 0;
    Matrix<double> d(8, 3 * 20);
    for (Index k = 0; k < 8; ++k) {
        const auto step = average_client(data[static_cast<std::size_t>(k)].view(), 3, 0);
        std::copy_n(step.weighted.data(), d.cols(), d.view().row(k));
        norm2 += step.upload.norm2;
        cut2 += step.upload.svd_tail2;
    }
    const double star =
        drive_star(resolve_job({.aggregate = Aggregate::average, .rank = 3, .eps1 = 0, .eps2 = 0}), data).rse;
    for (const auto& [graph, weights] : std::vector<std::pair<std::string, std::string>>{
             {"complete", "magic"}, {"complete", "paper"}, {"paper8", "metropolis"}, {"ring", "best-constant"}}) {
        const auto m = make_weights(weights, make_graph(graph, 8, 0));
        const auto eigen = symmetric_eigen(m.view(), 8);
        const auto image = naive_product(eigen.vectors.view(), d.view(), Op::transpose);
        for (Index l = 0; l <= 5; ++l) {
            double spread2 = 0;
            for (Index i = 0; i < 8; ++i) {
                const double left = 1 - std::pow(eigen.values[static_cast<std::size_t>(i)], static_cast<double>(l));
                spread2 += left * left * squared_norm<double>(image.view().rows_from(i, 1));
            }
            const Job job = printed(3, graph, weights, l);
            const auto out = drive_peers(job, plan_for(job, 8), data);
            EXPECT_NEAR(out.rse, (cut2 + spread2) / norm2, 1e-10) << graph << " " << weights << " L = " << l;
            if (l % 2 == 0) {
                EXPECT_LE(out.rse, star + 1e-12) << graph << " " << weights << " L = " << l;
            }
        }
    }
}

/// Alg. 3, line by line: U_k, D_k of a truncated SVD, Z_k[L] = sum_j (M^L)_kj D_j, TT-SVD(eps2) of it.
TEST(AveragePeerTest, PrintedNodesHoldThePowerOfTheWeightsTimesTheirStates) {
    const auto data = population(4, {7, 3, 4}, 5, 0.8, 0.1, 3);
    for (const double eps2 : {0.0, 0.3}) {
        for (const Index l : {0, 1, 3}) {
            JobOptions options{.network = Network::decentralized,
                               .aggregate = Aggregate::average,
                               .rank = 3,
                               .eps2 = eps2,
                               .graph = "path",
                               .weights = "metropolis",
                               .iterations = l};
            const Job job = resolve_job(options);
            const auto out = drive_peers(job, plan_for(job, 4), data);
            const auto m = make_weights("metropolis", path_graph(4));
            std::vector<Matrix<double>> z;
            for (const auto& x : data) {
                const auto svd = reference::svd(x.view().unfold(1));
                const auto u = out.peers[z.size()]->result().personal.view();
                z.push_back(naive_product(u, x.view().unfold(1), Op::transpose));
                for (Index r = 0; r < 3; ++r) {
                    EXPECT_NEAR(std::sqrt(squared_norm<double>(z.back().view().rows_from(r, 1))),
                                svd.sigma[static_cast<std::size_t>(r)], 1e-10);
                }
            }
            for (Index t = 0; t < l; ++t) {
                std::vector<Matrix<double>> next;
                for (Index k = 0; k < 4; ++k) {
                    auto sum = Matrix<double>::zeros(3, 12);
                    for (Index j = 0; j < 4; ++j) {
                        for (Index i = 0; i < 36; ++i) {
                            sum.data()[i] += m(k, j) * z[static_cast<std::size_t>(j)].data()[i];
                        }
                    }
                    next.push_back(std::move(sum));
                }
                z = std::move(next);
            }
            for (std::size_t k = 0; k < 4; ++k) {
                const auto& train = out.peers[k]->features().train;
                const auto w = Matrix<double>::adopt(train.full().release(), 3, 12);
                const double distance = naive_distance(w.view(), z[k].view());
                const double norm = std::sqrt(squared_norm<double>(z[k].view()));
                EXPECT_LE(distance, eps2 * norm + 1e-12) << "L = " << l;
                if (eps2 > 0) {
                    EXPECT_GT(distance, 1e-3 * norm) << "nothing was cut";
                }
            }
        }
    }
}

TEST(AveragePeerTest, PrintedNodesComputeNothingThatDoesNotTravel) {
    const auto data = population(3, {10, 6, 7}, 6, 0.8, 0.1, 3);
    const Job job = printed(3, "complete", "paper", 1);
    AveragePeer peer(job, plan_for(job, 3), 0, data[0].view());
    const OperationCount count;
    peer.start();
    const double started = count.total();
    const OperationCount again;
    split_personal(data[0].view(), 3);
    EXPECT_EQ(started, again.total());
}

TEST(AveragePeerTest, PaperWeightsOnACompleteGraphAreTheStarAfterOneIteration) {
    const auto data = population(5, {10, 4, 5}, 6, 0.8, 0.1, 3);
    const Job job = printed(3, "complete", "paper", 1);
    const auto out = drive_peers(job, plan_for(job, 5), data);
    const auto star = drive_star(resolve_job({.aggregate = Aggregate::average, .rank = 3, .eps1 = 0, .eps2 = 0}), data);
    EXPECT_NEAR(out.rse, star.rse, 1e-12);
    EXPECT_EQ(out.messages, 20);
}

TEST(AveragePeerTest, ConsensusStatesOfTheWrongSizeOrIterationAreRefused) {
    const auto data = population(3, {6, 6, 7}, 5, 0.7, 0.1, 4);
    const Job job = printed(3, "complete", "metropolis", 4);
    const auto plan = plan_for(job, 3);
    AveragePeer peer(job, plan, 0, data[0].view());
    peer.start();
    EXPECT_THROW(peer.receive(1, message_with(0, 0, state_of(5, 1.0))), InputError);
    EXPECT_THROW(peer.receive(1, message_with(0, 0, state_of(126, std::nan("")))), InputError);
    EXPECT_THROW(peer.receive(1, message_with(0, 0, state_of(126, 1.0), 2)), InputError);
    EXPECT_THROW(peer.receive(1, message_with(0, 1, state_of(126, 1.0))), InputError);
    EXPECT_TRUE(peer.receive(1, message_with(0, 0, state_of(126, 1.0))).empty());
    EXPECT_EQ(peer.receive(2, message_with(0, 0, state_of(126, 1.0))).size(), 2u);
    EXPECT_FALSE(peer.finished());
    EXPECT_THROW(peer.result(), RunError);
    EXPECT_THROW(peer.features(), RunError);
}

}  // namespace
}  // namespace couplet
