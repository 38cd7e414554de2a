#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// A federation of three hospitals, made up.
struct HospitalOptions {
    Index patients = 1000;  ///< of all hospitals; at least 30
    double gaps = 0.2;      ///< part of the laboratory values that are empty cells, at random
    std::uint64_t seed = 0;
};

/// A hospital and its files, each under its name in the folder.
struct HospitalFiles {
    std::string name = {};
    Index patients = 0;
    std::vector<std::string> files = {};
};

/// Writes the tables of three hospitals, as hospitals have them: diagnoses and prescriptions as events, laboratory
/// values as a wide table in mixed units with empty cells. north has the shared codes; south and west have codes of
/// their own and a list (codes.csv) of what they are among the shared ones; south has other names of columns,
/// semicolons and some events without a code. truth.json tells by which rules they were made: six phenotypes, each a
/// set of conditions, medications and laboratory shifts that come together in a part of the patients, and frequent
/// codes that are independent of everything. Equal options give equal files. Throws InputError for files that are there
/// already unless `overwrite`; nothing is half-written.
std::vector<HospitalFiles> write_hospitals(const std::filesystem::path& folder, const HospitalOptions& options,
                                           bool overwrite);

}  // namespace couplet
