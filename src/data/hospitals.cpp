#include "couplet/data/hospitals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "couplet/core/error.hpp"
#include "couplet/core/random.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/csv_text.hpp"
#include "couplet/io/made_folder.hpp"
#include "couplet/io/staged_files.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A code, its name, and the phenotype that it belongs to (-1: none), or else how many patients have it.
struct Code {
    const char* code;
    const char* name;
    int phenotype;
    double prevalence = 0;
};

constexpr std::array phenotype_names{"Metabolic syndrome", "Atopy",          "Heart failure",
                                     "Bone and joint",     "Mood and sleep", "Kidney failure with anaemia"};
constexpr std::size_t phenotypes = phenotype_names.size();
/// Part of the patients who have each, at north, south and west.
constexpr std::array<std::array<double, phenotypes>, 3> carried{
    {{0.16, 0.14, 0.10, 0.12, 0.12, 0.06}, {0.12, 0.16, 0.12, 0.10, 0.12, 0.08}, {0.14, 0.12, 0.14, 0.14, 0.10, 0.08}}};
constexpr std::array site_names{"north", "south", "west"};
constexpr std::array<double, 3> site_parts{0.45, 0.35, 0.20};
/// Who has a phenotype has each of its codes with this chance, everybody else with that.
constexpr double with_phenotype = 0.75;
constexpr double without_phenotype = 0.025;

constexpr std::array conditions{
    Code{"E11", "Type 2 diabetes", 0},
    Code{"I10", "Hypertension", 0},
    Code{"E78", "Hyperlipidaemia", 0},
    Code{"E66", "Obesity", 0},
    Code{"J45", "Asthma", 1},
    Code{"J30", "Hay fever", 1},
    Code{"L20", "Atopic dermatitis", 1},
    Code{"I25", "Coronary heart disease", 2},
    Code{"I48", "Atrial fibrillation", 2},
    Code{"I50", "Heart failure", 2},
    Code{"M17", "Osteoarthritis of knee", 3},
    Code{"M81", "Osteoporosis", 3},
    Code{"M54", "Low back pain", 3},
    Code{"F32", "Depression", 4},
    Code{"F41", "Anxiety disorder", 4},
    Code{"G47", "Insomnia", 4},
    Code{"N18", "Chronic kidney disease", 5},
    Code{"D63", "Anaemia in chronic disease", 5},
    Code{"E83", "Disorder of phosphate metabolism", 5},
    Code{"J01", "Viral sinusitis", -1, 0.42},
    Code{"J06", "Upper respiratory infection", -1, 0.38},
    Code{"R51", "Headache", -1, 0.30},
    Code{"Z00", "General examination", -1, 0.35},
    Code{"H25", "Cataract", -1, 0.05},
    Code{"K40", "Inguinal hernia", -1, 0.04},
    Code{"K80", "Gallstones", -1, 0.04},
    Code{"S52", "Fracture of forearm", -1, 0.05},
    Code{"B02", "Shingles", -1, 0.04},
    Code{"L03", "Cellulitis", -1, 0.04},
};
constexpr std::array medications{
    Code{"A10BA02", "Metformin", 0},
    Code{"C09AA03", "Lisinopril", 0},
    Code{"C10AA01", "Simvastatin", 0},
    Code{"A10AE04", "Insulin glargine", 0},
    Code{"R03AC02", "Salbutamol", 1},
    Code{"R03BA02", "Budesonide", 1},
    Code{"R06AE07", "Cetirizine", 1},
    Code{"B01AA03", "Warfarin", 2},
    Code{"C07AB07", "Bisoprolol", 2},
    Code{"C03CA01", "Furosemide", 2},
    Code{"M05BA04", "Alendronate", 3},
    Code{"A11CC05", "Vitamin D", 3},
    Code{"M01AE01", "Ibuprofen", 3},
    Code{"N06AB06", "Sertraline", 4},
    Code{"N06AB10", "Escitalopram", 4},
    Code{"N05CF01", "Zopiclone", 4},
    Code{"B03XA01", "Erythropoietin", 5},
    Code{"B03AC02", "Iron, intravenous", 5},
    Code{"V03AE02", "Sevelamer", 5},
    Code{"N02BE01", "Paracetamol", -1, 0.40},
    Code{"A02BC01", "Omeprazole", -1, 0.32},
    Code{"J01CA04", "Amoxicillin", -1, 0.30},
    Code{"J07BB02", "Influenza vaccine", -1, 0.35},
    Code{"H02AB06", "Prednisolone", -1, 0.05},
    Code{"D01AC01", "Clotrimazole", -1, 0.04},
    Code{"G03AA07", "Levonorgestrel with oestrogen", -1, 0.05},
    Code{"S01ED01", "Timolol eye drops", -1, 0.04},
    Code{"J05AB01", "Aciclovir", -1, 0.03},
    Code{"A07DA03", "Loperamide", -1, 0.04},
};

