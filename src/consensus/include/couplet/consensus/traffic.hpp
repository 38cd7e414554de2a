#pragma once

#include <vector>

#include "couplet/consensus/plan.hpp"

namespace couplet {

/// What one consensus on states of a given length sends.
struct ConsensusTraffic {
    Index messages_total = 0;  ///< both directions of every link
    Index numbers_total = 0;
    std::vector<Index> messages_per_node;  ///< sent by each node
    std::vector<Index> numbers_per_node;
    std::vector<Index> messages_per_link;  ///< one way, in the order of graph.edges(); both ways are alike
    std::vector<Index> numbers_per_link;
    double mean_numbers_per_link = 0;  ///< one way, over the links that carry anything: the paper's L R1 P
};

/// Throws InputError if a count does not fit in 64 bits.
ConsensusTraffic consensus_traffic(const ConsensusPlan& plan, Index length);

}  // namespace couplet
