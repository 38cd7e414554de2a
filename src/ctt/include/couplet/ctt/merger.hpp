#pragma once

#include <optional>
#include <vector>

#include "couplet/ctt/client.hpp"
#include "couplet/ctt/merge.hpp"

namespace couplet {

struct CodedRows;

/// What has been merged so far and what it cost. Squares add for any chain or tree of merges, because the parts cut lie
/// in nested orthogonal subspaces.
struct Ledger {
    Index clients = 0;
    Index rows = 0;
    double norm2 = 0;      ///< sum of ||X_k||^2
    double svd_tail2 = 0;  ///< A^2
    double tt_tail2 = 0;   ///< T^2
    double used2 = 0;      ///< discarded by merges

    void add(const Ledger& other);
    /// sqrt(A^2 + (T + B)^2) / ||X|| with B^2 = used2 + final_cut2, and what rounding may add; 0 for an all-zero
    /// federation.
    double rel_error_bound(double final_cut2) const;
};

/// A merge that can be put aside and taken up again.
struct MergeState {
    FeatureBlock block;
    Ledger ledger;
};

/// Whether the figures can be those of the rows: the squares of the data are those of the rows, of what merges
/// discarded and of what was cut at the R1 bond, up to what the messages lost. Otherwise a bound would be that of other
/// data. Asked of everything that arrives; what any client or merge of this library makes is consistent, whatever its
/// precision.
bool is_consistent(const FeatureBlock& block, const Ledger& ledger);

/// Codes a state for its way up a tree; what that loses counts as its clients' messages' loss, to which it adds. The
/// rows may lose `limit2` in absolute squares. Stays as it is where that asks for more precision than integers have.
void code_state(MergeState& state, double limit2);
/// The same for a number of bytes; throws InputError where they are too few for anything.
void code_state_within(MergeState& state, Index bytes);

/// Merges uploads one by one with memory that does not grow with their number, and certifies the error of any order of
/// merging (section 3's ledger). Intermediate merges cut the R1 bond only.
class Merger {
  public:
    /// `total` are the sums over everybody who will be merged; with a fixed rank and no eps they are not needed.
    Merger(const Job& job, Shape features, const Start& total);

    /// Uploads must come in a fixed order for reproducible bits. Throws InputError, and changes nothing, for other
    /// feature modes.
    void add(Upload upload);
    /// Another merge's state: a saved one, or a subtree's.
    void add(MergeState state);
    const Ledger& ledger() const noexcept { return ledger_; }

    /// Everything so far as a state; throws InputError when nothing was added.
    MergeState state();

    struct Outcome {
        Features features;
        Ledger ledger;
        double rel_error_bound = 0;
    };
    /// Spends what is left of the budget and returns the shared features. Throws InputError when nothing was added.
    /// `code_bytes` is what the message of a job with a number of bytes may have; as in a star unless it is given.
    Outcome finish(std::optional<Index> code_bytes = {});

  private:
    void require_features(const FeatureBlock& block) const;
    void buffer(FeatureBlock block);
    void flush();
    /// Server's part of the certified error, in absolute squares of everything, as planned before any cut is known.
    double planned_budget2() const;
    /// The rank that was asked for, and what messages lost of the rows: what lies below is not of the data.
    MergeCuts rank_cuts() const;
    MergeCuts final_cuts() const;
    /// What the coordinator may lose in all: cuts, and the coding of its message.
    double final_budget2() const;
    Outcome finish_exact();
    std::optional<Outcome> finish_coded();
    std::optional<Outcome> finish_within(Index bytes);
    Outcome coded_outcome(const Merged& merged, CodedRows coded) const;

    Job job_;
    Shape features_;
    Start total_;
    Ledger ledger_;
    std::vector<FeatureBlock> blocks_;  ///< the first may be the state
    Index buffered_rows_ = 0;
    Index buffered_numbers_ = 0;
};

}  // namespace couplet
