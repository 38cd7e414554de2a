#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/data/cells.hpp"
#include "couplet/data/ehr.hpp"
#include "couplet/data/frequent_codes.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

using PatientNumbers = std::map<std::string, Index, std::less<>>;

/// Number of each patient, from 0, in the order of the file.
PatientNumbers read_patients(const std::filesystem::path& file) {
    CsvReader csv(file);
    const auto& header = csv.read_header();
    // Exports write "Id" since 2019 and "ID" before.
    const bool recent = std::find(header.begin(), header.end(), "Id") != header.end();
    const Index id = csv.column(recent ? "Id" : "ID");
    PatientNumbers numbers;
    for (std::vector<std::string_view> row; csv.next(row);) {
        const std::string_view name = row[static_cast<std::size_t>(id)];
        if (!numbers.emplace(name, static_cast<Index>(numbers.size())).second) {
            refuse_cell(csv, row, id, "a patient who is not on an earlier line");
        }
    }
    return numbers;
}

/// Coded events of one kind: who ever had which code.
struct Events {
    std::map<std::string, std::set<Index>, CodeOrder> patients;  ///< of each code
    std::map<std::string, std::string, CodeOrder> names;         ///< the first one given to a code
    Index records = 0;
};

Events read_events(const std::filesystem::path& file, const PatientNumbers& numbers) {
    CsvReader csv(file);
    csv.read_header();
    const Index patient = csv.column("PATIENT");
    const Index code = csv.column("CODE");
    const Index description = csv.column("DESCRIPTION");
    Events events;
    for (std::vector<std::string_view> row; csv.next(row); ++events.records) {
        const auto number = numbers.find(row[static_cast<std::size_t>(patient)]);
        if (number == numbers.end()) {
            refuse_cell(csv, row, patient, "a patient of the file of patients", "Use files of one export.");
        }
        const std::string_view name = row[static_cast<std::size_t>(description)];
        if (!is_utf8(name)) refuse_cell(csv, row, description, "UTF-8 text", "Convert the file with iconv.");
        std::string key(row[static_cast<std::size_t>(code)]);
        if (key.empty()) refuse_cell(csv, row, code, "a code");
        events.names.emplace(key, name);
        events.patients[std::move(key)].insert(number->second);
    }
    return events;
}

/// The chosen codes, their names and the positions that each patient has.
struct Mode {
    ModeLabels labels;
    std::vector<std::vector<Index>> of_patient;
};

Mode choose(const Events& events, Index wanted, std::size_t patients, const std::filesystem::path& file,
            std::pair<const char*, const char*> name_one_many) {
    CodeCounts counts;
    for (const auto& [code, who] : events.patients) counts[code] = static_cast<Index>(who.size());
    Mode mode{{name_one_many.first, {}}, std::vector<std::vector<Index>>(patients)};
    for (const std::string& code : frequent_codes(counts, wanted, file.string(), name_one_many.second)) {
        const auto position = static_cast<Index>(mode.labels.entries.size());
        mode.labels.entries.push_back(events.names.at(code));
        for (const Index patient : events.patients.at(code))
            mode.of_patient[static_cast<std::size_t>(patient)].push_back(position);
    }
    return mode;
}

}  // namespace

Dataset load_synthea(const SyntheaFiles& files, const SyntheaOptions& options) {
    const PatientNumbers patients = read_patients(files.patients);
    const Events had = read_events(files.conditions, patients);
    const Events took = read_events(files.medications, patients);
    const Mode conditions =
        choose(had, options.conditions, patients.size(), files.conditions, {"condition", "conditions"});
    const Mode medications =
        choose(took, options.medications, patients.size(), files.medications, {"medication", "medications"});

    std::vector<std::size_t> kept;
    for (std::size_t p = 0; p < patients.size(); ++p) {
        if (!conditions.of_patient[p].empty() && !medications.of_patient[p].empty()) kept.push_back(p);
    }
    if (kept.empty()) {
        throw InputError({files.patients.string(), "no patient with a frequent condition and a frequent medication",
                          "at least one", "Ask for more conditions or medications."});
    }
    Dataset data{.tensor = Tensor<double>::zeros(
                     Shape{static_cast<Index>(kept.size()), options.conditions, options.medications}),
                 .source = files.conditions.string(),
                 .available = static_cast<Index>(patients.size()),
                 .records = had.records + took.records};
    double* slice = data.tensor.data();
    for (const std::size_t p : kept) {
        for (const Index i : conditions.of_patient[p]) {
            for (const Index j : medications.of_patient[p]) slice[i * options.medications + j] = 1;
        }
        slice += options.conditions * options.medications;
    }
    data.tensor.set_labels({{"patient", {}}, conditions.labels, medications.labels});
    return data;
}

}  // namespace couplet
