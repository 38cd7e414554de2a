#include "couplet/explain/evidence.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace couplet {
namespace {

Index offset_of(const Shape& features, std::span<const Index> cell) {
    Index offset = 0;
    for (std::size_t n = 0; n < cell.size(); ++n) offset = offset * features[static_cast<Index>(n)] + cell[n];
    return offset;
}

/// The largest of P independent standard normal numbers is hardly ever beyond sqrt(2 ln P); counts of few patients have
/// longer tails than those, hence never less than four.
double least_deviations(Index cells) {
    constexpr double usual = 4;
    return std::max(usual, std::sqrt(2 * std::log(static_cast<double>(std::max<Index>(1, cells)))));
}

/// Part of the patients that labels with these prevalences would share if they were independent.
double expected(const Evidence& evidence, std::span<const Index> cell) {
    double product = 1;
    for (std::size_t n = 0; n < cell.size(); ++n) product *= evidence.alone[n][static_cast<std::size_t>(cell[n])];
    return product;
}

/// Whom of a patient's labels some cell names, without a label that everybody has.
void count_labels(const double* record, const Shape& features, std::vector<std::vector<double>>& counts) {
    std::vector<std::vector<bool>> has;
    for (const Index size : features.sizes()) has.emplace_back(static_cast<std::size_t>(size));
    for (Index at = 0; at < features.size(); ++at) {
        if (record[at] == 0) continue;
        for (Index n = 0; n < features.order(); ++n) {
            const Index i = at / features.product(n + 1, features.order()) % features[n];
            has[static_cast<std::size_t>(n)][static_cast<std::size_t>(i)] = true;
        }
    }
    for (std::size_t n = 0; n < has.size(); ++n) {
        for (std::size_t i = 0; i < has[n].size(); ++i) counts[n][i] += has[n][i] ? 1 : 0;
    }
}

}  // namespace

std::optional<Evidence> evidence_of(const Centring& centring, const Shape& features) {
    if (!centring.weighted() || features.order() < 2) return std::nullopt;
    Evidence evidence{.features = features,
                      .patients = centring.patients,
                      .together = centring.mean,
                      .any_at = centring.any_at,
                      .least_deviations = least_deviations(features.size())};
    for (Index n = 0; n < features.order(); ++n) {
        evidence.alone.push_back(prevalences(centring.mean, features, centring.any_at, n));
    }
    return evidence;
}

std::optional<Evidence> evidence_of(std::span<const Tensor<double>> clients, const Schema& schema) {
    const Shape& features = schema.features;
    if (clients.empty() || features.order() < 2) return std::nullopt;
    Evidence evidence{
        .features = features, .any_at = find_any(schema), .least_deviations = least_deviations(features.size())};
    evidence.together.assign(static_cast<std::size_t>(features.size()), 0);
    for (const Index size : features.sizes()) evidence.alone.emplace_back(static_cast<std::size_t>(size));
    for (const Tensor<double>& x : clients) {
        evidence.patients += x.shape()[0];
        for (Index p = 0; p < x.shape()[0]; ++p) {
            const double* record = x.data() + p * features.size();
            for (Index at = 0; at < features.size(); ++at) {
                if (record[at] != 0 && record[at] != 1) return std::nullopt;
                evidence.together[static_cast<std::size_t>(at)] += record[at];
            }
            if (evidence.any_at.empty()) count_labels(record, features, evidence.alone);
        }
    }
    const auto patients = static_cast<double>(std::max<Index>(1, evidence.patients));
    for (double& count : evidence.together) count /= patients;
    for (Index n = 0; n < features.order(); ++n) {
        auto& alone = evidence.alone[static_cast<std::size_t>(n)];
        if (!evidence.any_at.empty()) alone = prevalences(evidence.together, features, evidence.any_at, n);
        if (evidence.any_at.empty()) {
            for (double& count : alone) count /= patients;
        }
    }
    return evidence;
}

double lift(const Evidence& evidence, std::span<const Index> cell) {
    const double chance = expected(evidence, cell);
    if (patients_with(evidence, cell) == 0 || !(chance > 0)) return 0;
    return evidence.together[static_cast<std::size_t>(offset_of(evidence.features, cell))] / chance;
}

Index patients_with(const Evidence& evidence, std::span<const Index> cell) {
    const double part = evidence.together[static_cast<std::size_t>(offset_of(evidence.features, cell))];
    const auto count = std::llround(part * static_cast<double>(evidence.patients));
    return count < least_cell ? 0 : count;
}

bool come_together(const Evidence& evidence, std::span<const Index> cell) {
    for (std::size_t n = 0; n < cell.size(); ++n) {
        if (!evidence.any_at.empty() && cell[n] == evidence.any_at[n]) return false;
    }
    if (lift(evidence, cell) < least_lift) return false;
    const auto patients = static_cast<double>(evidence.patients);
    const double chance = patients * expected(evidence, cell);
    const auto found = static_cast<double>(patients_with(evidence, cell));
    return found - chance >= evidence.least_deviations * std::sqrt(chance);
}

}  // namespace couplet
