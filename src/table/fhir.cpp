#include "couplet/table/fhir.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

namespace dom = simdjson::dom;

/// Where a resource keeps what a table wants of it; the first that is there counts.
struct Resource {
    std::string_view type;
    std::string_view mode;
    std::initializer_list<std::string_view> concepts;  ///< CodeableConcepts
    std::initializer_list<std::string_view> dates;
};

const std::array<Resource, 9> resources{{
    {"Condition", "condition", {"/code"}, {"/onsetDateTime", "/onsetPeriod/start", "/recordedDate"}},
    {"MedicationRequest", "medication", {"/medicationCodeableConcept", "/medication/concept"}, {"/authoredOn"}},
    {"MedicationStatement",
     "medication",
     {"/medicationCodeableConcept", "/medication/concept"},
     {"/effectiveDateTime", "/effectivePeriod/start", "/dateAsserted"}},
    {"MedicationAdministration",
     "medication",
     {"/medicationCodeableConcept", "/medication/concept"},
     {"/effectiveDateTime", "/effectivePeriod/start", "/occurenceDateTime", "/occurencePeriod/start"}},
    {"Observation", "observation", {"/code"}, {"/effectiveDateTime", "/effectivePeriod/start", "/issued"}},
    {"Procedure",
     "procedure",
     {"/code"},
     {"/performedDateTime", "/performedPeriod/start", "/occurrenceDateTime", "/occurrencePeriod/start"}},
    {"Immunization", "immunization", {"/vaccineCode"}, {"/occurrenceDateTime"}},
    {"AllergyIntolerance", "allergy", {"/code"}, {"/onsetDateTime", "/recordedDate"}},
    {"DiagnosticReport", "report", {"/code"}, {"/effectiveDateTime", "/effectivePeriod/start", "/issued"}},
}};

const Resource* find_resource(std::string_view type) {
    const auto at = std::find_if(resources.begin(), resources.end(), [&](const auto& one) { return one.type == type; });
    return at == resources.end() ? nullptr : &*at;
}

