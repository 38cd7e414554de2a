#pragma once

#include <optional>
#include <span>
#include <vector>

#include "couplet/core/progress.hpp"
#include "couplet/models/agreement.hpp"

namespace couplet {

struct ChoiceOptions {
    FactorOptions fit = {};  ///< its `components` are tried from 1 on
    Index most = 10;
    Index resamples = 4;  ///< splits of the patients of every site in halves
};

/// One number of components.
struct ChoicePoint {
    Index components = 0;
    double rel_error = 0;                 ///< on the merged rows
    std::optional<double> held_out = {};  ///< on the halves that were not fitted to, mean
    double agreement = 0;       ///< of the component that agrees least, corrected for chance; mean over resamples
    double mean_agreement = 0;  ///< of all components
    std::optional<double> consistency = {};  ///< CP's core consistency (Bro and Kiers 2003), 1 is best; where it exists
    bool degenerate = false;                 ///< components cancel each other: nothing else is known
    bool stable = false;
};

struct Choice {
    Index components = 0;    ///< the largest that is stable; 0: nothing is
    bool resampled = false;  ///< halves of patients were compared; otherwise only starts, which says less
    std::vector<ChoicePoint> points = {};
};

/// Least corrected agreement of the least stable component that counts as stable.
inline constexpr double stable_agreement = 0.75;
/// Components whose core is less consistent than this are not products.
inline constexpr double least_consistency = 0.5;

/// Tries 1, 2, ... components. `personal`: coordinates of all sites' patients in the features (their personal cores),
/// where somebody has all of them; each resample fits every half anew, from starts of its own, and the fits have to
/// agree. Without them the starts of one fit have to. Deterministic, whatever the number of threads.
Choice choose_components(const MergedRows& rows, std::span<const MatrixView<const double>> personal,
                         const ChoiceOptions& options, const ProgressSink& progress = {});

/// 1 - ||core - identity||^2 / R of the least squares core of a CP; nothing where a mode has fewer entries than there
/// are components, or where that core has more than 2^22 numbers.
std::optional<double> core_consistency(const MergedRows& rows, const Factors& factors);

/// Agreement of each component of a fit with fits to halves of the patients: mean over the halves of all resamples.
struct Replicability {
    std::vector<double> congruence = {};
    double chance = 0;
};
Replicability replicate(const MergedRows& rows, std::span<const MatrixView<const double>> personal,
                        const Factors& factors, const FactorOptions& options, Index resamples);

}  // namespace couplet
