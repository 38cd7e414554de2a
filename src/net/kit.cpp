#include "couplet/net/kit.hpp"

#include <arpa/inet.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <toml++/toml.h>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>

#include "couplet/core/error.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/text.hpp"

namespace couplet::net {
namespace {

namespace fs = std::filesystem;

constexpr int kit_version = 1;
constexpr std::size_t most_roster = 10'000;
constexpr std::size_t most_links = 1'000'000;
constexpr const char* decentralized = "decentralized";

[[noreturn]] void refuse(const std::string& where, const std::string& found, const std::string& expected) {
    throw InputError({where, found, expected, "Use the kit as couplet provision made it."});
}

/// Keys of one table, each of which must be known and of its type.
class Reader {
  public:
    Reader(const toml::table& table, std::string where) : table_(table), where_(std::move(where)) {}

    template <class T>
    T get(const std::string& key, const char* type) {
        known_.insert(key);
        const auto value = table_[key].value_exact<T>();
        if (!value) refuse(where_ + " " + key, table_.contains(key) ? "another type" : "missing", type);
        return *value;
    }
    std::string text(const std::string& key) { return get<std::string>(key, "a text"); }
    std::int64_t whole(const std::string& key, std::int64_t least, std::int64_t most) {
        const auto value = get<std::int64_t>(key, "a whole number");
        if (value < least || value > most) {
            refuse(where_ + " " + key, std::to_string(value), fmt::format("a number from {} to {}", least, most));
        }
        return value;
    }
    double number(const std::string& key, double least, double most) {
        known_.insert(key);
        const auto value = table_[key].value<double>();
        if (!value || !(*value >= least && *value <= most)) {
            refuse(where_ + " " + key, value ? std::to_string(*value) : "missing or no number",
                   fmt::format("a number from {} to {}", least, most));
        }
        return *value;
    }
    const toml::table* section(const std::string& key) {
        known_.insert(key);
        return table_[key].as_table();
    }
    std::vector<std::string> names(const std::string& key) {
        known_.insert(key);
        const toml::array* list = table_[key].as_array();
        if (list == nullptr || list->size() > most_roster) refuse(where_ + " " + key, "no list", "a list of names");
        std::vector<std::string> result;
        for (const toml::node& node : *list) {
            const auto name = node.value_exact<std::string>();
            if (!name) refuse(where_ + " " + key, "another type", "a list of names");
            require_party_name(*name, where_ + " " + key);
            if (std::find(result.begin(), result.end(), *name) != result.end()) {
                refuse(where_ + " " + key, shown(*name) + " twice", "every name once");
            }
            result.push_back(*name);
        }
        return result;
    }
    KitLimits limits() {
        KitLimits result;
        const toml::table* table = section("limits");
        if (table == nullptr) return result;
        Reader reader(*table, where_ + " limits");
        result.max_message_mib = reader.whole("max_message_mib", 1, Index{1} << 20);
        result.stall_seconds = reader.number("stall_seconds", 0.1, 86400);
        reader.finish();
        return result;
    }
    std::vector<PeerAddress> peers(const std::string& key) {
        known_.insert(key);
        const toml::array* list = table_[key].as_array();
        if (list == nullptr || list->empty() || list->size() > most_roster) {
            refuse(where_ + " " + key, "no list", "the provisioned peers");
        }
        std::vector<PeerAddress> result;
        for (const toml::node& node : *list) {
            const toml::table* entry = node.as_table();
            if (entry == nullptr) refuse(where_ + " " + key, "another type", "a table with name and address");
            Reader reader(*entry, where_ + " " + key);
            result.push_back({reader.text("name"), reader.text("address")});
            reader.finish();
            require_party_name(result.back().name, where_ + " " + key);
            parse_address(result.back().address, where_ + " " + key + " " + result.back().name);
            for (std::size_t i = 0; i + 1 < result.size(); ++i) {
                if (result[i].name == result.back().name) {
                    refuse(where_ + " " + key, shown(result[i].name) + " twice", "every name once");
                }
            }
        }
        return result;
    }
    /// Pairs of places from 1 to `nodes`.
    std::vector<Edge> links(const std::string& key, Index nodes) {
        known_.insert(key);
        const toml::array* list = table_[key].as_array();
        if (list == nullptr || list->size() > most_links) refuse(where_ + " " + key, "no list", "pairs of peers");
        std::vector<Edge> result;
        for (const toml::node& node : *list) {
            const toml::array* pair = node.as_array();
            const auto place = [&](std::size_t i) {
                return pair != nullptr && pair->size() == 2 ? pair->get(i)->value_exact<std::int64_t>().value_or(0) : 0;
            };
            const Edge edge{place(0) - 1, place(1) - 1};
            if (edge.a < 0 || edge.b < 0 || edge.a >= nodes || edge.b >= nodes || edge.a == edge.b) {
                refuse(where_ + " " + key, "a link that is none", fmt::format("two numbers from 1 to {}", nodes));
            }
            result.push_back(edge);
        }
        return result;
    }
    /// A misspelt key would silently keep its default.
    void finish() const {
        for (const auto& [key, value] : table_) {
            const std::string name(key.str());
            if (!known_.contains(name)) refuse(where_, "unknown key " + shown(name), "those that provision writes");
        }
    }

