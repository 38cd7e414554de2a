#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/data/cells.hpp"
#include "couplet/data/ehr.hpp"
#include "couplet/data/frequent_codes.hpp"

namespace couplet {
namespace {

struct Record {
    Index count;
    Index patient;
    Index diagnosis;
    Index medication;
};

std::vector<Record> read_records(const std::filesystem::path& file) {
    CsvReader csv(file);
    // More of anything than this is no count, and every number up to it is exact in the file's text.
    constexpr Index largest = 1'000'000'000;
    std::vector<Record> records;
    for (std::vector<std::string_view> row; csv.next(row);) {
        require_fields(csv, row, 5, "count, patient, diagnosis, procedure, medication");
        const auto cell = [&](Index column) { return whole_cell(csv, row, column, 1, largest); };
        cell(3);
        records.push_back({cell(0), cell(1), cell(2), cell(4)});
    }
    return records;
}

/// How often each code occurs: in records, or in how many patients.
CodeCounts count_codes(const std::vector<Record>& records, Index Record::*code, FrequentBy by) {
    CodeCounts counts;
    std::set<std::pair<Index, Index>> seen;
    for (const Record& record : records) {
        if (by == FrequentBy::records || seen.emplace(record.patient, record.*code).second)
            ++counts[std::to_string(record.*code)];
    }
    return counts;
}

/// Position of each code in its mode, by number instead of text.
std::map<Index, Index> by_number(const std::vector<std::string>& codes) {
    std::map<Index, Index> result;
    for (const std::string& code : codes) result.emplace(std::stoll(code), static_cast<Index>(result.size()));
    return result;
}

}  // namespace

Dataset load_cms(const std::filesystem::path& file, const CmsOptions& options) {
    const std::vector<Record> records = read_records(file);
    const auto top = [&](Index Record::*code, Index wanted, const char* what) {
        return frequent_codes(count_codes(records, code, options.frequent_by), wanted, file.string(), what);
    };
    const std::vector<std::string> diagnoses = top(&Record::diagnosis, options.diagnoses, "diagnoses");
    const std::vector<std::string> medications = top(&Record::medication, options.medications, "medications");
    const std::map<Index, Index> row_of = by_number(diagnoses);
    const std::map<Index, Index> col_of = by_number(medications);

    std::set<Index> everybody;
    std::map<Index, std::vector<std::pair<Index, Index>>> entries;  // patient: (position in the slice, count)
    for (const Record& record : records) {
        everybody.insert(record.patient);
        const auto row = row_of.find(record.diagnosis);
        const auto col = col_of.find(record.medication);
        if (row == row_of.end() || col == col_of.end()) continue;
        entries[record.patient].emplace_back(row->second * options.medications + col->second, record.count);
    }
    if (entries.empty()) {
        throw InputError({file.string(), "no record with a frequent diagnosis and a frequent medication",
                          "at least one", "Ask for more diagnoses or medications."});
    }
    Dataset data{.tensor = Tensor<double>::zeros(
                     Shape{static_cast<Index>(entries.size()), options.diagnoses, options.medications}),
                 .source = file.string(),
                 .available = static_cast<Index>(everybody.size()),
                 .records = static_cast<Index>(records.size())};
    double* slice = data.tensor.data();
    for (const auto& [patient, list] : entries) {
        for (const auto& [at, count] : list)
            slice[at] = options.duplicates == Duplicates::clip ? 1 : slice[at] + static_cast<double>(count);
        slice += options.diagnoses * options.medications;
    }
    data.tensor.set_labels({{"patient", {}}, {"diagnosis", diagnoses}, {"medication", medications}});
    return data;
}

}  // namespace couplet
