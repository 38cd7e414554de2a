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
#include "couplet/linalg/products.hpp"
#include "couplet/privacy/clip.hpp"
#include "couplet/shield/masked_sums.hpp"
#include "couplet/shield/norm_histogram.hpp"
#include "couplet/sim/reference.hpp"
#include "couplet/sim/run.hpp"

namespace couplet {
namespace {

using Want = SubspaceIteration::Want;
using Parts = std::vector<std::vector<double>>;

Job require_job(const ClientSource& source, const SimulationOptions& options, const ShieldOptions& shield) {
    JobOptions wanted = options.job;
    if (wanted.aggregate && *wanted.aggregate != Aggregate::subspace) {
        throw InputError({"--aggregate", std::string(to_string(*wanted.aggregate)), "subspace",
                          "Only sums can be masked, clipped and noised; leave --aggregate out."});
    }
    wanted.aggregate = Aggregate::subspace;
    const Job job = resolve_job(wanted);
    if (!job.rank) throw InputError({"--rank", "missing", "a rank: sums have no certified error", ""});
    if (options.save_state || options.resume || options.dry_run) {
        throw InputError({"--secure", "given with a saved merge or a dry run", "one or the other", ""});
    }
    if (source.clients() < 1) throw InputError({"clients", "none", "at least one client", ""});
    if (shield.guarantee && !shield.clip) {
        throw InputError(
            {"--clip", "missing with --dp-epsilon", "the norm that no record shall exceed",
             "Choose it from public knowledge: a norm looked up in the data would not be private itself."});
    }
    const bool distributed = shield.noise == NoisePlace::distributed;
    if (shield.guarantee && distributed && !shield.secure) {
        throw InputError({"--dp-noise", "distributed without --secure", "--secure, or local or central noise", ""});
    }
    if (shield.guarantee && shield.secure && shield.noise == NoisePlace::central) {
        throw InputError({"--dp-noise", "central with --secure", "distributed or local", ""});
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
        report_.policy = shield.policy;
        if (shield.secure) open_sums();
    }

    ShieldReport execute(const std::function<void(const ShieldReport&)>& announce) {
        measure();
        fit_policy();
        clip();
        SubspaceIteration iteration(run_.job_, features_);
        report_.sums = iteration.sums_left();
        report_.directions =
            iteration.want() == Want::gram ? features_.size() : run_.job_.passes * iteration.basis().cols();
        plan(iteration);
        if (announce) announce(report_);
        Index rounds = 0;
        while (iteration.want() != Want::nothing) {
            if (rounds > 0) count_down(iteration.basis().size());
            iteration.take(total(iteration.want(), iteration.basis()));
            rounds += 2;
        }
        conclude(iteration.features(), rounds);
        return std::move(report_);
    }

  private:
    void open_sums() {
        const SumDemands demands{shield_.min_cohort, shield_.colluders};
        if (run_.job_.network == Network::star) {
            auto star = std::make_unique<StarSums>(run_.clients(), demands);
            report_.threshold = star->threshold();
            sums_ = std::move(star);
        } else {
            sums_ = std::make_unique<PeerSums>(make_graph(run_.job_.graph, run_.clients(), run_.job_.seed), demands);
        }
    }
    /// Counts of patients and norms. Under a guarantee nothing is counted: it would be a release of its own.
    void measure() {
        for (const auto& x : training_) largest_ = std::max(largest_, x.shape()[0]);
        if (shield_.guarantee) {
            for (const auto& x : training_) patients_ += x.shape()[0];
            return;
        }
        std::vector<std::vector<std::uint64_t>> counts;
        for (const auto& x : training_) counts.push_back(norm_histogram(x));
        std::vector<std::uint64_t> all(norm_classes, 0);
        if (sums_) {
            all = sums_->add(std::move(counts), {1, Ring(48)});
        } else {
            for (const auto& own : counts) {
                for (std::size_t i = 0; i < all.size(); ++i) all[i] += own[i];
            }
        }
        patients_ = static_cast<Index>(histogram_total(all));
        longest_ = histogram_quantile(all, 1);
        usual_ = histogram_quantile(all, shield_.limits.clip_quantile);
    }
    void fit_policy() {
        if (!shield_.policy) return;
        Job& job = run_.job_;
        const bool gram = SubspaceIteration(job, features_).want() == Want::gram;
        const Index honest = patients_ - shield_.colluders * largest_;
        const FittedPlan fitted = fit_plan({*job.rank, job.oversampling, job.passes, gram}, honest, features_.size(),
                                           job.sketch != Sketch::gram, shield_.limits);
        job.rank = fitted.plan.rank;
        job.oversampling = fitted.plan.oversampling;
        job.passes = fitted.plan.passes;
        if (gram && !fitted.plan.gram) job.sketch = Sketch::random;
        // A plan that was made smaller must not become a Gram matrix because that is fewer numbers.
        if (!fitted.plan.gram) job.sketch = Sketch::random;
        report_.changes = fitted.changes;
        report_.warnings = fitted.warnings;
    }
    void clip() {
        if (shield_.clip) {
            report_.clip = shield_.clip;
        } else if (shield_.policy && usual_ > 0) {
            report_.clip = usual_;
        }
        if (!report_.clip) return;
        clipped_.resize(training_.size());
        for (std::size_t k = 0; k < training_.size(); ++k) {
            Clipped one = clip_rows(training_[k], *report_.clip);
            report_.clipped += one.rows;
            clipped_[k] = std::move(one.tensor);
            training_[k] = clipped_[k].view();
        }
    }
    void plan(const SubspaceIteration& iteration) {
        if (!shield_.guarantee) return;
        const NoisePlace place = shield_.noise.value_or(shield_.secure ? NoisePlace::distributed : NoisePlace::local);
        const Index survivors = report_.threshold > 0 ? report_.threshold : run_.clients();
        const Index colluders = place == NoisePlace::distributed ? shield_.colluders : 0;
        report_.noise = plan_noise(*shield_.guarantee, *report_.clip, static_cast<int>(iteration.sums_left()), place,
                                   run_.clients(), survivors, colluders);
        std::optional<Index> width;
        if (iteration.want() == Want::sketch) width = iteration.basis().cols();
        report_.expected_loss =
            couplet::expected_loss(*report_.noise, patients_, features_.size(), *run_.job_.rank, width);
    }

    std::vector<double> total(Want want, const Matrix<double>& basis) {
        Parts parts(training_.size());
        const Index sum = sum_++;
        run_.for_clients(
            "sums",
            [&](Index k) {
                const auto at = static_cast<std::size_t>(k);
                const auto& x = training_[at];
                parts[at] =
                    (want == Want::projected ? projected_gram(x, basis.view()) : sketch_sum(x, basis.view())).get();
                if (!report_.noise || report_.noise->own == 0) return;
                const auto stream = static_cast<std::uint64_t>(sum * run_.clients() + k);
                NoiseSource::seeded(run_.job_.seed, stream).add(parts[at], report_.noise->own);
            },
            [](Index) {});
        const Stopwatch watch(run_.result_.seconds.server);
        auto all = sums_ ? masked(parts) : plain(parts);
        if (report_.noise && report_.noise->place == NoisePlace::central) {
            NoiseSource::seeded(run_.job_.seed, ~static_cast<std::uint64_t>(sum)).add(all, report_.noise->sigma);
        }
        numbers_up_ += static_cast<double>(all.size()) * static_cast<double>(run_.clients());
        return all;
    }
    std::vector<double> plain(const Parts& parts) {
        std::vector<double> all(parts.front().size(), 0.0);
        for (const auto& part : parts) {
            for (std::size_t i = 0; i < all.size(); ++i) all[i] += part[i];
            bytes_up_ += serialised_bytes(static_cast<double>(part.size()));
        }
        return all;
    }
    std::vector<double> masked(const Parts& parts) {
        const double bound = largest_sum();
        // With noise the step need only be small beside it; without, a sum keeps what a double holds.
        const FixedPoint how = agree_fixed_point(bound, run_.clients(), report_.noise ? 58 : 52);
        report_.ring_bits = how.ring.bits();
        std::vector<std::vector<std::uint64_t>> integers;
        for (const auto& part : parts) integers.push_back(encode_fixed(part, how, bound));
        return decode_fixed(sums_->add(std::move(integers), how), how);
    }
    /// No entry of a sum of products of rows exceeds the squares of the rows together.
    double largest_sum() const {
        if (report_.noise) {
            constexpr double most_patients = 0x1.0p32;  // the count itself is nobody's business
            return most_patients * *report_.clip * *report_.clip;
        }
        const double norm = std::min(longest_, report_.clip.value_or(longest_));
        return std::max(static_cast<double>(patients_) * norm * norm, 0x1.0p-500);
    }
    void count_down(Index numbers) {
        numbers_down_ += static_cast<double>(numbers) * static_cast<double>(run_.clients());
        bytes_down_ += serialised_bytes(static_cast<double>(numbers)) * static_cast<double>(run_.clients());
    }
    void conclude(const Features& features, Index rounds) {
        SimulationResult& result = run_.result_;
        count_down(features.numbers());
        run_.refit_all(clients_, features);
        const auto all = static_cast<double>(run_.clients());
        result.numbers_up_per_client = numbers_up_ / all;
        result.numbers_down_per_client = numbers_down_ / all;
        result.numbers_total = numbers_up_ + numbers_down_;
        result.bytes_up = bytes_up_ + (sums_ ? sums_->traffic().bytes_up : 0);
        result.bytes_down = bytes_down_ + (sums_ ? sums_->traffic().bytes_down : 0);
        result.rounds = sums_ ? rounds / 2 + sums_->traffic().rounds : rounds;
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
    Index patients_ = 0;
    Index largest_ = 0;  ///< client
    double longest_ = 0;
    double usual_ = 0;
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
    run.result_.job = run.job_;
    result.simulation = run.finish();
    return result;
}

}  // namespace couplet
