#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "couplet/ctt/blocks.hpp"
#include "couplet/secure/budget_split.hpp"
#include "couplet/secure/mode_basis.hpp"
#include "couplet/tensor/shape.hpp"

namespace couplet {

/// Sums of modes under a budget: a job that promises every patient mu-Gaussian differential privacy towards everybody
/// who sees its sums and its result, in at most four small sums over the sites.
///
///   counts   half of the number of patients, and (unless the clip is given) how many have which norm
///   modes    for every feature mode n: A_n = sum_p X_p(n) X_p(n)^T of the records, shortened to the clip
///   core     the Gram matrix of the records on the leading products of the modes' bases (orders above 2)
///   error    what the features miss of the records, and what they keep
///
/// Data flow: everybody makes a BudgetJob from the same terms. For every stage() a site computes site_sum()
/// (budget_site.hpp), integers with the site's own share of the noise in them; who adds them up (masked, modulo
/// moduli()) hands the sum to open(), and everybody else who is told the sum does the same, or skips what it need not
/// know. No number of a coordinator has to be believed for the guarantee: clip, step, noise and bases follow from the
/// terms and the opened sums, and every sum protects by itself, whoever is in it. Sums that are opened are released:
/// they may be shown to anybody.
///
///   BudgetJob job(terms);
///   while (job.stage() != BudgetStage::done) {
///       per site: auto own = site_sum(job, x, noise);   // own[i] is added modulo job.sum().moduli[i]
///       job.open(centred_sum, sites);                   // centred: of least magnitude in its class
///   }
///   job.features();

/// What all parties of a job agree on before any data is looked at.
struct BudgetTerms {
    double mu = 4;  ///< of this job, for one patient
    std::optional<double> clip =
        {};                 ///< of record norms, from public knowledge; nothing: a noised quantile of the data
    Index sites = 0;        ///< that are invited: no sum is of more
    Index noisy_sites = 0;  ///< whose shares of the noise are enough: of those who stay, the honest ones
    Shape features = {};    ///< I2 x ... x IN
    Index rank = 0;         ///< R1
    double eps2 = 0.01;     ///< relative error of the feature train
    friend bool operator==(const BudgetTerms&, const BudgetTerms&) = default;
};

/// Throws InputError for terms that mean nothing, and for modes of more labels than their sums may have numbers.
void require_budget(const BudgetTerms& terms);

/// What one stage asks of every site.
struct BudgetSum {
    double step = 0;             ///< of the fixed point; in units of the clip and its square
    std::uint64_t variance = 0;  ///< of a site's share of the noise, in squared steps
    /// One for each number of the sum: the sum of all sites, noise included, lies in (-modulus/2, modulus/2) but for a
    /// probability below 1e-9 over all of them. Neighbours share one as far as that costs little: few runs of many.
    std::vector<std::uint64_t> moduli = {};
};

/// The error of the features on the patients of the job, as the noised sums tell it.
struct BudgetError {
    double rse = 0;
    double low = 0;  ///< the interval that the noise leaves, with a probability of 95%
    double high = 1;
};

/// The state of a job: what the opened sums say, and what is asked for next. Two jobs of the same terms that opened the
/// same sums agree on everything, up to the last bits of what their linear algebra computes.
class BudgetJob {
  public:
    explicit BudgetJob(BudgetTerms terms);

    BudgetStage stage() const noexcept { return stage_; }
    const BudgetTerms& terms() const noexcept { return terms_; }
    /// Of the stage that is to come; empty when done.
    const BudgetSum& sum() const noexcept { return sum_; }
    std::size_t length() const noexcept { return sum_.moduli.size(); }

    /// Takes the sum and moves on; `sites` shares of the noise are in it, one of each site. A later sum may be of fewer
    /// sites than an earlier one. Throws
    /// InputError for a sum of another length.
    void open(std::span<const std::int64_t> sum, Index sites);

    /// Patients, as the noised count says, at least 1; after `counts`.
    double patients() const noexcept { return patients_; }
    /// Norm that records are shortened to; after `counts`.
    double clip() const noexcept { return clip_; }
    /// After `counts`; before, the parts of counts and error alone are known, the others 0.
    const BudgetSplit& split() const noexcept { return split_; }
    /// Bases of the modes and their leading products; after `modes`, where the core is asked for.
    const ModeBasis& basis() const noexcept { return basis_; }
    /// Products, of the first in basis(), that the core is the Gram matrix of; 0: the core is not asked for.
    Index columns() const noexcept { return columns_; }
    /// After the last of modes and core.
    const std::optional<Features>& features() const noexcept { return features_; }
    /// Directions of the features that stand out of the noise: a larger rank than this is worth little.
    Index worth() const noexcept { return worth_; }
    /// Of records shortened to the clip; after `error`.
    const std::optional<BudgetError>& error() const noexcept { return error_; }
    /// Standard deviation of the noise in every number of a stage's sum, in units of the data (squared; of `counts`: of
    /// the number of patients), when `noisy_sites` shares are in it.
    double sigma(BudgetStage stage) const;

  private:
    void begin(BudgetStage stage);
    std::vector<double> core_bounds() const;
    void open_counts(std::span<const double> sum, double noise);
    void open_modes(std::span<const double> sum, double noise);
    void open_core(std::span<const double> sum, double noise);
    void open_error(std::span<const double> sum, double noise);
    void bound_vectors(const std::vector<Matrix<double>>& noisy, double noise);
    void choose_features(const std::vector<double>& energies, const Matrix<double>& vectors, double noise);
    /// Variance of a number of the present sum over so many sites, rounding included, in units of the sum.
    double noise2(Index sites) const;

    BudgetTerms terms_;
    BudgetStage stage_ = BudgetStage::counts;
    BudgetSum sum_;
    BudgetSplit split_;
    double patients_ = 0;
    double most_patients_ = 0;  ///< that the noised count leaves room for
    double clip_ = 0;
    Index columns_ = 0;
    double energy_ = 0;                        ///< of the records, in squared clips, as the modes say
    std::vector<std::vector<double>> bounds_;  ///< of the energy along every basis vector of every mode
    ModeBasis basis_;
    std::optional<Features> features_;
    Index worth_ = 0;
    std::optional<BudgetError> error_;
};

}  // namespace couplet
