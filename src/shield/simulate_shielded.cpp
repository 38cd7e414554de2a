#include "couplet/shield/simulate_shielded.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"
#include "couplet/ctt/client.hpp"
#include "couplet/ctt/subspace.hpp"
#include "couplet/linalg/numerical_rank.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/privacy/clip.hpp"
#include "couplet/secure/secure_messages.hpp"
#include "couplet/secure/shield_report.hpp"
#include "couplet/shield/masked_sums.hpp"
#include "couplet/sim/reference.hpp"
#include "couplet/sim/run.hpp"

namespace couplet {
namespace {

using Want = SubspaceIteration::Want;
using Numbers = std::vector<std::vector<std::uint64_t>>;

Job require_job(const ClientSource& source, const SimulationOptions& options, const ShieldOptions& shield) {
    JobOptions wanted = options.job;
    if (wanted.aggregate && *wanted.aggregate != Aggregate::subspace) {
        throw InputError({"`aggregate`", std::string(to_string(*wanted.aggregate)), "subspace",
                          "Only sums can be masked, clipped and noised; leave `aggregate` out."});
    }
    wanted.aggregate = Aggregate::subspace;
    const Job job = resolve_job(wanted);
    if (!job.rank) throw InputError({"`rank`", "missing", "a rank: sums have no certified error", ""});
    if (options.save_state || options.resume || options.dry_run) {
        throw InputError({"`secure`", "given with a saved merge or a dry run", "one or the other", ""});
    }
    if (source.clients() < 1) throw InputError({"clients", "none", "at least one client", ""});
    require_possible({.guarantee = shield.guarantee, .clip = shield.clip});
    require_private_preparation({.guarantee = shield.guarantee}, {options.scale_clients, options.heldout});
    if (shield.policy && !shield.secure) {
        throw InputError(
            {"`policy`", "on without `secure`", "`secure` as well",
             "The policy limits what sums over all clients show; without masks each client's own are seen."});
    }
    const bool distributed = shield.noise == NoisePlace::distributed;
    if (shield.guarantee && distributed && !shield.secure) {
        throw InputError({"`dp_noise`", "distributed without `secure`", "`secure`, or local or central noise", ""});
    }
    if (shield.guarantee && shield.secure && shield.noise == NoisePlace::central) {
        throw InputError({"`dp_noise`", "central with `secure`", "distributed or local", ""});
    }
    return job;
}

/// One run: prepares the clients, agrees on clip and scale, then answers the iteration's requests with sums.
class ShieldedRun {
  public:
    ShieldedRun(SimulationRun& run, const ShieldOptions& shield)
        : run_(run), shield_(shield), clients_(gather_clients(run)), training_(clients_.size()) {
        for (std::size_t k = 0; k < clients_.size(); ++k) training_[k] = clients_[k].training->view();
        const auto sizes = training_.front().shape().sizes();
        features_ = Shape(std::vector<Index>(sizes.begin() + 1, sizes.end()));
        report_.secure = shield.secure;
        report_.policy = shield.policy && !shield.guarantee;
        if (shield.guarantee && shield.repeatable_noise) {
            report_.withdrawn = "the noise follows from a seed, and whoever knows it takes the noise away";
        }
        if (shield.secure) open_sums();
    }

    ShieldReport execute(const std::function<void(const ShieldReport&)>& announce) {
        plan();
        clip();
        SubspaceIteration iteration(run_.job, features_);
        estimate(iteration);
        if (announce) announce(report_);
        Index rounds = 0;
        while (iteration.want() != Want::nothing) {
            if (rounds > 0) count_down(told_of(iteration).size());
            iteration.take(total(iteration.want(), iteration.basis()), rounding_of_sums());
            rounds += 2;
        }
        report_.noise_cost = noise_cost_of(plan_, features_, iteration);
        conclude(iteration.features(), rounds);
        return std::move(report_);
    }

