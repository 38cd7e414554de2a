#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "couplet/ctt/centring.hpp"
#include "couplet/sim/simulate.hpp"
#include "couplet/sim/source.hpp"
#include "federation.hpp"
#include "job_options.hpp"
#include "session.hpp"
#include "simulate_report.hpp"

namespace couplet {
struct SumTraffic;
}

namespace couplet::cli {

/// How the data of a simulated federation is moved, scaled or weighted before the job.
struct CentringPlan {
    CentringOptions options = {};
    bool secure = false;      ///< nobody sees a client's own sums
    bool incomplete = false;  ///< sums are over what is known
};

/// Says so where one feature's unit is nearly all of the variation and nothing brings the features to one scale.
void warn_of_unit(const CentringPlan& plan, const Federation& federation, const Session& session);

/// Takes the messages of the centring out of the job's budget, which is of all messages. Throws InputError where
/// nothing is left.
void pay_for_centring(const CentringPlan& plan, JobOptions& job, const Federation& federation);

/// Moves and scales every client's data by sums over all of them, held-out patients not counted. Returns the data as it
/// came, in the order of the job.
AlignedSource centre_federation(CentringPlan& plan, const SimulationOptions& how, Federation& federation,
                                Centring& centring, std::shared_ptr<const SumTraffic>& masked);

/// The sums up and the means and deviations down are messages too: one more round, on every link; more where the sums
/// are masked.
void count_centring(const CentringPlan& plan, const std::shared_ptr<const SumTraffic>& masked,
                    SimulationReport& report);

/// The fit in the units that the data came in, over the known entries of all patients who took part. Nothing without
/// features.
std::optional<double> original_rse(const SimulationReport& report, const JobFlags& flags, const AlignedSource& original,
                                   const std::vector<Matrix<double>>& personal);

}  // namespace couplet::cli
