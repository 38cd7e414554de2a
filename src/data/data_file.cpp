#include "couplet/data/data_file.hpp"

#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;

struct Published {
    const char* folder;
    const char* name;
    const char* origin;
    std::optional<Index> rows = {};
};

Published published(DataFile file) {
    constexpr const char* synthea = "Synthea's generator writes it with exporter.csv.export = true";
    switch (file) {
        case DataFile::ecg:
            return {"ecg", "ecg.csv", "it is on Kaggle as devavratatripathy/ecg-dataset", 4'998};
        case DataFile::ecg_classes:
            return {"ecg", "ecg_csv_row_class5.csv",
                    "it matches the rows of ecg.csv to the classes of UCR ECG5000, with columns ecg_csv_row and class5",
                    4'998};
        case DataFile::diabetes:
            return {"diabetes", "diabetes_012_health_indicators_BRFSS2015.csv",
                    "it is on Kaggle as alexteboul/diabetes-health-indicators-dataset", 253'680};
        case DataFile::cms:
            return {"cms_synpuf", "cms1k_dense.csv", "it is in the FedGTF-EF repository on GitHub", 136'255};
        case DataFile::synthea_patients:
            return {"synthea_1k", "patients.csv", synthea};
        case DataFile::synthea_conditions:
            return {"synthea_1k", "conditions.csv", synthea};
        case DataFile::synthea_medications:
            return {"synthea_1k", "medications.csv", synthea};
    }
    throw InputError({"data file", std::to_string(static_cast<int>(file)), "a known file", ""});
}

bool is_file(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

}  // namespace

std::string data_file_origin(DataFile file) { return published(file).origin; }

std::optional<Index> published_rows(DataFile file) { return published(file).rows; }

fs::path find_data_file(DataFile file, const std::optional<fs::path>& place) {
    const Published what = published(file);
    const std::string name = what.name;
    const char* variable = std::getenv("COUPLET_DATA");
    const bool from_variable = !place.has_value();
    if (from_variable && (variable == nullptr || *variable == '\0')) {
        throw InputError({name, "no folder to look in: COUPLET_DATA is not set", "the file or its folder",
                          "Name it with `data`, or set COUPLET_DATA; " + std::string(what.origin) + "."});
    }
    fs::path root = from_variable ? fs::path(variable) : *place;
    if (is_file(root)) return root;
    for (const fs::path& folder : {root, root / what.folder}) {
        for (const char* ending : {"", ".gz"}) {
            fs::path candidate = folder / (name + ending);
            if (is_file(candidate)) return candidate;
        }
    }
    std::error_code ignored;
    const std::string where = (from_variable ? "COUPLET_DATA=" : "") + root.string();
    if (!fs::is_directory(root, ignored)) {
        throw InputError({where, "no such file or folder", "the folder of " + name,
                          "Check the path; " + std::string(what.origin) + "."});
    }
    throw InputError({where, "neither " + name + " nor " + name + ".gz, here or in " + what.folder + "/", "one of them",
                      "Put the file there; " + std::string(what.origin) + "."});
}

}  // namespace couplet
