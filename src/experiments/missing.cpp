#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "couplet/data/hidden.hpp"
#include "couplet/experiments/federate.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/sim/complete.hpp"
#include "steps.hpp"

namespace couplet {
namespace {

constexpr Index missing_clients = 4;

const char* suffix(DataId id) { return id == DataId::synthetic3 ? "order3" : "order4"; }

std::vector<Tensor<double>> hidden(const Tensor<double>& truth, double fraction, MissingAs as, std::uint64_t seed,
                                   Index parts) {
    auto x = Tensor<double>::copy(truth.view());
    hide_entries(x.view(), {.fraction = fraction, .as = as, .seed = seed});
    return split_rows(x.view(), parts);
}

/// Squared error of models against the truth, over its squared norm; all entries, or the hidden ones only.
class Truth {
  public:
    Truth(const Tensor<double>& truth, const Tensor<double>& holes) : truth_(truth), holes_(holes) {}
    void add(const Tensor<double>& model) {
        for (Index i = 0; i < model.size(); ++i, ++at_) {
            const double value = truth_.data()[at_];
            const double error = value - model.data()[i];
            error2_ += error * error;
            norm2_ += value * value;
            if (!std::isnan(holes_.data()[at_])) continue;
            hidden_error2_ += error * error;
            hidden_norm2_ += value * value;
        }
    }
    double rse() const { return error2_ / norm2_; }
    double hidden_rse() const { return hidden_norm2_ > 0 ? hidden_error2_ / hidden_norm2_ : 0; }

