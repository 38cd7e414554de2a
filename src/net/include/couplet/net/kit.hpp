#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "couplet/consensus/graph.hpp"
#include "couplet/net/certificates.hpp"
#include "couplet/tensor/shape.hpp"

namespace couplet::net {

/// What a coordinator takes from a client before it refuses.
struct KitLimits {
    Index max_message_mib = 2048;
    double stall_seconds = 30;  ///< a message that began must go on within
    friend bool operator==(const KitLimits&, const KitLimits&) = default;
};

struct PeerAddress {
    std::string name;
    std::string address;  ///< HOST:PORT where the owner of the kit reaches it
    friend bool operator==(const PeerAddress&, const PeerAddress&) = default;
};

/// A folder with everything one party needs: kit.toml, key.pem, cert.pem, ca.pem.
struct Kit {
    std::filesystem::path folder;
    Identity identity;
    std::string network = "star";
    std::string coordinator;          ///< HOST:PORT where clients find it
    std::string listen;               ///< coordinator and peer: ADDRESS:PORT
    int http_port = 0;                ///< coordinator: status page on loopback; 0: any free port, -1: none
    std::vector<std::string> roster;  ///< coordinator: the clients, in the order they are merged
    KitLimits limits;
    std::vector<PeerAddress> peers = {};  ///< decentralized: all of them, in the order of the clients
    std::string graph = {};               ///< decentralized: the name of the graph that the links are of
    std::vector<Edge> links = {};         ///< decentralized: who talks to whom

    std::filesystem::path file(const std::string& name) const { return folder / name; }
};

/// Reads kit.toml. Throws InputError, naming file and key, for anything that is not as `couplet provision` writes it.
Kit load_kit(const std::filesystem::path& folder);
/// The same from text; `where` stands for the file.
Kit parse_kit(const std::string& text, const std::string& where);
std::string kit_text(const Kit& kit);

/// The kit of one role, with its certificates checked against each other, the role and the clock.
struct Credentials {
    KeyPair own;
    std::string authority;
    CertificateInfo info;
};
Credentials load_credentials(const Kit& kit, Role role);

/// Host and port of "HOST:PORT" or "[V6]:PORT"; throws InputError that names `where`.
struct Address {
    std::string host;
    int port = 0;
};
Address parse_address(const std::string& text, const std::string& where);
/// 127.x.x.x, ::1 and localhost.
bool is_loopback(const std::string& host);

/// Serial numbers that must not be let in any more; a missing file is an empty list. Throws as require_unshared().
std::vector<std::string> load_revoked(const std::filesystem::path& file);

/// Throws InputError for a file that others than its owner can read: a key in it is no secret.
void require_private(const std::filesystem::path& file);
/// Throws InputError for a file that others on the machine than root and whoever runs this may change or, as its folder
/// is theirs to write, replace or remove: it protects from nobody. It need not exist.
void require_unshared(const std::filesystem::path& file);
/// Reads a small text file; throws InputError when it is missing or has more bytes than `largest`.
std::string read_text(const std::filesystem::path& file, std::uintmax_t largest = 1 << 20);
/// Writes one atomically; 0600 for secrets.
void write_text(const std::filesystem::path& file, const std::string& text, unsigned permissions = 0644);

}  // namespace couplet::net