  private:
    const toml::table& table_;
    std::string where_;
    std::set<std::string> known_;
};

toml::table parse_toml(const std::string& text, const std::string& where) {
    try {
        return toml::parse(text);
    } catch (const toml::parse_error& error) {
        refuse(where, fmt::format("line {}: {}", error.source().begin.line, error.description()), "TOML");
    }
}

void read_peers(Reader& reader, Kit& kit, const std::string& where) {
    kit.listen = reader.text("listen");
    parse_address(kit.listen, where + " listen");
    kit.graph = reader.text("graph");
    kit.peers = reader.peers("peers");
    kit.links = reader.links("links", static_cast<Index>(kit.peers.size()));
    kit.limits = reader.limits();
    const auto self = std::find_if(kit.peers.begin(), kit.peers.end(),
                                   [&](const PeerAddress& peer) { return peer.name == kit.identity.name; });
    if (self == kit.peers.end()) refuse(where + " peers", "not " + shown(kit.identity.name), "the kit's owner, too");
    Graph(static_cast<Index>(kit.peers.size()), kit.links).require_connected(where + " links");
}

std::string limits_text(const KitLimits& limits) {
    return fmt::format(
        "\n"
        "[limits]\n"
        "max_message_mib = {}\n"
        "stall_seconds = {}  # a message that began must go on within\n",
        limits.max_message_mib, limits.stall_seconds);
}

std::string peers_text(const Kit& kit) {
    std::string links;
    for (const Edge& edge : kit.links)
        links += fmt::format("{}[{}, {}]", links.empty() ? "" : ", ", edge.a + 1, edge.b + 1);
    std::string text = fmt::format(
        "listen = \"{}\"\n"
        "graph = \"{}\"  # as it was asked for; the links below count\n"
        "links = [{}]\n",
        kit.listen, kit.graph, links);
    for (const PeerAddress& peer : kit.peers) {
        text += fmt::format("\n[[peers]]\nname = \"{}\"\naddress = \"{}\"\n", peer.name, peer.address);
    }
    return text + limits_text(kit.limits);
}

std::string quoted_list(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "\"" : ", \"") + name + "\"";
    return "[" + text + "]";
}

/// Throws unless nobody but root and whoever runs this may change or replace it. In a folder with the sticky bit
/// everybody replaces only what is their own.
void require_own(const fs::path& path, const char* what) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) return;  // reading it says why
    const bool shielded = S_ISDIR(about.st_mode) && (about.st_mode & S_ISVTX) != 0;
    if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !shielded) {
        throw InputError({path.string(),
                          fmt::format("permissions {:o}: {} may change it", about.st_mode & 0777,
                                      (about.st_mode & S_IWOTH) != 0 ? "anybody" : "its group"),
                          fmt::format("a {} that others cannot write", what),
                          fmt::format("Run: chmod go-w {}", path.string())});
    }
    if (about.st_uid == 0 || about.st_uid == ::geteuid()) return;
    throw InputError({path.string(), fmt::format("owned by user {}, who may change it", about.st_uid),
                      fmt::format("a {} of root or of user {}, who runs this", what, ::geteuid()),
                      fmt::format("Run as its owner, or: chown {} {}", ::geteuid(), path.string())});
}

