#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// The public files that the builders know.
enum class DataFile { ecg, ecg_classes, diabetes, cms, synthea_patients, synthea_conditions, synthea_medications };

/// Where a file is. `place` is the file itself, or a folder that holds it directly or in its usual subfolder (ecg,
/// diabetes, cms_synpuf, synthea_1k). Without `place` the folder named by the environment variable COUPLET_DATA is
/// used. The name may end in .csv or .csv.gz. Throws InputError that says where one gets the file.
std::filesystem::path find_data_file(DataFile file, const std::optional<std::filesystem::path>& place = {});

/// Where one gets the file, as a clause: "it is on Kaggle as ...".
std::string data_file_origin(DataFile file);

/// Rows of data, without a header, of the one file that everybody downloads; nothing for those that differ, as the
/// exports of Synthea.
std::optional<Index> published_rows(DataFile file);

}  // namespace couplet
