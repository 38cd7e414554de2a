#pragma once

#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "couplet/ctt/client.hpp"
#include "couplet/ctt/completion.hpp"
#include "couplet/ctt/merge_tree.hpp"
#include "couplet/ctt/merger.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/ctt/refit.hpp"
#include "couplet/ctt/subspace.hpp"

namespace couplet {

/// Coordinator to clients, subspace only: answer with the sum over your patients.
struct SumRequest {
    Index pass = 0;
    SubspaceIteration::Want want = SubspaceIteration::Want::sketch;
    Matrix<double> basis;
};

struct SumReply {
    Index pass = 0;
    Released<std::vector<double>> sum;
};

/// Coordinator to clients: the shared result.
struct FeaturesMessage {
    Features features;
    std::optional<double> rel_error_bound;  ///< of sqrt(RSE); stack
    std::optional<Filling> filling = {};    ///< jobs with missing entries: what to do with them
};

using ToClient = std::variant<Start, SumRequest, FeaturesMessage>;
using FromClient = std::variant<Hello, Upload, SumReply>;

/// A client of the star. Owns no socket, thread or clock: hand it what arrives, send what it returns.
class StarClient {
  public:
    /// Reads the tensor once, for its norm; the tensor must outlive the client. Its features have no names.
    StarClient(const Job& job, TensorView<const double> x);
    /// With the names of the features, which the greeting tells. When the start of the job names another order, the
    /// data is put in that one.
    StarClient(const Job& job, PreparedClient data);

    const Hello& hello() const noexcept { return hello_; }
    /// The answer to a message, if it asks for one. Throws InputError for a message that cannot come now.
    std::optional<FromClient> receive(const ToClient& message);
    bool finished() const noexcept { return result_.has_value(); }
    /// Personal core and error; throws RunError unless finished.
    const PersonalFit& result() const;
    /// Of the job, once it has started.
    const Schema& schema() const noexcept { return schema_; }
    /// The data as the job sees it now.
    const PreparedClient& data() const noexcept { return data_; }
    /// What was put in another order, in words; empty: nothing.
    const std::string& reordered() const noexcept { return reordered_; }
    /// Takes the job's order from a start that this client's earlier self has answered.
    void follow(const Start& start);

  private:
    StarClient(const Job& job, TensorView<const double> x, std::optional<double> norm2);

    std::optional<FromClient> on_start(const Start& start);
    void on_features(const FeaturesMessage& message);

    Job job_;
    PreparedClient data_;  ///< without tensors where only a view was given
    TensorView<const double> x_;
    Hello hello_;
    Schema schema_;
    std::string reordered_;
    std::optional<AverageStep> average_;
    std::optional<PersonalFit> result_;
};

/// The coordinator of the star. Messages may arrive in any order and repeatedly (a repeated one is ignored); uploads
/// are merged in the order of the clients, so the result does not depend on arrival.
class StarCoordinator {
  public:
    StarCoordinator(const Job& job, Index clients);

    /// The job's schema, where it is not for the clients to agree on one. Call before next().
    void require_schema(Schema schema);

    /// Throws InputError for an unknown client or a message that does not fit the job.
    void receive(Index client, FromClient message);
    /// The next message for all clients, once everything it needs is here.
    std::optional<ToClient> next();
    bool finished() const noexcept { return finished_; }
    /// Rounds of communication so far: one for every wave of messages up or features down (hello and start excluded).
    Index rounds() const noexcept { return rounds_; }
    /// Numbers in the sum that the last request asks for; 0 when there was none.
    Index sum_length() const noexcept { return subspace_ && request_sent_ ? subspace_->sum_length() : 0; }
    /// What was merged before, each client's by itself (stack only); call before next().
    void resume(std::vector<MergeState> earlier);
    /// Merges uploads in a tree (stack only), where there are more clients than `width`; call before next(). Throws
    /// InputError for a job that merges nothing, and for one that saves its merge or goes on from one.
    void merge_in_tree(Index width);
    /// Of the tree; 0: there is none.
    Index mergers() const noexcept { return tree_ ? tree_->mergers() : 0; }
    /// From here on uploads are kept, for uploads() (stack only).
    void keep_uploads() noexcept { keeping_ = true; }
    /// Those of this job, in the order of the clients.
    const std::vector<MergeState>& uploads() const noexcept { return kept_; }
    /// The job's schema, once the start is out.
    const Schema& schema() const noexcept { return schema_; }
    /// Ranks of the uploads, in the order of the clients.
    const std::vector<Index>& personal_ranks() const noexcept { return personal_ranks_; }

  private:
    void on_upload(Index client, Upload upload);
    void on_sum(Index client, const SumReply& reply);
    void take_in_order();
    void make_mergers(const Shape& features, const Start& everybody);
    FeaturesMessage finish();

    Job job_;
    Index clients_;
    std::vector<std::optional<Hello>> hellos_;
    Index hellos_missing_;
    std::optional<Start> start_;
    bool start_sent_ = false;
    std::optional<Schema> given_;
    Schema schema_;
    std::vector<MergeState> earlier_;
    bool keeping_ = false;
    std::vector<MergeState> kept_;
    std::optional<Merger> merger_;
    Index width_ = 0;
    std::optional<MergeTree> tree_;      ///< in place of the merger
    std::vector<bool> is_in_tree_ = {};  ///< by client
    Matrix<double> average_;             ///< sum of the rows, R1 x P
    std::map<Index, Upload> waiting_uploads_;
    std::map<Index, std::vector<double>> waiting_sums_;
    Index taken_ = 0;  ///< clients whose message of this round is in
    std::optional<SubspaceIteration> subspace_;
    std::vector<double> sum_;
    Index pass_ = 0;
    bool request_sent_ = false;
    std::vector<Index> personal_ranks_;
    Index rounds_ = 0;
    bool finished_ = false;
};

}  // namespace couplet