/// Whoever may write the folder of a file may put another in its place, or take it away.
void require_own_folder(const fs::path& file) {
    const fs::path folder = file.parent_path();
    require_own(folder.empty() ? fs::path(".") : folder, "folder");
}

}  // namespace

void require_private(const fs::path& file) {
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) return;  // reading it says why
    if ((about.st_mode & 077) == 0) return;
    throw InputError({file.string(), fmt::format("permissions {:o}", about.st_mode & 0777),
                      "600: readable by its owner only", fmt::format("Run: chmod 600 {}", file.string())});
}

void require_unshared(const fs::path& file) {
    require_own_folder(file);
    std::error_code ignored;
    if (fs::is_symlink(file, ignored)) require_own_folder(fs::weakly_canonical(file, ignored));
    require_own(file, "file");
}

std::string read_text(const fs::path& file, std::uintmax_t largest) {
    std::error_code failed;
    const auto size = fs::file_size(file, failed);
    if (failed) {
        const bool none = failed == std::errc::no_such_file_or_directory;
        throw InputError({file.string(), none ? "no such file" : failed.message(), "a readable file", ""});
    }
    if (size > largest) throw InputError({file.string(), std::to_string(size) + " bytes", "a small text file", ""});
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream)
        throw InputError({file.string(), "not readable", "a readable file", "Check its owner and permissions."});
    return text.str();
}

void write_text(const fs::path& file, const std::string& text, unsigned permissions) {
    AtomicFile output(file, true, permissions);
    output.write(std::as_bytes(std::span(text)));
    output.commit();
}

Kit parse_kit(const std::string& text, const std::string& where) {
    const toml::table table = parse_toml(text, where);
    Reader reader(table, where);
    Kit kit;
    reader.whole("version", kit_version, kit_version);
    kit.identity.federation = reader.text("federation");
    kit.identity.name = reader.text("name");
    require_party_name(kit.identity.name, where + " name");
    kit.network = reader.text("network");
    const bool star = kit.network == "star";
    if (!star && kit.network != decentralized) refuse(where + " network", shown(kit.network), "star or decentralized");
    const auto role = parse_role(reader.text("role"));
    if (!role || (*role == Role::peer) == star) {
        refuse(where + " role", "an unknown role", star ? "coordinator or client" : "peer");
    }
    kit.identity.role = *role;
    if (!star) {
        read_peers(reader, kit, where);
        reader.finish();
        return kit;
    }
    kit.coordinator = reader.text("coordinator");
    parse_address(kit.coordinator, where + " coordinator");
    if (*role == Role::coordinator) {
        kit.listen = reader.text("listen");
        parse_address(kit.listen, where + " listen");
        kit.http_port = static_cast<int>(reader.whole("http_port", -1, 65535));
        kit.roster = reader.names("roster");
        if (kit.roster.empty()) refuse(where + " roster", "nobody", "at least one client");
        kit.limits = reader.limits();
    }
    reader.finish();
    return kit;
}

