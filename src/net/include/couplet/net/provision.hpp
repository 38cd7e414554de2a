#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "couplet/net/kit.hpp"

namespace couplet::net {

/// Where the parties' keys are made: here, all of them, for trials; or each at its site, from where only a request
/// comes.
enum class Keys { here, sites };

/// A federation in a star to be made.
struct StarPlan {
    std::string coordinator;           ///< HOST:PORT as clients reach it
    std::vector<std::string> clients;  ///< in the order in which they are merged
    int days = 825;                    ///< validity of the parties' certificates
    Keys keys = Keys::here;
};

/// Makes `kits`/ca (the authority, to be kept offline), `kits`/coordinator and a folder for every client. Throws
/// InputError for names that cannot be used, and when `kits` holds a federation already and `overwrite` is false. With
/// keys made at sites the folders hold kit.toml and ca.pem, and get a certificate when a request is signed.
void provision_star(const std::filesystem::path& kits, const StarPlan& plan, bool overwrite);

/// A decentralized network to be made.
struct PeersPlan {
    std::vector<PeerAddress> peers;  ///< in the order of the clients
    std::string graph;               ///< see make_graph(); links of random:S are drawn with `seed`
    std::uint64_t seed = 0;
    int days = 825;
    Keys keys = Keys::here;
};

/// Makes `kits`/ca and a folder for every peer. Throws InputError as above, and for a graph that does not connect them.
void provision_peers(const std::filesystem::path& kits, const PeersPlan& plan, bool overwrite);

/// One more client on the roster of a federation made before, merged after the others. Copy `kits`/coordinator/kit.toml
/// to the coordinator's machine.
void provision_client(const std::filesystem::path& kits, const std::string& name, int days, Keys keys = Keys::here);

/// A key that was made where it stays, and what the authority needs to know of it.
struct Requested {
    std::string name;
    std::string fingerprint;  ///< of the key; who signs compares it with whoever asks
};

/// At a site: makes `folder`/key.pem, readable by its owner, and `folder`/request.pem. Throws InputError when there is
/// a key already and `overwrite` is false.
Requested request_certificate(const std::filesystem::path& folder, const std::string& name, bool overwrite);

/// At the authority: signs a request for a party that `kits` has a folder for; its certificate is put there. One that
/// it had before is revoked. Throws InputError for requests of nobody, and, unless `replace`, for a party that revoke()
/// has put on the list and for another key than that of the certificate it has, naming both.
Requested sign_certificate(const std::filesystem::path& kits, const std::filesystem::path& request, int days,
                           bool replace = false);

/// A new key and certificate for one party; the old certificate is revoked. For the coordinator's, every client needs
/// the list in its folder: without it, it takes whoever has the old key for the coordinator.
void rotate(const std::filesystem::path& kits, const std::string& name, int days);

/// Puts the party's certificate on the list (revoked.txt) of every party, which is read at every connection.
void revoke(const std::filesystem::path& kits, const std::string& name);

}  // namespace couplet::net
