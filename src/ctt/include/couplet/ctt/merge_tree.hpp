#pragma once

#include <deque>
#include <future>
#include <map>
#include <utility>
#include <vector>

#include "couplet/ctt/merger.hpp"

namespace couplet {

/// Merges the uploads of many clients in a tree: the first `width` of them in one group, the next in another, and so
/// on; every `width` groups hand their states to a merger above them, up to the root. A group is merged by a thread of
/// its own as soon as all its uploads are here, whatever other groups wait for. The bits follow from the order of the
/// clients and from the width alone, and are not those of one Merger, which cuts elsewhere; the certificate holds as
/// for any tree.
class MergeTree {
  public:
    /// `total` as for Merger. Throws InputError for a width below 2.
    MergeTree(const Job& job, Shape features, const Start& total, Index clients, Index width);

    /// Once for every client, from 0, in any order.
    void add(Index client, Upload upload);
    /// As Merger::finish(), when everybody was added; throws InputError before.
    Merger::Outcome finish();
    /// Groups, and mergers above them.
    Index mergers() const noexcept;

  private:
    using Place = std::pair<std::size_t, Index>;  ///< level, from 0 for the groups, and place in it
    struct Node {
        Merger merger;
        Index taken = 0;                      ///< of its children, in their order
        std::map<Index, MergeState> waiting;  ///< those that came before their turn
    };
    struct Underway {
        Index group;
        std::future<MergeState> state;
    };

    Merger make_merger() const { return {job_, features_, total_}; }
    Index children(const Place& place) const;
    void merge_group(Index group);
    /// Takes what the threads have finished; waits for all but `most` of them.
    void collect(std::size_t most);
    void hand_up(const Place& from, MergeState state);

    Job job_;
    Shape features_;
    Start total_;
    Index clients_;
    Index width_;
    std::vector<Index> levels_;                        ///< mergers of each, the groups first, the root last
    std::map<Index, std::map<Index, Upload>> groups_;  ///< that are not complete, by place; uploads by client
    std::map<Place, Node> nodes_;                      ///< that have begun and are not complete, and the root
    std::deque<Underway> underway_;
};

}  // namespace couplet