/// A laboratory value: where it lies in people, and by how many deviations each phenotype moves it.
struct Test {
    const char* name;
    const char* unit;
    double mean;
    double deviation;
    int digits;
    std::array<double, phenotypes> shift;
};
constexpr std::array tests{
    Test{"HbA1c", "%", 5.5, 0.5, 1, {3, 0, 0, 0, 0, 0}},
    Test{"glucose", "mg/dL", 95, 14, 0, {2.5, 0, 0, 0, 0, 0}},
    Test{"body mass index", "kg/m2", 25.5, 3.5, 1, {1.5, 0, 0, 0.5, 0, 0}},
    Test{"systolic pressure", "mmHg", 124, 13, 0, {1, 0, 0.5, 0, 0, 1}},
    Test{"creatinine", "mg/dL", 0.9, 0.2, 2, {0, 0, 1, 0, 0, 5}},
    Test{"haemoglobin", "g/dL", 14.1, 1.3, 1, {0, 0, 0, 0, 0, -2.5}},
    Test{"platelets", "1/uL", 255000, 55000, 0, {0, 0, 0, 0, 0, 0}},
    Test{"eosinophils", "1/uL", 180, 80, 0, {0, 2.5, 0, 0, 0, 0}},
    Test{"NT-proBNP", "pg/mL", 120, 60, 0, {0, 0, 6, 0, 0, 1}},
    Test{"vitamin D", "ng/mL", 30, 8, 0, {0, 0, 0, -1.5, -0.5, 0}},
};

/// How a hospital writes its events and its laboratory values.
struct Habits {
    char separator;
    const char* diagnoses;  ///< header
    const char* prescriptions;
    const char* patient;  ///< of the laboratory
    bool local_codes;
    bool text_first;  ///< the name of a code stands before it
    int every_empty;  ///< of so many events one has no code; 0: none
};
constexpr std::array habits{
    Habits{',', "PATIENT,CODE,DESCRIPTION,START", "PATIENT,CODE,DESCRIPTION,START", "PATIENT", false, false, 0},
    Habits{';', "pid;label;dx;recorded", "person;drug;rx;ordered", "pid", true, true, 60},
    Habits{',', "patient_id,diagnosis,text,date", "patient_id,medication,text,date", "patient_id", true, false, 0},
};

struct Patient {
    std::string id;
    std::array<bool, phenotypes> has{};
    std::vector<bool> conditions;
    std::vector<bool> medications;
    std::array<double, tests.size()> values{};  ///< NaN: not measured
};

std::vector<bool> draw_codes(std::span<const Code> codes, const std::array<bool, phenotypes>& has, Random& random) {
    std::vector<bool> drawn;
    for (const Code& code : codes) {
        const double chance = code.phenotype < 0                              ? code.prevalence
                              : has[static_cast<std::size_t>(code.phenotype)] ? with_phenotype
                                                                              : without_phenotype;
        drawn.push_back(random.uniform() < chance);
    }
    return drawn;
}

