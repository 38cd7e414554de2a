#include "couplet/explain/patient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "couplet/core/error.hpp"
#include "couplet/io/csv.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

double row_distance2(const Matrix<double>& scores, Index a, Index b) {
    double sum = 0;
    for (Index r = 0; r < scores.cols(); ++r) {
        const double d = scores(a, r) - scores(b, r);
        sum += d * d;
    }
    return sum;
}

PatientComponent beside_others(const Matrix<double>& scores, Index patient, Index r) {
    const auto count = static_cast<double>(scores.rows());
    double mean = 0;
    for (Index p = 0; p < scores.rows(); ++p) mean += scores(p, r) / count;
    double variance = 0;
    Index below = 0;
    for (Index p = 0; p < scores.rows(); ++p) {
        variance += (scores(p, r) - mean) * (scores(p, r) - mean) / count;
        below += scores(p, r) < scores(patient, r) ? 1 : 0;
    }
    const double score = scores(patient, r);
    return {score, variance > 0 ? (score - mean) / std::sqrt(variance) : 0, static_cast<double>(below) / count};
}

std::vector<NearPatient> nearest_to(const Matrix<double>& scores, Index patient, const std::vector<std::string>& ids,
                                    Index wanted) {
    std::vector<Index> others;
    double total = 0;
    for (Index p = 0; p < scores.rows(); ++p) {
        for (Index r = 0; r < scores.cols(); ++r) total += scores(p, r) * scores(p, r);
        if (p != patient) others.push_back(p);
    }
    double mean_square = 0;
    for (Index r = 0; r < scores.cols(); ++r) {
        double mean = 0;
        for (Index p = 0; p < scores.rows(); ++p) mean += scores(p, r) / static_cast<double>(scores.rows());
        mean_square += mean * mean;
    }
    // Two patients drawn at random lie this far apart, squared, on average.
    const double typical2 = 2 * (total / static_cast<double>(scores.rows()) - mean_square);
    const auto kept = std::min<std::size_t>(others.size(), static_cast<std::size_t>(wanted));
    std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(kept), others.end(),
                      [&](Index a, Index b) {
                          const double x = row_distance2(scores, patient, a);
                          const double y = row_distance2(scores, patient, b);
                          return x != y ? x < y : a < b;
                      });
    std::vector<NearPatient> near;
    for (std::size_t i = 0; i < kept; ++i) {
        const double d2 = row_distance2(scores, patient, others[i]);
        near.push_back({ids[static_cast<std::size_t>(others[i])], typical2 > 0 ? std::sqrt(d2 / typical2) : 0});
    }
    return near;
}

/// A sum of components as a record: presences again, where prevalences were taken out.
void undo_weights(const Findings& findings, Matrix<double>& row) {
    if (!findings.weighting.weighted()) return;
    std::vector<Index> sizes{1};
    for (const Index size : findings.schema.features.sizes()) sizes.push_back(size);
    Tensor<double> record(Shape(std::move(sizes)));
    for (Index i = 0; i < row.cols(); ++i) record.data()[i] = std::ldexp(row(0, i), findings.exponent);
    const Tensor<double> back = restored(record.view(), findings.weighting, findings.source);
    std::copy_n(back.data(), back.size(), row.data());
}

/// The strongest entries of the patient's components added up.
std::vector<NamedEntry> made_of(const Findings& findings, const Matrix<double>& scores, Index patient) {
    Findings sum{.schema = findings.schema, .rows = Matrix<double>::zeros(1, findings.rows.cols())};
    for (Index r = 0; r < findings.rows.rows(); ++r) {
        for (Index i = 0; i < findings.rows.cols(); ++i) sum.rows(0, i) += scores(patient, r) * findings.rows(r, i);
    }
    undo_weights(findings, sum.rows);
    // The sign rule of explain() is for directions; a patient's sum has its own sign.
    double cubes = 0;
    for (Index i = 0; i < sum.rows.cols(); ++i) cubes += std::pow(sum.rows(0, i), 3);
    auto entries = explain(std::move(sum), {.rotation = Rotation::none, .entries = 10}).components[0].entries;
    for (NamedEntry& entry : entries) entry.weight *= cubes < 0 ? -1 : 1;
    return entries;
}

}  // namespace

std::vector<std::string> read_patients(const std::filesystem::path& file) {
    CsvReader csv(file);
    csv.read_header();
    const auto row_column = csv.column("row");
    const auto id_column = static_cast<std::size_t>(csv.column("patient"));
    std::vector<std::string> ids;
    for (std::vector<std::string_view> row; csv.next(row);) {
        ids.emplace_back(row[id_column]);
        if (csv.number(row, row_column) != static_cast<double>(ids.size())) {
            throw InputError({fmt::format("{}, line {}", file.string(), csv.line_number()), "rows out of order",
                              fmt::format("row {}", ids.size()), "Use patients.csv as couplet table wrote it."});
        }
    }
    return ids;
}

PatientStory tell_patient(const Explanation& explanation, std::size_t site, const std::vector<std::string>& patients,
                          const std::string& id, Index nearest) {
    const Findings& findings = explanation.findings;
    if (findings.sites.empty()) {
        throw InputError({findings.source, "no personal cores beside the features", "those of the patients' site",
                          "Give the folder of the result, at the site."});
    }
    if (site >= findings.sites.size()) {
        throw InputError({"`site`", std::to_string(site + 1), fmt::format("1 to {}", findings.sites.size()), ""});
    }
    const Matrix<double>& scores = findings.sites[site].scores;
    if (static_cast<Index>(patients.size()) != scores.rows()) {
        throw InputError({"`patients`", fmt::format("{} patients", patients.size()),
                          fmt::format("{}, as {} has", scores.rows(), findings.sites[site].name),
                          "Use the patients.csv beside the tensor of that site; held-out patients have no row."});
    }
    const auto found = std::find(patients.begin(), patients.end(), id);
    if (found == patients.end()) {
        throw InputError(
            {"`patient`", shown(id), "an identifier of patients.csv", "The first is " + shown(patients.front()) + "."});
    }
    const Index patient = found - patients.begin();
    if (const auto again = std::find(found + 1, patients.end(), id); again != patients.end()) {
        throw InputError({"`patient`",
                          fmt::format("{} on rows {} and {}", shown(id), patient + 1, again - patients.begin() + 1),
                          "an identifier that patients.csv has once", "Use patients.csv as couplet table wrote it."});
    }
    PatientStory story{.id = id, .site = findings.sites[site].name};
    for (Index r = 0; r < scores.cols(); ++r) story.components.push_back(beside_others(scores, patient, r));
    for (Index r = 0; r < scores.cols(); ++r) {
        if (std::abs(story.components[static_cast<std::size_t>(r)].deviation) >= 2) story.unusual.push_back(r);
    }
    std::stable_sort(story.unusual.begin(), story.unusual.end(), [&](Index a, Index b) {
        const auto size = [&](Index r) { return std::abs(story.components[static_cast<std::size_t>(r)].deviation); };
        return size(a) > size(b);
    });
    story.made_of = made_of(findings, scores, patient);
    story.nearest = nearest_to(scores, patient, patients, nearest);
    return story;
}

}  // namespace couplet
