#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/audit/released_sums.hpp"
#include "couplet/ctt/job.hpp"
#include "couplet/privacy/leakage.hpp"
#include "couplet/tensor/matrix.hpp"

namespace couplet {

/// Something that somebody other than the patients' own hospital gets to see, as rows D (q x P) that stand for all of
/// it: D^T D is what it says about the second moment of the patients at stake, and D's row space is where they are
/// looked for.
struct View {
    std::string mode;     ///< "stack", "average", "subspace", "secure", ...
    std::string seen_by;  ///< "coordinator", "neighbour", "every client", "coordinator with a client"
    std::string what;     ///< in words
    Matrix<double> rows;
    std::vector<Index> clients;                 ///< whose patients are at stake
    std::optional<ReleasedSums> released = {};  ///< the numbers themselves, where they are sums over records
};

/// The training patients of every client, in the units of the job.
using Clients = std::vector<TensorView<const double>>;

/// Gaussian noise that makes sums private, of this standard deviation in every number.
struct SumNoise {
    double sigma = 0;
    std::uint64_t seed = 0;
};

/// All sums of a job that adds over all clients (section 4): what was asked, and the features that came out.
class SumTranscript {
  public:
    /// Runs the job. `noise` is what the coordinator finds in every sum.
    SumTranscript(const Clients& clients, const Job& job, std::optional<SumNoise> noise = {});

    /// What the sums over these clients show (all of them: the coordinator's view; one: that of a plain sum; all but
    /// one: of the coordinator with that client).
    Matrix<double> shown(const std::vector<Index>& clients) const;
    /// The numbers of the sums over these clients, each client's rounded to whole multiples of `step` before they are
    /// added (0: as they are), of records clipped at `clip`. Of a Gram matrix, its products with a few directions.
    ReleasedSums released(const std::vector<Index>& clients, double step = 0, std::optional<double> clip = {}) const;
    /// The published features, weighted.
    const Matrix<double>& features() const noexcept { return features_; }
    Index directions() const noexcept { return directions_; }

  private:
    Matrix<double> from_gram(const std::vector<Index>& clients) const;

    Clients clients_;
    std::optional<SumNoise> noise_;
    std::vector<Matrix<double>> bases_;  ///< of every sketch; none: the Gram matrix was asked for
    Matrix<double> features_;
    Index directions_ = 0;
};

/// What a client sends with the stack, decoded as the receiver decodes it, and with the printed average.
Matrix<double> stack_message(const TensorView<const double>& client, const Job& job, const Clients& all);
Matrix<double> average_message(const TensorView<const double>& client, const Job& job);
/// A client's compressed rows D = U^T X as the sums that they are: with singular vectors v_r of D, sigma_r v_r is the
/// sum over its patients x of x (x^T v_r) / sigma_r. How precise they are follows from the coding, which the client's
/// patients tell here.
ReleasedSums sums_of_rows(MatrixView<const double> rows, const TensorView<const double>& client);
/// Features that the stack publishes, weighted.
Matrix<double> stack_features(const Clients& clients, const Job& job);

}  // namespace couplet
