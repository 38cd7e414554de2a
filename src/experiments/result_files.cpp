#include "couplet/experiments/result_files.hpp"

#include <fmt/format.h>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

using Json = nlohmann::ordered_json;

Json axis_json(const Axis& axis) { return {{"label", axis.label}, {"log", axis.log}}; }

Axis axis_from(const Json& json) { return {json.at("label"), json.at("log")}; }

Json figure_json(const Figure& figure) {
    return {{"id", figure.id},
            {"title", figure.title},
            {"chart", figure.chart == Chart::lines ? "lines" : "dots"},
            {"x", axis_json(figure.x)},
            {"y", axis_json(figure.y)},
            {"own_axes", figure.own_axes}};
}

Figure figure_from(const Json& json) {
    return {json.at("id"),           json.at("title"),        json.at("chart") == "lines" ? Chart::lines : Chart::dots,
            axis_from(json.at("x")), axis_from(json.at("y")), json.value("own_axes", false)};
}

Json row_json(const Row& row) {
    Json json{{"figure", row.figure}, {"method", row.method}};
    if (!row.variant.empty()) json["variant"] = row.variant;
    if (!row.category.empty()) json["category"] = row.category;
    if (row.category.empty()) json["x"] = row.x;
    json["mean"] = row.y.mean;
    json["sd"] = row.y.sd;
    json["repeats"] = row.y.count;
    if (row.paper) json["paper"] = *row.paper;
    if (!row.note.empty()) json["note"] = row.note;
    return json;
}

Row row_from(const Json& json) {
    Row row{.figure = json.at("figure"),
            .method = json.at("method"),
            .variant = json.value("variant", ""),
            .category = json.value("category", ""),
            .x = json.value("x", 0.0),
            .y = {json.at("mean"), json.at("sd"), json.at("repeats")},
            .paper = {},
            .note = json.value("note", "")};
    if (json.contains("paper")) row.paper = json.at("paper").get<double>();
    return row;
}

Json tuning_json(const MethodTuning& tuning) {
    return {{"method", tuning.method},
            {"data", tuning.data},
            {"found_for", tuning.found_for},
            {"rank", tuning.rank},
            {"parameters", tuning.parameters}};
}

MethodTuning tuning_from(const Json& json) {
    return {json.at("method"), json.at("data"), json.at("found_for"), json.at("rank"), json.at("parameters")};
}

std::string quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string result = "\"";
    for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
    return result + "\"";
}

}  // namespace

Json to_json(const ExperimentResult& result) {
    Json json{{"name", result.name},         {"seconds", result.seconds}, {"threads", result.threads},
              {"findings", result.findings}, {"absent", result.absent},   {"tunings", Json::array()},
              {"figures", Json::array()},    {"rows", Json::array()}};
    for (const MethodTuning& tuning : result.tunings) json["tunings"].push_back(tuning_json(tuning));
    for (const Figure& figure : result.figures) json["figures"].push_back(figure_json(figure));
    for (const Row& row : result.rows) json["rows"].push_back(row_json(row));
    return json;
}

ExperimentResult result_from_json(const Json& json, const std::string& where) {
    try {
        ExperimentResult result{.name = json.at("name"), .seconds = json.at("seconds"), .threads = json.at("threads")};
        for (const Json& tuning : json.at("tunings")) result.tunings.push_back(tuning_from(tuning));
        result.findings = json.at("findings").get<std::vector<std::string>>();
        result.absent = json.at("absent").get<std::vector<std::string>>();
        for (const Json& figure : json.at("figures")) result.figures.push_back(figure_from(figure));
        for (const Json& row : json.at("rows")) result.rows.push_back(row_from(row));
        return result;
    } catch (const nlohmann::json::exception& error) {
        throw InputError({where, error.what(), "the result of an experiment", "Use `force` to compute it again."});
    }
}

std::string to_csv(const ExperimentResult& result) {
    std::string text = "figure,method,variant,category,x,mean,sd,repeats,paper,note\n";
    for (const Row& row : result.rows) {
        text +=
            fmt::format("{},{},{},{},{},{},{},{},{},{}\n", quoted(row.figure), quoted(row.method), quoted(row.variant),
                        quoted(row.category), row.category.empty() ? fmt::format("{}", row.x) : "", row.y.mean,
                        row.y.sd, row.y.count, row.paper ? fmt::format("{}", *row.paper) : "", quoted(row.note));
    }
    return text;
}

}  // namespace couplet
