#include "couplet/classify/predictions.hpp"

#include <fmt/format.h>

#include <memory>
#include <string_view>

#include "couplet/core/error.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/csv_text.hpp"
#include "couplet/io/made_folder.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

constexpr unsigned private_file = 0600;  // identifiers are nobody else's business

std::string header_of(bool named, const std::vector<std::string>& classes) {
    std::string line = named ? "row,patient,label,fold,arm,model,predicted" : "row,label,fold,arm,model,predicted";
    for (const std::string& name : classes) line += "," + csv_field("p_" + name);
    return line + "\n";
}

std::string text_of(const Evaluation& evaluation, Index site, Index first, const PredictionSite& who,
                    const std::vector<std::string>& classes) {
    std::string text = header_of(!who.patients.empty(), classes);
    for (const Outcome& outcome : evaluation.outcomes) {
        for (std::size_t i = 0; i < who.rows.size(); ++i) {
            const Index person = first + static_cast<Index>(i);
            const auto at = static_cast<std::size_t>(person);
            if (at >= evaluation.site.size() || evaluation.site[at] != site) {
                throw InputError({"predictions", "people of another site", "those of the evaluation", ""});
            }
            text += std::to_string(who.rows[i] + 1) + ",";
            if (!who.patients.empty()) text += csv_field(who.patients[i]) + ",";
            text += fmt::format("{},{},{},{},{}", csv_field(classes[static_cast<std::size_t>(evaluation.labels[at])]),
                                evaluation.fold[at] + 1, to_string(outcome.arm), to_string(outcome.model),
                                csv_field(classes[static_cast<std::size_t>(outcome.predicted[at])]));
            for (Index c = 0; c < evaluation.classes; ++c) text += fmt::format(",{}", outcome.probabilities(person, c));
            text += "\n";
        }
    }
    return text;
}

/// Files of an evaluation with more sites, which these replace.
void remove_older(const fs::path& folder, Index sites) {
    std::error_code ignored;
    while (fs::remove(folder / fmt::format("predictions_{}.csv", ++sites), ignored)) {
    }
}

}  // namespace

std::vector<fs::path> prediction_files(const fs::path& folder, Index sites) {
    std::vector<fs::path> files;
    for (Index k = 0; k < sites; ++k) files.push_back(folder / fmt::format("predictions_{}.csv", k + 1));
    return files;
}

std::vector<fs::path> write_predictions(const fs::path& folder, const Evaluation& evaluation,
                                        const std::vector<PredictionSite>& sites,
                                        const std::vector<std::string>& classes, bool overwrite) {
    const MadeFolder made(folder);
    const auto files = prediction_files(folder, static_cast<Index>(sites.size()));
    std::vector<std::unique_ptr<AtomicFile>> written;
    Index first = 0;
    for (std::size_t k = 0; k < sites.size(); ++k) {
        written.push_back(std::make_unique<AtomicFile>(files[k], overwrite, private_file));
        const std::string text = text_of(evaluation, static_cast<Index>(k), first, sites[k], classes);
        written.back()->write(std::as_bytes(std::span<const char>(text)));
        first += static_cast<Index>(sites[k].rows.size());
    }
    for (const auto& file : written) file->commit();
    if (overwrite) remove_older(folder, static_cast<Index>(sites.size()));
    return files;
}

}  // namespace couplet
