#include "couplet/ctt/merge_tree.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>
#include <string>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"

namespace couplet {
namespace {

Index groups_of(Index members, Index width) { return (members + width - 1) / width; }

MergeState merged(Merger merger, std::map<Index, Upload> uploads) {
    for (auto& [client, upload] : uploads) merger.add(std::move(upload));
    return merger.state();
}

bool is_ready(const std::future<MergeState>& state) {
    return state.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

MergeTree::MergeTree(const Job& job, Shape features, const Start& total, Index clients, Index width)
    : job_(job), features_(std::move(features)), total_(total), clients_(clients), width_(width) {
    if (width < 2) {
        throw InputError({"tree", std::to_string(width) + " clients to a merger", "at least 2", ""});
    }
    levels_.push_back(groups_of(clients, width));
    do levels_.push_back(groups_of(levels_.back(), width));
    while (levels_.back() > 1);
}

Index MergeTree::mergers() const noexcept { return std::accumulate(levels_.begin(), levels_.end(), Index{0}); }

Index MergeTree::children(const Place& place) const {
    const Index below = place.first == 0 ? clients_ : levels_[place.first - 1];
    return std::min(width_, below - place.second * width_);
}

void MergeTree::add(Index client, Upload upload) {
    const Index group = client / width_;
    auto& uploads = groups_[group];
    uploads.emplace(client, std::move(upload));
    if (static_cast<Index>(uploads.size()) == children({0, group})) merge_group(group);
    collect(underway_.size());
}

void MergeTree::merge_group(Index group) {
    collect(static_cast<std::size_t>(std::max(0, thread_count() - 1)));
    auto uploads = std::move(groups_.extract(group).mapped());
    underway_.push_back({group, std::async(std::launch::async, merged, make_merger(), std::move(uploads))});
}

void MergeTree::collect(std::size_t most) {
    while (!underway_.empty() && (underway_.size() > most || is_ready(underway_.front().state))) {
        Underway first = std::move(underway_.front());
        underway_.pop_front();
        hand_up({0, first.group}, first.state.get());
    }
}

void MergeTree::hand_up(const Place& from, MergeState state) {
    const Place place{from.first + 1, from.second / width_};
    Node& node = nodes_.try_emplace(place, Node{make_merger(), 0, {}}).first->second;
    node.waiting.emplace(from.second % width_, std::move(state));
    for (auto it = node.waiting.begin(); it != node.waiting.end() && it->first == node.taken; ++node.taken) {
        node.merger.add(std::move(it->second));
        it = node.waiting.erase(it);
    }
    const bool is_root = place.first + 1 == levels_.size();
    if (is_root || node.taken < children(place)) return;
    MergeState whole = node.merger.state();
    nodes_.erase(place);
    hand_up(place, std::move(whole));
}

Merger::Outcome MergeTree::finish() {
    collect(0);
    const Place root{levels_.size() - 1, 0};
    const auto found = nodes_.find(root);
    if (found == nodes_.end() || found->second.taken < children(root)) {
        throw InputError({"tree", "clients that were not added", "all of them", ""});
    }
    return found->second.merger.finish();
}

}  // namespace couplet
