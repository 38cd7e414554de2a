#include "network_report.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <system_error>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/model.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "mean_counts.hpp"
#include "missing_report.hpp"
#include "signals.hpp"
#include "simulate_report.hpp"
#include "usage.hpp"

namespace couplet::cli {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string joined(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

void add_job(Json& json, const wire::JobSpec& spec, const std::string& job, Index rounds) {
    json["rounds"] = rounds;
    json["method"] = "ctt";
    json["network"] = to_string(spec.job.network);
    json["aggregate"] = to_string(spec.job.aggregate);
    json["seed"] = spec.job.seed;
    json["version"] = version();
    json["job"] = job;
}

void add_rse(Rows& rows, double rse) {
    rows.emplace_back("RSE", fmt::format("{} (relative error {})", number_text(rse), number_text(std::sqrt(rse))));
}

/// Whose features an error belongs to.
std::string features_of(const net::CoordinatorResult& r, Index late_merges) {
    const std::vector<std::string> late(r.late.begin(), r.late.begin() + late_merges);
    return late.empty() ? "the members" : "the members, " + joined(late);
}

std::string who_text(const std::vector<std::string>& members, const std::vector<std::string>& missing) {
    const std::string all =
        fmt::format("{} of {}: {}", members.size(), members.size() + missing.size(), joined(members));
    return missing.empty() ? all : fmt::format("{}; without {}", all, joined(missing));
}

}  // namespace

void add_doubts(Json& json, const std::vector<net::Doubt>& doubts) {
    for (const net::Doubt& doubt : doubts)
        json["doubts"].push_back({{"client", doubt.client}, {"reason", with_option_names(doubt.reason)}});
}

Json coordinator_json(const net::CoordinatorResult& r, const std::string& output) {
    Json json;
    if (r.rse) json["rse"] = *r.rse;
    if (r.rse_heldout) json["rse_heldout"] = *r.rse_heldout;
    if (!r.rse_per_client.empty()) json["rse_per_client"] = r.rse_per_client;
    if (!r.rse_per_client.empty() && !r.late.empty()) json["rse_late_merges"] = r.rse_late_merges;
    if (r.rel_error_bound) json["rel_error_bound"] = *r.rel_error_bound;
    add_doubts(json, r.doubts);
    json["ranks"] = r.ranks;
    json["personal_ranks"] = r.personal_ranks;
    json["numbers_up_per_client"] = number(r.numbers_up_per_client);
    json["numbers_down_per_client"] = number(r.numbers_down_per_client);
    json["numbers_total"] = number(r.numbers_total);
    json["bytes_up"] = number(r.bytes_up);
    json["bytes_down"] = number(r.bytes_down);
    json["bytes_total"] = number(r.bytes_up + r.bytes_down);
    json["bytes_overhead"] = number(r.bytes_overhead);
    json["seconds"] = {{"clients_max", r.seconds_clients_max},
                       {"clients_sum", r.seconds_clients_sum},
                       {"server", r.seconds_server},
                       {"total", r.seconds_total}};
    add_job(json, r.spec, r.job, r.rounds);
    json["clients"] = r.members.size() + r.late.size();
    if (r.resumed_clients > 0) json["resumed_clients"] = r.resumed_clients;
    if (!r.replaced.empty()) json["replaced"] = r.replaced;
    json["members"] = r.members;
    json["late"] = r.late;
    json["missing"] = r.missing;
    if (r.imputed) json["imputed"] = missing_json(*r.imputed);
    if (r.shield) json["privacy"] = shield_json(*r.shield);
    json["output"] = output;
    return json;
}

Json client_json(const net::ClientResult& r, const std::string& output) {
    Json json{{"rse", r.rse}};
    if (r.rse_heldout) json["rse_heldout"] = *r.rse_heldout;
    if (r.rel_error_bound) json["rel_error_bound"] = *r.rel_error_bound;
    if (!r.doubt.empty()) json["doubts"] = {{{"reason", with_option_names(r.doubt)}}};
    json["ranks"] = r.features.train.ranks();
    json["personal_ranks"] = {r.personal_rank};
    json["numbers_up_per_client"] = number(r.numbers_up);
    json["numbers_down_per_client"] = number(r.numbers_down);
    json["bytes_up"] = number(r.bytes_up);
    json["bytes_down"] = number(r.bytes_down);
    json["bytes_overhead"] = number(r.bytes_overhead);
    json["seconds"] = {{"clients_max", r.seconds_client}, {"total", r.seconds_total}};
    add_job(json, r.spec, r.job, r.rounds);
    json["clients"] = r.members.size();
    json["members"] = r.members;
    json["missing"] = r.missing;
    if (r.settled) json["imputed"] = {{"settled", *r.settled}};
    if (!r.reordered.empty()) json["reordered"] = r.reordered;
    if (r.shield) json["privacy"] = shield_json(*r.shield);
    json["output"] = output;
    return json;
}

std::string coordinator_text(const net::CoordinatorResult& r, const std::string& output) {
    std::vector<std::string> in = r.members;
    in.insert(in.end(), r.late.begin(), r.late.end());
    std::string text;
    if (!r.rse_per_client.empty()) {
        std::vector<std::vector<std::string>> lines{{"client", "rank sent", "RSE"}};
        if (!r.late.empty()) lines.front().emplace_back("with the features of");
        for (std::size_t k = 0; k < in.size(); ++k) {
            lines.push_back({in[k], count_text(r.personal_ranks[k]), number_text(r.rse_per_client[k])});
            if (!r.late.empty()) lines.back().push_back(features_of(r, r.rse_late_merges[k]));
        }
        text = table(lines) + "\n";
    }
    Rows rows{{"job", r.job},
              {"in the result", who_text(in, r.missing)},
              {"method", fmt::format("star, {}", to_string(r.spec.job.aggregate))},
              {"feature ranks", ranks_text(r.ranks)}};
    if (!r.late.empty()) rows.emplace_back("merged late", joined(r.late));
    if (!r.replaced.empty()) rows.emplace_back("replaced", joined(r.replaced));
    if (r.rse) add_rse(rows, *r.rse);
    if (r.rse_heldout) rows.emplace_back("held out", fmt::format("RSE {}", number_text(*r.rse_heldout)));
    if (r.rel_error_bound) {
        rows.emplace_back("certified", fmt::format("relative error at most {}", number_text(*r.rel_error_bound)));
    }
    for (const net::Doubt& doubt : r.doubts) {
        rows.emplace_back("NOT certified", fmt::format("client {}: {}", doubt.client, with_option_names(doubt.reason)));
    }
    if (r.imputed) {
        for (auto& row : missing_rows(*r.imputed)) rows.push_back(std::move(row));
    }
    if (r.shield) add_shield_rows(*r.shield, rows);
    rows.emplace_back("rounds", count_text(r.rounds));
    rows.emplace_back("sent", fmt::format("{} up, {} down, {} numbers in all; greetings, schema and reports {}",
                                          size_text(r.bytes_up), size_text(r.bytes_down), numbers_text(r.numbers_total),
                                          size_text(r.bytes_overhead)));
    rows.emplace_back("time", fmt::format("{}; slowest client {}, server {}", seconds_text(r.seconds_total),
                                          seconds_text(r.seconds_clients_max), seconds_text(r.seconds_server)));
    rows.emplace_back("written", output + "/features.npz");
    return text + fields(rows);
}

std::string client_text(const net::ClientResult& r, const std::string& output) {
    Rows rows{{"job", r.job},
              {"in the result", who_text(r.members, r.missing)},
              {"method", fmt::format("star, {}", to_string(r.spec.job.aggregate))},
              {"feature ranks", ranks_text(r.features.train.ranks())}};
    if (!r.reordered.empty()) rows.emplace_back("put in order", r.reordered);
    add_rse(rows, r.rse);
    if (r.settled) {
        rows.emplace_back("missing", *r.settled ? "filled in; RSE of the known entries"
                                                : "filled in, NOT settled; RSE of the known entries");
    }
    if (r.rse_heldout) rows.emplace_back("held out", fmt::format("RSE {}", number_text(*r.rse_heldout)));
    if (r.rel_error_bound) {
        rows.emplace_back("certified",
                          fmt::format("relative error at most {}, of all together", number_text(*r.rel_error_bound)));
    }
    if (!r.doubt.empty()) rows.emplace_back("NOT certified", with_option_names(r.doubt));
    if (r.shield) add_shield_rows(*r.shield, rows);
    rows.emplace_back("sent",
                      fmt::format("{} numbers ({}), received {} ({}); greetings, schema and reports {}",
                                  numbers_text(r.numbers_up), size_text(r.bytes_up), numbers_text(r.numbers_down),
                                  size_text(r.bytes_down), size_text(r.bytes_overhead)));
    rows.emplace_back("time", fmt::format("{}, of which computing {}", seconds_text(r.seconds_total),
                                          seconds_text(r.seconds_client)));
    rows.emplace_back("written", fmt::format("{}/features.npz, personal.npz", output));
    return fields(rows);
}

std::string status_text(const net::StatusReport& s) {
    std::vector<std::vector<std::string>> lines{{"client", "state", "patients", "up", "down", "RSE"}};
    for (const auto& client : s.clients) {
        lines.push_back({client.name, client.state, client.rows ? count_text(*client.rows) : "",
                         client.bytes_up ? size_text(*client.bytes_up) : "",
                         client.bytes_down ? size_text(*client.bytes_down) : "",
                         client.rse ? number_text(*client.rse) : ""});
    }
    Rows rows{{"job", s.job},
              {"phase", fmt::format("{}, attempt {}, round {}", s.phase, s.attempt, s.round)},
              {"aggregate", s.aggregate}};
    if (const std::string waiting = net::waiting_text(s); !waiting.empty())
        rows.emplace_back("waiting", waiting.substr(8));
    if (s.refused) rows.emplace_back("refused", count_text(*s.refused));
    rows.emplace_back("up", seconds_text(s.uptime));
    return table(lines) + "\n" + fields(rows);
}

namespace {

/// The job that a result is of; empty where it is none, and not ours to replace.
std::string job_of(const std::filesystem::path& path) {
    try {
        if (!std::filesystem::exists(path)) return "";
        return to_double(load_model(path)).metadata.value("job", "");
    } catch (const Error&) {
        return "";
    } catch (const nlohmann::json::exception&) {
        return "";
    }
}

bool is_job_id(const std::string& text) {
    return text.size() == 2 * wire::JobId{}.size() && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

JobOutput::JobOutput(std::filesystem::path folder, std::vector<std::string> files, bool force)
    : folder_(std::move(folder)), files_(std::move(files)), force_(force) {
    // Before anything is sent: a result that cannot be kept is none.
    if (::faccessat(AT_FDCWD, folder_.path().c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
        throw InputError({folder_.path().string(), "a folder that may not be written", "one for the result",
                          "Choose another output folder or change its permissions."});
    }
    clean_on_interrupt(folder_.path());
}

std::string JobOutput::put_aside(const std::string& job) const {
    std::string older;
    for (const std::string& name : files_) {
        const std::string of = job_of(file(name));
        // It becomes the name of a folder.
        if (!is_job_id(of) || of == job) continue;
        const std::filesystem::path kept = folder_.path() / of;
        std::filesystem::create_directory(kept);
        if (std::filesystem::exists(kept / name)) continue;
        std::filesystem::rename(file(name), kept / name);
        older = kept.string();
    }
    return older;
}

void JobOutput::require_free(const std::string& job) const {
    for (const std::string& name : files_) {
        const auto path = file(name);
        if (force_ || !std::filesystem::exists(path)) continue;
        if (const std::string of = job_of(path); !of.empty() && of == job) continue;
        throw InputError({path.string(), "a file that exists already, of another job", "a folder without results",
                          "Choose another folder with -o, or use --force to replace it."});
    }
}

}  // namespace couplet::cli
