#include "couplet/net/provision.hpp"
#include "command.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "job_options.hpp"
#include "layout.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct ProvisionArguments {
    std::string network = "star";
    std::string coordinator;
    std::vector<std::string> clients;
    std::vector<std::string> peers;
    std::string graph = "complete";
    std::string add;
    std::string rotate;
    std::string revoke;
    std::string request;
    std::string sign;
    std::string keys = "here";
    Index days = 825;
    std::string output;
};

void refuse_with(const Command& app, const std::string& action) {
    refuse_given(app, {"--network", "--coordinator", "--clients", "--peers", "--graph"}, action,
                 "it when a federation is made");
    if (action != "--add") refuse_given(app, {"--keys"}, action, "it when parties are made");
}

net::Keys keys_of(const ProvisionArguments& options) {
    return options.keys == "sites" ? net::Keys::sites : net::Keys::here;
}

/// Colons make it easier to read aloud.
std::string spoken(const std::string& fingerprint) {
    std::string text;
    for (std::size_t i = 0; i < fingerprint.size(); i += 4) text += (i == 0 ? "" : ":") + fingerprint.substr(i, 4);
    return text;
}

std::string made_text(const ProvisionArguments& options) {
    std::vector<std::pair<std::string, std::string>> rows{
        {"authority", options.output + "/ca: keep it offline; it can sign new parties"},
        {"coordinator", fmt::format("{}/coordinator, for {}", options.output, options.coordinator)}};
    for (const std::string& name : options.clients) rows.emplace_back(name, options.output + "/" + name);
    return fields(rows);
}

std::vector<net::PeerAddress> parse_peers(const std::vector<std::string>& texts) {
    std::vector<net::PeerAddress> peers;
    for (const std::string& text : texts) {
        const std::size_t equals = text.find('=');
        if (equals == std::string::npos) {
            throw InputError({"--peers", shown(text), "NAME=HOST:PORT", "For example: a=localhost:7001"});
        }
        peers.push_back({text.substr(0, equals), text.substr(equals + 1)});
    }
    return peers;
}

void make_peers(const Command& app, const ProvisionArguments& options, const Session& session, Json json) {
    refuse_given(app, {"--coordinator", "--clients"}, "--network decentralized", "it with --network star only");
    const auto peers = parse_peers(options.peers);
    net::provision_peers(options.output,
                         {peers, options.graph, session.seed(), static_cast<int>(options.days), keys_of(options)},
                         session.force());
    std::vector<std::pair<std::string, std::string>> rows{
        {"authority", options.output + "/ca: keep it offline; it can sign new parties"}};
    for (const auto& peer : peers) {
        rows.emplace_back(peer.name, fmt::format("{}/{}, for {}", options.output, peer.name, peer.address));
        json["peers"].push_back(peer.name);
    }
    json["network"] = options.network;
    json["graph"] = options.graph;
    session.print(json, fields(rows));
}

void execute_provision(const Command& app, const ProvisionArguments& options, const Session& session) {
    const int days = static_cast<int>(options.days);
    Json json{{"kits", options.output}, {"version", version()}};
    const auto one = [&](const std::string& action, const std::string& name, const std::string& text) {
        refuse_with(app, action);
        json[action.substr(2)] = name;
        session.print(json, text);
    };
    int actions = 0;
    for (const auto* action : {&options.add, &options.rotate, &options.revoke, &options.request, &options.sign}) {
        actions += action->empty() ? 0 : 1;
    }
    if (actions > 1) {
        throw InputError({"--add", "several of --add, --rotate, --revoke, --request and --sign", "one of them",
                          "Run it once for each."});
    }
    if (!options.request.empty()) {
        refuse_given(app, {"--days"}, "--request", "it with --sign");
        const auto made = net::request_certificate(options.output, options.request, session.force());
        json["fingerprint"] = made.fingerprint;
        return one(
            "--request", made.name,
            fmt::format("key          {1}/key.pem: it stays here\nrequest      {1}/request.pem: send it to whoever "
                        "runs the authority\nfingerprint  {2}\nTell them the fingerprint by another way, and put "
                        "the cert.pem, ca.pem and kit.toml that come back beside the key.\n",
                        made.name, options.output, spoken(made.fingerprint)));
    }
    if (!options.sign.empty()) {
        const auto made = net::sign_certificate(options.output, options.sign, days, session.force());
        json["fingerprint"] = made.fingerprint;
        return one("--sign", made.name,
                   fmt::format("{0} has a certificate for the key with the fingerprint\n  {2}\nAsk {0} whether that is "
                               "its key, then send it cert.pem, ca.pem and kit.toml of {1}/{0}.\n",
                               made.name, options.output, spoken(made.fingerprint)));
    }
    if (!options.add.empty()) {
        net::provision_client(options.output, options.add, days, keys_of(options));
        return one("--add", options.add,
                   fmt::format("{0} is on the roster; its kit is {1}/{0}.\nCopy {1}/coordinator/kit.toml to the "
                               "coordinator.\n",
                               options.add, options.output));
    }
    if (!options.rotate.empty()) {
        net::rotate(options.output, options.rotate, days);
        return one("--rotate", options.rotate,
                   fmt::format("{0} has a new key and certificate in {1}/{0}; the old one is revoked.\nCopy "
                               "revoked.txt from every folder of {1} to its party: who lacks the list takes the old "
                               "key for good.\n",
                               options.rotate, options.output));
    }
    if (!options.revoke.empty()) {
        net::revoke(options.output, options.revoke);
        return one("--revoke", options.revoke,
                   fmt::format("{} is revoked.\nCopy revoked.txt from every folder of {} to its party; no restart is "
                               "needed.\n",
                               options.revoke, options.output));
    }
    if (options.network == "decentralized") return make_peers(app, options, session, json);
    refuse_given(app, {"--peers", "--graph"}, "--network star", "it with --network decentralized only");
    if (options.coordinator.empty()) {
        throw InputError({"--coordinator", "missing", "HOST:PORT where clients reach the coordinator",
                          "For example: couplet provision --coordinator host.example:7443 --clients a,b -o kits"});
    }
    net::provision_star(options.output, {options.coordinator, options.clients, days, keys_of(options)},
                        session.force());
    json["network"] = options.network;
    json["coordinator"] = options.coordinator;
    json["clients"] = options.clients;
    session.print(json, made_text(options));
}

