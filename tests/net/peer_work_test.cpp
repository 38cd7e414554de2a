#include "peer_work.hpp"

#include "couplet/consensus/graph_builders.hpp"
#include "peer_test_support.hpp"

namespace couplet::net {
namespace {

/// Works that hand their messages to one another.
struct Works {
    std::mutex mutex;
    std::vector<std::optional<PeerOutput>> outputs;
    std::vector<std::string> failures;
    std::vector<std::unique_ptr<PeerWork>> works;

    Works(const Clients& data, const JobOptions& options) : outputs(data.size()) {
        for (std::size_t k = 0; k < data.size(); ++k) {
            const PeerWork::Hooks hooks{[this, k](std::uint64_t epoch, const PeerMessage& message) {
                                            works[static_cast<std::size_t>(message.to)]->receive(
                                                epoch, static_cast<Index>(k), message);
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
    bool finished() {
        for (int i = 0; i < 2000; ++i) {
            {
                const std::lock_guard lock(mutex);
                if (std::all_of(outputs.begin(), outputs.end(), [](const auto& o) { return o.has_value(); }))
                    return true;
            }
            std::this_thread::sleep_for(5ms);
        }
        return false;
    }
};

TEST(PeerWorkTest, ANewEpochForgetsTheOneBefore) {
    const Clients data = population(4, {9, 6, 7}, 4, 0.7, 0.05, 4);
    const JobOptions job{.network = Network::decentralized, .rank = 3, .graph = "ring"};
    Works works(data, job);
    // The first epoch never gets its fourth member; the second has them all.
    for (Index k = 0; k < 3; ++k) works.works[static_cast<std::size_t>(k)]->begin(1, ring_graph(4), k);
    for (Index k = 0; k < 4; ++k) works.works[static_cast<std::size_t>(k)]->begin(2, ring_graph(4), k);
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

TEST(PeerWorkTest, DataThatCannotBeUsedIsTold) {
    Clients data = population(2, {9, 6, 7}, 4, 0.7, 0.05, 4);
    data[0].data()[5] = std::nan("");
    Works works(data, {.network = Network::decentralized, .rank = 3});
    works.works[0]->begin(1, complete_graph(2), 0);
    for (int i = 0; i < 1000; ++i) {
        {
            const std::lock_guard lock(works.mutex);
            if (!works.failures.empty()) break;
        }
        std::this_thread::sleep_for(5ms);
    }
    const std::lock_guard lock(works.mutex);
    ASSERT_EQ(works.failures.size(), 1U);
    EXPECT_NE(works.failures.front().find("client 1"), std::string::npos) << works.failures.front();
}

}  // namespace
}  // namespace couplet::net