  private:
    /// Of the last basis the clients of a star are told what is in none before it.
    const Matrix<double>& told_of(const SubspaceIteration& iteration) const {
        const bool extends = shield_.secure && run_.job.network == Network::star;
        return extends && iteration.want() == Want::projected ? iteration.newest() : iteration.basis();
    }
    void open_sums() {
        const SumDemands demands{shield_.min_cohort, shield_.colluders};
        if (run_.job.network == Network::star) {
            const ShieldTerms terms{.policy = shield_.policy, .guarantee = shield_.guarantee, .clip = shield_.clip};
            const Index counts = shield_.guarantee ? 0 : 1;
            const auto sums = static_cast<int>(counts + last_sum(run_.job, features_, terms));
            auto star = std::make_unique<StarSums>(run_.clients(), demands, sums);
            report_.threshold = star->threshold();
            sums_ = std::move(star);
        } else {
            sums_ = std::make_unique<PeerSums>(make_graph(run_.job.graph, run_.clients(), run_.job.seed), demands);
        }
    }
    /// Counts of patients and norms. Under a guarantee nothing is counted: it would be a release of its own.
    std::optional<Census> census() {
        if (shield_.guarantee) return std::nullopt;
        std::vector<std::vector<std::uint64_t>> counts;
        for (std::size_t k = 0; k < training_.size(); ++k) {
            counts.push_back(take_census(training_[k], "client " + std::to_string(k + 1)));
        }
        std::vector<std::uint64_t> all(census_length, 0);
        if (sums_) {
            all = sums_->add(std::move(counts), census_fixed_point());
        } else {
            for (const auto& own : counts) {
                for (std::size_t i = 0; i < all.size(); ++i) all[i] += own[i];
            }
        }
        return read_census(all, shield_.limits.clip_quantile);
    }
    /// What the parties of a network agree on, by the same function.
    void plan() {
        const ShieldTerms terms{shield_.policy, shield_.colluders, shield_.guarantee, shield_.clip,
                                shield_.noise.value_or(shield_.secure ? NoisePlace::distributed : NoisePlace::local)};
        const Index survivors = report_.threshold > 0 ? report_.threshold : run_.clients();
        plan_ = plan_shield(run_.job, features_, terms, census(), run_.clients(), survivors, shield_.limits);
        run_.job = plan_.job;
        report_.sums = plan_.sums + shield_.sums_before;
        report_.directions = plan_.directions + shield_.limits.shown_before;
        report_.clip = plan_.clip;
        report_.changes = plan_.changes;
        report_.warnings = plan_.warnings;
        report_.noise = plan_.noise;
        if (sums_) report_.ring_bits = plan_.how.ring.bits();
    }
    void clip() {
        if (!report_.clip) return;
        // How many records were longer is nobody's business under a guarantee.
        if (!report_.noise) report_.clipped = 0;
        clipped_.resize(training_.size());
        for (std::size_t k = 0; k < training_.size(); ++k) {
            Clipped one = clip_rows(training_[k], *report_.clip);
            if (report_.clipped) *report_.clipped += one.rows;
            clipped_[k] = std::move(one.tensor);
            training_[k] = clipped_[k].view();
        }
    }
    void estimate(const SubspaceIteration& iteration) {
        if (!report_.noise) return;
        std::optional<Index> width;
        if (iteration.want() == Want::sketch) width = iteration.basis().cols();
        const Index rank = *run_.job.rank;
        report_.patients_needed =
            std::ceil(patients_for_loss(*report_.noise, acceptable_loss, features_.size(), rank, width));
        if (!shield_.public_patients) return;
        report_.expected_loss =
            couplet::expected_loss(*report_.noise, *shield_.public_patients, features_.size(), rank, width);
    }
    /// Fresh for every sum and client: a key that others can guess would take the guarantee away.
    NoiseSource noise_source(std::uint64_t stream) const {
        if (shield_.repeatable_noise) return NoiseSource::repeatable(*shield_.repeatable_noise, stream);
        return NoiseSource(Secret::random());
    }

