#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/sim/source.hpp"
#include "session.hpp"

namespace couplet::cli {

class Command;

/// Where the user says that the clients are: in files, in one file to split, or to be generated. A program that embeds
/// a verb has them in memory instead of files.
struct FederationInput {
    std::vector<std::string> files = {};
    std::vector<std::shared_ptr<const Tensor<double>>> tensors = {};  ///< labels included
    std::vector<std::string> names = {};  ///< of the tensors; empty: client 1, client 2, ...
    std::optional<Index> split = {};
    std::optional<std::string> synthetic = {};
    std::optional<Index> clients = {};
    bool missing = false;             ///< NaN stands for an entry that nobody knows, and is let through
    std::string missing_remedy = {};  ///< what the error for NaN says can be done
};

/// FILES..., --split, --synthetic and --clients; `input` must outlive the parsing.
void add_federation_input(Command& app, FederationInput& input);

struct Federation {
    std::unique_ptr<ClientSource> source;
    std::vector<std::string> names;           ///< one per client; empty: they are called client 1, client 2, ...
    std::vector<std::string> sites;           ///< of clients from files, see site(); else empty
    std::vector<Index> rows;                  ///< patients of each client
    Shape features;                           ///< of the first client, I2 x ... x IN
    std::vector<std::string> identities;      ///< under which a saved merge knows the clients, see require_same_parts()
    std::vector<ModeLabels> personal_labels;  ///< empty, or of mode 1 of each client
    bool are_whole = false;                   ///< each client is a tensor that somebody has, not a part of one
    std::string description;                  ///< "4 files", "X.npy split", the full specification

    Index clients() const { return source->clients(); }
    /// "a.npy" or "client 3", k from 0.
    std::string name(Index k) const;
    /// The short name for people who read the result: "north" of data/north.npy, and of north/tensor.tns where a table
    /// was built there; name() where two files would share it.
    std::string site(Index k) const;
    /// What client k's data is known by (couplet/io/data_print.hpp); empty unless the clients are whole.
    std::string print_of(Index k) const;
    /// The error with "client 3" replaced by "c.npy (client 3)" where it blames a client that came from a file.
    InputError named(const InputError& error) const;
};

/// Throws InputError when a saved merge knows the same patients in other parts: a file split in another way, or whole.
/// Under other names they would count twice.
void require_same_parts(const std::vector<std::string>& identities, const std::vector<std::string>& merged,
                        const std::string& merge);

/// Reads or prepares the clients. Warns of a file given twice. Throws InputError for no clients, for more than one of
/// the three ways, and for files that cannot be used.
Federation open_federation(const FederationInput& input, const Session& session);

}  // namespace couplet::cli
