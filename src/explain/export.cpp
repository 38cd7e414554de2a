#include "couplet/explain/export.hpp"

#include <fmt/format.h>

#include <cmath>

#include "couplet/io/csv_text.hpp"

namespace couplet {
namespace {

using Json = nlohmann::ordered_json;

Json entries_json(const std::vector<NamedEntry>& entries) {
    Json list = Json::array();
    for (const NamedEntry& entry : entries) {
        list.push_back({{"labels", entry.labels}, {"weight", entry.weight}});
        if (entry.lift) list.back()["lift"] = *entry.lift;
        if (entry.patients > 0) list.back()["patients"] = entry.patients;
    }
    return list;
}

/// Numbers that are withheld are null.
Json carriers_json(const Explanation& explanation, const Carriers& carriers) {
    Json json{{"all", carriers.all ? Json(*carriers.all) : Json()}, {"sites", Json::array()}};
    for (std::size_t k = 0; k < carriers.sites.size(); ++k) {
        const auto& sites = explanation.findings.sites;
        json["sites"].push_back({{"name", k < sites.size() ? sites[k].name : fmt::format("site {}", k + 1)},
                                 {"patients", carriers.sites[k] ? Json(*carriers.sites[k]) : Json()}});
    }
    return json;
}

Json component_json(const Explanation& explanation, std::size_t r) {
    const Component& component = explanation.components[r];
    Json json{{"number", r + 1}, {"title", component.title}, {"share", component.share}, {"sites", Json::array()}};
    for (std::size_t k = 0; k < component.site_shares.size(); ++k) {
        json["sites"].push_back({{"name", explanation.findings.sites[k].name}, {"share", component.site_shares[k]}});
    }
    if (component.stability) {
        json["stability"] = *component.stability;
        json["least_stability"] = *component.least_stability;
    }
    if (explanation.evidence) {
        json["beyond_chance"] = !component.named.empty();
        json["pairs"] = entries_json(component.pairs);
    }
    if (component.carriers) json["carriers"] = carriers_json(explanation, *component.carriers);
    json["entries"] = entries_json(component.entries);
    json["product_share"] = component.product_share;
    json["profiles"] = Json::array();
    for (const ModeProfile& profile : component.profiles) {
        json["profiles"].push_back({{"mode", profile.name}, {"curve", profile.curve}, {"values", profile.values}});
    }
    return json;
}

Json patient_json(const PatientStory& story) {
    Json json{{"id", story.id}, {"site", story.site}, {"components", Json::array()}};
    for (std::size_t r = 0; r < story.components.size(); ++r) {
        const PatientComponent& one = story.components[r];
        json["components"].push_back(
            {{"number", r + 1}, {"score", one.score}, {"deviation", one.deviation}, {"above", one.above}});
    }
    json["unusual"] = Json::array();
    for (const Index r : story.unusual) json["unusual"].push_back(r + 1);
    json["made_of"] = entries_json(story.made_of);
    json["nearest"] = Json::array();
    for (const NearPatient& near : story.nearest)
        json["nearest"].push_back({{"id", near.id}, {"distance", near.distance}});
    return json;
}

Json drift_json(const Drift& drift) {
    Json json{{"overlap", drift.overlap}, {"changes", Json::array()}};
    for (const Change& change : drift.changes) {
        Json one{{"before", change.before < 0 ? Json() : Json(change.before + 1)},
                 {"after", change.after < 0 ? Json() : Json(change.after + 1)},
                 {"agreement", change.agreement},
                 {"share_before", change.share_before},
                 {"share_after", change.share_after},
                 {"gained", entries_json(change.gained)},
                 {"lost", entries_json(change.lost)}};
        json["changes"].push_back(std::move(one));
    }
    return json;
}

}  // namespace

nlohmann::ordered_json explanation_json(const Explanation& explanation, const Told& told) {
    const Findings& findings = explanation.findings;
    Json json{{"result", findings.source},
              {"rotation", explanation.rotation == Rotation::varimax ? "varimax" : "none"},
              {"share_of", findings.shares_of_data ? "data" : "explained"},
              {"explained", explanation.explained},
              {"sites", Json::array()}};
    if (!findings.model.empty()) json["model"] = findings.model;
    if (findings.rse) json["rse"] = *findings.rse;
    if (findings.weighting.weighted()) json["weight"] = to_string(findings.weighting.weight);
    if (explanation.evidence) json["phenotypes"] = explanation.phenotypes();
    for (std::size_t k = 0; k < findings.sites.size(); ++k) {
        json["sites"].push_back({{"name", findings.sites[k].name},
                                 {"patients", findings.sites[k].scores.rows()},
                                 {"explained", explanation.site_explained[k]}});
    }
    if (!findings.gains.empty()) {
        json["gain"] = Json::array();
        for (const SiteGain& gain : findings.gains) {
            json["gain"].push_back({{"client", gain.name}, {"alone", gain.alone}, {"together", gain.together}});
        }
    }
    json["components"] = Json::array();
    for (std::size_t r = 0; r < explanation.components.size(); ++r)
        json["components"].push_back(component_json(explanation, r));
    if (told.resamples > 0) json["resamples"] = told.resamples;
    if (told.patient) json["patient"] = patient_json(*told.patient);
    if (told.drift) json["drift"] = drift_json(*told.drift);
    return json;
}

std::string explanation_csv(const Explanation& explanation) {
    const Schema& schema = explanation.findings.schema;
    std::string text = "component,share,stability";
    for (Index mode = 0; mode < schema.features.order(); ++mode) text += "," + safe_csv_field(mode_name(schema, mode));
    text += ",weight,lift,patients\n";
    for (std::size_t r = 0; r < explanation.components.size(); ++r) {
        const Component& component = explanation.components[r];
        for (const NamedEntry& entry : component.entries) {
            text +=
                fmt::format("{},{},{}", r + 1, std::isnan(component.share) ? "" : fmt::format("{}", component.share),
                            component.stability ? fmt::format("{}", *component.stability) : "");
            for (const std::string& label : entry.labels) text += "," + safe_csv_field(label);
            text += fmt::format(",{},{},{}\n", entry.weight, entry.lift ? fmt::format("{}", *entry.lift) : "",
                                entry.patients > 0 ? fmt::format("{}", entry.patients) : "");
        }
    }
    return text;
}

std::string percent_text(double share) {
    if (std::isnan(share)) return "not known";
    const double percent = 100 * share;
    if (percent != 0 && std::abs(percent) < 0.95) return fmt::format("{:.2g}%", percent);
    return std::abs(percent) < 9.95 ? fmt::format("{:.1f}%", percent) : fmt::format("{:.0f}%", percent);
}

}  // namespace couplet
