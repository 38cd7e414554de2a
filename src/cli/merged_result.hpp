#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "couplet/ctt/centring.hpp"
#include "couplet/models/merged_rows.hpp"
#include "session.hpp"

namespace couplet::cli {

/// The personal core of a site beside the features.
struct SiteCore {
    std::string name;
    std::string file;
    Matrix<double> personal;  ///< patients x R1
    ModeLabels labels = {};
    nlohmann::json metadata = nlohmann::json::object();
};

/// The result of a federation as what models are fitted to.
struct MergedResult {
    std::string file;  ///< features.npz
    std::string print;
    MergedRows rows;
    Labels labels = {};
    nlohmann::json metadata = nlohmann::json::object();
    Centring centring = {};
    std::optional<double> bound = {};  ///< the merge's certificate of sqrt(rse)
    std::optional<double> rse = {};    ///< of the personal cores, where they are projections of all patients
    std::vector<SiteCore> sites = {};  ///< whose cores lie beside the features
    bool all_sites = false;

    std::vector<MatrixView<const double>> personal() const;
};

/// Reads the folder of a result, or its features.npz. Throws InputError for anything else, and for features without
/// singular values.
MergedResult read_merged_result(const std::string& path, const Session& session);

}  // namespace couplet::cli
