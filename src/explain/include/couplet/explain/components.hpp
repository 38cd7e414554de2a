#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/explain/evidence.hpp"
#include "couplet/explain/findings.hpp"
#include "couplet/explain/titles.hpp"

namespace couplet {

enum class Rotation { none, varimax };

/// One place of a component.
struct NamedEntry {
    std::vector<Index> index = {};         ///< in each feature mode, from 0
    std::vector<std::string> labels = {};  ///< of each feature mode; "7" (from 1) where there is no name
    double weight = 0;
    std::optional<double> lift = {};  ///< how many times as often as by chance its labels come together, where known
    Index patients = 0;               ///< of all sites who have all its labels; 0 where that is not told
};

/// Patients who have at least one of the combinations that a component is named by.
struct Carriers {
    std::vector<std::optional<Index>> sites = {};  ///< nothing: some, but fewer than are told
    std::optional<Index> all = {};                 ///< nothing: it would tell what is withheld
};

/// A component along one feature mode: the best product of one vector per mode has these factors, each of norm 1.
struct ModeProfile {
    std::string name = {};
    std::vector<double> values = {};
    bool named =
        false;  ///< the indices have names; otherwise, or where names are numbers or dates in order, it is a curve
    bool curve = false;
};

/// One direction in which patients differ, by name.
struct Component {
    std::string title = {};
    double share = 0;                        ///< of the sum of squares of all sites; NaN where no site is known
    std::vector<double> site_shares = {};    ///< of each site's own
    std::vector<NamedEntry> entries = {};    ///< strongest first
    NamedLabels named = {};                  ///< in the title, where it is known what comes together
    std::vector<NamedEntry> pairs = {};      ///< every combination of the named labels, the largest weight first
    std::optional<Carriers> carriers = {};   ///< by site, where the data was at hand
    std::vector<ModeProfile> profiles = {};  ///< one per feature mode
    double product_share = 0;                ///< part of the component that its profiles describe
    std::optional<double> stability = {};    ///< mean agreement over resamples beyond chance, 0 to 1
    std::optional<double> least_stability = {};
};

/// A result in words: components from the largest share to the smallest, and the features and coordinates in that
/// order.
struct Explanation {
    Findings findings = {};  ///< rotated and put in order
    Rotation rotation = Rotation::varimax;
    double explained = 0;  ///< share of all components
    std::vector<double> site_explained = {};
    std::vector<Component> components = {};
    /// What the titles rest on: the sums of a weighted federation, or the data at hand; nothing where neither is known.
    std::optional<Evidence> evidence = {};

    /// Components that name what comes together more often than chance; all, where that is not known.
    Index phenotypes() const;
};

struct ExplainOptions {
    Rotation rotation = Rotation::varimax;
    Index entries = 12;  ///< of each component
    /// Of the data at hand; what a weighted federation knows by its own sums is taken first, as it is the same for all.
    std::optional<Evidence> evidence = {};
};

/// The fit is untouched: a rotation of orthonormal features and of the coordinates. Order, signs, numbers and names
/// follow from the features and what is kept with them, so that every party has the same. The sign of a component is
/// that in which its large entries are positive. Cost: that of varimax(), and a few passes over the features.
Explanation explain(Findings findings, const ExplainOptions& options = {});

/// The label of an index of a feature mode; its number from 1 where there is none.
std::string label_of(const Schema& schema, Index mode, Index index);
/// A name without the kind that SNOMED puts behind it: "Asthma (disorder)" is "Asthma".
std::string plain_name(const std::string& label);
/// What a feature mode is called; "mode 2" where it has no name.
std::string mode_name(const Schema& schema, Index mode);

}  // namespace couplet
