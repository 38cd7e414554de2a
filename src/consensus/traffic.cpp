#include "couplet/consensus/traffic.hpp"

namespace couplet {

ConsensusTraffic consensus_traffic(const ConsensusPlan& plan, Index length) {
    const bool tree = plan.engine == ConsensusEngine::tree;
    const auto nodes = static_cast<std::size_t>(plan.graph.nodes());
    ConsensusTraffic traffic;
    traffic.messages_per_node.assign(nodes, 0);
    Index links_used = 0;
    for (const Edge& edge : plan.graph.edges()) {
        const bool in_tree = tree && (plan.tree.parent[edge.a] == edge.b || plan.tree.parent[edge.b] == edge.a);
        const Index messages = tree ? (in_tree ? 1 : 0) : plan.iterations;
        traffic.messages_per_link.push_back(messages);
        traffic.numbers_per_link.push_back(checked_product(messages, length));
        traffic.messages_per_node[edge.a] += messages;
        traffic.messages_per_node[edge.b] += messages;
        traffic.messages_total += 2 * messages;
        links_used += messages > 0 ? 1 : 0;
    }
    traffic.numbers_total = checked_product(traffic.messages_total, length);
    for (const Index messages : traffic.messages_per_node) traffic.numbers_per_node.push_back(messages * length);
    if (links_used > 0) {
        traffic.mean_numbers_per_link =
            static_cast<double>(traffic.numbers_total) / static_cast<double>(2 * links_used);
    }
    return traffic;
}

}  // namespace couplet
