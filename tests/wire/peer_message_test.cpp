#include "couplet/wire/peer_message.hpp"

#include <deque>
#include <memory>

#include "couplet/consensus/graph_builders.hpp"
#include "wire_test_support.hpp"

namespace couplet::wire {
namespace {

const Route route{protocol_version, parse_job_id("00112233445566778899aabbccddeeff"), 3, 0};

struct Sent {
    Index from;
    PeerMessage message;
};

/// Runs all peers; every message goes through bytes when `travels`.
std::vector<std::unique_ptr<Peer>> run_network(const Job& job, const std::vector<Tensor<double>>& data, bool travels) {
    const auto nodes = static_cast<Index>(data.size());
    const auto plan = make_consensus_plan(make_graph(job.graph, nodes, job.seed), job.consensus);
    std::vector<std::unique_ptr<Peer>> peers(data.size());
    std::deque<Sent> queue;
    for (Index k = 0; k < nodes; ++k) {
        auto& peer = peers[static_cast<std::size_t>(k)];
        peer = make_peer(job, plan, k, data[static_cast<std::size_t>(k)].view());
        for (auto& message : peer->start()) queue.push_back({k, std::move(message)});
    }
    while (!queue.empty()) {
        Sent sent = std::move(queue.front());
        queue.pop_front();
        const Index to = sent.message.to;
        if (travels) {
            Route at = route;
            at.step = static_cast<std::uint32_t>(sent.message.step);
            const Message message = to_message(at, sent.message);
            EXPECT_TRUE(is_numbered(message));
            const Index iteration = sent.message.iteration;
            sent.message = to_peer_message(receive(encode(message)), to, "peer a");
            EXPECT_EQ(sent.message.iteration, iteration);
        }
        for (auto& answer : peers[static_cast<std::size_t>(to)]->receive(sent.from, sent.message)) {
            queue.push_back({to, std::move(answer)});
        }
    }
    return peers;
}

/// The bytes lose nothing: not a bit, and no knowledge about cores that would change how they are merged.
TEST(PeerMessageTest, AJobOverBytesHasTheSameBits) {
    std::vector<Tensor<double>> data;
    for (Index k = 0; k < 8; ++k) data.push_back(population_client({9 + k, 6, 7}, 4, 0.7, 0.01, 4, k));
    const std::vector<JobOptions> jobs{
        {.network = Network::decentralized, .rank = 3, .graph = "paper8"},
        {.network = Network::decentralized, .rank = 3, .sketch = Sketch::random, .graph = "ring"},
        {.network = Network::decentralized, .aggregate = Aggregate::average, .rank = 3, .graph = "paper8"},
        {.network = Network::decentralized, .aggregate = Aggregate::stack, .rank = 4, .graph = "paper8"},
        {.network = Network::decentralized, .aggregate = Aggregate::stack, .eps = 0.1, .graph = "grid"}};
    for (const JobOptions& options : jobs) {
        const Job job = resolve_job(options);
        const auto plain = run_network(job, data, false);
        const auto travelled = run_network(job, data, true);
        for (std::size_t k = 0; k < data.size(); ++k) {
            ASSERT_TRUE(travelled[k]->finished());
            EXPECT_TRUE(same_bits(travelled[k]->features(), plain[k]->features()));
            EXPECT_EQ(travelled[k]->result().error2, plain[k]->result().error2);
            EXPECT_EQ(travelled[k]->rel_error_bound(), plain[k]->rel_error_bound());
        }
    }
}

TEST(PeerMessageTest, OnlyARunningJobsMessagesAreTaken) {
    EXPECT_NE(refusal([] { to_peer_message({route, Join{"a", "1"}}, 0, "peer b"); }).find("peer b"), std::string::npos);
    EXPECT_FALSE(is_numbered({route, Beat{}}));
    EXPECT_TRUE(is_numbered({route, Bulletin{}}));
    EXPECT_FALSE(is_numbered({route, Refusal{}}));
    EXPECT_FALSE(is_numbered({route, Greeting{}}));
}

TEST(PeerMessageTest, ABulletinHasNoMoreRecordsThanItsSenderWouldPutThere) {
    for (const Index peers : {Index{2}, Index{32}, most_peers}) {
        PeerRecord record{.peer = 1, .incarnation = 5, .version = 1, .features = {3}, .rows = 9};
        record.hears.assign(static_cast<std::size_t>(peers), 0);
        const Index most = records_per_bulletin(peers);
        Bulletin bulletin{std::vector<PeerRecord>(static_cast<std::size_t>(most), record)};
        EXPECT_EQ(refusal([&] { receive(encode({route, bulletin})); }), "") << peers;
        bulletin.records.push_back(record);
        const std::string why = refusal([&] { receive(encode({route, bulletin})); });
        EXPECT_NE(why.find(std::to_string(most + 1) + " records in a bulletin"), std::string::npos) << peers << why;
    }
}

TEST(PeerMessageTest, TheLargestBulletinFitsAHead) {
    for (const Index peers : {Index{2}, Index{32}, most_peers}) {
        const auto n = static_cast<std::size_t>(peers);
        PeerRecord record{
            .peer = 1, .incarnation = ~0ULL, .version = ~0ULL, .features = Shape(std::vector<Index>(63, 1)), .rows = 9};
        record.hears.assign(n, ~0ULL);
        record.proposal =
            record.committed = {~0ULL, std::vector<Incarnation>(n, ~0ULL), std::vector<bool>(n * (n - 1) / 2, true)};
        record.report = PeerReport{};
        const Bulletin bulletin{std::vector<PeerRecord>(static_cast<std::size_t>(records_per_bulletin(peers)), record)};
        EXPECT_EQ(refusal([&] { receive(encode({route, bulletin})); }), "") << peers;
    }
}

}  // namespace
}  // namespace couplet::wire
