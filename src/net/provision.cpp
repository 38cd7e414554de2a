#include "couplet/net/provision.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "couplet/net/consent.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;

constexpr const char* coordinator_name = "coordinator";
constexpr const char* authority_name = "ca";

void make_folder(const fs::path& folder) {
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (!fs::is_directory(folder)) {
        throw InputError({folder.string(), failed ? failed.message() : "not a folder", "a place to make a folder", ""});
    }
    ::chmod(folder.c_str(), 0700);
}

void require_client_name(const std::string& name) {
    require_party_name(name, "`clients`");
    if (name == coordinator_name || name == authority_name) {
        throw InputError({"`clients`", shown(name), "a name that is not used for another folder", ""});
    }
}

KeyPair load_authority(const fs::path& kits) {
    const fs::path folder = kits / authority_name;
    if (!fs::exists(folder / "ca.key")) {
        throw InputError({kits.string(), "no such file ca/ca.key in it", "the folder that couplet provision made",
                          "The authority's key is needed; bring it where this runs."});
    }
    // Who can read the one signs whom they like; who can change the other decides whom everybody trusts.
    require_private(folder / "ca.key");
    require_unshared(folder / "ca.key");
    require_unshared(folder / "ca.pem");
    return {read_text(folder / "ca.key"), read_text(folder / "ca.pem")};
}

void write_identity(const fs::path& folder, const KeyPair& authority, const Identity& identity, int days) {
    const KeyPair pair = issue_certificate(authority, identity, {.from = 0, .until = days});
    write_text(folder / "key.pem", pair.key, 0600);
    write_text(folder / "cert.pem", pair.certificate);
    write_text(folder / "ca.pem", authority.certificate);
}

void make_kit(const fs::path& kits, const Kit& kit, const KeyPair& authority, int days, Keys keys) {
    const fs::path folder = kits / kit.identity.name;
    make_folder(folder);
    // What is of a federation that was here before.
    std::error_code ignored;
    fs::remove(folder / "revoked.txt", ignored);
    if (keys == Keys::here) {
        write_identity(folder, authority, kit.identity, days);
    } else {
        for (const char* old : {"key.pem", "cert.pem"}) fs::remove(folder / old, ignored);
        write_text(folder / "ca.pem", authority.certificate);
    }
    write_text(folder / "kit.toml", kit_text(kit));
    // The site's own word stays.
    if (kit.identity.role != Role::coordinator && !fs::exists(fs::symlink_status(folder / "policy.toml"))) {
        write_text(folder / "policy.toml", policy_text({}));
    }
}

/// Where the coordinator listens: on loopback when clients reach it there, otherwise on every address.
std::string listen_address(const Address& address) {
    if (!is_loopback(address.host)) return fmt::format("0.0.0.0:{}", address.port);
    return fmt::format("{}:{}", address.host == "::1" ? "[::1]" : "127.0.0.1", address.port);
}

Kit load_party(const fs::path& kits, const std::string& name) {
    require_party_name(name, "name");
    if (!fs::exists(kits / name / "kit.toml")) {
        throw InputError({name, fmt::format("no such file {}", (kits / name / "kit.toml").string()),
                          "a party of this federation", ""});
    }
    return load_kit(kits / name);
}

void put_on_list(const fs::path& list, const std::string& serial, const std::string& name) {
    const auto known = load_revoked(list);
    if (std::find(known.begin(), known.end(), serial) != known.end()) return;
    const std::string before = fs::exists(list) ? read_text(list) : "# Certificates that are no longer let in.\n";
    write_text(list, before + serial + " " + name + "\n");
}

std::string serial_in(const fs::path& kits, const std::string& name) {
    return read_certificate(read_text(kits / name / "cert.pem"), name).serial;
}

/// The list of everybody: a coordinator and peers let others in, clients look at who answers them and at who else is in
/// a masked sum.
std::vector<fs::path> lists_of(const fs::path& kits, const Kit& kit) {
    std::vector<std::string> everybody;
    for (const PeerAddress& peer : kit.peers) everybody.push_back(peer.name);
    if (kit.peers.empty()) {
        everybody = load_party(kits, coordinator_name).roster;
        everybody.push_back(coordinator_name);
    }
    std::vector<fs::path> lists;
    for (const std::string& party : everybody) {
        if (fs::is_directory(kits / party)) lists.push_back(kits / party / "revoked.txt");
    }
    return lists;
}

