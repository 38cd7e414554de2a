#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "couplet/experiments/knn.hpp"

namespace couplet {

/// Which columns of a table of labels are meant; empty: found by their names.
struct LabelColumns {
    std::string label = {};
    std::string patient = {};
};

/// A column of labels as a file has it, in its order.
struct LabelTable {
    std::string source = {};                 ///< the file, for messages
    std::vector<std::string> values = {};    ///< empty where the label is missing
    std::vector<std::string> patients = {};  ///< the identifier of each; empty: the file has none
    std::vector<Index> rows = {};  ///< of the tensor, from 1, that each is about; empty: the file does not say
    bool alone = false;            ///< the file has labels and nothing else
};

/// Reads labels: a .npy array of one mode (whole numbers; NaN is missing), or a table as `couplet table` reads them
/// (csv, tsv, semicolons, ndjson, gzip). A cell that is empty, NA, N/A, NaN, null, . or ? is a missing label. Without a
/// name for it, the identifier is in the column called patient, patient_id, person_id, subject_id, identifier or id,
/// and the label in the only other one, or in the one called label, class, target or outcome; a column "row" says which
/// row of the tensor a line is about. A file of one column has a line for each of the `rows`, an empty one where the
/// label is missing, and perhaps a header: label, class, target or outcome, a line too many, or a word that no other
/// line has. Throws InputError where a column cannot be told, where identifiers are empty or come twice, and for files
/// that are no table; messages name lines and no patient.
LabelTable read_label_table(const std::filesystem::path& file, const LabelColumns& columns, Index rows);

/// Identifiers of the rows of a tensor: patients.csv as `couplet table` writes it. Throws InputError for a file of
/// another kind, and unless there is a different one for each of `rows` rows.
std::vector<std::string> read_patients(const std::filesystem::path& file, Index rows);

/// The label of each of the rows of a site.
struct SiteLabels {
    std::vector<std::string> values = {};    ///< empty: missing
    std::vector<std::string> patients = {};  ///< empty: nobody said who the rows are
    bool unchecked = false;                  ///< identifiers came with the labels, and none with the rows to compare
};

/// Gives the rows of a site their labels: by identifier where both the site and the table have identifiers, whatever
/// the order; otherwise by the rows that the table names, or row by row. A patient without a line in the table has no
/// label. Throws InputError where the counts differ, where a site has identifiers and a table with more than labels has
/// none, or where no identifier of the site is in the table; `site` names it.
SiteLabels match_labels(const LabelTable& table, const std::string& site, std::vector<std::string> patients,
                        Index rows);

/// Classes as numbers 0, 1, ... and their names.
struct ClassCoding {
    std::vector<std::string> names = {};
    /// The class of a label as written; -1 for a missing one.
    Label code(const std::string& value) const;
};

/// The classes that occur. Plain decimal numbers of at most 15 digits are one class where their values are equal ("1.0"
/// and "1"); everything else, with exponents, more digits or zeros in front ("1E2", "01") too, is a class by its text.
/// Numbers come first, ascending. The name of a class is its shortest spelling among the labels. Throws InputError for
/// fewer than two classes, and where there are so many that the labels look like a measurement.
ClassCoding code_classes(std::span<const std::string> values);

}  // namespace couplet
