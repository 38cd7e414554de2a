#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "couplet/tensor/schema.hpp"

namespace couplet {

/// One entry of a mode: what data calls it, what people call it, and who has it.
struct Term {
    std::string code = {};
    std::string label = {};  ///< for people; the code where nothing else is known
    std::string unit = {};
    Index patients = 0;  ///< with an entry here; 0 where it is not told
    /// Whose events say the label; nothing: all of them, or it is not theirs.
    std::optional<Index> label_patients = {};
    friend bool operator==(const Term&, const Term&) = default;
};

/// What the terms of a mode are, which decides their order.
enum class TermKind {
    codes,    ///< of a code list: the frequent come first
    columns,  ///< of a wide table: as in the table, by name when sites are merged
    time,     ///< bins, one after the other
};

/// The terms of one feature mode, in the order of its indices.
struct ModeTerms {
    std::string name = {};
    TermKind kind = TermKind::codes;
    std::vector<Term> terms = {};
    friend bool operator==(const ModeTerms&, const ModeTerms&) = default;
};

/// A schema with the codes behind its labels: what a site finds in its tables, what it proposes, and what a federation
/// agrees on.
struct Vocabulary {
    std::vector<ModeTerms> modes = {};
    Index patients = 0;  ///< of the site or of all sites; 0 where it is not told
    friend bool operator==(const Vocabulary&, const Vocabulary&) = default;
};

/// Names, labels and units. Terms of one mode with equal labels have their code behind it, so that each label occurs
/// once.
Schema schema_of(const Vocabulary& vocabulary);

/// The JSON of the schema with `codes`, `kind` and, where they are told, `patients` beside the labels: wherever a
/// schema is read, it is one.
nlohmann::ordered_json vocabulary_json(const Vocabulary& vocabulary);
/// Throws InputError, naming `where`. A schema without codes is a vocabulary whose labels are its codes; every mode
/// must have labels.
Vocabulary parse_vocabulary(const nlohmann::ordered_json& json, const std::string& where);
/// From a schema, a proposal, or the manifest.json of a folder that couplet table wrote (the folder will do).
Vocabulary load_vocabulary(const std::filesystem::path& path);
void save_vocabulary(const std::filesystem::path& path, const Vocabulary& vocabulary, bool overwrite);

/// What a site may tell: the terms that at least `threshold` of its patients have, the others unnamed; a label only
/// where so many patients' events say it, and the code otherwise. Bins of time are told from the first to the last that
/// so many patients have, without counts. Counts are rounded down to a multiple of the threshold, so that no smaller
/// number is a difference of two.
struct Proposal {
    Vocabulary vocabulary = {};
    std::vector<Index> withheld = {};  ///< terms of each mode
};
Proposal propose(const Vocabulary& mine, Index threshold);

enum class MergeRule { any, every };

struct MergeOptions {
    MergeRule rule = MergeRule::any;  ///< keep what any site has (union), or only what every site has (intersection)
    std::vector<Index> top = {};  ///< keep so many of the most frequent in each mode; empty: all; one: in every mode
};

/// The vocabulary of a federation, in an order that does not depend on that of the sites. Of several labels of a code
/// the one that most patients stand behind. Throws InputError that names the sites where modes or units differ, where
/// nothing is left, and where `top` does not fit.
Vocabulary merge_vocabularies(std::span<const Vocabulary> sites, std::span<const std::string> names,
                              const MergeOptions& options);

/// Codes of digits as numbers: shorter first, then by text.
bool code_less(std::string_view a, std::string_view b) noexcept;

}  // namespace couplet
