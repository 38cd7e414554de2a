#pragma once

#include <functional>
#include <span>
#include <utility>

#include "gather.hpp"

namespace couplet {

/// The terms of each mode, in order, and where each code that was met belongs.
struct Placement {
    Vocabulary vocabulary = {};
    std::vector<std::vector<std::int64_t>> position = {};  ///< of each mode, by number of the code; -1: left out
    std::vector<UnknownTerm> unknown = {};                 ///< frequent ones first
    Index unknown_events = 0;
    Index cut_terms = 0;
    /// Of each mode: terms of the schema from columns that this site does not have. Their entries are not known.
    std::vector<std::vector<std::int64_t>> absent = {};
    /// Of each mode, by its columns: the terms that are values of the column, where some patient's is missing.
    std::vector<std::vector<std::vector<std::int64_t>>> values = {};
    /// Of each mode the term that every patient has; empty: there is none.
    std::vector<std::int64_t> any = {};
};

/// Counts who has what and puts the terms in order, those of the schema where one is given. Throws InputError where
/// modes or units contradict the schema.
Placement place_terms(Gathered& gathered, const TableOptions& options);

/// Entries of one patient, those of labels that every patient has included where there are some, as offset in the
/// features (row-major) and value, in the order of the offsets.
using PatientEntries = std::vector<std::pair<Index, double>>;

/// Calls f(patient, entries) for every patient, those without entries too. Zeros that were measured are entries. Throws
/// InputError for values that add up to more than a number can hold.
void for_each_patient(const Gathered& gathered, const Placement& placement, const Shape& features,
                      const std::function<void(std::uint32_t, const PatientEntries&)>& f);

}  // namespace couplet