  private:
    const Tensor<double>& truth_;
    const Tensor<double>& holes_;
    Index at_ = 0;
    double error2_ = 0;
    double norm2_ = 0;
    double hidden_error2_ = 0;
    double hidden_norm2_ = 0;
};

Tensor<double> with_holes(const Tensor<double>& truth, double fraction, std::uint64_t seed) {
    auto x = Tensor<double>::copy(truth.view());
    hide_entries(x.view(), {.fraction = fraction, .seed = seed});
    return x;
}

/// The paper's experiment: entries set to zero, error against the tensor with the zeros.
void measure_zeroed(Collector& collect, const ExperimentData& data, double fraction, Index k, std::uint64_t seed) {
    const MemorySource source(hidden(data.dataset.tensor, fraction, MissingAs::zero, seed, k));
    const std::string variant = fmt::format("{:.0f}% zero", 100 * fraction);
    const auto x = static_cast<double>(k);
    collect.add(fmt::format("zeroed_{}", suffix(data.id)), "printed-star", variant, x,
                simulate(source, {.job = printed_star(data.rank)}).rse);
    collect.add(fmt::format("zeroed_ours_{}", suffix(data.id)), "ctt-star", variant, x,
                simulate(source, {.job = couplet_star(data.rank)}).rse);
}

/// Zeroed and imputed entries, both against the truth. Without imputation one iteration on zeroed data has the model.
void measure_truth(Collector& collect, const ExperimentData& data, double fraction, std::uint64_t seed,
                   Index iterations) {
    const Tensor<double>& truth = data.dataset.tensor;
    const Tensor<double> holes = with_holes(truth, fraction, seed);
    const auto measure = [&](const char* method, const char* variant, MissingAs as, const JobOptions& job, Index most) {
        Truth against(truth, holes);
        CompletionOptions how{.limits = {.max_iterations = most}};
        how.simulation.job = job;
        how.on_model = [&](Index, const Tensor<double>& model) { against.add(model); };
        const auto done =
            simulate_missing(MemorySource(hidden(truth, fraction, as, seed, missing_clients)), std::move(how));
        const double percent = 100 * fraction;
        collect.add(fmt::format("truth_{}", suffix(data.id)), method, variant, percent, against.rse());
        if (fraction == 0) return;
        collect.add(fmt::format("hidden_{}", suffix(data.id)), method, variant, percent, against.hidden_rse());
        if (as == MissingAs::nan) {
            collect.add(fmt::format("federations_{}", suffix(data.id)), method, variant, percent,
                        static_cast<double>(done.missing->iterations));
        }
    };
    measure("printed-star", "zeros", MissingAs::zero, printed_star(data.rank), 1);
    measure("ctt-star", "zeros", MissingAs::zero, couplet_star(data.rank), 1);
    measure("ctt-star", "imputed", MissingAs::nan, couplet_star(data.rank), iterations);
}

std::string missing_finding(const ExperimentResult& result, const std::string& order, double few, double many) {
    const auto at = [&](const char* figure, const char* method, const char* variant, double percent) {
        const Row* row = find_row(result, figure + order, method, variant, percent);
        return row == nullptr ? "-" : short_number(row->y.mean);
    };
    if (find_row(result, "hidden_" + order, "ctt-star", "imputed", few) == nullptr) return "";
    const auto hidden = [&](double percent) {
        return fmt::format(
            "with {:.0f}% missing imputation leaves an RSE of {} on the hidden entries after {} federations, Couplet "
            "on "
            "zeros {}, the CTT of Zhang et al. 2024 on zeros {}",
            percent, at("hidden_", "ctt-star", "imputed", percent), at("federations_", "ctt-star", "imputed", percent),
            at("hidden_", "ctt-star", "zeros", percent), at("hidden_", "printed-star", "zeros", percent));
    };
    return fmt::format("{}: {}{}.", order == "order3" ? "Order 3" : "Order 4", hidden(few),
                       few == many ? "" : "; " + hidden(many));
}

ExperimentResult run_missing(Lab& lab) {
    ExperimentResult result{.name = "missing"};
    const auto fractions = lab.by_effort<std::vector<double>>({0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9},
                                                              {0, 0.3, 0.6, 0.9}, {0, 0.3});
    const auto counts = lab.by_effort<std::vector<Index>>({2, 4, 6, 8, 10}, {2, 8}, {2});
    // Six lines can be told apart by their dashes.
    const auto drawn = lab.by_effort<std::vector<double>>({0, 0.1, 0.3, 0.5, 0.7, 0.9}, {0, 0.3, 0.6, 0.9}, {0, 0.3});
    const auto iterations = lab.by_effort<Index>(200, 40, 5);
    Collector collect;
    Steps steps(lab, result.name, 2 * lab.settings.repeats * static_cast<Index>(fractions.size()));
    for (const DataId id : {DataId::synthetic3, DataId::synthetic4}) {
        const std::string order = id == DataId::synthetic3 ? "Order 3" : "Order 4";
        result.figures.push_back({fmt::format("zeroed_{}", suffix(id)),
                                  order + ": as the paper, against the zeroed tensor",
                                  Chart::lines,
                                  {"clients K"},
                                  {"RSE"}});
        result.figures.push_back({fmt::format("zeroed_ours_{}", suffix(id)),
                                  order + ": the same with Couplet",
                                  Chart::lines,
                                  {"clients K"},
                                  {"RSE"}});
        result.figures.push_back({fmt::format("truth_{}", suffix(id)),
                                  order + ": against the truth, all entries",
                                  Chart::lines,
                                  {"missing entries, %"},
                                  {"RSE", true}});
        result.figures.push_back({fmt::format("hidden_{}", suffix(id)),
                                  order + ": against the truth, hidden entries",
                                  Chart::lines,
                                  {"missing entries, %"},
                                  {"RSE", true}});
        result.figures.push_back({fmt::format("federations_{}", suffix(id)),
                                  order + ": what imputation costs",
                                  Chart::lines,
                                  {"missing entries, %"},
                                  {"federations of two rounds", true}});
        for (Index r = 0; r < lab.settings.repeats; ++r) {
            const auto data = lab.data.open(id, lab.seed(r));
            for (const double fraction : fractions) {
                if (std::find(drawn.begin(), drawn.end(), fraction) != drawn.end()) {
                    for (const Index k : counts) measure_zeroed(collect, *data, fraction, k, lab.seed(r));
                }
                measure_truth(collect, *data, fraction, lab.seed(r), iterations);
                steps.next();
            }
        }
    }
    result.rows = collect.rows();
    for (const char* order : {"order3", "order4"}) {
        if (auto sentence = missing_finding(result, order, 100 * fractions[1], 100 * fractions.back());
            !sentence.empty()) {
            result.findings.push_back(std::move(sentence));
        }
    }
    return result;
}

}  // namespace

extern const Experiment missing_experiment{
    .name = "missing",
    .title = "Missing entries",
    .about =
        "The paper sets entries to zero and measures the error against the tensor with the zeros, which counts "
        "forgetting what was there as success. Beside it: the error against the truth, and true missing entries that "
        "every client fills with its own model while the federation is repeated (couplet simulate --missing impute), "
        "until they move by at most 1e-5 of the norm, or 200 times (40 in a quick run).",
    .paper = "Figure: effect of the percentage of non-zero entries",
    .data = {DataId::synthetic3, DataId::synthetic4},
    .run = run_missing};

}  // namespace couplet