std::string text_at(dom::element from, std::string_view pointer) {
    std::string_view text;
    return from.at_pointer(pointer).get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

/// Parts of "https://server/fhir/Patient/123/_history/2": what the patients' own references have too.
struct Reference {
    std::string server = {};  ///< "https://server/fhir"; empty: relative
    std::string type = {};    ///< "Patient"; empty: not told
    std::string id = {};
};

Reference parse_reference(std::string text) {
    constexpr std::string_view urn = "urn:uuid:";
    if (text.starts_with(urn)) return {.id = text.substr(urn.size())};
    if (const std::size_t history = text.find("/_history/"); history != std::string::npos) text.resize(history);
    const std::size_t last = text.rfind('/');
    if (last == std::string::npos) return {.id = text};
    Reference reference{.id = text.substr(last + 1)};
    text.resize(last);
    const std::size_t before = text.rfind('/');
    reference.type = text.substr(before == std::string::npos ? 0 : before + 1);
    if (before != std::string::npos) reference.server = text.substr(0, before);
    return reference;
}

/// Who the resource is about, as it is written; empty where nobody is.
std::string subject_of(dom::element resource) {
    const std::string subject = text_at(resource, "/subject/reference");
    return subject.empty() ? text_at(resource, "/patient/reference") : subject;
}

bool is_of_patient(dom::element resource) {
    const std::string told = text_at(resource, "/subject/type");
    const std::string type = told.empty() ? parse_reference(subject_of(resource)).type : told;
    return type.empty() || type == "Patient";
}

bool says(const std::string& word, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

/// Resources that say of themselves that they are not so.
bool is_withdrawn(dom::element resource) {
    if (says(text_at(resource, "/status"), {"entered-in-error", "not-done", "not-taken", "cancelled"})) return true;
    bool prohibited = false;
    if (resource.at_pointer("/doNotPerform").get(prohibited) == simdjson::SUCCESS && prohibited) return true;
    dom::array codings;
    if (resource.at_pointer("/verificationStatus/coding").get(codings) == simdjson::SUCCESS) {
        for (dom::element coding : codings) {
            if (says(text_at(coding, "/code"), {"entered-in-error", "refuted"})) return true;
        }
    }
    std::string text = text_at(resource, "/verificationStatus/text");
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return says(text, {"entered-in-error", "entered in error", "refuted"});
}

const std::vector<std::string>& fhir_columns() {
    static const std::vector<std::string> names{"patient", "code", "display", "date", "value", "unit", "system"};
    return names;
}

}  // namespace

struct FhirReader::Parser {
    dom::parser dom;
};

/// Cells of one record, in the order of the columns.
struct FhirReader::Record {
    std::string patient, code, display, date, value, unit, system;
};

std::optional<std::string> fhir_resource_type(std::string_view line) {
    dom::parser parser;
    dom::element object;
    if (parser.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS) return std::nullopt;
    std::string_view type;
    if (object["resourceType"].get(type) != simdjson::SUCCESS) return std::nullopt;
    return std::string(type);
}

std::string fhir_mode_name(std::string_view resource) {
    const Resource* found = find_resource(resource);
    return found == nullptr ? std::string() : std::string(found->mode);
}

FhirReader::FhirReader(const std::filesystem::path& path)
    : RecordReader(path.string(), fhir_columns()),
      lines_(path),
      parser_(std::make_unique<Parser>()),
      current_(std::make_unique<Record>()) {
    open();
}

FhirReader::FhirReader(std::span<const std::byte> bytes, std::string name)
    : RecordReader(name, fhir_columns()),
      lines_(bytes, name),
      parser_(std::make_unique<Parser>()),
      current_(std::make_unique<Record>()) {
    open();
}

FhirReader::~FhirReader() = default;

/// Reads up to the first record, so that the kind of the resources is known.
void FhirReader::open() {
    for (std::string_view line; waiting_.empty() && lines_.next(line);) parse_line(line);
}

namespace {

void take_quantity(dom::element from, std::string& value, std::string& unit) {
    value.clear();
    unit.clear();
    if (!text_at(from, "/valueQuantity/comparator").empty()) return;  // "less than 5" is no number
    dom::element number;
    for (const char* pointer : {"/valueQuantity/value", "/valueInteger"}) {
        if (from.at_pointer(pointer).get(number) != simdjson::SUCCESS) continue;
        value = simdjson::minify(number);
        break;
    }
    unit = text_at(from, "/valueQuantity/unit");
    if (unit.empty()) unit = text_at(from, "/valueQuantity/code");
}

/// The first coding of the concept; its text where there is none. False where there is neither.
bool take_concept(dom::element from, const std::string& at, std::string& code, std::string& display,
                  std::string& system) {
    code = text_at(from, at + "/coding/0/code");
    display = text_at(from, at + "/coding/0/display");
    system = code.empty() ? "" : text_at(from, at + "/coding/0/system");
    const std::string text = text_at(from, at + "/text");
    if (display.empty()) display = text;
    if (code.empty()) code = text;
    return !code.empty();
}

}  // namespace

/// "Patient/123", "urn:uuid:123" and "https://server/fhir/Patient/123/_history/2" are all patient 123, of one server.
std::string FhirReader::patient_of(const std::string& reference, const std::string& where) {
    Reference parts = parse_reference(reference);
    if (server_.empty()) server_ = parts.server;
    if (!parts.server.empty() && parts.server != server_) {
        throw InputError({where, "a patient of the server " + shown(parts.server),
                          "those of " + shown(server_) + ", as before: numbers of two servers are different patients",
                          "Use one file per server."});
    }
    return std::move(parts.id);
}

bool FhirReader::parse_line(std::string_view line) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) return false;
    const std::string where = fmt::format("{}, line {}", name_, lines_.line_number());
    dom::element resource;
    const auto failed = parser_->dom.parse(line.data(), line.size()).get(resource);
    if (failed != simdjson::SUCCESS) {
        throw InputError({where, fmt::format("no JSON ({}): {}", simdjson::error_message(failed), shown(line)),
                          "one FHIR resource a line", "Check that the export is ndjson and complete."});
    }
    const std::string type = text_at(resource, "/resourceType");
    if (resource_.empty()) resource_ = type;
    if (type != resource_) {
        throw InputError({where, "a resource of type " + shown(type), "only " + resource_ + ", as on the first line",
                          "Use one file per kind of resource, as bulk exports are."});
    }
    if (is_withdrawn(resource) || !is_of_patient(resource)) {
        ++withdrawn_;
        return false;
    }
    const Resource& kind = *find_resource(resource_);
    Record record;
    record.patient = patient_of(subject_of(resource), where);
    if (record.patient.empty()) {
        throw InputError({where, "a " + type + " of nobody", "a reference to its patient (subject or patient)", ""});
    }
    for (const std::string_view pointer : kind.dates) {
        record.date = text_at(resource, pointer);
        if (!record.date.empty()) break;
    }
    bool coded = false;
    for (const std::string_view pointer : kind.concepts) {
        coded = coded || take_concept(resource, std::string(pointer), record.code, record.display, record.system);
    }
    if (!coded) {
        const bool reference = !text_at(resource, "/medicationReference/reference").empty();
        throw InputError({where, reference ? "a medication by reference" : "a " + type + " without a code",
                          "a coded concept",
                          reference ? "Export with medications inside the requests (medicationCodeableConcept)." : ""});
    }
    take_quantity(resource, record.value, record.unit);
    dom::array components;
    if (resource["component"].get(components) == simdjson::SUCCESS && components.size() > 0) {
        for (dom::element component : components) {
            Record part = record;
            if (!take_concept(component, "/code", part.code, part.display, part.system)) continue;
            take_quantity(component, part.value, part.unit);
            waiting_.push_back(std::move(part));
        }
        if (!record.value.empty()) waiting_.push_back(std::move(record));
        std::reverse(waiting_.begin(), waiting_.end());
    } else {
        waiting_.push_back(std::move(record));
    }
    return true;
}

bool FhirReader::next(std::vector<std::string_view>& row) {
    for (std::string_view line; waiting_.empty();) {
        if (!lines_.next(line)) return false;
        parse_line(line);
    }
    *current_ = std::move(waiting_.back());
    waiting_.pop_back();
    row = {current_->patient, current_->code, current_->display, current_->date,
           current_->value,   current_->unit, current_->system};
    for (std::string_view& cell : row) cell = trimmed(cell);
    return true;
}

}  // namespace couplet
