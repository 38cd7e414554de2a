#pragma once

#include <filesystem>

#include "couplet/data/dataset.hpp"

namespace couplet {

/// What several records of one (patient, diagnosis, medication) become: 1, or the sum of their counts.
enum class Duplicates { clip, sum };

/// What makes a code frequent: the records that name it, or the patients who have it.
enum class FrequentBy { records, patients };

struct CmsOptions {
    Index diagnoses = 40;    ///< most frequent codes kept
    Index medications = 40;  ///< most frequent codes kept
    Duplicates duplicates = Duplicates::clip;
    FrequentBy frequent_by = FrequentBy::records;
};

/// Patients x diagnoses x medications from the CMS SynPUF sparse tensor, cms1k_dense.csv(.gz): count, patient,
/// diagnosis, procedure, medication a line, from 1, no header. An entry counts the records that name all three;
/// procedures are summed over. Codes come most frequent first, the smaller code first on a tie; patients by number,
/// only those with an entry: 547 x 40 x 40 with the defaults on the public file. Throws InputError for another number
/// of columns, a cell that is not a whole number, or fewer codes than asked for.
Dataset load_cms(const std::filesystem::path& file, const CmsOptions& options = {});

struct SyntheaOptions {
    Index conditions = 40;   ///< most frequent codes kept
    Index medications = 40;  ///< most frequent codes kept
};

struct SyntheaFiles {
    std::filesystem::path patients;
    std::filesystem::path conditions;
    std::filesystem::path medications;
};

/// Patients x conditions x medications from the csv export of Synthea. A patient is the outer product of two indicator
/// vectors: ever had the condition, ever had the medication. Codes come by number of patients, most first, the smaller
/// code first on a tie, and are labelled with their names; patients in the order of their file, only those with an
/// entry. Uses the columns ID (or Id) of patients and PATIENT, CODE, DESCRIPTION of the others. Throws InputError for a
/// missing column, a patient who is not in the file of patients or twice there, or fewer codes than asked for.
Dataset load_synthea(const SyntheaFiles& files, const SyntheaOptions& options = {});

}  // namespace couplet
