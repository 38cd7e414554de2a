#include "peer_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "mean_counts.hpp"
#include "network_report.hpp"
#include "simulate_report.hpp"
#include "usage.hpp"

namespace couplet::cli {
namespace {

bool has_consensus(const net::PeerResult& r) { return r.spec.job.aggregate != Aggregate::stack; }

}  // namespace

Json peer_json(const net::PeerResult& r, const std::string& output) {
    Json json;
    if (r.rse) json["rse"] = *r.rse;
    if (r.rse_heldout) json["rse_heldout"] = *r.rse_heldout;
    if (r.rse) json["rse_per_client"] = r.rse_per_client;
    if (r.own_rse) json["own_rse"] = *r.own_rse;
    if (r.own_rse_heldout) json["own_rse_heldout"] = *r.own_rse_heldout;
    if (r.shield) json["privacy"] = shield_json(*r.shield);
    if (r.rel_error_bound) json["rel_error_bound"] = *r.rel_error_bound;
    add_doubts(json, r.doubts);
    json["ranks"] = r.features.train.ranks();
    json["personal_ranks"] = r.personal_ranks;
    json["rounds"] = r.rounds;
    json["numbers_up_per_client"] = number(r.numbers_per_link);
    json["numbers_down_per_client"] = 0;
    json["numbers_total"] = number(r.numbers_total);
    json["bytes_up"] = number(r.bytes_total);
    json["bytes_down"] = 0;
    json["bytes_total"] = number(r.bytes_total);
    json["seconds"] = {
        {"clients_max", r.seconds_max}, {"clients_sum", r.seconds_sum}, {"server", 0.0}, {"total", r.seconds_total}};
    if (has_consensus(r)) json["consensus"] = {{"lambda2", r.lambda2}, {"iterations", r.iterations}};
    json["method"] = "ctt";
    json["network"] = to_string(r.spec.job.network);
    json["aggregate"] = to_string(r.spec.job.aggregate);
    json["graph"] = r.graph;
    json["clients"] = r.members.size();
    json["members"] = r.members;
    json["missing"] = r.missing;
    json["links"] = Json::array();
    for (const Edge& link : r.links) json["links"].push_back({link.a + 1, link.b + 1});
    json["place"] = r.place + 1;
    json["restarts"] = r.restarts;
    json["messages_sent"] = r.messages_sent;
    json["seed"] = r.spec.job.seed;
    json["version"] = version();
    json["job"] = r.job;
    json["output"] = output;
    return json;
}

std::string peer_text(const net::PeerResult& r, const std::string& output) {
    std::vector<std::vector<std::string>> lines{{"peer", "rank sent", "RSE"}};
    for (std::size_t k = 0; k < r.members.size(); ++k) {
        lines.push_back({r.members[k], r.rse ? count_text(r.personal_ranks[k]) : "",
                         r.rse ? number_text(r.rse_per_client[k]) : ""});
    }
    const std::size_t all = r.members.size() + r.missing.size();
    std::vector<std::pair<std::string, std::string>> rows{
        {"members", fmt::format("{} of {}{}", r.members.size(), all,
                                r.missing.empty() ? "" : fmt::format("; without {}", fmt::join(r.missing, ", ")))},
        {"links", count_text(static_cast<Index>(r.links.size()))},
        {"method", fmt::format("decentralized on the graph {}, {}", r.graph, to_string(r.spec.job.aggregate))},
        {"feature ranks", ranks_text(r.features.train.ranks())}};
    if (r.rse) {
        rows.emplace_back("RSE",
                          fmt::format("{} (relative error {})", number_text(*r.rse), number_text(std::sqrt(*r.rse))));
    }
    if (r.own_rse) rows.emplace_back("own RSE", number_text(*r.own_rse));
    if (r.own_rse_heldout) rows.emplace_back("held out", fmt::format("own RSE {}", number_text(*r.own_rse_heldout)));
    if (r.shield)
        rows.emplace_back("masked", fmt::format("{} sums, {} directions", r.shield->sums, r.shield->directions));
    if (r.rse_heldout) rows.emplace_back("held out", fmt::format("RSE {}", number_text(*r.rse_heldout)));
    if (r.rel_error_bound) {
        rows.emplace_back("certified", fmt::format("relative error at most {}", number_text(*r.rel_error_bound)));
    }
    for (const net::Doubt& doubt : r.doubts) {
        rows.emplace_back("NOT certified", fmt::format("peer {}: {}", doubt.client, with_option_names(doubt.reason)));
    }
    rows.emplace_back("rounds", count_text(r.rounds));
    rows.emplace_back("sent", fmt::format("{} numbers per link and direction; {} in all; {} messages from here",
                                          numbers_text(r.numbers_per_link),
                                          bytes_text(static_cast<Index>(r.bytes_total)), count_text(r.messages_sent)));
    if (has_consensus(r)) {
        rows.emplace_back("consensus", fmt::format("{} iterations, lambda_2 {}", r.iterations, number_text(r.lambda2)));
    }
    rows.emplace_back("time",
                      fmt::format("{}; slowest peer {}", seconds_text(r.seconds_total), seconds_text(r.seconds_max)));
    rows.emplace_back("written", fmt::format("{}/features.npz, personal.npz", output));
    return table(lines) + "\n" + fields(rows);
}

}  // namespace couplet::cli
