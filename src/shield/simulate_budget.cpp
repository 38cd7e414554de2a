#include "couplet/shield/simulate_budget.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>
#include <vector>

#include "couplet/consensus/graph_builders.hpp"
#include "couplet/core/error.hpp"
#include "couplet/secure/budget_site.hpp"
#include "couplet/secure/budget_sums.hpp"
#include "couplet/secure/shield_plan.hpp"
#include "couplet/shield/masked_sums.hpp"
#include "couplet/sim/reference.hpp"
#include "couplet/sim/run.hpp"

namespace couplet {
namespace {

Job require_job(const SimulationOptions& options, const BudgetOptions& budget) {
    JobOptions wanted = options.job;
    if (wanted.aggregate && *wanted.aggregate != Aggregate::subspace) {
        throw InputError({"`aggregate`", std::string(to_string(*wanted.aggregate)), "subspace",
                          "Only sums can be masked, clipped and noised; leave `aggregate` out."});
    }
    wanted.aggregate = Aggregate::subspace;
    const Job job = resolve_job(wanted);
    if (!job.rank) throw InputError({"`rank`", "missing", "a rank: noised sums have no certified error", ""});
    if (options.save_state || options.resume || options.dry_run) {
        throw InputError({"`mu`", "given with a saved merge or a dry run", "one or the other", ""});
    }
    if (options.scale_clients) {
        throw InputError({"`scale_clients`", "norm under a budget", "none",
                          "One patient changes the norm, and so every record of the client: no noise covers that."});
    }
    if (budget.place == NoisePlace::distributed && !budget.masked) {
        throw InputError({"`dp_noise`", "distributed without `secure`", "`secure`, or local or central noise", ""});
    }
    if (budget.place == NoisePlace::central && budget.masked) {
        throw InputError({"`dp_noise`", "central with `secure`", "distributed or local", ""});
    }
    return job;
}

/// The ring that all numbers of a sum fit.
FixedPoint common_ring(const BudgetSum& sum) {
    const std::uint64_t most = *std::max_element(sum.moduli.begin(), sum.moduli.end());
    return {sum.step, Ring(static_cast<int>(std::bit_width(most)))};
}

class BudgetRun {
  public:
    BudgetRun(SimulationRun& run, const BudgetOptions& budget)
        : run_(run), budget_(budget), clients_(gather_clients(run)) {
        if (budget.masked) open_sums();
    }

    BudgetReport execute() {
        BudgetJob job(terms());
        while (job.stage() != BudgetStage::done) job.open(total(job), budget_.place == NoisePlace::central ? 1 : all());
        BudgetReport report = report_of(job, budget_.delta);
        report.place = budget_.place;
        report.masked = budget_.masked;
        report.threshold = threshold_;
        if (budget_.repeatable_noise) {
            report.withdrawn = "the noise follows from a seed, and whoever knows it takes the noise away";
        }
        conclude(*job.features());
        return report;
    }

  private:
    Index all() const { return run_.clients(); }
    void open_sums() {
        const SumDemands demands{budget_.min_cohort, budget_.colluders};
        if (run_.job.network == Network::star) {
            auto star = std::make_unique<StarSums>(all(), demands, static_cast<int>(budget_sums));
            threshold_ = star->threshold();
            sums_ = std::move(star);
        } else {
            sums_ = std::make_unique<PeerSums>(make_graph(run_.job.graph, all(), run_.job.seed), demands);
        }
    }
    BudgetTerms terms() const {
        const auto sizes = clients_.front().training->shape().sizes();
        const Index stay = threshold_ > 0 ? threshold_ : all();
        const Index noisy = budget_.place == NoisePlace::distributed ? stay - budget_.colluders : 1;
        return {.mu = budget_.mu,
                .clip = budget_.clip,
                .sites = all(),
                .noisy_sites = noisy,
                .features = Shape(std::vector<Index>(sizes.begin() + 1, sizes.end())),
                .rank = *run_.job.rank,
                .eps2 = run_.job.eps2};
    }
    /// Fresh for every sum and client: a key that others can guess would take the guarantee away.
    NoiseSource noise_source(Index client) const {
        if (!budget_.repeatable_noise) return NoiseSource(Secret::random());
        return NoiseSource::repeatable(*budget_.repeatable_noise,
                                       static_cast<std::uint64_t>(rounds_ * (all() + 1) + client));
    }
    std::vector<std::int64_t> total(const BudgetJob& job) {
        const FixedPoint how = common_ring(job.sum());
        std::vector<std::vector<std::uint64_t>> parts(clients_.size());
        run_.for_clients(
            to_string(job.stage()).data(),
            [&](Index k) {
                const auto at = static_cast<std::size_t>(k);
                const auto& x = clients_[at].training->view();
                auto noise = noise_source(k);
                const auto own =
                    budget_.place == NoisePlace::central ? rounded_sum(job, x, noise) : site_sum(job, x, noise);
                for (const std::int64_t number : own) {
                    parts[at].push_back(how.ring.of(number));
                }
            },
            [](Index) {});
        const Stopwatch watch(run_.result.seconds.server);
        const auto packed = static_cast<double>(how.ring.packed_bytes(job.length()));
        const auto sum = sums_ ? sums_->add(std::move(parts), how) : plain(parts, packed);
        std::vector<std::int64_t> numbers;
        for (const std::uint64_t number : sum) numbers.push_back(how.ring.centred(how.ring.reduced(number)));
        if (budget_.place == NoisePlace::central) {
            auto noise = noise_source(all());
            add_share(job, numbers, noise);
        }
        numbers_ += static_cast<double>(numbers.size());
        bytes_down_ += packed * static_cast<double>(all());
        ++rounds_;
        return numbers;
    }
    std::vector<std::uint64_t> plain(const std::vector<std::vector<std::uint64_t>>& parts, double packed) {
        std::vector<std::uint64_t> sum(parts.front().size(), 0);
        for (const auto& part : parts) {
            for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
            bytes_up_ += packed;
        }
        return sum;
    }
    void conclude(const Features& features) {
        SimulationResult& result = run_.result;
        run_.refit_all(clients_, features);
        result.numbers_up_per_client = numbers_;
        result.numbers_down_per_client = numbers_;
        result.numbers_total = 2 * numbers_ * static_cast<double>(all());
        result.bytes_up = bytes_up_ + (sums_ ? sums_->traffic().bytes_up : 0);
        result.bytes_down = bytes_down_ + (sums_ ? sums_->traffic().bytes_down : 0);
        // An opened sum travels down with what is asked next; after the last it is a message of its own.
        result.rounds = sums_ ? sums_->traffic().rounds + 1 : 2 * rounds_;
        result.features = features.clone();
    }

    SimulationRun& run_;
    const BudgetOptions& budget_;
    std::vector<PreparedClient> clients_;
    std::unique_ptr<MaskedSums> sums_;
    int threshold_ = 0;
    Index rounds_ = 0;
    double numbers_ = 0;
    double bytes_up_ = 0;
    double bytes_down_ = 0;
};

}  // namespace

BudgetResult simulate_budget(const ClientSource& source, SimulationOptions options, const BudgetOptions& budget) {
    const Job job = require_job(options, budget);
    if (source.clients() < 1) throw InputError({"clients", "none", "at least one client", ""});
    SimulationRun run(source, options, job);
    BudgetResult result;
    result.privacy = BudgetRun(run, budget).execute();
    run.result.job = run.job;
    result.simulation = run.finish();
    return result;
}

}  // namespace couplet
