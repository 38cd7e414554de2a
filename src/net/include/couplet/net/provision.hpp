#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "couplet/net/kit.hpp"

namespace couplet::net {

/// A federation in a star to be made.
struct StarPlan {
    std::string coordinator;           ///< HOST:PORT as clients reach it
    std::vector<std::string> clients;  ///< in the order in which they are merged
    int days = 825;                    ///< validity of the parties' certificates
};

/// Makes `kits`/ca (the authority, to be kept offline), `kits`/coordinator and a folder for every client. Throws
/// InputError for names that cannot be used, and when `kits` holds a federation already and `overwrite` is false.
void provision_star(const std::filesystem::path& kits, const StarPlan& plan, bool overwrite);

/// A decentralized network to be made.
struct PeersPlan {
    std::vector<PeerAddress> peers;  ///< in the order of the clients
    std::string graph;               ///< see make_graph(); links of random:S are drawn with `seed`
    std::uint64_t seed = 0;
    int days = 825;
};

/// Makes `kits`/ca and a folder for every peer. Throws InputError as above, and for a graph that does not connect them.
void provision_peers(const std::filesystem::path& kits, const PeersPlan& plan, bool overwrite);

/// One more client on the roster of a federation made before, merged after the others. Copy `kits`/coordinator/kit.toml
/// to the coordinator's machine.
void provision_client(const std::filesystem::path& kits, const std::string& name, int days);

/// A new key and certificate for one party; the old certificate is revoked.
void rotate(const std::filesystem::path& kits, const std::string& name, int days);

/// Puts the party's certificate on the list (revoked.txt) of the coordinator, or of every peer, which is read at every
/// connection.
void revoke(const std::filesystem::path& kits, const std::string& name);

}  // namespace couplet::net
