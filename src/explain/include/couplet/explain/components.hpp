#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/explain/findings.hpp"

namespace couplet {

enum class Rotation { none, varimax };

/// One place of a component.
struct NamedEntry {
    std::vector<Index> index = {};         ///< in each feature mode, from 0
    std::vector<std::string> labels = {};  ///< of each feature mode; "7" (from 1) where there is no name
    double weight = 0;
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
};

struct ExplainOptions {
    Rotation rotation = Rotation::varimax;
    Index entries = 12;  ///< of each component
};

/// The fit is untouched: a rotation of orthonormal features and of the coordinates. The sign of a component is that in
/// which its large entries are positive. Cost: that of varimax(), and a few passes over the features.
Explanation explain(Findings findings, const ExplainOptions& options = {});

/// The label of an index of a feature mode; its number from 1 where there is none.
std::string label_of(const Schema& schema, Index mode, Index index);
/// A name without the kind that SNOMED puts behind it: "Asthma (disorder)" is "Asthma".
std::string plain_name(const std::string& label);
/// What a feature mode is called; "mode 2" where it has no name.
std::string mode_name(const Schema& schema, Index mode);

}  // namespace couplet
