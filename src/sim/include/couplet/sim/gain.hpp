#pragma once

#include <optional>
#include <vector>

#include "couplet/ctt/blocks.hpp"
#include "couplet/ctt/centring.hpp"
#include "couplet/ctt/job.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/sim/source.hpp"

namespace couplet {

/// Squared errors on a client's held-out patients, whom nobody has learnt from, in the units of the job and relative to
/// the same sum of squares.
struct ClientGain {
    double alone = 0;     ///< with features that the client learns by itself, by the same rank or error
    double together = 0;  ///< with those of the federation
};

/// What one client gains by joining: its data in the order of the features, with patients held out. Alone it sends no
/// messages, so nothing is cut for them, and it knows no means but its own: where `centring` has moved the data, its
/// rows are moved to their own means. It learns in the units of the job, in which both are judged. Nothing without
/// held-out patients, and where their records are zero. Costs a decomposition of the others.
std::optional<ClientGain> gain_of(const PreparedClient& client, const JobOptions& job, const Features& features,
                                  const Centring& centring = {});

/// The same of every client. `how` must be that of the job, so that the same patients are held out. Throws as
/// simulate() does.
std::vector<std::optional<ClientGain>> measure_gain(const ClientSource& source, const JobOptions& job,
                                                    const Preparation& how, const Schema& schema,
                                                    const Features& features, const Centring& centring = {});

}  // namespace couplet