std::string kit_text(const Kit& kit) {
    const std::string text = fmt::format(
        "# Kit of {} {}. Move the whole folder to its machine; key.pem must stay secret.\n"
        "version = {}\n"
        "federation = \"{}\"\n"
        "network = \"{}\"\n"
        "role = \"{}\"\n"
        "name = \"{}\"\n",
        to_string(kit.identity.role), kit.identity.name, kit_version, kit.identity.federation, kit.network,
        to_string(kit.identity.role), kit.identity.name);
    if (kit.identity.role == Role::peer) return text + peers_text(kit);
    std::string member = text + fmt::format("coordinator = \"{}\"  # where clients find it\n", kit.coordinator);
    if (kit.identity.role == Role::client) return member;
    return member +
           fmt::format(
               "listen = \"{}\"\n"
               "http_port = {}  # status page and metrics, on loopback only; 0: any free port, -1: none\n"
               "# The clients, in the order in which they are merged.\n"
               "roster = {}\n",
               kit.listen, kit.http_port, quoted_list(kit.roster)) +
           limits_text(kit.limits);
}

Kit load_kit(const fs::path& folder) {
    const fs::path file = folder / "kit.toml";
    if (!fs::exists(file)) {
        throw InputError({folder.string(), "no such file kit.toml in it", "a kit folder",
                          "couplet provision makes one for every party."});
    }
    Kit kit = parse_kit(read_text(file), file.string());
    kit.folder = folder;
    return kit;
}

Credentials load_credentials(const Kit& kit, Role role) {
    const std::string where = kit.file("cert.pem").string();
    if (kit.identity.role != role) {
        throw InputError({kit.folder.string(), fmt::format("the kit of a {}", to_string(kit.identity.role)),
                          fmt::format("that of a {}", to_string(role)), ""});
    }
    require_private(kit.file("key.pem"));
    require_unshared(kit.file("ca.pem"));
    require_unshared(kit.file("kit.toml"));
    Credentials credentials{
        {read_text(kit.file("key.pem")), read_text(kit.file("cert.pem"))}, read_text(kit.file("ca.pem")), {}};
    credentials.info = read_certificate(credentials.own.certificate, where);
    if (credentials.info.identity != kit.identity) {
        throw InputError({where, fmt::format("a certificate of {}", to_uri(credentials.info.identity)),
                          fmt::format("one of {} as kit.toml says", to_uri(kit.identity)),
                          "Use the kit as couplet provision made it."});
    }
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
    check_key_pair(credentials.own, credentials.authority, now.count(), where);
    return credentials;
}

Address parse_address(const std::string& text, const std::string& where) {
    const std::size_t colon = text.rfind(':');
    std::string host = colon == std::string::npos ? "" : text.substr(0, colon);
    const std::string digits = colon == std::string::npos ? "" : text.substr(colon + 1);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    const bool number =
        !digits.empty() && digits.size() <= 5 && digits.find_first_not_of("0123456789") == std::string::npos;
    const int port = number ? std::stoi(digits) : -1;
    const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
               c == ':' || c == '_';
    });
    in6_addr unused;
    const bool possible = host.find(':') == std::string::npos || inet_pton(AF_INET6, host.c_str(), &unused) == 1;
    if (host.empty() || !plain || !possible || port < 1 || port > 65535) {
        throw InputError({where, shown(text), "HOST:PORT with a port from 1 to 65535", "For example: localhost:7443"});
    }
    return {host, port};
}

bool is_loopback(const std::string& host) {
    in_addr v4;
    // A name may begin as an address does, and is whoever's its owner wants.
    if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
    return host == "localhost" || host == "::1";
}

std::vector<std::string> load_revoked(const fs::path& file) {
    std::vector<std::string> serials;
    require_unshared(file);  // a list that is not there, too: somebody may have taken it away
    if (!fs::exists(file)) return serials;
    std::istringstream lines(read_text(file));
    for (std::string line; std::getline(lines, line);) {
        const std::string serial = line.substr(0, line.find(' '));
        if (!serial.empty() && serial.front() != '#') serials.push_back(serial);
    }
    return serials;
}

}  // namespace couplet::net
