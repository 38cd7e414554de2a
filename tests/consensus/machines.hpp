#pragma once

#include <memory>
#include <vector>

#include "couplet/consensus/node.hpp"
#include "couplet/consensus/runner.hpp"
#include "support.hpp"

namespace couplet {

/// All machines of a plan in one thread, with a network that delivers in random order and repeats messages.
class Machines {
  public:
    Machines(const ConsensusPlan& plan, const Matrix<double>& initial, std::uint64_t seed) : random_(seed) {
        for (Index k = 0; k < initial.rows(); ++k) {
            const double* row = initial.view().row(k);
            nodes_.push_back(make_consensus_node(plan, k, {row, row + initial.cols()}));
        }
        for (Index k = 0; k < initial.rows(); ++k) send(k, nodes_[k]->outgoing());
    }

    void run() {
        for (Index k = 0; k < static_cast<Index>(nodes_.size()); ++k) progress(k);
        while (!network_.empty()) {
            const auto pick = static_cast<std::size_t>(random_.below(network_.size()));
            const Packet packet = network_[pick];
            if (random_.below(4) != 0) {
                network_[pick] = std::move(network_.back());
                network_.pop_back();
            }
            const Receipt receipt = nodes_[packet.to]->receive(packet.from, packet.iteration, packet.values);
            (receipt == Receipt::accepted ? accepted : duplicates)++;
            progress(packet.to);
        }
    }

    const ConsensusNode& node(Index k) const { return *nodes_[k]; }
    Index sent = 0;
    Index accepted = 0;
    Index duplicates = 0;

  private:
    struct Packet {
        Index from = 0;
        Index to = 0;
        Index iteration = 0;
        std::vector<double> values;
    };

    void send(Index from, const std::vector<ConsensusMessage>& messages) {
        for (const ConsensusMessage& message : messages) {
            network_.push_back({from, message.to, message.iteration, {message.values.begin(), message.values.end()}});
            ++sent;
        }
    }

    void progress(Index k) {
        while (nodes_[k]->ready()) {
            nodes_[k]->advance();
            send(k, nodes_[k]->outgoing());
        }
    }

    Random random_;
    std::vector<std::unique_ptr<ConsensusNode>> nodes_;
    std::vector<Packet> network_;
};

/// Runs the machines over the bad network and expects the runner's bits and the plan's number of messages.
inline void expect_machines_equal_runner(const ConsensusPlan& plan, std::uint64_t seed) {
    Matrix<double> states = random_states(plan.graph.nodes(), 13, seed);
    Machines machines(plan, states, seed);
    machines.run();
    run_consensus(plan, states);
    EXPECT_EQ(machines.accepted, machines.sent);
    for (Index k = 0; k < plan.graph.nodes(); ++k) {
        ASSERT_TRUE(machines.node(k).finished());
        const double* row = states.view().row(k);
        const auto result = machines.node(k).result();
        EXPECT_EQ(std::vector<double>(result.begin(), result.end()), std::vector<double>(row, row + states.cols()));
    }
}

}  // namespace couplet
