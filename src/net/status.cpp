#include "couplet/net/status.hpp"

#include <fmt/format.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "couplet/core/utf8.hpp"
#include "couplet/io/markup.hpp"

namespace couplet::net {
namespace {

using Json = nlohmann::ordered_json;

std::string bytes_text(double bytes) {
    if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
    if (bytes < 1024.0 * 1024) return fmt::format("{:.1f} KiB", bytes / 1024);
    return fmt::format("{:.1f} MiB", bytes / (1024.0 * 1024));
}

std::string minutes_text(double seconds) {
    const auto whole = static_cast<long>(std::ceil(std::max(0.0, seconds)));
    return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

constexpr const char* page_style =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{padding:.3em .8em;border-bottom:1px solid #ccc;text-align:right}"
    "th:first-child,td:first-child,th:nth-child(2),td:nth-child(2){text-align:left}"
    "pre{background:#f4f4f4;padding:1em;overflow-x:auto;white-space:pre-wrap}";

std::string client_row(const ClientStatus& client) {
    return fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", escape_markup(client.name),
        escape_markup(client.last_refusal.empty() ? client.state : client.state + "; refused: " + client.last_refusal),
        client.rows ? std::to_string(*client.rows) : "", bytes_text(client.bytes_up.value_or(0)),
        bytes_text(client.bytes_down.value_or(0)), client.rse ? fmt::format("{:.6g}", *client.rse) : "");
}

}  // namespace

std::string waiting_text(const StatusReport& status) {
    if (status.waiting.empty()) return "";
    constexpr std::size_t most_named = 6;
    std::string names;
    for (std::size_t i = 0; i < std::min(most_named, status.waiting.size()); ++i) {
        names += (i == 0 ? "" : ", ") + status.waiting[i];
    }
    if (status.waiting.size() > most_named) names += fmt::format(" and {} more", status.waiting.size() - most_named);
    const std::string left = status.seconds_left ? fmt::format(", {} left", minutes_text(*status.seconds_left)) : "";
    return fmt::format("waiting for {} of {}: {}{}", status.waiting.size(), status.clients.size(), names, left);
}

Json status_json(const StatusReport& status) {
    Json clients = Json::array();
    for (const ClientStatus& client : status.clients) {
        Json json{{"name", client.name}, {"state", client.state}};
        if (client.rows) json["rows"] = *client.rows;
        if (client.bytes_up) json["bytes_up"] = *client.bytes_up;
        if (client.bytes_down) json["bytes_down"] = *client.bytes_down;
        // JSON knows no infinity.
        if (client.rse && std::isfinite(*client.rse)) json["rse"] = *client.rse;
        if (!client.last_refusal.empty()) json["last_refusal"] = client.last_refusal;
        clients.push_back(std::move(json));
    }
    Json json{{"job", status.job},         {"phase", status.phase}, {"aggregate", status.aggregate},
              {"attempt", status.attempt}, {"round", status.round}, {"waiting", status.waiting}};
    if (status.seconds_left) json["seconds_left"] = *status.seconds_left;
    json["clients"] = std::move(clients);
    if (status.refused) json["refused"] = *status.refused;
    json["uptime"] = status.uptime;
    json["version"] = status.version;
    return json;
}

StatusReport parse_status(const std::string& text, const std::string& where) {
    // What others say comes to a terminal.
    const auto plain = [](const Json& value) { return plain_text(value.get<std::string>()); };
    try {
        const Json json = Json::parse(text);
        StatusReport status;
        status.job = plain(json.at("job"));
        status.phase = plain(json.at("phase"));
        status.aggregate = plain(json.at("aggregate"));
        status.attempt = json.at("attempt");
        status.round = json.at("round");
        for (const Json& name : json.at("waiting")) status.waiting.push_back(plain(name));
        if (json.contains("seconds_left")) status.seconds_left = json["seconds_left"].get<double>();
        for (const Json& entry : json.at("clients")) {
            ClientStatus client;
            client.name = plain(entry.at("name"));
            client.state = plain(entry.at("state"));
            if (entry.contains("rows")) client.rows = entry["rows"].get<Index>();
            if (entry.contains("bytes_up")) client.bytes_up = entry["bytes_up"].get<double>();
            if (entry.contains("bytes_down")) client.bytes_down = entry["bytes_down"].get<double>();
            if (entry.contains("rse") && entry["rse"].is_number()) client.rse = entry["rse"].get<double>();
            client.last_refusal = plain_text(entry.value("last_refusal", ""));
            status.clients.push_back(std::move(client));
        }
        if (json.contains("refused")) status.refused = json["refused"].get<Index>();
        status.uptime = json.at("uptime");
        status.version = plain(json.at("version"));
        return status;
    } catch (const Json::exception& error) {
        throw InputError({where, plain_text(error.what()), "the status of a coordinator", ""});
    }
}

StatusReport status_for(StatusReport status, const std::string& client) {
    for (ClientStatus& other : status.clients) {
        if (other.name != client) other = {.name = other.name, .state = other.state};
    }
    status.refused.reset();
    return status;
}

std::string status_metrics(const StatusReport& status) {
    std::string text;
    const auto head = [&](const char* name, const char* type, const char* help) {
        text += fmt::format("# HELP couplet_{} {}\n# TYPE couplet_{} {}\n", name, help, name, type);
    };
    head("phase", "gauge", "1 for the phase the job is in.");
    for (const char* phase : {"joining", "running", "delivering", "closed"}) {
        text += fmt::format("couplet_phase{{phase=\"{}\"}} {}\n", phase, status.phase == phase ? 1 : 0);
    }
    const auto single = [&](const char* name, const char* type, const char* help, double value) {
        head(name, type, help);
        text += fmt::format("couplet_{} {}\n", name, value);
    };
    single("attempt", "gauge", "Attempts of the job; above 1 after clients were lost.",
           static_cast<double>(status.attempt));
    single("round", "gauge", "Questions the coordinator has asked in this attempt.", static_cast<double>(status.round));
    single("clients", "gauge", "Clients on the roster.", static_cast<double>(status.clients.size()));
    single("waiting", "gauge", "Clients the coordinator waits for.", static_cast<double>(status.waiting.size()));
    single("refused_total", "counter", "Connections and messages refused.",
           static_cast<double>(status.refused.value_or(0)));
    single("uptime_seconds", "gauge", "Since the coordinator started.", status.uptime);
    // Names are letters, digits and a few signs: nothing to escape.
    head("client_bytes_total", "counter", "Bytes exchanged with a client, repetitions included.");
    for (const ClientStatus& c : status.clients) {
        text += fmt::format("couplet_client_bytes_total{{client=\"{}\",direction=\"up\"}} {}\n", c.name,
                            c.bytes_up.value_or(0));
        text += fmt::format("couplet_client_bytes_total{{client=\"{}\",direction=\"down\"}} {}\n", c.name,
                            c.bytes_down.value_or(0));
    }
    head("client_rse", "gauge", "Relative squared error that a client reported.");
    for (const ClientStatus& c : status.clients) {
        if (c.rse) text += fmt::format("couplet_client_rse{{client=\"{}\"}} {}\n", c.name, *c.rse);
    }
    return text;
}

std::string status_page(const StatusReport& status, const std::vector<std::string>& log) {
    std::string rows;
    for (const ClientStatus& client : status.clients) rows += client_row(client);
    std::string lines;
    for (const std::string& line : log) lines += escape_markup(line) + "\n";
    const std::string waiting = waiting_text(status);
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"refresh\" content=\"2\">\n<title>Couplet: {0}</title>\n<style>{1}</style></head>\n"
        "<body><h1>Couplet coordinator</h1>\n"
        "<p id=\"phase\">Job {2} is <strong>{0}</strong>: {3}, attempt {4}, round {5}.</p>\n"
        "<p id=\"waiting\">{6}</p>\n"
        "<table "
        "id=\"clients\"><tr><th>client</th><th>state</th><th>patients</th><th>up</th><th>down</th><th>RSE</th></tr>\n"
        "{7}</table>\n<h2>Log</h2>\n<pre id=\"log\">{8}</pre>\n"
        "<p>couplet {9}; also: <a href=\"/status.json\">status.json</a>, <a href=\"/metrics\">metrics</a></p>\n"
        "</body></html>\n",
        escape_markup(status.phase), page_style, escape_markup(status.job), escape_markup(status.aggregate),
        status.attempt, status.round, escape_markup(waiting.empty() ? "Waiting for nobody." : waiting), rows, lines,
        escape_markup(status.version));
}

}  // namespace couplet::net
