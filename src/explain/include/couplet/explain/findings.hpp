#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "couplet/tensor/schema.hpp"
#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// One site's patients in the coordinates of the features.
struct SiteScores {
    std::string name = {};
    Matrix<double> scores = {};  ///< patients x R1
    double norm2 = 0;            ///< of its data; of what the features explain where the data's is not told
};

/// What a site gains by joining: relative squared errors on patients that nobody has learnt from.
struct SiteGain {
    std::string name = {};
    double alone = 0;     ///< with features that the site learnt by itself
    double together = 0;  ///< with those of the federation
    friend bool operator==(const SiteGain&, const SiteGain&) = default;
};

/// What a federation found, ready to be explained: orthonormal features and everybody's coordinates in them.
struct Findings {
    std::string source = {};
    Schema schema = {};
    Matrix<double> rows = {};  ///< R1 x (I2 ... IN), orthonormal
    std::vector<SiteScores> sites = {};
    bool shares_of_data = false;       ///< norm2 is that of the data
    bool centred = false;              ///< the features' means were taken out first
    std::optional<double> rse = {};    ///< of the fit
    std::vector<SiteGain> gains = {};  ///< by site; empty where it was not measured
};

/// Reads a folder that couplet simulate -o wrote or the result of a client or peer (features.npz with personal.npz,
/// personal_1.npz, ... beside it), or features.npz alone. Throws InputError for anything else, and for features of more
/// than 2^28 numbers when written out.
Findings load_findings(const std::filesystem::path& result);

/// The features of a train (R1 open) as orthonormal rows; `change` (R1 x R1) takes coordinates in the train's own rows
/// to coordinates in these: scores = personal * change.
struct OrthonormalRows {
    Matrix<double> rows;
    Matrix<double> change;
};
OrthonormalRows orthonormal_rows(const TensorTrain<double>& features, const std::string& where);

}  // namespace couplet
