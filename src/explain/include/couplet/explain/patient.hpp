#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "couplet/explain/components.hpp"

namespace couplet {

/// A patient in one component, beside the other patients of the site.
struct PatientComponent {
    double score = 0;
    double deviation = 0;  ///< from the site's mean, in its standard deviations
    double above = 0;      ///< part of the site's patients with a smaller score
};

struct NearPatient {
    std::string id = {};
    double distance = 0;  ///< relative to the typical distance between two patients of the site
};

/// What the result says of one patient; made at the site, for the site.
struct PatientStory {
    std::string id = {};
    std::string site = {};
    std::vector<PatientComponent> components = {};
    std::vector<Index> unusual = {};  ///< components that deviate by two standard deviations or more, largest first
    std::vector<NamedEntry> made_of = {};  ///< strongest entries of what the components add up to
    std::vector<NearPatient> nearest = {};
};

/// The identifiers of a site's rows, from the patients.csv that couplet table wrote. Throws InputError for anything
/// else.
std::vector<std::string> read_patients(const std::filesystem::path& file);

/// `site` counts from 0. Throws InputError that names the closest identifiers where there is no such patient, and where
/// the list does not fit the site.
PatientStory tell_patient(const Explanation& explanation, std::size_t site, const std::vector<std::string>& patients,
                          const std::string& id, Index nearest = 5);

}  // namespace couplet
