#pragma once

#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// A patient counts as recovered when a guess correlates with the record more than this, in magnitude.
inline constexpr double recovered_correlation = 0.9;

/// How many rows of `patients` (n x P) some row of `guesses` (m x P) shows. Records without any difference between
/// their features (all zero) are never recovered: there is nothing to correlate with. Cost: 2 n m P flops.
Index count_recovered(MatrixView<const double> guesses, MatrixView<const double> patients);

/// An attack on people who took part and the same on people who did not.
struct Recovery {
    Index patients = 0;
    Index recovered = 0;
    Index controls = 0;
    Index controls_recovered = 0;

    double share() const noexcept {
        return patients > 0 ? static_cast<double>(recovered) / static_cast<double>(patients) : 0;
    }
    double control_share() const noexcept {
        return controls > 0 ? static_cast<double>(controls_recovered) / static_cast<double>(controls) : 0;
    }
    /// Anybody at all, and more of them than of the controls. A record that was rebuilt is one, whatever a test of
    /// significance with few controls can say.
    bool above_control() const noexcept { return recovered > 0 && share() > control_share(); }
    /// Fisher's exact test, one-sided: how likely so many of these are patients if patients are found as controls are.
    double chance() const;
    /// More than chance finds, at 5%; without controls, anybody at all.
    bool exceeds_control() const;
    /// What a verdict rests on: more than chance finds, or, with fewer controls than could show that, a larger share.
    bool is_evidence() const { return controls < least_controls ? above_control() : exceeds_control(); }
    static constexpr Index least_controls = 20;
};

/// How many rows of `patients` are a row of `records`, in every entry.
Index count_rebuilt(MatrixView<const double> records, MatrixView<const double> patients);
/// An attack that gives records, not guesses: only a whole one counts.
Recovery attack_exactly(MatrixView<const double> records, MatrixView<const double> patients,
                        MatrixView<const double> controls);

Recovery attack_recovery(MatrixView<const double> guesses, MatrixView<const double> patients,
                         MatrixView<const double> controls);

}  // namespace couplet
