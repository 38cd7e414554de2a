#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/progress.hpp"
#include "couplet/models/merged_rows.hpp"

namespace couplet {

/// - pca: the leading directions of the merge.
/// - cp: sums of products of one vector per mode (CANDECOMP/PARAFAC), by alternating least squares with extrapolation.
/// - nncp: the same with non-negative factors and, at the sites, non-negative loadings, by HALS.
/// - tucker: an orthonormal basis per mode and a core, by orthogonal iteration (HOOI).
enum class FactorModel { pca, cp, nncp, tucker };

FactorModel parse_factor_model(std::string_view name);
std::string_view to_string(FactorModel model) noexcept;

struct FactorOptions {
    FactorModel model = FactorModel::cp;
    Index components = 1;  ///< of Tucker: in every mode, as far as it is that large
    Index starts = 4;
    Index sweeps = 500;       ///< at most, of each start
    double tolerance = 1e-9;  ///< a start ends when a sweep gains less than this part of ||S||^2
    double ridge = 1e-10;     ///< on the components' squared norms, relative to ||S||^2: what keeps them from diverging
    std::uint64_t seed = 0;
};

/// A model of the feature modes; patients come to it by loadings (see loadings.hpp): X(p, ...) ~ sum_r loadings(p, r)
/// rows(r, ...).
struct Factors {
    FactorModel model = FactorModel::cp;
    TensorTrain<double> rows = TensorTrain<double>();  ///< R x I2 x ... x IN: what one unit of a loading stands for
    std::vector<Matrix<double>> factors = {};  ///< I_n x R_n, columns of norm 1; one per feature mode, none of PCA
    std::vector<double> weights = {};          ///< norm of each component over all patients, descending
    std::optional<Tensor<double>> core = {};   ///< Tucker: R_1 x R_2 x ... x R_N
    double rel_error = 0;                      ///< ||S (I - QQ^T)|| / ||S||, Q a basis of the rows: with free loadings
    double ridge = 0;                          ///< that this took; above that of the options where components cancelled
    Index sweeps = 0;                          ///< of the best start
    bool converged = true;
    std::vector<std::vector<Matrix<double>>> others = {};  ///< factors of the other starts, best first
    std::vector<double> start_errors = {};                 ///< rel_error as each start minimised it, ascending
};

/// Two components that cancel each other.
struct Cancelling {
    Index first = 0;
    Index second = 0;
    double congruence = 0;  ///< of both, over all modes: near -1
    double growth = 0;      ///< squares of all components over that of their sum
};

/// Fits a model to the merged rows. The same rows and options give the same bits at every party and for every number
/// of threads. Signs: the entry of largest magnitude of each column is positive. Components in descending order of
/// weight.
///
/// A start whose components grow while they cancel (a degenerate solution: no best one exists) is fitted again with a
/// ridge, up to one of 0.01; where that does not help the two components are named in a RunError.
///
/// Throws InputError for no component, for more than the merge has directions (it then names the rank that would do),
/// and for a Tucker core of more than 2^24 numbers.
Factors fit_factors(const MergedRows& rows, const FactorOptions& options);

/// V QQ^T V^T (R1 x R1), Q an orthonormal basis of the model's rows: with it the error of the model on patients with
/// the second moment M in these features' coordinates is tr(M) - tr(M captured).
Matrix<double> captured(const TensorTrain<double>& features, const TensorTrain<double>& model_rows);

/// ||S (I - QQ^T)|| / ||S|| for these rows; 0 where they are zeros.
double rel_error_on(const MergedRows& rows, const Matrix<double>& captured);

/// A bound of ||X (I - QQ^T)|| / ||X|| over all patients X, from the error on S and the merge's certificate ||X - U S||
/// <= bound ||X||, U with orthonormal columns. ||X (I - QQ^T)|| <= ||S (I - QQ^T)|| + bound ||X|| and ||S|| <= (1 +
/// bound) ||X||; at most 1, as a projection loses no more.
double certified_error(double rel_error_on_rows, double merge_bound);

/// The same where the patients' own projections G V are known, of squared relative error `rse`, with X = G V + E and E
/// V^T = 0: the smaller of
///     ||G V (I - QQ^T)|| + ||E||                          (the triangle inequality), and
///     sqrt(||X||^2 - (||G V Q|| - sine ||E||)^2),
/// sine the largest angle's between Q and V, as E Q = E (I - V^T V) Q. Of PCA, inside V, it is the error itself.
double certified_error_of_patients(double rel_error_on_patients, double rse, double sine);

/// The sine of the largest angle between a model's rows, so many, and the features.
double largest_sine(const Matrix<double>& captured, Index rows);

/// Whether the data has negative entries to speak of: the leading direction of a non-negative second moment has one
/// sign (Perron). False also where the features are too many to look at (2^24).
bool looks_signed(const MergedRows& rows);

}  // namespace couplet
