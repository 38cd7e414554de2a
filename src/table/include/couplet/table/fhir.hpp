#pragma once

#include <memory>
#include <optional>
#include <string>

#include "couplet/io/line_reader.hpp"
#include "couplet/table/records.hpp"

namespace couplet {

/// A bulk export of one kind of FHIR resource (R4, R5), one a line: Condition, MedicationRequest, MedicationStatement,
/// MedicationAdministration, Observation, Procedure, Immunization, AllergyIntolerance, DiagnosticReport. The columns
/// are patient, code, display, date, value, unit and system (of the code): of the first coding of the concept; of an
/// Observation with components one record for each, and one of its own where it has a value. A value that is only a
/// bound (comparator <, >, ...) is none. Resources that say they are wrong (status entered-in-error, a condition
/// refuted, an act not done, a medication not taken) and those of no patient (a device, a group) are left out and
/// counted.
class FhirReader : public RecordReader {
  public:
    explicit FhirReader(const std::filesystem::path& path);
    FhirReader(std::span<const std::byte> bytes, std::string name);
    ~FhirReader() override;
    bool next(std::vector<std::string_view>& row) override;
    Index line() const noexcept override { return lines_.line_number(); }
    /// "Condition"; known from the start.
    const std::string& resource() const noexcept { return resource_; }
    Index withdrawn() const noexcept { return withdrawn_; }
    /// Of references with one ("https://server/fhir"); empty while none was met.
    const std::string& server() const noexcept { return server_; }

  private:
    struct Parser;
    struct Record;
    void open();
    bool parse_line(std::string_view line);
    std::string patient_of(const std::string& reference, const std::string& where);
    LineReader lines_;
    std::unique_ptr<Parser> parser_;
    std::string resource_;
    std::string server_;
    std::vector<Record> waiting_;  ///< of the line last read, last first
    std::unique_ptr<Record> current_;
    Index withdrawn_ = 0;
};

/// The resourceType of a line of JSON; nothing where it has none.
std::optional<std::string> fhir_resource_type(std::string_view line);
/// What a mode of such resources is called: "condition", "medication", ...; empty for resources that are not read.
std::string fhir_mode_name(std::string_view resource);

}  // namespace couplet
