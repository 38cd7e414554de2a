#pragma once

#include <string>
#include <vector>

#include "couplet/classify/evaluate.hpp"
#include "couplet/classify/label_table.hpp"
#include "couplet/classify/predictions.hpp"
#include "couplet/data/dataset.hpp"

namespace couplet::cli {

/// What classify is told of its data.
struct ClassifyInput {
    std::vector<std::string> data;    ///< folders or tensor files; several: each is a site
    std::vector<std::string> labels;  ///< none, one for all, or one for each
    LabelColumns columns;
    Index deal = 2;  ///< sites that one tensor is dealt to
};

/// People with labels, site by site.
struct ClassifyPeople {
    std::vector<LabelledSite> sites;
    std::vector<PredictionSite> who;  ///< one per site
    std::vector<Index> unlabelled;    ///< by site: people left out as nobody knows their class
    ClassCoding classes;
    std::vector<std::string> unchecked;  ///< data whose labels have identifiers that were compared with nothing
    Index alike = 0;   ///< records without identifiers that are those of another site to the last bit, and not empty
    Index copies = 0;  ///< records without identifiers that are an earlier one of their site to the last bit, not empty

    /// Everybody, one site below the other.
    Dataset pooled() const;
};

/// Reads data and labels. A folder of clients (couplet data) brings its labels; those of a folder of couplet table and
/// of tensor files come from tables, and are matched by identifier where both sides have them. Sites get the same
/// features in the same order. Throws InputError that names the file where something does not fit, and where a file or
/// a patient comes at two sites: it would be learned from at one and tested at the other.
ClassifyPeople read_people(const ClassifyInput& input);

}  // namespace couplet::cli
