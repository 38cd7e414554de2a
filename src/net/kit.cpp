#include "couplet/net/kit.hpp"

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

std::string quoted_list(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "\"" : ", \"") + name + "\"";
    return "[" + text + "]";
}

/// A key that others can read is no secret.
void require_private(const fs::path& file) {
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) return;  // reading it says why
    if ((about.st_mode & 077) == 0) return;
    throw InputError({file.string(), fmt::format("permissions {:o}", about.st_mode & 0777),
                      "600: readable by its owner only", fmt::format("Run: chmod 600 {}", file.string())});
}

}  // namespace

std::string read_text(const fs::path& file) {
    constexpr std::uintmax_t largest = 1 << 20;
    std::error_code failed;
    const auto size = fs::file_size(file, failed);
    if (failed) throw InputError({file.string(), "no such file", "a readable file", ""});
    if (size > largest) throw InputError({file.string(), std::to_string(size) + " bytes", "a small text file", ""});
    std::ifstream stream(file, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream) throw InputError({file.string(), "not readable", "a readable file", ""});
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
    if (kit.network != "star") refuse(where + " network", shown(kit.network), "star");
    const auto role = parse_role(reader.text("role"));
    if (!role) refuse(where + " role", "an unknown role", "coordinator or client");
    kit.identity.role = *role;
    kit.coordinator = reader.text("coordinator");
    parse_address(kit.coordinator, where + " coordinator");
    if (*role == Role::coordinator) {
        kit.listen = reader.text("listen");
        parse_address(kit.listen, where + " listen");
        kit.http_port = static_cast<int>(reader.whole("http_port", -1, 65535));
        kit.roster = reader.names("roster");
        if (kit.roster.empty()) refuse(where + " roster", "nobody", "at least one client");
        if (const toml::table* section = reader.section("limits")) {
            Reader limits(*section, where + " limits");
            kit.limits.max_message_mib = limits.whole("max_message_mib", 1, Index{1} << 20);
            kit.limits.stall_seconds = limits.number("stall_seconds", 0.1, 86400);
            limits.finish();
        }
    }
    reader.finish();
    return kit;
}

std::string kit_text(const Kit& kit) {
    const bool leads = kit.identity.role == Role::coordinator;
    std::string text = fmt::format(
        "# Kit of {} {}. Move the whole folder to its machine; key.pem must stay secret.\n"
        "version = {}\n"
        "federation = \"{}\"\n"
        "network = \"{}\"\n"
        "role = \"{}\"\n"
        "name = \"{}\"\n"
        "coordinator = \"{}\"  # where clients find it\n",
        to_string(kit.identity.role), kit.identity.name, kit_version, kit.identity.federation, kit.network,
        to_string(kit.identity.role), kit.identity.name, kit.coordinator);
    if (!leads) return text;
    return text + fmt::format(
                      "listen = \"{}\"\n"
                      "http_port = {}  # status page and metrics, on loopback only; 0: any free port, -1: none\n"
                      "# The clients, in the order in which they are merged.\n"
                      "roster = {}\n"
                      "\n"
                      "[limits]\n"
                      "max_message_mib = {}\n"
                      "stall_seconds = {}  # a message that began must go on within\n",
                      kit.listen, kit.http_port, quoted_list(kit.roster), kit.limits.max_message_mib,
                      kit.limits.stall_seconds);
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
    if (host.empty() || !plain || port < 1 || port > 65535) {
        throw InputError({where, shown(text), "HOST:PORT with a port from 1 to 65535", "For example: localhost:7443"});
    }
    return {host, port};
}

bool is_loopback(const std::string& host) { return host == "localhost" || host == "::1" || host.starts_with("127."); }

std::vector<std::string> load_revoked(const fs::path& file) {
    std::vector<std::string> serials;
    if (!fs::exists(file)) return serials;
    std::istringstream lines(read_text(file));
    for (std::string line; std::getline(lines, line);) {
        const std::string serial = line.substr(0, line.find(' '));
        if (!serial.empty() && serial.front() != '#') serials.push_back(serial);
    }
    return serials;
}

}  // namespace couplet::net
