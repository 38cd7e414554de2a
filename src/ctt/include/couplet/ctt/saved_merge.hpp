#pragma once

#include <span>
#include <string>
#include <vector>

#include "couplet/ctt/merger.hpp"

namespace couplet {

/// What one client has contributed to a merge, as it was sent: so that it can be taken out again.
struct Contribution {
    std::string client;
    MergeState state;

    Contribution clone() const { return {client, {state.block.clone(), state.ledger}}; }
};

/// A merge that more clients can join later, with the whole job it belongs to. Nothing in it is cut but by the clients
/// themselves, so a client that comes again replaces what it sent before, and the bound is that of merging the latest
/// uploads of all at once.
struct SavedMerge {
    Job job;
    bool scale_clients = false;
    Schema schema;
    std::vector<Contribution> contributions;  ///< in the order of merging; no client twice

    Ledger ledger() const;
    SavedMerge clone() const;
    /// Takes out what these clients have contributed and returns the names of those that had.
    std::vector<std::string> take_out(std::span<const std::string> clients);
    /// The contributions alone.
    std::vector<MergeState> states() const;
};

/// Throws InputError that names `where` unless a job with these options can go on from the merge: clients of norm 1 and
/// clients as they are do not mix.
void require_resumable(const SavedMerge& merge, bool scale_clients, const std::string& where);

}  // namespace couplet