Patient draw_patient(std::size_t site, Index number, const HospitalOptions& options, Random& random) {
    Patient patient{.id = fmt::format("{}{:05}", "NSW"[site], 10 * number + static_cast<Index>(random.below(10)))};
    for (std::size_t f = 0; f < phenotypes; ++f) patient.has[f] = random.uniform() < carried[site][f];
    patient.conditions = draw_codes(conditions, patient.has, random);
    patient.medications = draw_codes(medications, patient.has, random);
    for (std::size_t t = 0; t < tests.size(); ++t) {
        double deviations = random.normal();
        for (std::size_t f = 0; f < phenotypes; ++f) deviations += patient.has[f] ? tests[t].shift[f] : 0;
        // Concentrations are positive.
        const double least = 0.1 * tests[t].mean;
        const double value = std::max(least, tests[t].mean + tests[t].deviation * deviations);
        patient.values[t] = random.uniform() < options.gaps ? std::nan("") : value;
    }
    return patient;
}

std::vector<Patient> draw_site(std::size_t site, Index count, const HospitalOptions& options) {
    Random random(options.seed, site + 0x686f7370);
    std::vector<Patient> patients;
    for (Index i = 0; i < count; ++i) patients.push_back(draw_patient(site, i, options, random));
    return patients;
}

/// A hospital's own code of the i-th of `codes`: "S-D017".
std::string local_code(std::size_t site, char kind, std::size_t i) {
    // Not in the order of the shared ones.
    return fmt::format("{}-{}{:03}", "NSW"[site], kind, (i * 37 + 11 * site) % 101);
}

std::string date_text(Random& random) {
    return fmt::format("{}-{:02}-{:02}", 2015 + random.below(9), 1 + random.below(12), 1 + random.below(28));
}

std::string events_text(std::size_t site, const std::vector<Patient>& patients, bool drugs, Random& random) {
    const Habits& how = habits[site];
    const std::span<const Code> codes = drugs ? std::span<const Code>(medications) : std::span<const Code>(conditions);
    std::string text = fmt::format("{}\n", drugs ? how.prescriptions : how.diagnoses);
    int events = 0;
    for (const Patient& patient : patients) {
        for (std::size_t i = 0; i < codes.size(); ++i) {
            if (!(drugs ? patient.medications : patient.conditions)[i]) continue;
            const std::string code = how.local_codes ? local_code(site, drugs ? 'M' : 'D', i) : codes[i].code;
            // Prescriptions are renewed.
            const std::uint64_t times = 1 + (drugs ? random.below(3) : 0);
            for (std::uint64_t k = 0; k < times; ++k) {
                const bool empty = how.every_empty > 0 && ++events % how.every_empty == 0 && k > 0;
                const std::string shown = empty ? "" : code;
                const std::string name = csv_field(codes[i].name);
                const auto& [second, third] = how.text_first ? std::tie(name, shown) : std::tie(shown, name);
                text +=
                    fmt::format("{1}{0}{2}{0}{3}{0}{4}\n", how.separator, patient.id, second, third, date_text(random));
            }
        }
    }
    return text;
}

std::string laboratory_text(std::size_t site, const std::vector<Patient>& patients) {
    const Habits& how = habits[site];
    std::string text = how.patient;
    for (const Test& test : tests) text += fmt::format("{}{} [{}]", how.separator, test.name, test.unit);
    text += "\n";
    for (const Patient& patient : patients) {
        text += patient.id;
        for (std::size_t t = 0; t < tests.size(); ++t) {
            const double value = patient.values[t];
            text += std::isnan(value) ? std::string(1, how.separator)
                                      : fmt::format("{}{:.{}f}", how.separator, value, tests[t].digits);
        }
        text += "\n";
    }
    return text;
}

std::string codes_text(std::size_t site) {
    std::string text = "local,shared,label\n";
    const auto add = [&](std::span<const Code> codes, char kind) {
        for (std::size_t i = 0; i < codes.size(); ++i) {
            text += fmt::format("{},{},{}\n", local_code(site, kind, i), codes[i].code, csv_field(codes[i].name));
        }
    };
    add(conditions, 'D');
    add(medications, 'M');
    return text;
}

