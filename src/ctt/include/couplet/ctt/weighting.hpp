#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "couplet/tensor/schema.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// How much a label's departure from its prevalence m counts: as it is (none: nothing is moved either), divided by
/// m^(1/4) (sqrt, the root of what pearson divides by), or by m^(1/2) (pearson: a Pearson residual of presences, which
/// favours rare labels).
enum class Weight { none, sqrt, pearson };
Weight parse_weight(std::string_view name);
std::string_view to_string(Weight weight) noexcept;

/// Where each feature mode has the label that every patient has (any_label); empty where a mode lacks it.
std::vector<Index> find_any(const Schema& schema);

/// The linear map of one feature mode: a label i becomes (x_i - mean_i x_any) scale_i, x_any becomes scale_any x_any.
/// It has an inverse.
struct ModeMap {
    Index any = 0;
    std::vector<double> mean = {};  ///< prevalences; 0 at `any`
    std::vector<double> scale = {};
};

/// Of the means of all cells of the tensor, the labels' prevalences in one mode: those of the cells that have any_label
/// in every other mode.
std::vector<double> prevalences(std::span<const double> mean, const Shape& features, std::span<const Index> any,
                                Index mode);

/// Fewer patients of all sites than these have their number withheld.
inline constexpr Index least_cell = 10;
/// The means, with 0 for cells of two labels or more that fewer than `least_cell` patients have.
std::vector<double> without_small_cells(std::vector<double> mean, const Shape& features, std::span<const Index> any,
                                        Index patients);

/// The maps of all modes. `mean` has the means of all cells over `patients`; a label that nobody has is not scaled, and
/// no label more than one that one patient has. Throws InputError, naming `where`, where the sizes do not fit or
/// any_label is not 1 in every record.
std::vector<ModeMap> mode_maps(std::span<const double> mean, const Shape& features, std::span<const Index> any,
                               Weight weight, Index patients, const std::string& where);

/// Patients of any number: their departures from what independent prevalences expect, and 0 in the cell that every
/// patient has. Cost: a pass for each mode.
Tensor<double> weighted(const TensorView<const double>& x, std::span<const ModeMap> maps);
/// The way back; the cell that every patient has is 1 again.
Tensor<double> unweighted(const TensorView<const double>& x, std::span<const ModeMap> maps);

}  // namespace couplet
