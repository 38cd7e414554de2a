#include "centred_federation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/budget.hpp"
#include "couplet/ctt/known_sums.hpp"
#include "couplet/ctt/prepare.hpp"
#include "couplet/io/text.hpp"
#include "couplet/shield/masked_centring.hpp"
#include "couplet/shield/simulate_shielded.hpp"
#include "couplet/sim/original_units.hpp"

namespace couplet::cli {
namespace {

/// Means are taken before clients are brought to norm 1, which therefore does not help.
PreparedClient prepare_unscaled(std::shared_ptr<const Tensor<double>> x, const Preparation& training,
                                const SimulationOptions& how, Index k) {
    try {
        return prepare_client(std::move(x), training, how.job.seed, k);
    } catch (const InputError& error) {
        if (!how.scale_clients) throw;
        ErrorParts parts = error.parts();
        parts.remedy = "Scale the data first, or leave --centre and --scale out.";
        throw InputError(parts);
    }
}

/// The same over what is known.
KnownSums sum_known(const AlignedSource& aligned) {
    KnownSums sums;
    for (Index k = 0; k < aligned.source.clients(); ++k) sums.add(known_sums(aligned.source.client(k)->view()));
    return sums;
}

/// Sums over the patients of all clients who take part, masked where nobody may see a client's own.
FeatureSums sum_features(const CentringPlan& plan, const SimulationOptions& how, const AlignedSource& aligned,
                         std::shared_ptr<const SumTraffic>& masked) {
    const Preparation training{.scale_clients = false, .heldout = how.heldout};
    std::vector<PreparedClient> clients;
    FeatureSums sums;
    for (Index k = 0; k < aligned.source.clients(); ++k) {
        PreparedClient client = prepare_unscaled(aligned.source.client(k), training, how, k);
        if (plan.secure) {
            clients.push_back(std::move(client));
        } else {
            sums.add(feature_sums(client.training->view(), plan.options));
        }
    }
    if (!plan.secure) return sums;
    std::vector<TensorView<const double>> views;
    for (const PreparedClient& client : clients) views.push_back(client.training->view());
    const ShieldOptions demands;
    MaskedCentring result =
        masked_feature_sums(views, plan.options, resolve_job(how.job), {demands.min_cohort, demands.colluders});
    masked = std::make_shared<const SumTraffic>(result.traffic);
    return std::move(result.sums);
}

/// What centring adds to a client's messages; of incomplete data also how many patients each feature is known of.
CentringTraffic traffic_of(Index features, const CentringPlan& plan) {
    CentringTraffic each = centring_traffic(features, plan.options);
    if (!plan.incomplete) return each;
    // Counts, sums and squares, whatever is asked for: both are about what is known.
    const double numbers = 1 + 3 * static_cast<double>(features);
    each.bytes_up += 8 * (numbers + 1 - each.numbers_up);
    each.numbers_up = numbers + 1;
    return each;
}

/// "platelets [1/uL]"; of several modes "platelets [1/uL], week 3".
std::string feature_text(const Schema& schema, Index feature) {
    std::vector<std::string> parts;
    for (Index n = 0; n < schema.features.order(); ++n) {
        const Index at = feature / schema.features.product(n + 1, schema.features.order()) % schema.features[n];
        const ModeLabels mode = schema.modes.empty() ? ModeLabels{} : schema.modes[static_cast<std::size_t>(n)];
        const auto i = static_cast<std::size_t>(at);
        std::string text = mode.entries.empty() ? fmt::format("number {} of mode {}", at + 1, n + 2) : mode.entries[i];
        if (!mode.units.empty() && !mode.units[i].empty()) text += fmt::format(" [{}]", mode.units[i]);
        parts.push_back(shown(text));
    }
    return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

AlignedSource centre_federation(CentringPlan& plan, const SimulationOptions& how, Federation& federation,
                                Centring& centring, std::shared_ptr<const SumTraffic>& masked) {
    AlignedSource aligned = align_source(*federation.source, how.job.unnamed, how.schema);
    if (plan.options.weight != Weight::none) plan.options.any_at = find_any(aligned.schema);
    centring = plan.incomplete ? centring_of(sum_known(aligned), plan.options)
                               : centring_of(sum_features(plan, how, aligned, masked), plan.options);
    if (centring.weighted()) {
        centring.mean =
            without_small_cells(std::move(centring.mean), aligned.schema.features, centring.any_at, centring.patients);
    }
    std::vector<Tensor<double>> moved;
    for (Index k = 0; k < federation.clients(); ++k) {
        moved.push_back(centred(aligned.source.client(k)->view(), centring, federation.name(k)));
        Labels labels{ModeLabels{}};
        labels.insert(labels.end(), aligned.schema.modes.begin(), aligned.schema.modes.end());
        if (!aligned.schema.modes.empty()) moved.back().set_labels(std::move(labels));
    }
    federation.source = std::make_unique<MemorySource>(std::move(moved));
    return aligned;
}

std::optional<double> original_rse(const SimulationReport& report, const JobFlags& flags, const AlignedSource& original,
                                   const std::vector<Matrix<double>>& personal) {
    if (!report.result.features) return std::nullopt;
    OriginalFit sum;
    for (Index k = 0; k < original.source.clients(); ++k) {
        std::shared_ptr<const Tensor<double>> x = original.source.client(k);
        if (flags.heldout > 0) {
            HeldOut parts = hold_out(x->view(), flags.heldout, flags.job.seed, k);
            x = std::make_shared<const Tensor<double>>(std::move(parts.training));
        }
        const OriginalFit one = original_fit(x->view(), personal[static_cast<std::size_t>(k)], *report.result.features,
                                             report.centring, report.federation.name(k));
        sum.error2 += one.error2;
        sum.norm2 += one.norm2;
    }
    return sum.norm2 > 0 ? sum.error2 / sum.norm2 : 0;
}

void pay_for_centring(const CentringPlan& plan, JobOptions& job, const Federation& federation) {
    if (!job.bytes && !job.bytes_total) return;
    LinkCount links{federation.clients(), 1};
    if (job.network == Network::decentralized) {
        const Graph graph = make_graph(job.graph, federation.clients(), job.seed);
        links = tree_links(graph.bfs_tree(graph.centre()));
    }
    couplet::pay_for_centring(job.bytes, job.bytes_total, federation.features.size(), plan.options, links);
}

void count_centring(const CentringPlan& plan, const std::shared_ptr<const SumTraffic>& masked,
                    SimulationReport& report) {
    SimulationResult& result = report.result;
    const double links =
        static_cast<double>(report.federation.clients()) - (result.job.network == Network::decentralized ? 1 : 0);
    const CentringTraffic each = traffic_of(report.federation.features.size(), plan);
    result.numbers_up_per_client += each.numbers_up;
    result.numbers_down_per_client += each.numbers_down;
    result.numbers_total += links * (each.numbers_up + each.numbers_down);
    result.bytes_up += masked ? masked->bytes_up : links * each.bytes_up;
    result.bytes_down += links * each.bytes_down + (masked ? masked->bytes_down : 0);
    result.rounds += masked ? masked->rounds + 1 : centring_rounds;
}

void warn_of_unit(const CentringPlan& plan, const Federation& federation, const Session& session) {
    constexpr double nearly_all = 0.99;
    if (plan.options.scale || !federation.source->resident() || federation.features.size() < 3) return;
    KnownSums sums;
    for (Index k = 0; k < federation.clients(); ++k) {
        const auto x = federation.source->client(k);
        // Clients whose features differ are put in order or refused later.
        if (x->size() != x->shape()[0] * federation.features.size()) return;
        sums.add(known_sums(x->view()));
    }
    const LargestPart most = largest_part(sums);
    if (most.part < nearly_all) return;
    const Schema schema = feature_schema(*federation.source->client(0), federation.name(0));
    session.note(
        fmt::format("warning: {:.1f}% of the variation is that of one feature, {}: its unit decides what is "
                    "found. --centre --scale bring all to one scale",
                    100 * most.part, feature_text(schema, most.feature)));
}

}  // namespace couplet::cli
