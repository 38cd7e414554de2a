#include "simulate_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "baseline_options.hpp"
#include "couplet/core/error.hpp"
#include "couplet/shield/simulate_shielded.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "mean_counts.hpp"
#include "missing_report.hpp"
#include "private_simulation.hpp"

namespace couplet::cli {
namespace {

/// Of dpfact with --gradient-noise, as the paper's method has it.
constexpr const char* no_gradient_guarantee =
    "the clip is relative to the mean record, so that one patient changes it for all, and the noise follows from "
    "--seed";
constexpr Index most_rows = 12;
constexpr Index shown_rows = 6;  ///< of a longer list

bool is_ctt(const SimulationReport& report) { return report.method == "ctt"; }

bool is_cp(const SimulationReport& report) { return report.tuning.has_value(); }

bool is_decentralized(const SimulationReport& report) {
    return (is_ctt(report) || is_cp(report)) && report.result.job.network == Network::decentralized;
}

/// Whether a guarantee covers what is published: nothing that counts patients is said beside it then.
bool is_private(const SimulationReport& report) { return report.budget != nullptr; }

std::string client_table(const SimulationReport& report) {
    const auto& result = report.result;
    const auto clients = static_cast<Index>(result.personal_ranks.size());
    std::vector<std::vector<std::string>> rows{{"client"}};
    if (!is_private(report)) rows.front().push_back("patients");
    rows.front().push_back("rank sent");
    if (!report.dry_run) rows.front().push_back("RSE");
    if (!report.gains.empty()) {
        rows.front().push_back("new, alone");
        rows.front().push_back("new, joined");
    }
    const Index shown = clients <= most_rows ? clients : shown_rows;
    for (Index k = 0; k < shown; ++k) {
        const auto at = static_cast<std::size_t>(k);
        rows.push_back({report.federation.name(k)});
        if (!is_private(report)) rows.back().push_back(count_text(report.federation.rows[at]));
        rows.back().push_back(count_text(result.personal_ranks[at]));
        if (!report.dry_run) rows.back().push_back(number_text(result.rse_per_client[at]));
        if (!report.gains.empty()) {
            const auto& gain = report.gains[at];
            rows.back().push_back(gain ? number_text(gain->alone) : "-");
            rows.back().push_back(gain ? number_text(gain->together) : "-");
        }
    }
    std::string text = table(rows);
    if (shown < clients) {
        text += fmt::format("... and {} more", count_text(clients - shown));
        if (!report.dry_run) {
            const auto [least, most] = std::minmax_element(result.rse_per_client.begin(), result.rse_per_client.end());
            text += fmt::format("; RSE of all from {} to {}", number_text(*least), number_text(*most));
        }
        text += "\n";
    }
    return text;
}

std::string what_ran(const SimulationReport& report) {
    if (report.method == "local") return "every client alone, nothing shared";
    if (report.method == "centralized") return "centralized, all rows in one place";
    if (report.method == "fedsvd") return "fedsvd, masked rows in one place";
    const Job& job = report.result.job;
    const std::string graph = is_decentralized(report) ? fmt::format(" on the graph {}", job.graph) : "";
    if (is_cp(report)) {
        return fmt::format("{}, {}{}, {} loss", report.method, to_string(job.network), graph, to_string(report.loss));
    }
    return fmt::format("{}{}, {}", to_string(job.network), graph, to_string(job.aggregate));
}

/// Of all data in 64-bit numbers: what it would take to have it in one place.
double raw_bytes(const SimulationReport& report) {
    double rows = 0;
    for (const Index client : report.federation.rows) rows += static_cast<double>(client);
    return 8 * rows * static_cast<double>(report.federation.features.size());
}

/// "4.91", "1,015": three digits, and no exponent.
std::string percent_digits(double part) {
    return 100 * part < 1000 ? fmt::format("{:.3g}", 100 * part) : numbers_text(100 * part);
}

/// With the raw data as the yardstick.
std::string in_all_text(const SimulationReport& report) {
    const double bytes = report.result.bytes_up + report.result.bytes_down;
    const double raw = is_private(report) ? 0 : raw_bytes(report);
    const std::string share = raw > 0 ? fmt::format(", {}% of the raw data as plain numbers ({})",
                                                    percent_digits(bytes / raw), size_text(raw))
                                      : "";
    return fmt::format("{} in all{}", size_text(bytes), share);
}

std::string traffic_text(const SimulationReport& report) {
    const auto& result = report.result;
    const auto clients = static_cast<double>(result.personal_ranks.size());
    if (result.numbers_total == 0) return "nothing";
    if (is_decentralized(report)) {
        return fmt::format("{} numbers per link and direction; {} numbers, {}",
                           numbers_text(result.numbers_up_per_client), numbers_text(result.numbers_total),
                           in_all_text(report));
    }
    return fmt::format("{} numbers up ({}), {} down ({}) per client; {}", numbers_text(result.numbers_up_per_client),
                       size_text(result.bytes_up / clients), numbers_text(result.numbers_down_per_client),
                       size_text(result.bytes_down / clients), in_all_text(report));
}

/// Those whose data was put in the job's order.
std::vector<std::string> reordered_clients(const SimulationReport& report) {
    std::vector<std::string> names;
    const auto& moved = report.result.reordered;
    for (std::size_t k = 0; k < moved.size(); ++k) {
        if (!moved[k].empty()) names.push_back(report.federation.name(static_cast<Index>(k)));
    }
    return names;
}

/// Why anybody federates. Clients without held-out patients have no say.
std::string gain_text(const SimulationReport& report) {
    ClientGain sum;
    Index better = 0;
    Index count = 0;
    for (const auto& gain : report.gains) {
        if (!gain) continue;
        sum.alone += gain->alone;
        sum.together += gain->together;
        better += gain->together < gain->alone ? 1 : 0;
        ++count;
    }
    if (count == 0) return "not known: no client has held-out patients";
    const auto clients = static_cast<double>(count);
    return fmt::format("error on new patients {} instead of {} alone (mean over clients); better at {} of {}",
                       number_text(sum.together / clients), number_text(sum.alone / clients), better, count);
}

Json gain_json(const SimulationReport& report) {
    Json json = Json::array();
    for (std::size_t k = 0; k < report.gains.size(); ++k) {
        json.push_back({{"client", report.federation.site(static_cast<Index>(k))},
                        {"alone", report.gains[k] ? Json(report.gains[k]->alone) : Json()},
                        {"together", report.gains[k] ? Json(report.gains[k]->together) : Json()}});
    }
    return json;
}

Json trials_json(const std::vector<RankTrial>& trials) {
    Json json = Json::array();
    for (const RankTrial& trial : trials) {
        json.push_back(
            {{"rank", trial.rank}, {"eps2", trial.eps2}, {"rse_heldout", trial.rse_heldout}, {"score", trial.score}});
    }
    return json;
}

std::string trials_text(const SimulationReport& report) {
    std::vector<std::string> tried;
    for (const RankTrial& trial : report.trials) {
        tried.push_back(fmt::format("{}/{} {}", trial.rank, number_text(trial.eps2), number_text(trial.score)));
    }
    return fmt::format(
        "rank {}, eps2 {}, with the least error on unseen entries of new patients; tried rank/eps2 error: {}",
        *report.result.job.rank, number_text(report.result.job.eps2), fmt::join(tried, ", "));
}

}  // namespace

Json shield_json(const ShieldReport& shield) {
    Json json{{"secure", shield.secure},
              {"policy", shield.policy ? "on" : "off"},
              {"sums", shield.sums},
              {"directions", shield.directions}};
    if (shield.secure) json["ring_bits"] = shield.ring_bits;
    if (shield.threshold > 0) json["threshold"] = shield.threshold;
    if (shield.clip) {
        json["clip"] = *shield.clip;
        if (shield.clipped) json["clipped"] = *shield.clipped;
    }
    if (!shield.changes.empty()) json["changes"] = shield.changes;
    if (!shield.warnings.empty()) json["warnings"] = shield.warnings;
    if (shield.noise) {
        const NoisePlan& noise = *shield.noise;
        if (shield.withdrawn.empty()) {
            json["epsilon"] = noise.guarantee.epsilon;
            json["delta"] = noise.guarantee.delta;
            json["rho"] = noise.rho;
            json["against"] = protects_against(noise.place);
        } else {
            json["against"] = "nobody: " + shield.withdrawn;
        }
        if (shield.mu) json["mu"] = *shield.mu;
        if (shield.error) {
            json["error"] = {{"rse", shield.error->rse}, {"low", shield.error->low}, {"high", shield.error->high}};
        }
        json["releases"] = noise.releases;
        json["noise"] = to_string(noise.place);
        json["sigma"] = noise.sigma;
        if (shield.patients_needed) json["patients_needed"] = *shield.patients_needed;
        if (shield.expected_loss) json["expected_loss"] = *shield.expected_loss;
        if (shield.noise_cost) json["noise_cost"] = *shield.noise_cost;
    }
    return json;
}

void add_shield_rows(const ShieldReport& shield, std::vector<std::pair<std::string, std::string>>& rows) {
    if (shield.secure) {
        rows.emplace_back(
            "seen",
            fmt::format("{} sums over all clients, {} directions{}; ring of {} bits", shield.sums, shield.directions,
                        shield.threshold > 0 ? fmt::format("; {} clients must stay to the end", shield.threshold) : "",
                        shield.ring_bits));
    }
    if (shield.policy) {
        rows.emplace_back("policy", shield.changes.empty() ? "on; the job keeps it as it is"
                                                           : fmt::format("{}", fmt::join(shield.changes, ", ")));
    }
    if (shield.clip) {
        rows.emplace_back("clipped",
                          fmt::format("{}records at norm {}", shield.clipped ? count_text(*shield.clipped) + " " : "",
                                      number_text(*shield.clip)));
    }
    if (shield.error) {
        rows.emplace_back("error", fmt::format("RSE {} as a noised sum tells it, {} to {} with a probability of 95%",
                                               number_text(shield.error->rse), number_text(shield.error->low),
                                               number_text(shield.error->high)));
    }
    if (shield.noise) {
        const NoisePlan& noise = *shield.noise;
        if (shield.noise_cost) {
            rows.emplace_back("noise",
                              *shield.noise_cost < 1
                                  ? fmt::format("raised the RSE by at most about {}, as the sums themselves say",
                                                number_text(*shield.noise_cost))
                                  : "what it cost is not known: the sums are lost in it");
        }
        if (!shield.withdrawn.empty()) {
            rows.emplace_back("privacy", "none: " + shield.withdrawn);
            return;
        }
        rows.emplace_back(
            "privacy", fmt::format("epsilon {} at delta {} for a patient's record, over {} sums together, against {}",
                                   number_text(noise.guarantee.epsilon), number_text(noise.guarantee.delta),
                                   noise.releases, protects_against(noise.place)));
        if (shield.mu) {
            rows.emplace_back("",
                              fmt::format("mu {}: a patient is told from nobody no better than N(0, 1) from N({}, 1)",
                                          number_text(*shield.mu), number_text(*shield.mu)));
        }
        rows.emplace_back("", "RSE, counts and personal cores are not part of it: they stay with the clients");
    }
}

Json trace_json(const std::vector<TracePoint>& trace) {
    Json json = Json::array();
    for (const TracePoint& point : trace) {
        json.push_back({{"round", point.round},
                        {"rse", point.rse},
                        {"numbers", number(point.numbers)},
                        {"bytes", number(point.bytes)},
                        {"seconds", point.seconds}});
    }
    return json;
}

namespace {

/// A dry run with a budget: nothing of the data but its shape was looked at.
Json expected_report(const SimulationReport& report) {
    return {{"expected", expected_json(*report.expected)},
            {"method", report.method},
            {"network", to_string(report.result.job.network)},
            {"clients", report.federation.clients()},
            {"ranks", report.result.ranks},
            {"dry_run", true},
            {"seed", report.seed},
            {"version", version()}};
}

}  // namespace

Json simulation_json(const SimulationReport& report) {
    if (report.expected) return expected_report(report);
    const auto& result = report.result;
    Json json;
    if (!report.dry_run) {
        json["rse"] = result.rse;
        if (report.rse_original) json["rse_original"] = *report.rse_original;
        if (result.rse_heldout) json["rse_heldout"] = *result.rse_heldout;
        json["rse_per_client"] = result.rse_per_client;
        if (!report.gains.empty()) json["gain"] = gain_json(report);
        if (!report.trials.empty()) json["tried"] = trials_json(report.trials);
    }
    if (result.rel_error_bound) json["rel_error_bound"] = *result.rel_error_bound;
    json["ranks"] = result.ranks;
    json["personal_ranks"] = result.personal_ranks;
    json["rounds"] = result.rounds;
    json["numbers_up_per_client"] = number(result.numbers_up_per_client);
    json["numbers_down_per_client"] = number(result.numbers_down_per_client);
    json["numbers_total"] = number(result.numbers_total);
    json["bytes_up"] = number(result.bytes_up);
    json["bytes_down"] = number(result.bytes_down);
    json["bytes_total"] = number(result.bytes_up + result.bytes_down);
    if (!is_private(report)) json["bytes_raw"] = number(raw_bytes(report));
    const PhaseSeconds& seconds = result.seconds;
    json["seconds"] = {{"clients_max", seconds.clients_max},
                       {"clients_sum", seconds.clients_sum},
                       {"server", seconds.server},
                       {"total", seconds.total}};
    if (result.consensus) {
        json["consensus"] = {{"lambda2", result.consensus->lambda2},
                             {"iterations", result.consensus->iterations},
                             {"error", result.consensus->error}};
    }
    if (result.missing) {
        json["missing"] = missing_json(*result.missing);
        json["missing"]["unknown_features"] = report.unknown.features;
        json["missing"]["unknown_clients"] = Json::array();
        for (const Index k : report.unknown.clients) json["missing"]["unknown_clients"].push_back(k + 1);
    }
    if (report.shield) json["privacy"] = shield_json(*report.shield);
    if (report.budget) json["privacy"] = budget_json(*report.budget);
    if (report.masked) json["masked"] = outlook_json(*report.masked);
    if (report.privacy) {
        json["gradient_noise"] = {{"nominal_epsilon", report.privacy->epsilon},
                                  {"delta", report.privacy->delta},
                                  {"releases", report.privacy->releases},
                                  {"guarantee", false},
                                  {"why", no_gradient_guarantee}};
    }
    json["method"] = report.method;
    if (report.centring.weighted()) json["weight"] = to_string(report.centring.weight);
    if (is_ctt(report) || is_cp(report)) json["network"] = to_string(result.job.network);
    if (is_ctt(report)) json["aggregate"] = to_string(result.job.aggregate);
    if (is_cp(report)) {
        json["loss"] = to_string(report.loss);
        json["tuning"] = tuning_json(*report.tuning);
        json["tuned"] = report.tuned;
        json["stopped"] = report.stopped;
        json["trace"] = trace_json(report.trace);
    }
    json["clients"] = result.personal_ranks.size();
    if (!result.own_features.empty()) json["own_features"] = true;
    if (result.resumed_clients > 0) json["resumed_clients"] = result.resumed_clients;
    if (!result.replaced.empty()) json["replaced"] = result.replaced;
    if (const auto names = reordered_clients(report); !names.empty()) json["reordered"] = names;
    if (report.dry_run) json["dry_run"] = true;
    json["seed"] = report.seed;
    json["version"] = version();
    if (!report.output.empty()) json["output"] = report.output;
    if (!report.state.empty()) json["state"] = report.state;
    return json;
}

std::string simulation_text(const SimulationReport& report) {
    if (report.expected) {
        return fields(
            {{"dry run", "nothing fitted; errors are those of made-up patients, as many, with as many labels"},
             {"expected", expected_text(*report.expected)}});
    }
    const auto& result = report.result;
    std::string text = client_table(report) + "\n";
    std::vector<std::pair<std::string, std::string>> rows;
    if (!report.gains.empty()) rows.emplace_back("joining", gain_text(report));
    if (!report.trials.empty()) rows.emplace_back("chosen", trials_text(report));
    rows.insert(
        rows.end(),
        {{"clients", fmt::format("{} from {}{}", count_text(report.federation.clients()), report.federation.description,
                                 result.resumed_clients > 0
                                     ? fmt::format(", and {} merged before", count_text(result.resumed_clients))
                                     : "")},
         {"method", what_ran(report)},
         {"feature ranks", ranks_text(result.ranks)}});
    if (report.dry_run) {
        rows.emplace_back("dry run", "nothing fitted; this is what would be sent");
    } else {
        rows.emplace_back(
            "RSE", fmt::format("{} (relative error {}{})", number_text(result.rse), number_text(std::sqrt(result.rse)),
                               result.missing ? "; known entries only" : ""));
        if (report.centring.weighted()) {
            rows.emplace_back("weight", fmt::format("{}: the error is of departures from the labels' prevalences",
                                                    to_string(report.centring.weight)));
        }
        if (report.rse_original) {
            rows.emplace_back("", fmt::format("in the units of the data RSE {}", number_text(*report.rse_original)));
        }
        if (result.rse_heldout) rows.emplace_back("held out", fmt::format("RSE {}", number_text(*result.rse_heldout)));
    }
    if (!result.replaced.empty()) {
        rows.emplace_back("replaced", fmt::format("{}", fmt::join(result.replaced, ", ")));
    }
    if (const auto names = reordered_clients(report); !names.empty()) {
        rows.emplace_back("put in order", fmt::format("{}", fmt::join(names, ", ")));
    }
    if (result.rel_error_bound) {
        rows.emplace_back("certified", fmt::format("relative error at most {}{}", number_text(*result.rel_error_bound),
                                                   result.resumed_clients > 0 ? " over everybody merged" : ""));
        if (result.job.eps && *result.rel_error_bound > *result.job.eps * (1 + 1e-9)) {
            rows.emplace_back("", fmt::format("more than --eps {}: what was merged before was cut with a larger one",
                                              number_text(*result.job.eps)));
        }
    }
    rows.emplace_back("rounds",
                      count_text(result.rounds) + (report.stopped == "converged" ? ", then no progress" : ""));
    if (report.tuning) {
        rows.emplace_back("tuning", tuning_text(*report.tuning) + (report.tuned ? " (from the cache)" : ""));
    }
    if (report.shield) add_shield_rows(*report.shield, rows);
    if (report.budget) add_budget_rows(*report.budget, rows);
    if (report.masked) rows.emplace_back("masked", outlook_text(*report.masked));
    if (report.privacy) {
        rows.emplace_back("noise", fmt::format("as for epsilon {} at delta {} over {} releases, but no guarantee: {}",
                                               number_text(report.privacy->epsilon), number_text(report.privacy->delta),
                                               report.privacy->releases, no_gradient_guarantee));
    }
    rows.emplace_back("sent", traffic_text(report));
    if (is_ctt(report) && has_budget(result.job)) {
        const Job& job = result.job;
        rows.emplace_back("budget",
                          fmt::format("{} {}; it chose rank {}",
                                      size_text(static_cast<double>(job.bytes ? *job.bytes : *job.bytes_total)),
                                      job.bytes ? "a client" : "in all", count_text(result.ranks.front())));
    }
    if (result.consensus) {
        rows.emplace_back("consensus",
                          fmt::format("{} iterations, error {}, lambda_2 {}", result.consensus->iterations,
                                      number_text(result.consensus->error), number_text(result.consensus->lambda2)));
    }
    if (result.missing) {
        for (auto& row : missing_rows(*result.missing)) rows.push_back(std::move(row));
        const std::string unknown = unknown_text(report.unknown);
        if (!unknown.empty()) rows.emplace_back("unknown", unknown);
    }
    const PhaseSeconds& seconds = result.seconds;
    rows.emplace_back("time", fmt::format("{}; slowest client {}, all clients {}, server {}",
                                          seconds_text(seconds.total), seconds_text(seconds.clients_max),
                                          seconds_text(seconds.clients_sum), seconds_text(seconds.server)));
    if (!report.output.empty()) {
        rows.emplace_back("written", fmt::format("{}/features.npz, personal_1.npz{}", report.output,
                                                 report.federation.clients() > 1
                                                     ? fmt::format(" ... personal_{}.npz", report.federation.clients())
                                                     : ""));
    }
    if (!report.state.empty()) rows.emplace_back("state", report.state);
    return text + fields(rows);
}

}  // namespace couplet::cli
