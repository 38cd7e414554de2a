#include "folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <system_error>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/csv_text.hpp"
#include "couplet/io/npy_header.hpp"
#include "couplet/io/schema_file.hpp"
#include "couplet/io/staged_files.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Identifiers are nobody else's business.
constexpr unsigned private_file = 0600;

void append(AtomicFile& file, std::string_view text) { file.write(std::as_bytes(std::span(text))); }

std::string dumped(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

/// Whether couplet table wrote what is there.
bool holds_table(const fs::path& folder) {
    std::ifstream stream(folder / "manifest.json", std::ios::binary);
    const Json json = Json::parse(stream, nullptr, false);
    return json.is_object() && json.contains("kind") && json["kind"] == "table";
}

/// Which patients have a row, and which one, in the order of the rows.
struct Rows {
    std::vector<std::int64_t> of_patient;  ///< -1: none
    std::vector<std::uint32_t> patients;
};

Rows number_rows(const Gathered& gathered, const std::vector<bool>& has_entries, bool keep_empty) {
    Rows rows{std::vector<std::int64_t>(gathered.patients.size(), -1), {}};
    for (std::uint32_t p = 0; p < gathered.patients.size(); ++p) {
        if (keep_empty || has_entries[p]) rows.patients.push_back(p);
    }
    if (!gathered.in_order) {
        std::sort(rows.patients.begin(), rows.patients.end(),
                  [&](std::uint32_t a, std::uint32_t b) { return gathered.patients[a] < gathered.patients[b]; });
    }
    for (std::size_t r = 0; r < rows.patients.size(); ++r) {
        rows.of_patient[rows.patients[r]] = static_cast<std::int64_t>(r);
    }
    return rows;
}

/// A .npy file whose rows are written in whatever order; those that are not are zeros.
class NpyRows {
  public:
    NpyRows(const fs::path& path, const Shape& shape) : name_(path.string()), header_(encode_npy_header("<f8", shape)) {
        descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        const auto size = static_cast<off_t>(header_.size() + static_cast<std::size_t>(shape.size()) * sizeof(double));
        if (descriptor_ < 0 || ::ftruncate(descriptor_, size) != 0) fail();
        put(header_.data(), header_.size(), 0);
        width_ = static_cast<std::size_t>(shape.product(1, shape.order())) * sizeof(double);
    }
    ~NpyRows() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    NpyRows(const NpyRows&) = delete;
    NpyRows& operator=(const NpyRows&) = delete;
    void write(std::int64_t row, const std::vector<double>& values) {
        put(values.data(), width_, static_cast<off_t>(header_.size() + static_cast<std::size_t>(row) * width_));
    }

  private:
    void put(const void* data, std::size_t bytes, off_t at) {
        for (std::size_t done = 0; done < bytes;) {
            const ssize_t wrote = ::pwrite(descriptor_, static_cast<const char*>(data) + done, bytes - done,
                                           at + static_cast<off_t>(done));
            if (wrote <= 0) fail();
            done += static_cast<std::size_t>(wrote);
        }
    }
    [[noreturn]] void fail() const {
        throw RunError({name_, std::generic_category().message(errno), "room for the tensor",
                        "Free some disk space, or use `layout` sparse."});
    }
    std::string name_;
    std::string header_;
    int descriptor_ = -1;
    std::size_t width_ = 0;
};

class Writer {
  public:
    Writer(const TableFolder& folder, const Gathered& gathered, const Placement& placement, const TableOptions& options,
           TableReport& report)
        : folder_(folder),
          gathered_(gathered),
          placement_(placement),
          options_(options),
          report_(report),
          features_(schema_of(placement.vocabulary).features) {}

    void write() {
        survey();
        const bool sparse = is_sparse();
        report_.file = sparse ? "tensor.tns" : "tensor.npy";
        AtomicFile tensor(at(report_.file), folder_.overwrite(), private_file);
        if (sparse) {
            write_sparse(tensor);
        } else {
            write_dense(tensor);
        }
        AtomicFile patients(at("patients.csv"), folder_.overwrite(), private_file);
        write_patients(patients);
        AtomicFile schema(at("schema.json"), folder_.overwrite());
        Vocabulary told = placement_.vocabulary;
        for (ModeTerms& mode : told.modes) {
            for (Term& term : mode.terms) {
                term.patients = 0;
                term.label_patients = {};
            }
        }
        append(schema, dumped(vocabulary_json(told)));
        std::optional<AtomicFile> unknown;
        if (!placement_.unknown.empty()) {
            unknown.emplace(at("unknown.csv"), folder_.overwrite());
            write_unknown(*unknown);
        }
        AtomicFile manifest(at("manifest.json"), folder_.overwrite());
        append(manifest, dumped(manifest_json()));
        const CommitTogether together;
        remove_stale();
        tensor.commit();
        patients.commit();
        schema.commit();
        if (unknown) unknown->commit();
        manifest.commit();
    }

  private:
    fs::path at(const std::string& name) const { return folder_.path() / name; }

    bool keeps_all() const { return options_.keep_empty || gathered_.in_order; }

    /// Who has entries, and how many there are.
    void survey() {
        std::vector<bool> has_entries(gathered_.patients.size());
        for_each_patient(gathered_, placement_, features_, [&](std::uint32_t patient, const PatientEntries& entries) {
            // Nobody is known by what everybody has.
            has_entries[patient] = entries.size() > (placement_.any.empty() ? 0U : 1U);
            if (!has_entries[patient] && !keeps_all()) return;
            for (const auto& [offset, value] : entries) {
                if (std::isnan(value)) ++report_.missing;
                if (!std::isnan(value) && (value != 0 || options_.absent_nan)) ++report_.entries;
            }
        });
        rows_ = number_rows(gathered_, has_entries, keeps_all());
        report_.patients = static_cast<Index>(rows_.patients.size());
        report_.without = static_cast<Index>(gathered_.patients.size()) - report_.patients;
        if (report_.patients == 0) {
            throw InputError({gathered_.tables.front(), "no patient with an entry", "at least one",
                              options_.schema ? "The codes of the schema are others: see couplet schema --propose."
                                              : "Perhaps the tables are of different patients."});
        }
    }

    Shape shape() const {
        std::vector<Index> sizes{report_.patients};
        sizes.insert(sizes.end(), features_.sizes().begin(), features_.sizes().end());
        return Shape(std::move(sizes));
    }

    bool is_sparse() const {
        const bool unknown = options_.absent_nan || report_.missing > 0;
        if (options_.layout == TableLayout::sparse) {
            if (!unknown) return true;
            throw InputError({"`layout`", "sparse where entries are not known", "dense: a sparse file has no NaN",
                              "Leave `layout` out."});
        }
        // A line of text takes about three numbers.
        return options_.layout == TableLayout::automatic && !unknown && 3 * report_.entries < shape().size();
    }

    void write_sparse(AtomicFile& file) {
        const Shape all = shape();
        const Index order = all.order();
        // Its size is that of the largest indices: the last cell is told even where it is zero.
        std::string text;
        for (const Index size : all.sizes()) text += fmt::format("{} ", size);
        text += "0\n";
        for_each_patient(gathered_, placement_, features_, [&](std::uint32_t patient, const PatientEntries& entries) {
            const std::int64_t row = rows_.of_patient[patient];
            if (row < 0) return;
            for (const auto& [offset, value] : entries) {
                if (value == 0) continue;
                fmt::format_to(std::back_inserter(text), "{}", row + 1);
                for (Index n = 1; n < order; ++n) {
                    fmt::format_to(std::back_inserter(text), " {}", offset / all.product(n + 1, order) % all[n] + 1);
                }
                fmt::format_to(std::back_inserter(text), " {}\n", value);
            }
            if (text.size() < (1 << 20)) return;
            append(file, text);
            text.clear();
        });
        append(file, text);
    }

    void write_dense(AtomicFile& file) {
        const double absent = options_.absent_nan ? std::numeric_limits<double>::quiet_NaN() : 0;
        NpyRows rows(file.temporary_path(), shape());
        std::vector<double> values(static_cast<std::size_t>(features_.size()));
        for_each_patient(gathered_, placement_, features_, [&](std::uint32_t patient, const PatientEntries& entries) {
            const std::int64_t row = rows_.of_patient[patient];
            if (row < 0) return;
            std::fill(values.begin(), values.end(), absent);
            for (const auto& [offset, value] : entries) values[static_cast<std::size_t>(offset)] = value;
            rows.write(row, values);
        });
        if (options_.absent_nan) {
            report_.missing = report_.patients * features_.size() - report_.entries;
        }
    }

    void write_patients(AtomicFile& file) {
        std::string text = "row,patient\n";
        for (std::size_t r = 0; r < rows_.patients.size(); ++r) {
            text += fmt::format("{},{}\n", r + 1, csv_field(gathered_.patients[rows_.patients[r]]));
        }
        append(file, text);
    }

    void write_unknown(AtomicFile& file) {
        std::string text = "mode,code,label,events\n";
        for (const UnknownTerm& term : placement_.unknown) {
            text += fmt::format("{},{},{},{}\n", safe_csv_field(term.mode), safe_csv_field(term.code),
                                safe_csv_field(term.label), term.events);
        }
        append(file, text);
    }

    Json manifest_json() const {
        const Schema schema = schema_of(placement_.vocabulary);
        Json labels = Json::array({{{"name", "patient"}, {"entries", Json::array()}}});
        for (const ModeLabels& mode : schema.modes) {
            Json one{{"name", mode.name}, {"entries", mode.entries}};
            if (!mode.units.empty()) one["units"] = mode.units;
            labels.push_back(std::move(one));
        }
        Vocabulary counted = placement_.vocabulary;
        counted.patients = report_.patients + report_.without;  // whom the counts of the codes are of
        return {{"kind", "table"},
                {"source", gathered_.tables},
                {"aggregate", to_string(gathered_.rule)},
                {"shape", shape().sizes()},
                {"mode_labels", std::move(labels)},
                {"clients", Json::array({{{"file", report_.file}, {"rows", report_.patients}, {"labels", nullptr}}})},
                {"vocabulary", vocabulary_json(counted)}};
    }

    /// Of an older table in the same folder: what this one does not have.
    void remove_stale() const {
        std::error_code ignored;
        fs::remove(at(report_.file == "tensor.tns" ? "tensor.npy" : "tensor.tns"), ignored);
        if (placement_.unknown.empty()) fs::remove(at("unknown.csv"), ignored);
    }

    const TableFolder& folder_;
    const Gathered& gathered_;
    const Placement& placement_;
    const TableOptions& options_;
    TableReport& report_;
    Shape features_;
    Rows rows_;
};

}  // namespace

TableFolder::TableFolder(fs::path folder, bool overwrite) : folder_(std::move(folder)), overwrite_(overwrite) {
    std::error_code ignored;
    const bool ours = holds_table(path());
    for (const char* name : table_files) {
        if ((overwrite && ours) || !fs::exists(path() / name, ignored)) continue;
        const std::string file = (path() / name).string();
        if (!ours && overwrite) {
            throw InputError({file, "a file that couplet table did not write", "a folder with a table, or without one",
                              "Choose another output folder."});
        }
        throw InputError({file, "the file exists", "a folder without a table",
                          "Choose another output folder, or use `force` to replace it."});
    }
}

void write_table(const TableFolder& folder, const Gathered& gathered, const Placement& placement,
                 const TableOptions& options, TableReport& report) {
    Writer(folder, gathered, placement, options, report).write();
}

}  // namespace couplet