void put_on_lists(const fs::path& kits, const Kit& kit) {
    const std::string& name = kit.identity.name;
    if (!fs::exists(kits / name / "cert.pem")) {
        throw InputError({name, "no certificate in its folder", "a party whose request was signed", ""});
    }
    const std::string serial = serial_in(kits, name);
    for (const fs::path& list : lists_of(kits, kit)) put_on_list(list, serial, name);
}

/// A certificate that is replaced goes on the list with it: the one in the folder is there only if somebody wanted that
/// party out, or its key.
void require_unrevoked(const fs::path& kits, const Kit& kit) {
    const std::string& name = kit.identity.name;
    const std::string serial = serial_in(kits, name);
    for (const fs::path& list : lists_of(kits, kit)) {
        const auto revoked = load_revoked(list);
        if (std::find(revoked.begin(), revoked.end(), serial) == revoked.end()) continue;
        throw InputError({fmt::format("request of {}", name), "a party whose certificate was revoked",
                          "one that is to be let in",
                          fmt::format("If {} is to come back, and nobody else has had its key, use `force`.", name)});
    }
}

/// Anybody can send a request with another's name: the party's certificate stays until somebody has compared the keys.
void require_same_key(const fs::path& before, const RequestInfo& asked) {
    const std::string known = certificate_fingerprint(read_text(before), before.string());
    if (known == asked.fingerprint) return;
    throw InputError(
        {fmt::format("request of {}", asked.name), fmt::format("a key with the fingerprint {}", asked.fingerprint),
         fmt::format("that of its certificate, {}", known),
         fmt::format("Ask {} whether it has a new key with the former. Then use `force`: the certificate it "
                     "has is revoked.",
                     asked.name)});
}

KeyPair begin_federation(const fs::path& kits, const std::string& federation, bool overwrite) {
    if (fs::exists(kits / authority_name) && !overwrite) {
        throw InputError({kits.string(), "a federation that exists already", "a new folder",
                          "Use `force` to replace it: no kit made before will be let in any more."});
    }
    const KeyPair authority = make_authority(federation);
    make_folder(kits);
    make_folder(kits / authority_name);
    write_text(kits / authority_name / "ca.key", authority.key, 0600);
    write_text(kits / authority_name / "ca.pem", authority.certificate);
    return authority;
}

}  // namespace

void provision_star(const fs::path& kits, const StarPlan& plan, bool overwrite) {
    const Address address = parse_address(plan.coordinator, "`coordinator`");
    if (plan.clients.empty()) throw InputError({"`clients`", "nobody", "at least one name", ""});
    std::set<std::string> seen;
    for (const std::string& name : plan.clients) {
        require_client_name(name);
        if (!seen.insert(name).second) throw InputError({"`clients`", shown(name) + " twice", "every name once", ""});
    }
    const std::string federation = random_hex();
    const KeyPair authority = begin_federation(kits, federation, overwrite);
    Kit kit{.folder = {},
            .identity = {federation, Role::coordinator, coordinator_name},
            .coordinator = plan.coordinator,
            .listen = listen_address(address),
            .http_port = address.port < 65535 ? address.port + 1 : 0,
            .roster = plan.clients,
            .limits = {}};
    make_kit(kits, kit, authority, plan.days, plan.keys);
    for (const std::string& name : plan.clients) {
        kit.identity = {federation, Role::client, name};
        make_kit(kits, kit, authority, plan.days, plan.keys);
    }
}

void provision_peers(const fs::path& kits, const PeersPlan& plan, bool overwrite) {
    if (plan.peers.size() < 2) throw InputError({"`peers`", std::to_string(plan.peers.size()), "at least two", ""});
    std::set<std::string> seen;
    for (const PeerAddress& peer : plan.peers) {
        require_party_name(peer.name, "`peers`");
        parse_address(peer.address, "`peers` " + peer.name);
        if (peer.name == authority_name || !seen.insert(peer.name).second) {
            throw InputError({"`peers`", shown(peer.name), "a name that is not used for another folder", ""});
        }
    }
    const Graph graph = make_graph(plan.graph, static_cast<Index>(plan.peers.size()), plan.seed);
    const std::string federation = random_hex();
    const KeyPair authority = begin_federation(kits, federation, overwrite);
    for (const PeerAddress& peer : plan.peers) {
        Kit kit;
        kit.identity = {federation, Role::peer, peer.name};
        kit.network = "decentralized";
        kit.listen = listen_address(parse_address(peer.address, peer.name));
        kit.peers = plan.peers;
        kit.graph = plan.graph;
        kit.links.assign(graph.edges().begin(), graph.edges().end());
        make_kit(kits, kit, authority, plan.days, plan.keys);
    }
}