Action set_up_provision(Command& app) {
    auto options = std::make_shared<ProvisionArguments>();
    add_choice(app, "--network", {"star", "decentralized"}, options->network,
               "A coordinator in the middle, or peers that talk to neighbours");
    app.add_option("--coordinator", options->coordinator, "Where clients reach the coordinator").type("HOST:PORT");
    app.add_option("--clients", options->clients, "Names of the clients, in the order in which they are merged")
        .type("a,b,c")
        .delimiter(',');
    app.add_option("--peers", options->peers,
                   "decentralized: names of the peers, in the order of the clients, and where the others reach them")
        .type("a=HOST:PORT,...")
        .delimiter(',');
    app.add_option(
           "--graph", options->graph,
           "decentralized: who talks to whom. complete, ring, star, path, grid, random:S (density S, drawn with "
           "--seed), paper8, or file:PATH with two numbers a line")
        .type("GRAPH")
        .standard("complete");
    app.add_option("--add", options->add, "One more client for a federation made before").type("NAME");
    app.add_option("--rotate", options->rotate, "New key and certificate for a party; the old one is revoked")
        .type("NAME");
    app.add_option("--revoke", options->revoke, "Let a client in no more").type("NAME");
    app.add_option("--request", options->request,
                   "At a site: make its key, which stays there, and a request for a certificate, in the folder of -o")
        .type("NAME");
    app.add_option(
           "--sign", options->sign,
           "At the authority: sign a request of a party that has a folder; a certificate that it had is revoked, one "
           "for another key, or after --revoke, only with --force")
        .type("FILE");
    add_choice(app, "--keys", {"here", "sites"}, options->keys,
               "Where the keys of parties are made. here: in their folders, for trials; sites: each where it is used, "
               "with --request and --sign");
    add_count(app, {"--days", "N", 1, 36500, "Certificates are renewed with --rotate."}, options->days,
              "Days that certificates of parties are valid");
    app.add_option("-o,--output", options->output, "Folder of the kits").type("KITS").required();
    return [options, &app](Session& session) { execute_provision(app, *options, session); };
}

}  // namespace

extern const Verb provision_verb{
    .name = "provision",
    .group = network_group,
    .summary = "make certificates and a kit for every party",
    .description =
        "Makes an authority and one folder per party: a private key (readable by its owner only), a certificate that "
        "says who it is and what it may be, the authority's certificate, and kit.toml. Move each folder to its "
        "machine. "
        "A client's certificate is no good for a coordinator or for another client, a peer's for no other peer.\n\n"
        "The folder ca signs new parties: keep it offline. With --add, --rotate or --revoke it changes a federation "
        "made "
        "before.\n\n"
        "Keys that are made in one place were all known there once. With --keys sites the folders have none: every "
        "party "
        "makes its own with --request and sends the request, the authority answers with --sign, and both compare the "
        "fingerprint that is shown.",
    .output =
        "A line per party with its folder.\n"
        "--json: kits, version; network, coordinator, clients; or network, graph, peers; or add, rotate, revoke with "
        "the "
        "name; or request, sign with the name and fingerprint.",
    .examples =
        "couplet provision --coordinator localhost:7443 --clients a,b,c -o kits\n"
        "couplet provision --network decentralized --peers a=h:7001,b=i:7001 -o p\n"
        "couplet provision --add d -o kits\n"
        "couplet provision --rotate a -o kits\n"
        "couplet provision --revoke b -o kits\n"
        "couplet provision --coordinator h:7443 --clients a,b --keys sites -o site-kits\n"
        "couplet provision --request a -o a\n"
        "couplet provision --sign a/request.pem -o site-kits",
    .common = "network coordinator clients peers add revoke request sign output",
    .setup = set_up_provision};

}  // namespace couplet::cli
