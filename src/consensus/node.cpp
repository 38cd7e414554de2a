#include "couplet/consensus/node.hpp"

#include <string>
#include <utility>

#include "couplet/consensus/combine.hpp"
#include "couplet/core/error.hpp"
#include "couplet/tensor/tensor.hpp"
#include "gossip_node.hpp"
#include "tree_node.hpp"

namespace couplet {

std::span<const double> ConsensusNode::result() const {
    if (!finished()) {
        throw RunError({"consensus node " + std::to_string(node_ + 1), "asked for its result before the last iteration",
                        "a finished consensus", ""});
    }
    return state();
}

void ConsensusNode::require_ready() const {
    if (ready()) return;
    throw RunError({"consensus node " + std::to_string(node_ + 1),
                    finished() ? "asked to advance after the last iteration" : "asked to advance with messages missing",
                    "a message from every neighbour first", ""});
}

void ConsensusNode::check_values(Index from, std::span<const double> values) const {
    const std::string sender = "message from node " + std::to_string(from + 1);
    if (static_cast<Index>(values.size()) != length()) {
        throw InputError({sender, std::to_string(values.size()) + " numbers", std::to_string(length()), ""});
    }
    if (const auto bad = find_non_finite(values)) {
        throw InputError({sender, "number " + std::to_string(*bad + 1) + " is not finite", "finite numbers",
                          "Check that node's data for NaN and infinities."});
    }
}

std::unique_ptr<ConsensusNode> make_consensus_node(const ConsensusPlan& plan, Index node, std::vector<double> initial) {
    if (node < 0 || node >= plan.graph.nodes()) {
        throw InputError(
            {"consensus node", std::to_string(node + 1), "1 to " + std::to_string(plan.graph.nodes()), ""});
    }
    if (const auto bad = find_non_finite<double>(initial)) {
        throw InputError({"initial state of node " + std::to_string(node + 1),
                          "number " + std::to_string(*bad + 1) + " is not finite", "finite numbers",
                          "Check that node's data for NaN and infinities."});
    }
    if (plan.engine == ConsensusEngine::tree) return std::make_unique<TreeNode>(plan, node, std::move(initial));
    return std::make_unique<GossipNode>(plan, node, std::move(initial));
}

}  // namespace couplet
