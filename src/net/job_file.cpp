#include "job_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "couplet/core/error.hpp"
#include "couplet/io/schema_file.hpp"

namespace couplet::net {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> phase_names{"joining", "running", "delivering", "closed"};

std::string_view sketch_name(Sketch sketch) {
    return sketch == Sketch::automatic ? "auto" : sketch == Sketch::random ? "random" : "gram";
}

Json shield_json(const ShieldTerms& terms) {
    Json json{{"policy", terms.policy}, {"colluders", terms.colluders}};
    if (terms.guarantee) {
        json["dp_epsilon"] = terms.guarantee->epsilon;
        json["dp_delta"] = terms.guarantee->delta;
        json["dp_noise"] = to_string(terms.noise);
    }
    if (terms.clip) json["clip"] = *terms.clip;
    if (terms.mu) json["mu"] = *terms.mu;
    return json;
}

ShieldTerms parse_shield(const Json& json) {
    ShieldTerms terms{.policy = json.at("policy"), .colluders = json.at("colluders")};
    if (json.contains("dp_epsilon")) {
        terms.guarantee = PrivacyGuarantee{json.at("dp_epsilon"), json.at("dp_delta")};
        terms.noise = json.at("dp_noise") == "local" ? NoisePlace::local : NoisePlace::distributed;
    }
    if (json.contains("clip")) terms.clip = json.at("clip").get<double>();
    if (json.contains("mu")) terms.mu = json.at("mu").get<double>();
    return terms;
}

wire::JobSpec parse_spec(const Json& json) {
    wire::JobSpec spec;
    Job& job = spec.job;
    job.aggregate = parse_aggregate(json.at("aggregate").get<std::string>());
    if (json.contains("rank")) job.rank = json.at("rank").get<Index>();
    if (json.contains("eps")) job.eps = json.at("eps").get<double>();
    job.eps1 = json.at("eps1");
    job.eps2 = json.at("eps2");
    job.refit = json.at("refit");
    job.precision = parse_precision(json.at("precision").get<std::string>());
    if (json.contains("bytes")) job.bytes = json.at("bytes").get<Index>();
    if (json.contains("bytes_total")) job.bytes_total = json.at("bytes_total").get<Index>();
    job.sketch = parse_sketch(json.at("sketch").get<std::string>());
    job.passes = json.at("passes");
    job.oversampling = json.at("oversampling");
    job.seed = json.at("seed");
    spec.preparation.scale_clients = json.at("scale_clients");
    spec.preparation.heldout = json.at("heldout");
    if (json.contains("missing")) {
        const Json& limits = json.at("missing");
        spec.missing = CompletionLimits{limits.at("max_iterations"), limits.at("tolerance")};
    }
    job.unnamed = parse_unnamed(json.at("unnamed").get<std::string>());
    if (json.contains("shield")) spec.shield = parse_shield(json.at("shield"));
    spec.centring = {.centre = json.value("centre", false),
                     .scale = json.value("scale", false),
                     .weight = parse_weight(json.value("weight", std::string("none")))};
    return spec;
}

Json noise_json(const NoisePlan& noise) {
    return {{"epsilon", noise.guarantee.epsilon},
            {"delta", noise.guarantee.delta},
            {"place", to_string(noise.place)},
            {"clip", noise.clip},
            {"releases", noise.releases},
            {"sigma", noise.sigma},
            {"own", noise.own},
            {"in_sum", noise.in_sum},
            {"rho", noise.rho}};
}

NoisePlan parse_noise(const Json& json) {
    const NoisePlace place = json.at("place") == "local" ? NoisePlace::local : NoisePlace::distributed;
    return {{json.at("epsilon"), json.at("delta")},
            place,
            json.at("clip"),
            json.at("releases"),
            json.at("sigma"),
            json.at("own"),
            json.at("in_sum"),
            json.at("rho")};
}

Json shielded_json(const ShieldReport& report) {
    Json json{{"policy", report.policy},    {"threshold", report.threshold},   {"ring_bits", report.ring_bits},
              {"sums", report.sums},        {"directions", report.directions}, {"changes", report.changes},
              {"warnings", report.warnings}};
    if (report.clip) json["clip"] = *report.clip;
    if (report.noise) json["noise"] = noise_json(*report.noise);
    if (report.mu) json["mu"] = *report.mu;
    if (report.error) json["error"] = {report.error->rse, report.error->low, report.error->high};
    return json;
}

ShieldReport parse_shielded(const Json& json) {
    ShieldReport report;
    report.secure = true;
    report.policy = json.at("policy");
    report.threshold = json.at("threshold");
    report.ring_bits = json.at("ring_bits");
    report.sums = json.at("sums");
    report.directions = json.at("directions");
    report.changes = json.at("changes").get<std::vector<std::string>>();
    report.warnings = json.at("warnings").get<std::vector<std::string>>();
    if (json.contains("clip")) report.clip = json.at("clip").get<double>();
    if (json.contains("noise")) report.noise = parse_noise(json.at("noise"));
    if (json.contains("mu")) report.mu = json.at("mu").get<double>();
    if (json.contains("error")) {
        const auto error = json.at("error").get<std::array<double, 3>>();
        report.error = BudgetError{error[0], error[1], error[2]};
    }
    return report;
}

Json sums_json(const FillSums& s) {
    return {s.entries,           s.missing,           s.validation,       s.error2,  s.known2,  s.objective,
            s.validation_error2, s.validation_means2, s.validation_norm2, s.change2, s.filled2, s.norm2};
}

FillSums parse_sums(const Json& json) {
    const auto v = json.get<std::array<double, 12>>();
    return {v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11]};
}

