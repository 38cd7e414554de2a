#include "missing_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "couplet/core/error.hpp"
#include "format.hpp"

namespace couplet::cli {
namespace {

std::string validation_text(const MissingReport& missing) {
    if (!missing.rse_validation) return "no known entry could be spared to validate what was filled in";
    std::string text =
        fmt::format("RSE {} on {} known entries that the features did not see; {} for each feature's mean",
                    number_text(*missing.rse_validation),
                    count_text(static_cast<Index>(std::llround(missing.validation))), number_text(*missing.rse_means));
    if (*missing.rse_validation > *missing.rse_means) {
        text +=
            ". The model predicts them worse than the means do: do not use it for single entries; try another "
            "--rank";
    }
    return text;
}

std::string between_text(double means_weight) {
    if (means_weight == 0) return "by the model alone";
    if (means_weight == 1) return "with each feature's mean at the client, to which the model is then fitted too";
    return fmt::format("by the model, drawn to each feature's mean with weight {}", number_text(means_weight));
}

}  // namespace

Json missing_json(const MissingReport& missing) {
    Json json{{"fraction", missing.fraction},
              {"iterations", missing.iterations},
              {"change", missing.change},
              {"settled", missing.settled},
              {"means_weight", missing.means_weight},
              {"validation", static_cast<Index>(std::llround(missing.validation))}};
    if (missing.rse_validation) {
        json["rse_validation"] = *missing.rse_validation;
        json["rse_means"] = *missing.rse_means;
    }
    return json;
}

std::string unknown_text(const UnknownParts& unknown) {
    std::vector<std::string> parts;
    if (unknown.features > 0) {
        parts.push_back(fmt::format("{} {} known of nobody", count_text(unknown.features),
                                    unknown.features == 1 ? "feature is" : "features are"));
    }
    constexpr std::size_t most_named = 8;
    const std::size_t clients = unknown.clients.size();
    if (clients > 0) {
        std::vector<Index> named;
        for (std::size_t i = 0; i < std::min(clients, most_named); ++i) named.push_back(unknown.clients[i] + 1);
        const std::string more = clients > most_named ? fmt::format(" and {} more", clients - most_named) : "";
        parts.push_back(fmt::format("client{} {}{} know{} not one entry", clients == 1 ? "" : "s",
                                    fmt::join(named, ", "), more, clients == 1 ? "s" : ""));
    }
    if (parts.empty()) return "";
    return fmt::format("{}: the zeros there are nobody's data, and count in no error", fmt::join(parts, ", and "));
}

std::vector<std::pair<std::string, std::string>> missing_rows(const MissingReport& missing) {
    if (missing.fraction == 0) return {{"missing", "nothing"}};
    return {{"missing", fmt::format("{:.1f}% of the entries, filled in {} iterations {}", 100 * missing.fraction,
                                    count_text(missing.iterations), between_text(missing.means_weight))},
            {"settled", missing.settled ? fmt::format("yes: last relative change {}", number_text(missing.change))
                                        : fmt::format("NO: the filled values still move by {} of the norm",
                                                      number_text(missing.change))},
            {"validation", validation_text(missing)}};
}

void require_settled(const std::optional<MissingReport>& missing) {
    if (!missing || missing->settled) return;
    throw RunError({"--missing impute",
                    fmt::format("not settled after {} iterations: the filled values still move by {} of the norm",
                                count_text(missing->iterations), number_text(missing->change)),
                    "a relative change of at most 1e-5",
                    "The result is there and says so; a smaller --rank settles sooner."});
}

}  // namespace couplet::cli