void provision_client(const fs::path& kits, const std::string& name, int days, Keys keys) {
    require_client_name(name);
    const KeyPair authority = load_authority(kits);
    if (!fs::exists(kits / coordinator_name)) {
        throw InputError({"`add`", "a decentralized network", "a federation in a star",
                          "Every peer knows all the others: make the network anew with `network` decentralized."});
    }
    Kit lead = load_party(kits, coordinator_name);
    if (std::find(lead.roster.begin(), lead.roster.end(), name) != lead.roster.end()) {
        throw InputError({"`add`", shown(name), "a name that is not on the roster yet",
                          fmt::format("To renew its certificate: couplet provision --rotate {}", name)});
    }
    Kit kit = lead;
    kit.identity = {lead.identity.federation, Role::client, name};
    make_kit(kits, kit, authority, days, keys);
    // A coordinator that was rotated before it came is none for it either.
    if (const fs::path list = kits / coordinator_name / "revoked.txt"; fs::exists(list)) {
        write_text(kits / name / "revoked.txt", read_text(list));
    }
    lead.roster.push_back(name);
    write_text(kits / coordinator_name / "kit.toml", kit_text(lead));
}

void rotate(const fs::path& kits, const std::string& name, int days) {
    const KeyPair authority = load_authority(kits);
    const Kit kit = load_party(kits, name);
    if (!fs::exists(kits / name / "key.pem")) {
        throw InputError(
            {"`rotate`", shown(name) + ", whose key was made at its site", "a party whose key is here",
             fmt::format("There: couplet provision --request {} -o FOLDER --force; then `sign` here, with `force`.",
                         name)});
    }
    put_on_lists(kits, kit);
    write_identity(kits / name, authority, kit.identity, days);
}

Requested request_certificate(const fs::path& folder, const std::string& name, bool overwrite) {
    require_party_name(name, "`request`");
    if (fs::exists(folder / "key.pem") && !overwrite) {
        throw InputError({(folder / "key.pem").string(), "a key that exists already", "a folder without one",
                          "Use `force` to make another: the certificate of the one before is then of no use."});
    }
    const KeyRequest made = make_request(name);
    make_folder(folder);
    write_text(folder / "key.pem", made.key, 0600);
    write_text(folder / "request.pem", made.request);
    return {name, key_fingerprint(made.key)};
}

Requested sign_certificate(const fs::path& kits, const fs::path& request, int days, bool replace) {
    const KeyPair authority = load_authority(kits);
    const std::string text = read_text(request);
    const RequestInfo asked = read_request(text, request.string());
    if (!fs::exists(kits / asked.name / "kit.toml")) {
        throw InputError(
            {request.string(), fmt::format("a request of {}", shown(asked.name)),
             fmt::format("one of a party that has a folder in {}", kits.string()),
             fmt::format("Run: couplet provision --add {} --keys sites -o {}", asked.name, kits.string())});
    }
    const Kit kit = load_party(kits, asked.name);
    const fs::path before = kits / asked.name / "cert.pem";
    if (fs::exists(before) && !replace) {
        require_unrevoked(kits, kit);
        require_same_key(before, asked);
    }
    const std::string certificate =
        sign_request(authority, text, kit.identity, {.from = 0, .until = days}, request.string());
    if (fs::exists(before)) put_on_lists(kits, kit);
    std::error_code ignored;
    fs::remove(kits / asked.name / "key.pem", ignored);  // one that was made here is of no use any more
    write_text(before, certificate);
    write_text(kits / asked.name / "ca.pem", authority.certificate);
    return {asked.name, asked.fingerprint};
}

void revoke(const fs::path& kits, const std::string& name) {
    if (name == coordinator_name) {
        throw InputError({"`revoke`", shown(name), "a client",
                          "Replace the coordinator's certificate with `rotate`, or make a new federation."});
    }
    put_on_lists(kits, load_party(kits, name));
}

}  // namespace couplet::net
