#pragma once

#include <optional>
#include <span>
#include <vector>

#include "couplet/ctt/centring.hpp"
#include "couplet/tensor/schema.hpp"

namespace couplet {

/// How many patients have which labels, alone and together: what a title may say rests on it.
struct Evidence {
    Shape features = {};
    Index patients = 0;
    std::vector<double> together = {};            ///< of every cell the part of the patients who have it
    std::vector<std::vector<double>> alone = {};  ///< of every label of each mode
    std::vector<Index> any_at = {};  ///< of each mode the label that every patient has; empty: there is none
    /// Deviations that independent labels are within in every cell of such a table.
    double least_deviations = 0;
};

/// A cell's labels count as coming together when they do so at least this many times as often as independent ones
/// would, in at least `least_cell` patients, and beyond what chance does somewhere in such a table.
inline constexpr double least_lift = 1.2;

/// Of the sums that a weighted federation made (couplet/ctt/weighting.hpp); nothing of other centrings, of which sums
/// of departures are all that is known.
std::optional<Evidence> evidence_of(const Centring& centring, const Shape& features);
/// Of the data itself, feature modes in one order; nothing where it has one feature mode, or entries that are no
/// presences. Without a label that every patient has, a label is had by whom some cell of it is.
std::optional<Evidence> evidence_of(std::span<const Tensor<double>> clients, const Schema& schema);

/// How many times as often as independent ones the labels of a cell come together; 0 where that is not told.
double lift(const Evidence& evidence, std::span<const Index> cell);
/// Patients who have all labels of a cell, of all sites; 0 where they are fewer than are told.
Index patients_with(const Evidence& evidence, std::span<const Index> cell);
/// Whether a title may name these labels together.
bool come_together(const Evidence& evidence, std::span<const Index> cell);

}  // namespace couplet
