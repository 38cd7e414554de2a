#include "stack_peer.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "couplet/ctt/budget.hpp"
#include "couplet/ctt/client.hpp"

namespace couplet {
namespace {

bool sensible(double squares) { return std::isfinite(squares) && squares >= 0; }

void require_totals(const Start& totals) {
    if (totals.clients >= 1 && totals.rows >= 1 && sensible(totals.norm2)) return;
    throw InputError({"peer message", "totals that cannot be", "at least one client and patient, a finite norm", ""});
}

void require_ledger(const MergeState& state) {
    const Ledger& l = state.ledger;
    const bool can_be = l.clients >= 1 && l.rows >= 1 && sensible(l.norm2) && sensible(l.svd_tail2) &&
                        sensible(l.tt_tail2) && sensible(l.used2);
    if (!can_be) {
        throw InputError({"peer message", "a ledger that cannot be", "counts of at least 1 and finite squares", ""});
    }
    if (is_consistent(state.block, l)) return;
    throw InputError({"peer message", "a ledger that does not fit the rows beside it",
                      "the norm of these rows and of what was cut", ""});
}

}  // namespace

StackPeer::StackPeer(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x)
    : PeerBase(job, plan, node, std::move(x)), tree_(plan.graph.bfs_tree(plan.graph.centre())) {}

void StackPeer::check_sender(Index from, Phase phase) const {
    const bool down = phase == Phase::totals_down || phase == Phase::features_down;
    const bool fits = down ? from == parent() : std::binary_search(children().begin(), children().end(), from);
    if (fits) return;
    throw InputError({"peer message", "a message up or down the tree from node " + std::to_string(from + 1),
                      down ? "the parent in the tree" : "a child in the tree", ""});
}

void StackPeer::check(Index from, const PeerMessage& message) const {
    const Phase phase = phase_of(message.step);
    check_sender(from, phase);
    const PeerBody& body = *message.body;
    switch (phase) {
        case Phase::totals_up:
        case Phase::totals_down:
            require_totals(require_body<Start>(body, "totals"));
            break;
        case Phase::merges_up: {
            const auto& state = require_body<MergeState>(body, "a merge");
            require_features(state.block.features(), features_shape());
            require_ledger(state);
            break;
        }
        case Phase::features_down:
            require_features(require_body<FeaturesMessage>(body, "the features").features.train.shape(),
                             features_shape());
            break;
    }
}

void StackPeer::handle(Index from, const PeerMessage& message) {
    switch (phase_of(step())) {
        case Phase::totals_up:
        case Phase::merges_up:
            gathered_.emplace(from, message.body);
            turn_when_complete();
            break;
        case Phase::totals_down:
        case Phase::features_down:
            pass_down(message.body);
            break;
    }
}

void StackPeer::begin_up() {
    for (const auto& [from, message] : post().next_step()) gathered_.emplace(from, message.body);
    turn_when_complete();
}

void StackPeer::turn_when_complete() {
    for (const Index child : children()) {
        if (!gathered_.contains(child)) return;
    }
    const bool root = parent() < 0;
    Body body;
    if (phase_of(step()) == Phase::totals_up) {
        body = body_of(sum_totals());
    } else {
        Merger merger = merge();
        body = root ? body_of(decide(merger)) : body_of(coded_state(merger));
    }
    gathered_.clear();
    if (!root) post().send(parent(), body);
    const auto early = post().next_step();
    if (root) {
        pass_down(body);
    } else if (!early.empty()) {
        pass_down(early.begin()->second.body);
    }
}

Start StackPeer::sum_totals() const {
    Start sum{1, x().shape()[0], norm2()};
    for (const Index child : children()) {
        const auto& part = require_body<Start>(*gathered_.at(child), "totals");
        sum.clients += part.clients;
        sum.rows += part.rows;
        sum.norm2 += part.norm2;
    }
    return sum;
}

Merger StackPeer::merge() {
    const Hello hello{features_shape(), x().shape()[0], norm2()};
    Merger merger(job(), features_shape(), *totals_);
    const auto limits = client_limits(job(), hello, *totals_, hops());
    // What stays at this node needs no code.
    const bool stays = parent() < 0 || !children().empty() || has_budget(job());
    auto upload =
        job().precision == Precision::automatic && stays ? uncoded_client(x(), limits) : compress_client(x(), limits);
    personal_rank_ = upload.block->rows();
    merger.add(std::move(upload));
    for (const Index child : children()) {
        const auto& state = require_body<MergeState>(*gathered_.at(child), "a merge");
        merger.add(MergeState{state.block.clone(), state.ledger});
    }
    return merger;
}

MergeState StackPeer::coded_state(Merger& merger) const {
    auto state = merger.state();
    if (has_budget(job())) {
        code_state_within(state, message_bytes());
    } else if (job().precision == Precision::automatic && !state.block.code()) {
        code_state(state, state_limit2(state.ledger));
    }
    return state;
}

FeaturesMessage StackPeer::decide(Merger& merger) const {
    auto outcome = merger.finish(has_budget(job()) ? std::optional(message_bytes()) : std::nullopt);
    return {std::move(outcome.features), outcome.rel_error_bound};
}

Index StackPeer::hops() const { return std::max<Index>(1, plan().graph.radius()); }

Index StackPeer::message_bytes() const {
    const LinkCount links = tree_links(tree_);
    return tree_code_bytes(job(), links.all, links.at_one, features_shape().order());
}

double StackPeer::state_limit2(const Ledger& ledger) const {
    const Hello subtree{features_shape(), ledger.rows, ledger.norm2};
    const double eps = client_limits(job(), subtree, *totals_, hops()).tt_eps;
    return eps * eps * ledger.norm2;
}

void StackPeer::pass_down(const Body& body) {
    for (const Index child : children()) post().send(child, body);
    if (phase_of(step()) == Phase::totals_down) {
        totals_ = require_body<Start>(*body, "totals");
        begin_up();
        return;
    }
    const auto& message = require_body<FeaturesMessage>(*body, "the features");
    bound_ = message.rel_error_bound;
    finish(message.features.clone());
}

}  // namespace couplet
