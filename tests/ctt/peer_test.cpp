#include "couplet/ctt/peer.hpp"

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/consensus/weights.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/operations.hpp"
#include "couplet/linalg/eigen.hpp"
#include "federations.hpp"
#include "release_gate.hpp"

namespace couplet {
namespace {

using namespace support;

ConsensusPlan plan_for(const Job& job, Index nodes) {
    return make_consensus_plan(make_graph(job.graph, nodes, job.seed), job.consensus);
}

Job printed(Index rank, const std::string& graph, const std::string& weights, Index iterations) {
    return resolve_job({.network = Network::decentralized,
                        .aggregate = Aggregate::average,
                        .rank = rank,
                        .eps2 = 0,
                        .graph = graph,
                        .weights = weights,
                        .iterations = iterations});
}

/// dec: sum ||X_k - U_k Z_k||^2 = sum ||E_k||^2 + sum_i (1 - l_i^L)^2 ||q_i^T D||^2 for symmetric M.
TEST(PeerTest, PrintedMethodObeysItsIdentity) {
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
TEST(PeerTest, PrintedNodesHoldThePowerOfTheWeightsTimesTheirStates) {
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
                const auto u = out.peers[z.size()].result().personal.view();
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
                const auto& train = out.peers[k].features().train;
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

TEST(PeerTest, PrintedNodesComputeNothingThatDoesNotTravel) {
    const auto data = population(3, {10, 6, 7}, 6, 0.8, 0.1, 3);
    const Job job = printed(3, "complete", "paper", 1);
    Peer peer(job, plan_for(job, 3), 0, data[0].view());
    const OperationCount count;
    peer.start();
    const double started = count.total();
    const OperationCount again;
    split_personal(data[0].view(), 3);
    EXPECT_EQ(started, again.total());
}

TEST(PeerTest, PaperWeightsOnACompleteGraphAreTheStarAfterOneIteration) {
    const auto data = population(5, {10, 4, 5}, 6, 0.8, 0.1, 3);
    const Job job = printed(3, "complete", "paper", 1);
    const auto out = drive_peers(job, plan_for(job, 5), data);
    const auto star = drive_star(resolve_job({.aggregate = Aggregate::average, .rank = 3, .eps1 = 0, .eps2 = 0}), data);
    EXPECT_NEAR(out.rse, star.rse, 1e-12);
    EXPECT_EQ(out.messages, 20);
}

std::vector<JobOptions> all_kinds() {
    const auto base = [](Aggregate aggregate) {
        return JobOptions{.network = Network::decentralized, .aggregate = aggregate, .rank = 3};
    };
    std::vector<JobOptions> jobs;
    for (const char* graph : {"complete", "ring", "paper8", "star"}) {
        auto average = base(Aggregate::average);
        average.weights = "metropolis";
        average.iterations = 4;
        auto sketch = base(Aggregate::subspace);
        sketch.sketch = Sketch::random;
        auto gram = base(Aggregate::subspace);
        gram.sketch = Sketch::gram;
        auto tree = sketch;
        tree.consensus = ConsensusEngine::tree;
        auto certified = base(Aggregate::stack);
        certified.rank = std::nullopt;
        certified.eps = 0.1;
        for (auto job : {average, sketch, gram, tree, base(Aggregate::stack), certified}) {
            job.graph = graph;
            jobs.push_back(job);
        }
    }
    return jobs;
}

TEST(PeerTest, OrderRepetitionAndLatenessDoNotChangeABit) {
    const auto data = population(8, {6, 6, 7}, 5, 0.7, 0.1, 4);
    for (const auto& options : all_kinds()) {
        const Job job = resolve_job(options);
        const auto plan = plan_for(job, 8);
        const auto expected = drive_peers(job, plan, data);
        const std::string what = std::string(to_string(job.aggregate)) + " on " + job.graph;
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            Random script(seed);
            const auto out = drive_peers(job, plan, data, &script);
            for (std::size_t k = 0; k < 8; ++k) {
                ASSERT_TRUE(out.peers[k].finished()) << what;
                EXPECT_TRUE(same_bits(out.peers[k].features(), expected.peers[k].features())) << what;
                EXPECT_TRUE(same_bits<double>(out.peers[k].result().personal.view(),
                                              expected.peers[k].result().personal.view()))
                    << what;
            }
        }
    }
}

TEST(PeerTest, AllNodesEndWithTheSameBitsAtCentralizedAccuracy) {
    const auto data = population(8, {10, 6, 7}, 10, 0.85, 0.05, 4);
    const double centralized = centralized_rse(gather_rows(data), 5, 0.01);
    for (const char* graph : {"complete", "ring", "paper8", "path", "grid"}) {
        for (const auto aggregate : {Aggregate::subspace, Aggregate::stack}) {
            const Job job = resolve_job({.network = Network::decentralized,
                                         .aggregate = aggregate,
                                         .rank = 5,
                                         .sketch = Sketch::random,
                                         .graph = graph});
            const auto out = drive_peers(job, plan_for(job, 8), data);
            for (const auto& peer : out.peers) {
                EXPECT_TRUE(same_bits(peer.features(), out.peers.front().features())) << graph;
                EXPECT_EQ(peer.rel_error_bound().has_value(), aggregate == Aggregate::stack);
            }
            EXPECT_LE(out.rse, 1.02 * centralized + 1e-4) << graph;
            if (aggregate == Aggregate::stack) {
                EXPECT_LE(std::sqrt(out.rse), *out.peers[3].rel_error_bound() + 1e-12);
            }
        }
    }
}

TEST(PeerTest, CertifiedTreeKeepsItsBound) {
    Random random(3);
    for (std::uint64_t trial = 0; trial < 40; ++trial) {
        const Index nodes = 1 + static_cast<Index>(random.below(9));
        Clients data;
        for (Index k = 0; k < nodes; ++k) {
            data.push_back(population_client({1 + static_cast<Index>(random.below(6)), 4, 5}, 4, 0.7, 0.1, trial + 1,
                                             static_cast<std::uint64_t>(k)));
        }
        const double eps = 0.5 * std::pow(100.0, -random.uniform());
        const Job job = resolve_job({.network = Network::decentralized,
                                     .aggregate = Aggregate::stack,
                                     .eps = eps,
                                     .seed = trial,
                                     .graph = "random:0.3"});
        const auto out = drive_peers(job, plan_for(job, nodes), data);
        EXPECT_LE(std::sqrt(out.rse), *out.peers.front().rel_error_bound() + 1e-12);
        EXPECT_LE(*out.peers.front().rel_error_bound(), eps * (1 + 1e-9));
        // Totals and merges up, totals and features down.
        EXPECT_EQ(out.messages, 4 * (nodes - 1));
    }
}

/// Up a path of three: every node adds itself to what its child says.
TEST(PeerTest, TotalsAreSumsOverTheWholeSubtree) {
    Clients data;
    for (Index k = 0; k < 5; ++k)
        data.push_back(population_client({2 + k, 4, 5}, 4, 0.7, 0.1, 7, static_cast<std::uint64_t>(k)));
    const Job job =
        resolve_job({.network = Network::decentralized, .aggregate = Aggregate::stack, .eps = 0.1, .graph = "path"});
    const auto plan = plan_for(job, 5);
    const auto norm2 = [&](std::size_t k) { return squared_norm(std::as_const(data[k]).view().unfold(1)); };
    Peer leaf(job, plan, 0, data[0].view());
    const auto first = leaf.start();
    ASSERT_EQ(first.size(), 1U);
    const Start own = std::get<Start>(*first.front().body);
    EXPECT_EQ(own.clients, 1);
    EXPECT_EQ(own.rows, 2);
    EXPECT_EQ(own.norm2, norm2(0));
    Peer inner(job, plan, 1, data[1].view());
    EXPECT_TRUE(inner.start().empty());
    const auto second = inner.receive(0, first.front());
    ASSERT_EQ(second.size(), 1U);
    const Start sum = std::get<Start>(*second.front().body);
    EXPECT_EQ(sum.clients, 2);
    EXPECT_EQ(sum.rows, 5);
    EXPECT_EQ(sum.norm2, norm2(1) + norm2(0));
    EXPECT_EQ(second.front().to, 2);
}

TEST(PeerTest, OneNodeIsAFederation) {
    const auto data = population(1, {10, 6, 7}, 4, 0.7, 0.01, 4);
    for (const auto aggregate : {Aggregate::subspace, Aggregate::stack}) {
        const Job job = resolve_job({.network = Network::decentralized, .aggregate = aggregate, .rank = 4});
        const auto out = drive_peers(job, plan_for(job, 1), data);
        EXPECT_LE(out.rse, 1.02 * centralized_rse(data[0], 4, 0.01) + 1e-4);
        EXPECT_EQ(out.messages, 0);
    }
}

template <class T>
PeerMessage message_with(Index to, Index step, T body, Index iteration = 0) {
    return {to, step, iteration, std::make_shared<const PeerBody>(std::move(body))};
}

/// What a decoder may make of arrived numbers.
Released<std::vector<double>> state_of(std::size_t size, double value) {
    return ReleaseGate::release(std::vector<double>(size, value));
}

/// Runs the network, and before every delivery offers the receiver messages it must refuse.
void run_among_hostile_messages(const JobOptions& options, const Clients& data) {
    const Job job = resolve_job(options);
    const auto nodes = static_cast<Index>(data.size());
    const auto plan = plan_for(job, nodes);
    const auto expected = drive_peers(job, plan, data);
    std::deque<Peer> peers;
    std::deque<std::pair<Index, PeerMessage>> queue;
    for (Index k = 0; k < nodes; ++k) peers.emplace_back(job, plan, k, data[static_cast<std::size_t>(k)].view());
    for (Index k = 0; k < nodes; ++k) {
        for (auto& m : peers[static_cast<std::size_t>(k)].start()) queue.emplace_back(k, std::move(m));
    }
    const Shape other{7, 6};
    Index refused = 0;
    while (!queue.empty()) {
        const auto [from, message] = std::move(queue.front());
        queue.pop_front();
        const Index to = message.to;
        Peer& peer = peers[static_cast<std::size_t>(to)];
        const auto refuse = [&](Index sender, const PeerMessage& bad) {
            EXPECT_THROW(peer.receive(sender, bad), InputError);
            ++refused;
        };
        if (!peer.finished()) {
            refuse(to, message);  // itself
            refuse(-1, message);
            refuse(nodes, message);
            for (Index k = 0; k < nodes; ++k) {
                if (k != to && !plan.graph.has_edge(k, to)) refuse(k, message);
            }
            refuse(from, {to, message.step + 100, 0, message.body});
            refuse(from, {to, -1, 0, message.body});
            refuse(from, {to, message.step, 0, nullptr});
            refuse(from, message_with(to, message.step,
                                      FeaturesMessage{{random_train<double>({7, 6}, {2, 2, 1}), {1, 1}}, {}}));
            refuse(from,
                   message_with(to, message.step, MergeState{FeatureBlock(Matrix<double>::zeros(1, 42), other), {}}));
            refuse(from, message_with(to, message.step, Start{0, 0, std::nan("")}));
            refuse(from, message_with(to, message.step, Matrix<double>::zeros(41, 3)));
        }
        for (auto& m : peer.receive(from, message)) queue.emplace_back(to, std::move(m));
    }
    EXPECT_GT(refused, 0);
    for (std::size_t k = 0; k < data.size(); ++k) {
        ASSERT_TRUE(peers[k].finished());
        EXPECT_TRUE(same_bits(peers[k].features(), expected.peers[k].features()));
    }
}

TEST(PeerTest, RefusedMessagesChangeNothing) {
    const auto data = population(8, {6, 6, 7}, 5, 0.7, 0.1, 4);
    for (const auto& options : all_kinds()) {
        if (options.graph == "paper8" || options.graph == "ring") run_among_hostile_messages(options, data);
    }
}

TEST(PeerTest, ConsensusStatesOfTheWrongSizeOrIterationAreRefused) {
    const auto data = population(3, {6, 6, 7}, 5, 0.7, 0.1, 4);
    const Job job = printed(3, "complete", "metropolis", 4);
    const auto plan = plan_for(job, 3);
    Peer peer(job, plan, 0, data[0].view());
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

TEST(PeerTest, EarlyStateOfTheWrongSizeIsAsIfItNeverCame) {
    const auto data = population(2, {6, 6, 7}, 5, 0.7, 0.1, 4);
    const Job job = resolve_job({.network = Network::decentralized,
                                 .aggregate = Aggregate::subspace,
                                 .rank = 3,
                                 .sketch = Sketch::gram,
                                 .consensus = ConsensusEngine::finite_time});
    const auto plan = plan_for(job, 2);
    Peer peer(job, plan, 0, data[0].view());
    peer.receive(1, message_with(0, 0, state_of(7, 1.0)));
    EXPECT_FALSE(peer.start().empty());
    EXPECT_FALSE(peer.finished());
    peer.receive(1, message_with(0, 0, sketch_sum(data[1].view(), {})));
    EXPECT_TRUE(peer.finished());
}

TEST(PeerTest, CountsRounds) {
    const auto rounds = [](const JobOptions& options) {
        const Job job = resolve_job(options);
        return count_rounds(job, plan_for(job, 8), Shape{6, 7});
    };
    JobOptions options{.network = Network::decentralized, .aggregate = Aggregate::stack, .rank = 3, .graph = "path"};
    EXPECT_EQ(rounds(options), 2 * 4);
    options = {.network = Network::decentralized, .aggregate = Aggregate::average, .rank = 3, .iterations = 5};
    EXPECT_EQ(rounds(options), 5);
    // A Gram matrix is one sum; one iteration on a complete graph, then one round of flooding.
    options = {.network = Network::decentralized,
               .aggregate = Aggregate::subspace,
               .rank = 3,
               .sketch = Sketch::gram,
               .consensus = ConsensusEngine::finite_time};
    EXPECT_EQ(rounds(options), 2);
}

TEST(PeerTest, CountsTheNumbersThatTravel) {
    EXPECT_EQ(count_numbers(state_of(7, 1.0)), 7);
    EXPECT_EQ(count_numbers(Matrix<double>(3, 4)), 12);
    EXPECT_EQ(count_numbers(Start{}), 3);
    EXPECT_EQ(count_numbers(MergeState{FeatureBlock(Matrix<double>::zeros(2, 6), {2, 3}), {}}), 12);
    EXPECT_EQ(count_numbers(FeaturesMessage{{random_train<double>({5, 6}, {3, 2, 1}), {}, true}, {}}),
              3 * 5 * 2 + 2 * 6);
    const Job job = resolve_job({});
    EXPECT_THROW(Peer(job, ConsensusPlan{}, 0, random_tensor<double>({7}).view()), InputError);
}

}  // namespace
}  // namespace couplet
