#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "couplet/ctt/centring.hpp"
#include "couplet/ctt/job.hpp"
#include "couplet/io/model.hpp"
#include "couplet/tensor/schema.hpp"
#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// One site's patients in the coordinates of the features.
struct SiteScores {
    std::string name = {};
    Matrix<double> scores = {};  ///< patients x R1
    double norm2 = 0;            ///< of its data; of what the features explain where a site's data is not told
    std::string data = {};       ///< data_print() of its tensor; empty where that is not told
    double explained = 0;        ///< of a model: part of norm2 that all its components explain together
};

/// What a site gains by joining: relative squared errors on patients that nobody has learnt from.
struct SiteGain {
    std::string name = {};
    double alone = 0;     ///< with features that the site learnt by itself
    double together = 0;  ///< with those of the federation
    friend bool operator==(const SiteGain&, const SiteGain&) = default;
};

/// What of a job decides which features it gives; the defaults where a result does not say.
struct Fit {
    std::string method = "ctt";
    std::optional<Aggregate> aggregate = {};
    bool scale_clients = false;
    bool refit = true;     ///< personal cores are projections of the data
    bool clipped = false;  ///< of records that were made smaller
    std::optional<double> eps1 = {};
    std::optional<double> eps2 = {};
};

/// What a federation found, ready to be explained: orthonormal features and everybody's coordinates in them.
struct Findings {
    std::string source = {};
    std::string model = {};  ///< of couplet factor: pca, cp, nncp or tucker; empty: the federation's own features
    Schema schema = {};
    Matrix<double> rows = {};  ///< R1 x (I2 ... IN), orthonormal; of a model of norm 1
    /// R1 x R1: sums of squares and products of all patients' coordinates, as the features alone tell them, so that
    /// every party has the same; empty where they are not told.
    Matrix<double> energy = {};
    std::vector<SiteScores> sites = {};
    int exponent = 0;             ///< scores and norms are of the data times 2^-exponent, so that squares can be added
    bool shares_of_data = false;  ///< norm2 is that of the data
    bool centred = false;         ///< the features' means were taken out first
    bool scaled = false;          ///< and their deviations made 1
    Centring weighting = {};      ///< of modes that were centred and weighted; empty where they were not
    Fit fit = {};                 ///< how they came about
    std::string left_sites = {};  ///< what was sent to find them, as a sentence; empty where it is not told
    Index clients = 0;            ///< who took part; 0 where it is not told
    std::optional<double> rse = {};          ///< of the fit
    std::vector<SiteGain> gains = {};        ///< by site; empty where it was not measured
    std::vector<std::string> unmarked = {};  ///< personal cores of which nothing says that they are of these features
};

/// Reads a folder that couplet simulate -o wrote, the result of a client or peer, or factors.npz with loadings_<k>.npz
/// that couplet factor wrote (features.npz with personal.npz, personal_1.npz, ... beside it), or features.npz alone.
/// Throws InputError for anything else, where the core of one of several sites is missing, for features of more than
/// 2^28 numbers when written out, and for sites whose magnitudes are too far apart for one share of all.
Findings load_findings(const std::filesystem::path& result);

/// Throws InputError, naming both files, where a personal core is of other features than these: it says of which it is,
/// or of which job, or is not the core that a simulation's features list. False where neither file says enough to tell,
/// as those of older versions.
bool require_same_run(const Model<double>& features, const std::string& features_file, const Model<double>& personal,
                      const std::string& personal_file);

/// The features of a train (R1 open) as orthonormal rows; `change` (R1 x R1) takes coordinates in the train's own rows
/// to coordinates in these: scores = personal * change. A train that has its singular values has the energy of the
/// patients' coordinates in the rows, change^T change.
struct OrthonormalRows {
    Matrix<double> rows;
    Matrix<double> change;
};
OrthonormalRows orthonormal_rows(const TensorTrain<double>& features, const std::string& where);

}  // namespace couplet