    double rounding_of_sums() const { return sums_ ? step_deviation(plan_.how.step, run_.clients()) : 0; }
    std::vector<double> total(Want want, const Matrix<double>& basis) {
        Numbers parts(training_.size());
        const Index sum = sum_++;
        run_.for_clients(
            "sums",
            [&](Index k) {
                const auto at = static_cast<std::size_t>(k);
                const auto& x = training_[at];
                const auto own =
                    (want == Want::projected ? projected_gram(x, basis.view()) : sketch_sum(x, basis.view())).take();
                parts[at] = encode_fixed(own, plan_.how, plan_.bound);
                if (!report_.noise || report_.noise->own == 0) return;
                noise(parts[at], report_.noise->own, static_cast<std::uint64_t>(sum * run_.clients() + k));
            },
            [](Index) {});
        const Stopwatch watch(run_.result.seconds.server);
        auto all = sums_ ? sums_->add(std::move(parts), plan_.how) : plain(parts);
        if (report_.noise && report_.noise->place == NoisePlace::central) {
            noise(all, report_.noise->sigma, ~static_cast<std::uint64_t>(sum));
        }
        numbers_up_ += static_cast<double>(all.size()) * static_cast<double>(run_.clients());
        return decode_fixed(all, plan_.how);
    }
    void noise(std::vector<std::uint64_t>& numbers, double sigma, std::uint64_t stream) const {
        const auto count = static_cast<std::int64_t>(numbers.size());
        auto source = noise_source(stream);
        add_noise(numbers, plan_.how.ring, noise_variance(sigma, plan_.how.step, *plan_.clip, count), source);
    }
    std::vector<std::uint64_t> plain(const Numbers& parts) {
        std::vector<std::uint64_t> all(parts.front().size(), 0);
        for (const auto& part : parts) {
            for (std::size_t i = 0; i < all.size(); ++i) all[i] += part[i];
            bytes_up_ += serialised_bytes(static_cast<double>(part.size()));
        }
        return all;
    }
    void count_down(Index numbers) {
        numbers_down_ += static_cast<double>(numbers) * static_cast<double>(run_.clients());
        bytes_down_ += serialised_bytes(static_cast<double>(numbers)) * static_cast<double>(run_.clients());
    }
    void conclude(const Features& features, Index rounds) {
        SimulationResult& result = run_.result;
        count_down(features.numbers());
        run_.refit_all(clients_, features);
        const auto all = static_cast<double>(run_.clients());
        result.numbers_up_per_client = numbers_up_ / all;
        result.numbers_down_per_client = numbers_down_ / all;
        result.numbers_total = numbers_up_ + numbers_down_;
        result.bytes_up = bytes_up_ + (sums_ ? sums_->traffic().bytes_up : 0);
        result.bytes_down = bytes_down_ + (sums_ ? sums_->traffic().bytes_down : 0);
        const Index last = run_.job.network == Network::star ? 1 : 0;  // the features
        result.rounds = sums_ ? sums_->traffic().rounds + last : rounds;
        result.features = features.clone();
    }

    SimulationRun& run_;
    const ShieldOptions& shield_;
    std::vector<PreparedClient> clients_;
    std::vector<TensorView<const double>> training_;  ///< as the sums see it
    std::vector<Tensor<double>> clipped_;
    Shape features_;
    std::unique_ptr<MaskedSums> sums_;
    ShieldReport report_;
    ShieldPlan plan_;
    Index sum_ = 0;
    double numbers_up_ = 0;
    double numbers_down_ = 0;
    double bytes_up_ = 0;
    double bytes_down_ = 0;
};

}  // namespace

ShieldedResult simulate_shielded(const ClientSource& source, SimulationOptions options, const ShieldOptions& shield,
                                 const std::function<void(const ShieldReport&)>& announce) {
    const Job job = require_job(source, options, shield);
    SimulationRun run(source, options, job);
    ShieldedResult result;
    result.privacy = ShieldedRun(run, shield).execute(announce);
    run.result.job = run.job;
    result.simulation = run.finish();
    return result;
}

}  // namespace couplet
