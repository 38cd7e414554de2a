#include "couplet/ctt/job.hpp"

#include <limits>

#include "couplet/core/error.hpp"
#include "matrices.hpp"

namespace couplet {
namespace {

using support::message_of;

std::string refusal(const JobOptions& options) {
    return message_of([&] { resolve_job(options); });
}

TEST(JobTest, NothingGivenIsACertifiedStack) {
    const Job job = resolve_job({});
    EXPECT_EQ(job.network, Network::star);
    EXPECT_EQ(job.aggregate, Aggregate::stack);
    EXPECT_EQ(job.eps, 0.1);
    EXPECT_TRUE(job.refit);
    EXPECT_EQ(job.consensus.engine, ConsensusEngine::automatic);
    EXPECT_EQ(job.consensus.target, 1e-10);
}

TEST(JobTest, RankAloneTakesSmallCuts) {
    const Job job = resolve_job({.rank = 5});
    EXPECT_FALSE(job.eps);
    EXPECT_EQ(job.eps1, 0.01);
    EXPECT_EQ(job.eps2, 0.01);
}

TEST(JobTest, AverageTakesThePapersDefaults) {
    const Job job = resolve_job({.aggregate = Aggregate::average, .rank = 5});
    EXPECT_EQ(job.eps1, 0.1);
    EXPECT_EQ(job.eps2, 0.05);
    EXPECT_FALSE(job.refit);
    EXPECT_EQ(job.consensus.engine, ConsensusEngine::plain);
    EXPECT_EQ(job.consensus.weights, "paper");
}

TEST(JobTest, DecentralizedIsSubspaceByDefault) {
    EXPECT_EQ(resolve_job({.network = Network::decentralized, .rank = 3}).aggregate, Aggregate::stack);
    // Sums go along a tree unless a consensus, or a number of its iterations, is asked for.
    const auto engine = [](std::optional<ConsensusEngine> asked, std::optional<Index> iterations) {
        return resolve_job({.network = Network::decentralized,
                            .aggregate = Aggregate::subspace,
                            .rank = 3,
                            .consensus = asked,
                            .iterations = iterations})
            .consensus.engine;
    };
    EXPECT_EQ(engine({}, {}), ConsensusEngine::tree);
    EXPECT_EQ(engine(ConsensusEngine::automatic, {}), ConsensusEngine::tree);
    EXPECT_EQ(engine(ConsensusEngine::chebyshev, {}), ConsensusEngine::chebyshev);
    EXPECT_EQ(engine({}, 5), ConsensusEngine::automatic);
}

TEST(JobTest, RefusesWhatMeansNothing) {
    EXPECT_NE(refusal({.eps = 0.1, .eps1 = 0.1}).find("`eps`"), std::string::npos);
    EXPECT_NE(refusal({.aggregate = Aggregate::average, .rank = 3, .eps = 0.1}).find("`aggregate` stack"),
              std::string::npos);
    EXPECT_NE(refusal({.aggregate = Aggregate::subspace, .rank = 3, .eps1 = 0.1}).find("`eps1`"), std::string::npos);
    EXPECT_NE(refusal({.aggregate = Aggregate::subspace, .rank = 3, .eps2 = 1e-8}).find("1e-7"), std::string::npos);
    EXPECT_EQ(refusal({.aggregate = Aggregate::subspace, .rank = 3, .eps2 = 0}), "");
    EXPECT_NE(refusal({.aggregate = Aggregate::subspace}).find("`rank`"), std::string::npos);
    EXPECT_NE(refusal({.aggregate = Aggregate::average, .rank = 3, .precision = Precision::f32}).find("`precision`"),
              std::string::npos);
    EXPECT_NE(refusal({.bytes = 9000, .bytes_total = 9000}).find("one or the other"), std::string::npos);
    EXPECT_NE(refusal({.eps = 0.1, .bytes = 9000}).find("`bytes`"), std::string::npos);
    EXPECT_NE(refusal({.eps2 = 0.1, .bytes_total = 9000}).find("`bytes_total`"), std::string::npos);
    EXPECT_NE(refusal({.aggregate = Aggregate::average, .rank = 3, .bytes = 9000}).find("stack"), std::string::npos);
    EXPECT_NE(refusal({.bytes = 9000, .precision = Precision::f64}).find("`precision`"), std::string::npos);
    EXPECT_NE(refusal({.bytes = 0}).find("at least 1"), std::string::npos);
    EXPECT_EQ(refusal({.rank = 3, .bytes = 9000}), "");
    EXPECT_NE(refusal({.aggregate = Aggregate::average}).find("`rank`"), std::string::npos);
    EXPECT_NE(refusal({.rank = 0}).find("at least 1"), std::string::npos);
    EXPECT_NE(refusal({.eps = 1.0}).find("`eps`"), std::string::npos);
    EXPECT_NE(refusal({.eps = -0.1}).find("`eps`"), std::string::npos);
    EXPECT_NE(refusal({.eps2 = std::nan("")}).find("`eps2`"), std::string::npos);
    EXPECT_NE(refusal({.rank = 3, .refit = false}).find("`refit`"), std::string::npos);
    EXPECT_NE(refusal({.rank = 3, .passes = 0}).find("`passes`"), std::string::npos);
    EXPECT_NE(refusal({.rank = 3, .oversampling = -1}).find("`oversampling`"), std::string::npos);
}

TEST(JobTest, PeersOfThePrintedMethodTakeNoEps1) {
    const JobOptions peers{.network = Network::decentralized, .aggregate = Aggregate::average, .rank = 3, .eps1 = 0.1};
    EXPECT_EQ(refusal(peers),
              "`eps1`: `eps1` with `aggregate` average among peers; expected no `eps1`: whole states travel there, and "
              "only `eps2` cuts. Leave it out; in `network` star it cuts what clients send.");
    EXPECT_EQ(refusal({.network = Network::decentralized, .aggregate = Aggregate::average, .rank = 3, .eps2 = 0.1}),
              "");
    EXPECT_EQ(refusal({.network = Network::decentralized, .aggregate = Aggregate::stack, .rank = 3, .eps1 = 0.1}), "");
    EXPECT_EQ(refusal({.aggregate = Aggregate::average, .rank = 3, .eps1 = 0.1}), "");
}

TEST(JobTest, ReadsAndWritesNames) {
    for (const auto network : {Network::star, Network::decentralized}) {
        EXPECT_EQ(parse_network(to_string(network)), network);
    }
    for (const auto aggregate : {Aggregate::stack, Aggregate::average, Aggregate::subspace}) {
        EXPECT_EQ(parse_aggregate(to_string(aggregate)), aggregate);
    }
    EXPECT_EQ(parse_sketch("gram"), Sketch::gram);
    EXPECT_NE(message_of([] { parse_aggregate("mean"); }).find("stack, average, subspace"), std::string::npos);
}

TEST(StartJobTest, AddsUpTheClients) {
    const Start start = start_job(resolve_job({}), {{{3, 4}, 5, 2.5}, {{3, 4}, 1, 0}});
    EXPECT_EQ(start.clients, 2);
    EXPECT_EQ(start.rows, 6);
    EXPECT_EQ(start.norm2, 2.5);
    EXPECT_EQ(rank_cap({{3, 4}, 5, 1}), 5);
    EXPECT_EQ(rank_cap({{3, 4}, 50, 1}), 12);
}

TEST(StartJobTest, NamesTheClientThatDoesNotFit) {
    const Job job = resolve_job({});
    const auto refused = [&](const std::vector<Hello>& hellos, const Job& j) {
        return message_of([&] { start_job(j, hellos); });
    };
    EXPECT_NE(refused({}, job).find("at least one client"), std::string::npos);
    const auto modes = refused({{{3, 4}, 5, 1}, {{3, 5}, 5, 1}}, job);
    EXPECT_NE(modes.find("client 2"), std::string::npos);
    EXPECT_NE(modes.find("mode 3"), std::string::npos);
    EXPECT_NE(refused({{{3, 4}, 5, 1}, {{3}, 5, 1}}, job).find("client 2"), std::string::npos);
    EXPECT_NE(refused({{{3, 4}, 0, 0}}, job).find("client 1"), std::string::npos);
    for (const double norm2 : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0, 9.9e-151, 1.1e150}) {
        const auto message = refused({{{3, 4}, 1, 1}, {{3, 4}, 1, norm2}}, job);
        EXPECT_TRUE(message.starts_with("client 2: a squared norm of ")) << message;
        EXPECT_TRUE(
            message.ends_with("; expected 0, or a number between 1e-150 and 1e150. Scale the data, or use "
                              "`scale_clients` norm."))
            << message;
    }
    for (const double norm2 : {0.0, 1e-150, 1e150}) EXPECT_EQ(refused({{{3, 4}, 1, norm2}}, job), "");
    const auto caps =
        refused({{{3, 4}, 5, 1}, {{3, 4}, 9, 1}}, resolve_job({.aggregate = Aggregate::average, .rank = 7}));
    EXPECT_NE(caps.find("client 1 5, client 2 9"), std::string::npos) << caps;
    EXPECT_EQ(refused({{{3, 4}, 5, 1}, {{3, 4}, 9, 1}}, resolve_job({.rank = 7})), "");
}

TEST(JobTest, BytesAreSharedByTheMessages) {
    const Job each = resolve_job({.bytes = 100'000});
    EXPECT_LT(star_code_bytes(each, 4, 2), 50'000);
    EXPECT_GT(star_code_bytes(each, 4, 2), 49'000);
    EXPECT_EQ(star_code_bytes(each, 4, 2), star_code_bytes(each, 400, 2));
    const Job all = resolve_job({.bytes_total = 800'000});
    EXPECT_EQ(star_code_bytes(all, 8, 2), star_code_bytes(each, 8, 2));
    // Seven links, three of them at one node.
    EXPECT_LT(tree_code_bytes(each, 7, 3, 2), 100'000 / 6);
    EXPECT_LT(tree_code_bytes(all, 7, 3, 2), 800'000 / 14);
    EXPECT_THROW(star_code_bytes(resolve_job({.bytes = 400}), 4, 2), InputError);
    EXPECT_THROW(resolve_job({.eps = 1e-7, .precision = Precision::f32}), InputError);
    EXPECT_NO_THROW(resolve_job({.eps = 1e-6, .precision = Precision::f32}));
    EXPECT_THROW(star_code_bytes(resolve_job({.bytes_total = 5000}), 100, 2), InputError);
    EXPECT_FALSE(each.eps);
}

}  // namespace
}  // namespace couplet
