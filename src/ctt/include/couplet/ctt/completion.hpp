#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "couplet/ctt/known_fit.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/ctt/refit.hpp"

/// Federations over tensors with missing entries (NaN), as pure state machines that the simulation and the network
/// drive alike. Every client fills its missing entries, all run a job on the filled tensors, every client fits its
/// patients to the features by least squares on what it knows, fills again with that model, and so on. Nothing but
/// the messages of the job and the sums of FillSums travels: a mask stays with its client.
///
/// What a client does next follows from its data, the latest features and the Filling alone. A client that was
/// restarted is told those again and goes on with the same bits.
///
/// Low rank alone does not say what a hidden entry is: with many of them the features fit the invented values, and the
/// error on what is known falls while that on what is hidden grows. So every hidden entry is also drawn to the mean of
/// its feature at this client, with a weight between 1 (it is the mean) and 0 (it is the model's). A few known entries
/// are kept from the features at every client; the weight goes down from 1 as long as these are predicted better. They
/// stay hidden to the end: releasing them for a second run would cost as many federations again for features that see
/// at most 5% more entries. The personal cores, which cost nothing, use everything that is known.
namespace couplet {

/// How a client fills what it does not know from its model M: a hidden entry becomes M + step * means * (mean - M), a
/// known one x is shown to the job as M + step * (x - M). A step above 1 settles sooner; with 1 the known entries are
/// themselves and the objective cannot grow.
struct Filling {
    double means = 1;       ///< weight of the feature's mean, 0 to 1
    double step = 1;        ///< at least 1
    bool last = false;      ///< the features are final: fit everything that is known, and be done
    bool answered = false;  ///< told again after an interruption: the sums are not wanted a second time
    bool settled = true;    ///< of final features: whether the filled values had come to rest
    friend bool operator==(const Filling&, const Filling&) = default;
};

/// What a client tells of its model; sums over its entries, in the units of the job.
struct FillSums {
    double entries = 0;     ///< of the tensor
    double missing = 0;     ///< of them
    double validation = 0;  ///< known entries that are hidden from the features
    double error2 = 0;      ///< of the entries that the features have seen
    double known2 = 0;      ///< squared norm of the same
    double objective = 0;   ///< error2 and the weighted squares of what is drawn to means
    double validation_error2 = 0;
    double validation_means2 = 0;  ///< error of the means, on the same entries
    double validation_norm2 = 0;
    double change2 = 0;  ///< of the model where it is filled in
    double filled2 = 0;  ///< squared norm of the tensor with the model filled in
    double norm2 = 0;    ///< of the tensor that the next job sees; not for adding up

    /// Adds what can be added up.
    void add(const FillSums& other) noexcept;
};

/// One client with missing entries.
class IncompleteClient {
  public:
    /// `client` is its place, from 0. Fills with the mean of what this client knows of the same feature; with 0 where
    /// it knows nothing of it, and throughout for a patient of whom it knows nothing. Throws InputError that names the
    /// client for infinity. Holds about three times the tensor.
    IncompleteClient(const Tensor<double>& x, const Preparation& how, std::uint64_t seed, Index client);

    /// What the next job sees; the same object is refilled.
    const std::shared_ptr<const Tensor<double>>& filled() const noexcept { return shown_; }
    /// Fits the features to what is known and fills anew. Call with filling.last at the end, not before.
    FillSums take(const Features& features, const Filling& filling);

    /// After the last features: personal core in the units of the data, squared error and norm of the known entries in
    /// those of the job.
    PersonalFit result() const;
    /// G_1 W of the last features, in the units of the data and of its shape.
    Tensor<double> model(const Features& features) const;
    double scale() const noexcept { return scale_; }

  private:
    struct Spared {
        Index position;
        double value;
    };

    void fill_first();
    void spare(std::uint64_t seed, Index client);
    void conclude(const Matrix<double>& w);

    Tensor<double> training_;                 ///< scaled; NaN where the features may not look
    std::shared_ptr<Tensor<double>> filled_;  ///< what the job sees
    std::shared_ptr<const Tensor<double>> shown_;
    double scale_ = 1;
    ColumnPull pull_;
    std::vector<Spared> validation_;
    std::vector<Index> hidden_;        ///< positions that are NaN in training_, ascending
    std::vector<double> filled_with_;  ///< the model there
    double missing_ = 0;
    KnownFit fit_;
};

struct CompletionLimits {
    Index max_iterations = 200;
    double tolerance = 1e-5;  ///< of the model's change where it is filled in, over the norm of the filled tensors
    friend bool operator==(const CompletionLimits&, const CompletionLimits&) = default;
};

/// How missing entries were filled.
struct MissingReport {
    double fraction = 0;  ///< of all entries
    Index iterations = 0;
    double change = 0;  ///< of the filled values in the last iteration, relative
    bool settled = false;
    double means_weight = 1;                    ///< Filling::means of the result
    double validation = 0;                      ///< known entries that the features did not see
    std::optional<double> rse_validation = {};  ///< on them; nothing where none could be spared
    std::optional<double> rse_means = {};       ///< of the means, on the same
};

/// Who leads the completion: takes the sums of all clients after every job and says what to do next. The same sums
/// give the same course, so it is kept as their list.
class CompletionCourse {
  public:
    /// Throws InputError for no iterations or a negative tolerance.
    explicit CompletionCourse(const CompletionLimits& limits);

    /// What to do with the features of the next job.
    const Filling& filling() const noexcept { return filling_; }
    /// The sums of all clients after they have done that.
    void take(const FillSums& sums);
    /// Settled, or out of iterations: the latest features are the result, with final_filling().
    bool finished() const noexcept { return settled_ || history_.size() >= max_iterations_; }
    Filling final_filling() const noexcept { return {told_.means, 1, true, false, settled_}; }
    MissingReport report() const;
    const std::vector<FillSums>& history() const noexcept { return history_; }

  private:
    void choose_weight(const FillSums& sums);
    void choose_step(const FillSums& sums);

    std::size_t max_iterations_;
    double tolerance_;
    std::vector<FillSums> history_;
    Filling filling_;
    Filling told_;  ///< what the latest sums are of
    std::size_t rung_ = 0;
    Index in_rung_ = 1;  ///< jobs on fills with this weight, and those about to be; the first fill is with the means
    std::optional<double> best_validation_;
    std::size_t best_rung_ = 0;
    bool weight_final_ = false;
    bool settled_ = false;
    double change_ = 0;
    std::optional<FillSums> before_;  ///< the latest, with the same weight
    bool shrunk_ = false;             ///< the step, with this weight
};

}  // namespace couplet
