#include "peer_work.hpp"

#include <future>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/wire/encoder.hpp"
#include "couplet/wire/peer_message.hpp"
#include "peer_test_support.hpp"

namespace couplet::net {
namespace {

/// Works that hand their messages to one another.
struct Works {
    std::mutex mutex;
    std::vector<std::optional<PeerOutput>> outputs;
    std::vector<std::string> failures;
    Shape features;
    Index most_payload;
    bool speaking = false;
    std::promise<void> all_begin;
    std::shared_future<void> all_began = all_begin.get_future().share();
    std::vector<std::unique_ptr<PeerWork>> works;  ///< ends first: its threads use the others

    Works(const Clients& data, const JobOptions& options) : outputs(data.size()) {
        const auto sizes = data.front().shape().sizes().subspan(1);
        features = Shape(std::vector<Index>(sizes.begin(), sizes.end()));
        most_payload = largest_payload_bytes(features);
        for (std::size_t k = 0; k < data.size(); ++k) {
            const PeerWork::Hooks hooks{[this, k](std::uint64_t epoch, const PeerMessage& message) {
                                            // Messages that come before the epoch begins are for their owner to keep.
                                            all_began.wait();
                                            const wire::Route route{wire::protocol_version, {}, 1, 0};
                                            const wire::Message sent = wire::to_message(route, message);
                                            EXPECT_LE(wire::Encoder(sent).payload_bytes(), most_payload);
                                            EXPECT_TRUE(works[static_cast<std::size_t>(message.to)]->receive(
                                                epoch, static_cast<Index>(k), message));
                                        },
                                        [this, k](std::uint64_t, PeerOutput output) {
                                            const std::lock_guard lock(mutex);
                                            outputs[k] = std::move(output);
                                        },
                                        [this](std::uint64_t, const std::string& reason) {
                                            const std::lock_guard lock(mutex);
                                            failures.push_back(reason);
                                        },
                                        [](Index, const std::string&) {}};
            works.push_back(std::make_unique<PeerWork>(
                wire::JobSpec{resolve_job(options), {}},
                std::make_shared<const Tensor<double>>(Tensor<double>::copy(data[k].view())), hooks));
        }
    }
    ~Works() { let_speak(); }
    Works(const Works&) = delete;
    Works& operator=(const Works&) = delete;

    void begin(Index k, std::uint64_t epoch, const Graph& graph) {
        works[static_cast<std::size_t>(k)]->begin(epoch, graph, k, Schema{features, {}});
    }
    /// From here on messages arrive.
    void let_speak() {
        if (!std::exchange(speaking, true)) all_begin.set_value();
    }
    bool finished() {
        let_speak();
        return eventually([this] {
            const std::lock_guard lock(mutex);
            return std::all_of(outputs.begin(), outputs.end(), [](const auto& o) { return o.has_value(); });
        });
    }
};

TEST(PeerWorkTest, ANewEpochForgetsTheOneBefore) {
    const Clients data = population(4, {9, 6, 7}, 4, 0.7, 0.05, 4);
    const JobOptions job{
        .network = Network::decentralized, .aggregate = Aggregate::subspace, .rank = 3, .graph = "ring"};
    Works works(data, job);
    // The first epoch never gets its fourth member; the second has them all.
    for (Index k = 0; k < 3; ++k) works.begin(k, 1, ring_graph(4));
    for (Index k = 0; k < 4; ++k) works.begin(k, 2, ring_graph(4));
    ASSERT_TRUE(works.finished());
    Clients copies;
    for (const auto& x : data) copies.push_back(Tensor<double>::copy(x.view()));
    const SimulationResult expected = simulate(MemorySource(std::move(copies)), {.job = job});
    double numbers = 0;
    for (const auto& output : works.outputs) {
        EXPECT_TRUE(same_bits(output->features, *expected.features));
        EXPECT_EQ(output->rounds, expected.rounds);
        EXPECT_EQ(output->lambda2, expected.consensus->lambda2);
        numbers += output->report.numbers;
    }
    EXPECT_EQ(numbers, expected.numbers_total);
    EXPECT_TRUE(works.failures.empty());
}

TEST(PeerWorkTest, NoMessageIsLargerThanAnyPeerAccepts) {
    // Few features and many patients: what is sent is as large as the features allow.
    const Clients data = population(4, {400, 20, 24}, 24, 0.9, 0.5, 4);
    for (const Aggregate aggregate : {Aggregate::average, Aggregate::subspace, Aggregate::stack}) {
        for (const std::string graph : {"ring", "complete"}) {
            const JobOptions job{
                .network = Network::decentralized, .aggregate = aggregate, .rank = 300, .graph = graph};
            Works works(data, job);
            const Graph links = graph == "ring" ? ring_graph(4) : complete_graph(4);
            for (Index k = 0; k < 4; ++k) works.begin(k, 1, links);
            ASSERT_TRUE(works.finished()) << to_string(aggregate);
        }
    }
}

TEST(PeerWorkTest, ANeighbourThatSendsWithoutWaitingIsRefused) {
    const Clients data = population(3, {9, 6, 7}, 4, 0.7, 0.05, 4);
    std::promise<void> sending;
    std::promise<void> go_on;
    std::once_flag first;
    const PeerWork::Hooks hooks{[&](std::uint64_t, const PeerMessage&) {
                                    std::call_once(first, [&] {
                                        sending.set_value();
                                        go_on.get_future().wait();
                                    });
                                },
                                [](std::uint64_t, PeerOutput) {}, [](std::uint64_t, const std::string&) {},
                                [](Index, const std::string&) {}};
    PeerWork work(wire::JobSpec{resolve_job({.network = Network::decentralized,
                                             .aggregate = Aggregate::subspace,
                                             .rank = 3,
                                             .consensus = ConsensusEngine::finite_time}),
                                {}},
                  std::make_shared<const Tensor<double>>(Tensor<double>::copy(data[0].view())), hooks);
    work.begin(1, complete_graph(3), 0, feature_schema(data[0], "data"));
    sending.get_future().wait();  // the worker is busy from here on
    const PeerMessage message{0, 0, 0, std::make_shared<const PeerBody>(Start{1, 9, 1.0})};
    Index taken = 0;
    for (int i = 0; i < 1000; ++i) taken += work.receive(1, 1, message) ? 1 : 0;
    EXPECT_EQ(taken, 64);
    // The others are not to blame, and a new epoch begins afresh.
    EXPECT_TRUE(work.receive(1, 2, message));
    EXPECT_TRUE(work.receive(2, 1, message));
    go_on.set_value();
}

TEST(PeerWorkTest, DataThatCannotBeUsedIsTold) {
    Clients data = population(2, {9, 6, 7}, 4, 0.7, 0.05, 4);
    data[0].data()[5] = std::nan("");
    Works works(data, {.network = Network::decentralized, .rank = 3});
    works.begin(0, 1, complete_graph(2));
    EXPECT_TRUE(eventually([&] {
        const std::lock_guard lock(works.mutex);
        return !works.failures.empty();
    }));
    const std::lock_guard lock(works.mutex);
    ASSERT_EQ(works.failures.size(), 1U);
    EXPECT_NE(works.failures.front().find("client 1"), std::string::npos) << works.failures.front();
}

}  // namespace
}  // namespace couplet::net
