#pragma once

#include <optional>

#include "couplet/consensus/graph.hpp"
#include "couplet/ctt/centring.hpp"

namespace couplet {

/// Where messages pass: so many links in all, at most so many at one party. In a star every client has one.
struct LinkCount {
    Index all = 1;
    Index at_one = 1;
};
/// Takes what centring adds to the messages from a budget of one party's bytes and from one of all: what is left is for
/// the rest of the job. Every party and a simulation do it alike. Throws InputError when nothing is left.
void pay_for_centring(std::optional<Index>& bytes, std::optional<Index>& bytes_total, Index features,
                      const CentringOptions& options, const LinkCount& links);

/// Links of a tree that blocks are merged along.
LinkCount tree_links(const BfsTree& tree);

}  // namespace couplet
