#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet::net {

struct ClientStatus {
    std::string name;
    std::string state;                      ///< absent, connected, computing, answered, done, late, not in
    std::optional<Index> rows = {};         ///< patients; this and what follows is told to nobody but itself
    std::optional<double> bytes_up = {};    ///< over the wire, repetitions included
    std::optional<double> bytes_down = {};  ///< over the wire, repetitions included
    std::optional<double> rse = {};         ///< once it has reported
    std::string last_refusal = {};          ///< why it was turned away last
};

/// How a job stands, for the status verb, the page and the metrics.
struct StatusReport {
    std::string job;
    std::string phase;
    std::string aggregate;
    Index attempt = 0;
    Index round = 0;                   ///< the coordinator's questions so far
    std::vector<std::string> waiting;  ///< for whom
    std::optional<double> seconds_left;
    std::vector<ClientStatus> clients;
    std::optional<Index> refused;  ///< connections and messages; the coordinator's own business
    double uptime = 0;
    std::string version;
};

/// "waiting for 1 of 4: hospital-c, 00:12 left"; empty when it waits for nobody.
std::string waiting_text(const StatusReport& status);

nlohmann::ordered_json status_json(const StatusReport& status);
/// Reads it back; throws InputError, naming `where`, for anything else.
StatusReport parse_status(const std::string& json, const std::string& where);

/// What a client may know: states of all, but patients, bytes, errors and refusals of itself alone.
StatusReport status_for(StatusReport status, const std::string& client);

/// Prometheus text format.
std::string status_metrics(const StatusReport& status);
/// A page that loads itself again; all text in it is escaped.
std::string status_page(const StatusReport& status, const std::vector<std::string>& log);

}  // namespace couplet::net