Json codes_of(std::span<const Code> codes, int phenotype) {
    Json list = Json::array();
    for (const Code& code : codes) {
        const bool frequent = code.phenotype < 0 && code.prevalence >= 0.3;
        if (phenotype < 0 ? frequent : code.phenotype == phenotype) {
            list.push_back({{"code", code.code}, {"name", code.name}});
        }
    }
    return list;
}

Json truth_of(const std::array<std::vector<Patient>, 3>& sites, const HospitalOptions& options) {
    Json planted = Json::array();
    for (std::size_t f = 0; f < phenotypes; ++f) {
        Json patients;
        for (std::size_t k = 0; k < sites.size(); ++k) {
            patients[site_names[k]] =
                std::count_if(sites[k].begin(), sites[k].end(), [&](const Patient& p) { return p.has[f]; });
        }
        Json shifts;
        for (const Test& test : tests) {
            if (test.shift[f] != 0) shifts[test.name] = test.shift[f];
        }
        planted.push_back({{"name", phenotype_names[f]},
                           {"conditions", codes_of(conditions, static_cast<int>(f))},
                           {"medications", codes_of(medications, static_cast<int>(f))},
                           {"laboratory", std::move(shifts)},
                           {"patients", std::move(patients)}});
    }
    return {{"kind", "hospitals"},
            {"rules",
             "a patient has each phenotype independently; with it each of its codes with chance \"with\", without "
             "it with chance \"without\"; laboratory values move by so many deviations; frequent codes are "
             "independent of everything"},
            {"with", with_phenotype},
            {"without", without_phenotype},
            {"gaps", options.gaps},
            {"seed", options.seed},
            {"phenotypes", std::move(planted)},
            {"independent", {{"conditions", codes_of(conditions, -1)}, {"medications", codes_of(medications, -1)}}}};
}

/// The last hospital has what the others leave.
std::array<Index, 3> site_sizes(Index patients) {
    std::array<Index, 3> sizes{};
    Index left = patients;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
        sizes[k] = k + 1 == sizes.size() ? left : std::llround(site_parts[k] * static_cast<double>(patients));
        left -= sizes[k];
    }
    return sizes;
}

}  // namespace

std::vector<HospitalFiles> write_hospitals(const fs::path& folder, const HospitalOptions& options, bool overwrite) {
    constexpr Index least = 30;
    if (options.patients < least) {
        throw InputError({"`count`", fmt::format("{} patients", options.patients), fmt::format("at least {}", least),
                          "Three hospitals share them."});
    }
    const std::array<Index, 3> sizes = site_sizes(options.patients);
    std::array<std::vector<Patient>, 3> sites;
    std::vector<HospitalFiles> result;
    std::vector<std::unique_ptr<MadeFolder>> folders;
    std::vector<std::unique_ptr<AtomicFile>> open;
    const auto write = [&](const fs::path& file, const std::string& text) {
        open.push_back(std::make_unique<AtomicFile>(file, overwrite));
        open.back()->write(std::as_bytes(std::span(text)));
    };
    for (std::size_t k = 0; k < sites.size(); ++k) {
        sites[k] = draw_site(k, sizes[k], options);
        Random random(options.seed, k + 0x64617465);
        folders.push_back(std::make_unique<MadeFolder>(folder / site_names[k]));
        const fs::path& place = folders.back()->path();
        HospitalFiles one{site_names[k], sizes[k], {"diagnoses.csv", "prescriptions.csv", "laboratory.csv"}};
        write(place / one.files[0], events_text(k, sites[k], false, random));
        write(place / one.files[1], events_text(k, sites[k], true, random));
        write(place / one.files[2], laboratory_text(k, sites[k]));
        if (habits[k].local_codes) {
            one.files.emplace_back("codes.csv");
            write(place / one.files.back(), codes_text(k));
        }
        result.push_back(std::move(one));
    }
    write(folder / "truth.json", truth_of(sites, options).dump(1) + "\n");
    const CommitTogether together;
    for (const auto& file : open) file->commit();
    return result;
}

}  // namespace couplet
