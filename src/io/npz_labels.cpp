#include "npz_labels.hpp"

#include <fmt/format.h>

#include <vector>

#include "couplet/core/error.hpp"

namespace couplet {

Labels read_npz_labels(const NpzReader& archive, Index first_mode, Index modes, const std::string& where) {
    Labels labels(static_cast<std::size_t>(modes));
    bool any = false;
    if (archive.contains("mode_names")) {
        const std::vector<std::string> names = archive.texts("mode_names");
        if (names.size() != labels.size()) {
            throw InputError({where, fmt::format("{} names in mode_names", names.size()),
                              fmt::format("{}, one per mode", labels.size()), "Write the file again."});
        }
        for (std::size_t i = 0; i < names.size(); ++i) labels[i].name = names[i];
        any = true;
    }
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const Index n = first_mode + static_cast<Index>(i);
        const auto read = [&](const char* what, std::vector<std::string>& texts) {
            const std::string array = fmt::format("{}_{}", what, n);
            if (!archive.contains(array)) return;
            texts = archive.texts(array);
            any = true;
        };
        read("labels", labels[i].entries);
        read("units", labels[i].units);
    }
    return any ? labels : Labels{};
}

void add_npz_labels(NpzWriter& archive, const Labels& labels, Index first_mode) {
    if (labels.empty()) return;
    std::vector<std::string> names;
    for (const ModeLabels& mode : labels) names.push_back(mode.name);
    archive.add_texts("mode_names", names);
    for (std::size_t i = 0; i < labels.size(); ++i) {
        const Index n = first_mode + static_cast<Index>(i);
        if (!labels[i].entries.empty()) archive.add_texts(fmt::format("labels_{}", n), labels[i].entries);
        if (!labels[i].units.empty()) archive.add_texts(fmt::format("units_{}", n), labels[i].units);
    }
}

}  // namespace couplet
