#pragma once

#include <optional>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/ctt/peer.hpp"
#include "peer_post.hpp"

namespace couplet {

/// The body as a T. Throws InputError, with `expected` in words, when it is something else.
template <class T>
const T& require_body(const PeerBody& body, const char* expected) {
    if (const T* found = std::get_if<T>(&body)) return *found;
    throw InputError({"peer message", "a body of another kind", expected, ""});
}

/// Throws InputError for feature modes other than the expected ones.
void require_features(const Shape& found, const Shape& expected);

/// What all protocols of peers share: this node's data, the order of messages, the end. A protocol says what it begins
/// with, which messages can be, and what follows from one.
class PeerBase : public Peer {
  public:
    std::vector<PeerMessage> start() final;
    std::vector<PeerMessage> receive(Index from, const PeerMessage& message) final;

    bool finished() const noexcept final { return result_.has_value(); }
    const PersonalFit& result() const final;
    const Features& features() const final;
    std::optional<double> rel_error_bound() const noexcept override { return std::nullopt; }
    std::optional<ConsensusEnds> latest_consensus() const noexcept override { return std::nullopt; }

  protected:
    PeerBase(const Job& job, const ConsensusPlan& plan, Index node, TensorView<const double> x);

    const Job& job() const noexcept { return job_; }
    const ConsensusPlan& plan() const noexcept { return plan_; }
    Index node() const noexcept { return node_; }
    const TensorView<const double>& x() const noexcept { return x_; }
    double norm2() const noexcept { return norm2_; }
    const Shape& features_shape() const noexcept { return features_shape_; }
    PeerPost& post() noexcept { return post_; }
    Index step() const noexcept { return post_.step(); }

    /// Ends the job: the features are fitted to the data of this node.
    void finish(Features features);
    /// Ends the job with a fit of the protocol's own.
    void finish(Features features, PersonalFit fit);

  private:
    /// Opens the first step.
    virtual void begin() = 0;
    /// The last step of the protocol, counted from 0.
    virtual Index last_step() const noexcept = 0;
    /// Throws InputError for a message of a step in reach, from a neighbour, that no honest one sends.
    virtual void check(Index from, const PeerMessage& message) const = 0;
    /// A checked message of the step that is open.
    virtual void handle(Index from, const PeerMessage& message) = 0;

    void check_step(const PeerMessage& message) const;

    Job job_;
    ConsensusPlan plan_;
    Index node_;
    TensorView<const double> x_;
    double norm2_;
    Shape features_shape_;
    PeerPost post_;
    std::optional<Features> shared_;
    std::optional<PersonalFit> result_;
};

}  // namespace couplet
