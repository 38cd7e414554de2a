#include "factor_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/explain/choice_drawing.hpp"
#include "format.hpp"
#include "layout.hpp"

namespace couplet::cli {
namespace {

double rse_of(const Loadings& loadings) { return loadings.norm2 > 0 ? loadings.error2 / loadings.norm2 : 0; }

Json choice_json(const Choice& choice) {
    Json points = Json::array();
    for (const ChoicePoint& point : choice.points) {
        Json one{{"components", point.components}, {"stable", point.stable}};
        if (point.degenerate) {
            one["degenerate"] = true;
        } else {
            one["rel_error"] = point.rel_error;
            one["agreement"] = point.agreement;
            one["mean_agreement"] = point.mean_agreement;
            if (point.held_out) one["held_out"] = *point.held_out;
            if (point.consistency) one["core_consistency"] = *point.consistency;
        }
        points.push_back(std::move(one));
    }
    return {{"components", choice.components},
            {"compared", choice.resampled ? "halves" : "starts"},
            {"reason", choice_reason(choice)},
            {"points", std::move(points)}};
}

Json agreement_json(const std::vector<double>& congruence, double chance) {
    const Agreement all{congruence, chance};
    return {{"congruence", congruence}, {"chance", chance}, {"corrected", all.corrected()}};
}

/// Mean over the starts, component by component.
Agreement mean_of(const std::vector<Agreement>& all) {
    Agreement mean{std::vector<double>(all.front().congruence.size()), 0};
    for (const Agreement& one : all) {
        for (std::size_t r = 0; r < one.congruence.size(); ++r) {
            mean.congruence[r] += one.congruence[r] / static_cast<double>(all.size());
        }
        mean.chance += one.chance / static_cast<double>(all.size());
    }
    return mean;
}

Json replicability_json(const Factored& done) {
    Json json = Json::object();
    if (!done.starts.empty()) {
        const Agreement mean = mean_of(done.starts);
        json["starts"] = agreement_json(mean.congruence, mean.chance);
    }
    if (done.halves && !done.halves->congruence.empty()) {
        json["halves"] = agreement_json(done.halves->congruence, done.halves->chance);
    }
    return json;
}

Json loadings_json(const Factored& done) {
    Json sites = Json::array();
    for (const SiteLoadings& site : done.sites) {
        Json one{{"name", site.name}, {"patients", site.loadings.values.rows()}};
        if (site.measured) one["rse"] = rse_of(site.loadings);
        sites.push_back(std::move(one));
    }
    const bool measured = measured_rse(done).has_value();
    return {{"of", measured ? "data" : "projections"},
            {"non_negative", done.factors.model == FactorModel::nncp},
            {"sites", std::move(sites)}};
}

std::string replicability_text(const Json& json, const char* key) {
    return fmt::format("{:.2f} beyond chance (chance alone {:.2f})", json[key]["corrected"].get<double>(),
                       json[key]["chance"].get<double>());
}

}  // namespace

std::optional<double> measured_rse(const Factored& done) {
    double error2 = 0;
    double norm2 = 0;
    bool any = false;
    for (const SiteLoadings& site : done.sites) {
        if (!site.measured) continue;
        any = true;
        error2 += site.loadings.error2;
        norm2 += site.loadings.norm2;
    }
    if (!any) return std::nullopt;
    return norm2 > 0 ? error2 / norm2 : 0;
}

Json factor_json(const Factored& done, const MergedResult& result) {
    const Factors& factors = done.factors;
    Json json{{"model", to_string(factors.model)},
              {"components", factors.rows.left_rank()},
              {"shape", factors.rows.shape().sizes()},
              {"rel_error", factors.rel_error}};
    if (done.bound) json["rel_error_bound"] = *done.bound;
    if (const auto rse = measured_rse(done)) json["rse"] = *rse;
    if (result.bound) json["merge_bound"] = *result.bound;
    json["weights"] = factors.weights;
    if (factors.core) json["core"] = factors.core->shape().sizes();
    if (factors.ridge > FactorOptions{}.ridge) json["ridge"] = factors.ridge;
    json["sweeps"] = factors.sweeps;
    json["converged"] = factors.converged;
    if (!factors.start_errors.empty()) json["start_errors"] = factors.start_errors;
    json["replicability"] = replicability_json(done);
    if (done.choice) json["choice"] = choice_json(*done.choice);
    if (!done.sites.empty()) json["loadings"] = loadings_json(done);
    if (!done.warnings.empty()) json["warnings"] = done.warnings;
    return json;
}

std::string factor_text(const Factored& done, const std::string& output) {
    const Factors& factors = done.factors;
    std::vector<std::pair<std::string, std::string>> rows{
        {"model", std::string(to_string(factors.model))},
        {"components", count_text(factors.rows.left_rank())},
        {"error", fmt::format("{} relative, on what was merged", number_text(factors.rel_error))}};
    if (done.choice) rows.emplace_back("why so many", choice_reason(*done.choice));
    if (done.bound) {
        rows.emplace_back("certified",
                          fmt::format("relative error at most {} over all patients{}", number_text(*done.bound),
                                      factors.model == FactorModel::nncp ? ", with free loadings" : ""));
    }
    if (const auto rse = measured_rse(done)) {
        rows.emplace_back("measured", fmt::format("relative error {} (RSE {}) on the data given",
                                                  number_text(std::sqrt(*rse)), number_text(*rse)));
    }
    if (factors.ridge > FactorOptions{}.ridge) {
        rows.emplace_back("ridge", fmt::format("{}, as components cancelled each other without", factors.ridge));
    }
    const Json replicability = replicability_json(done);
    if (replicability.contains("starts"))
        rows.emplace_back("starts agree", replicability_text(replicability, "starts"));
    if (replicability.contains("halves"))
        rows.emplace_back("halves agree", replicability_text(replicability, "halves"));
    if (!factors.converged) rows.emplace_back("", fmt::format("not converged after {} sweeps", factors.sweeps));
    if (!output.empty()) rows.emplace_back("written", output);
    return fields(rows);
}

}  // namespace couplet::cli