Json completing_json(const Completing& completing) {
    Json history = Json::array();
    for (const FillSums& sums : completing.history) history.push_back(sums_json(sums));
    return {{"base", completing.base}, {"norm2", completing.norm2}, {"history", history}};
}

Completing parse_completing(const Json& json, std::size_t members) {
    Completing completing{json.at("base"), json.at("norm2").get<std::vector<double>>(), {}};
    for (const Json& sums : json.at("history")) completing.history.push_back(parse_sums(sums));
    if (!completing.norm2.empty() && completing.norm2.size() != members) {
        throw InputError({"completing", std::to_string(completing.norm2.size()) + " norms", "one for each member", ""});
    }
    return completing;
}

Centred parse_centred(const Json& json, std::size_t members) {
    Centred centred{json.at("attempt"), json.at("norm2").get<std::vector<double>>()};
    if (centred.norm2.size() != members) {
        throw InputError({"centred", std::to_string(centred.norm2.size()) + " norms", "one for each member", ""});
    }
    return centred;
}

Json report_json(Index place, const wire::Report& report) {
    return {{"place", place},
            {"rank", report.rank},
            {"error2", report.error2},
            {"norm2", report.norm2},
            {"heldout_error2", report.heldout_error2},
            {"heldout_norm2", report.heldout_norm2},
            {"seconds", report.seconds}};
}

wire::Report parse_report(const Json& json) {
    return {json.at("rank"),           json.at("error2"),        json.at("norm2"),
            json.at("heldout_error2"), json.at("heldout_norm2"), json.at("seconds")};
}

Phase parse_phase(const std::string& name) {
    for (std::size_t i = 0; i < phase_names.size(); ++i) {
        if (phase_names[i] == name) return static_cast<Phase>(i);
    }
    throw InputError({"phase", name, "joining, running, delivering or closed", ""});
}

void require_places(const std::vector<Index>& places, std::size_t roster) {
    for (const Index place : places) {
        if (place >= 0 && place < static_cast<Index>(roster)) continue;
        throw InputError({"place", std::to_string(place), "one on the roster", ""});
    }
}

JobFile from_json(const Json& json) {
    JobFile job;
    job.id = wire::parse_job_id(json.at("job").get<std::string>());
    job.version = json.value("version", "");
    job.spec = parse_spec(json.at("spec"));
    job.roster = json.at("roster");
    job.phase = parse_phase(json.at("phase"));
    job.attempt = json.at("attempt");
    job.members = json.at("members").get<std::vector<Index>>();
    job.late = json.at("late").get<std::vector<Index>>();
    job.late_results = json.at("late_results").get<std::vector<std::uint32_t>>();
    if (job.late_results.size() != job.late.size()) {
        throw InputError({"late_results", std::to_string(job.late_results.size()), "one for each in late", ""});
    }
    job.personal_ranks = json.at("personal_ranks").get<std::vector<Index>>();
    job.result = json.at("result");
    require_places(job.members, job.roster.size());
    require_places(job.late, job.roster.size());
    for (const auto& report : json.at("reports")) {
        const Index place = report.at("place");
        require_places({place}, job.roster.size());
        job.reports[place] = parse_report(report);
    }
    job.rounds = json.at("rounds");
    if (json.contains("schema")) job.schema = parse_schema(json.at("schema"), "schema");
    job.resumed = json.at("resumed").get<std::vector<std::string>>();
    if (json.contains("completing")) job.completing = parse_completing(json.at("completing"), job.members.size());
    if (json.contains("closed")) job.closed = json.at("closed").get<std::vector<std::vector<Index>>>();
    if (json.contains("shielded")) job.shield = parse_shielded(json.at("shielded"));
    for (const auto& places : job.closed) require_places(places, job.roster.size());
    if (json.contains("centred")) job.centred = parse_centred(json.at("centred"), job.members.size());
    const Json& traffic = json.at("traffic");
    job.traffic = {traffic.at("numbers_up"), traffic.at("numbers_down"), traffic.at("bytes_up"),
                   traffic.at("bytes_down")};
    return job;
}

}  // namespace

