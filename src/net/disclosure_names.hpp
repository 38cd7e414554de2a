#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "couplet/secure/shield_plan.hpp"
#include "couplet/wire/message.hpp"

namespace couplet::net {

/// A matrix, by its numbers: what a sum is on. An empty one is the Gram matrix, which is on none.
std::string basis_name(const Matrix<double>& basis);

/// What a disclosure is called in the ledger. Two of one name show the same of the same patients, and count once: the
/// name says whatever the numbers depend on besides the patients.
class DisclosureNames {
  public:
    DisclosureNames() = default;
    /// Of a job that begins: its data is neither moved nor in another order yet.
    DisclosureNames(wire::JobSpec spec, std::string job) : spec_(std::move(spec)), job_(std::move(job)) {}

    /// The job has its features in this order from here on.
    void set_order(const Labels& labels);
    /// The data is centred and scaled by this from here on.
    void set_centring(const Centring& centring);
    /// Missing entries are filled from these features from here on; without any, as before the first.
    void set_filling(const FeaturesMessage& message);
    void forget_filling();

    /// Rows that are sent, of a stack or of a consensus.
    std::string rows() const;
    /// A sum that is sent as it is.
    std::string sum(const Matrix<double>& basis) const;
    /// What the last filling says of the entries, which depends on the one before it, too.
    std::string fill() const;
    /// How well these features fit.
    std::string report(const Features& features) const;
    /// The data that sums are over.
    std::string data() const { return prepared() + order_; }
    /// Sums of every feature, `parts` of them.
    std::string feature_sums(Index parts) const;
    /// The counts before masked sums.
    std::string census() const;
    /// A masked sum of whoever answers: it is known by its job until it is agreed whose numbers are in it.
    std::string masked_for_job(const MaskedSum& sum) const;
    /// The same once that is agreed: known for ever by its members, in whatever order.
    std::string masked_by_members(const MaskedSum& sum) const;
    /// What a masked sum is called whoever is in it.
    std::string masked(const MaskedSum& sum) const;

  private:
    std::string prepared() const;

    wire::JobSpec spec_;
    std::string job_;
    std::string moved_;
    std::string order_;
    std::string filled_;         ///< from which features; empty: from none
    std::string filled_before_;  ///< the same of the filling before
};

}  // namespace couplet::net
