#pragma once

#include <vector>

#include "couplet/data/synthetic_spec.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

/// The clients of a synthetic federation, generated when asked for: only the features are kept.
/// Every patient has a random stream of its own, so a client does not depend on the others, and one seed gives the same
/// patients however many clients share them.
///
///     const SyntheticClients clients(parse_synthetic("200x30x30", 7), 4);
///     const Tensor<double> first = clients.client(0);  // 50 x 30 x 30
class SyntheticClients {
  public:
    /// Draws A_2, ..., A_N and keeps their Khatri-Rao product, R x P numbers with P = I_2 ... I_N. Patients in total
    /// are dealt as evenly as possible, the first clients one more. Throws InputError as check_synthetic() does, and
    /// unless there is at least one client and one patient for each.
    SyntheticClients(SyntheticSpec spec, Index clients);

    const SyntheticSpec& spec() const noexcept { return spec_; }
    Index clients() const noexcept { return clients_; }
    /// Patients of client k (from 0), and of all clients. Throws InputError for a client that does not exist.
    Index patients(Index k) const;
    Index total_patients() const noexcept;
    /// Client k (from 0), I_1^k x I_2 x ... x I_N. Cost: one product of I_1^k x R with R x P, and I_1^k P normal
    /// numbers when there is noise. May be called from several threads at once.
    Tensor<double> client(Index k) const;
    /// A_1^k, I_1^k x R.
    Matrix<double> personal_factor(Index k) const;
    /// A_{mode+1}, I x R, for a mode counted from 0 and not the first.
    const Matrix<double>& feature_factor(Index mode) const;
    /// Standard deviation of the noise in every entry.
    double noise_deviation() const noexcept { return noise_; }

  private:
    Index first_patient(Index k) const;

    SyntheticSpec spec_;
    Index clients_;
    std::vector<Matrix<double>> features_;
    Matrix<double> khatri_rao_;  ///< R x P
    double noise_ = 0;
};

}  // namespace couplet