Json spec_json(const wire::JobSpec& spec) {
    const Job& job = spec.job;
    Json json{{"aggregate", to_string(job.aggregate)}};
    if (job.rank) json["rank"] = *job.rank;
    if (job.eps) json["eps"] = *job.eps;
    json["eps1"] = job.eps1;
    json["eps2"] = job.eps2;
    json["refit"] = job.refit;
    json["precision"] = to_string(job.precision);
    if (job.bytes) json["bytes"] = *job.bytes;
    if (job.bytes_total) json["bytes_total"] = *job.bytes_total;
    json["sketch"] = sketch_name(job.sketch);
    json["passes"] = job.passes;
    json["oversampling"] = job.oversampling;
    json["seed"] = job.seed;
    json["scale_clients"] = spec.preparation.scale_clients;
    json["heldout"] = spec.preparation.heldout;
    if (spec.missing) {
        json["missing"] = {{"max_iterations", spec.missing->max_iterations}, {"tolerance", spec.missing->tolerance}};
    }
    json["unnamed"] = to_string(job.unnamed);
    if (spec.shield) json["shield"] = shield_json(*spec.shield);
    if (spec.centring.centre) json["centre"] = true;
    if (spec.centring.scale) json["scale"] = true;
    if (spec.centring.weight != Weight::none) json["weight"] = to_string(spec.centring.weight);
    return json;
}

Traffic& Traffic::operator+=(const Traffic& more) noexcept {
    numbers_up += more.numbers_up;
    numbers_down += more.numbers_down;
    bytes_up += more.bytes_up;
    bytes_down += more.bytes_down;
    return *this;
}

std::string_view to_string(Phase phase) noexcept { return phase_names[static_cast<std::size_t>(phase)]; }

std::vector<Index> JobFile::unreported() const {
    std::vector<Index> places;
    for (const auto* group : {&members, &late}) {
        std::copy_if(group->begin(), group->end(), std::back_inserter(places),
                     [this](Index place) { return !reports.contains(place); });
    }
    return places;
}

std::vector<Index> JobFile::absent() const {
    std::set<Index> in(members.begin(), members.end());
    in.insert(late.begin(), late.end());
    std::vector<Index> places;
    for (Index place = 0; place < static_cast<Index>(roster.size()); ++place) {
        if (!in.contains(place)) places.push_back(place);
    }
    return places;
}

std::vector<std::size_t> JobFile::still_resumed() const {
    std::set<std::string> again;
    for (const auto* group : {&members, &late}) {
        for (const Index place : *group) again.insert(roster[static_cast<std::size_t>(place)]);
    }
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < resumed.size(); ++i) {
        if (!again.contains(resumed[i])) places.push_back(i);
    }
    return places;
}

std::string job_file_text(const JobFile& job) {
    Json reports = Json::array();
    for (const auto& [place, report] : job.reports) reports.push_back(report_json(place, report));
    const Traffic& t = job.traffic;
    Json json{{"job", wire::to_hex(job.id)},
              {"version", job.version},
              {"spec", spec_json(job.spec)},
              {"roster", job.roster},
              {"phase", to_string(job.phase)},
              {"attempt", job.attempt},
              {"members", job.members},
              {"late", job.late},
              {"late_results", job.late_results},
              {"personal_ranks", job.personal_ranks},
              {"result", job.result},
              {"reports", reports},
              {"rounds", job.rounds},
              {"resumed", job.resumed},
              {"traffic",
               {{"numbers_up", t.numbers_up},
                {"numbers_down", t.numbers_down},
                {"bytes_up", t.bytes_up},
                {"bytes_down", t.bytes_down}}}};
    if (job.schema) json["schema"] = schema_json(*job.schema);
    if (job.spec.shield) json["closed"] = job.closed;
    if (job.shield) json["shielded"] = shielded_json(*job.shield);
    if (job.spec.missing) json["completing"] = completing_json(job.completing);
    if (job.centred.attempt != 0) {
        json["centred"] = {{"attempt", job.centred.attempt}, {"norm2", job.centred.norm2}};
    }
    return json.dump(1) + "\n";
}

JobFile parse_job_file(const std::string& text, const std::string& where) {
    const std::string remedy = "Remove the folder it is in to begin a new job.";
    try {
        return from_json(Json::parse(text));
    } catch (const Json::exception& error) {
        throw InputError({where, error.what(), "the job that a coordinator wrote", remedy});
    } catch (const InputError& error) {
        throw InputError({where, error.parts().where + " " + error.parts().found, error.parts().expected, remedy});
    }
}

std::string difference(const wire::JobSpec& a, const wire::JobSpec& b) {
    const Json left = spec_json(a);
    const Json right = spec_json(b);
    std::string text;
    const auto compare = [&](const std::string& key) {
        const std::string x = left.contains(key) ? left[key].dump() : "none";
        const std::string y = right.contains(key) ? right[key].dump() : "none";
        if (x != y) text += fmt::format("{}{} {} instead of {}", text.empty() ? "" : ", ", key, y, x);
    };
    for (const auto& [key, value] : left.items()) compare(key);
    for (const auto& [key, value] : right.items()) {
        if (!left.contains(key)) compare(key);
    }
    return text;
}

}  // namespace couplet::net
