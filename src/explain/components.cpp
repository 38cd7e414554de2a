#include "couplet/explain/components.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "couplet/core/random.hpp"
#include "couplet/explain/varimax.hpp"
#include "couplet/io/number.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/table/dates.hpp"

namespace couplet {
namespace {

/// Of a component whose strongest labels come together no more often than chance has it.
constexpr const char* unnamed_title = "Nothing that comes together more often than chance";

/// Puts rows and coordinates in the order of `order` and turns those over whose sign is -1.
void arrange(Findings& findings, const std::vector<Index>& order, const std::vector<double>& signs) {
    const Index size = findings.rows.cols();
    Matrix<double> rows(findings.rows.rows(), size);
    for (std::size_t r = 0; r < order.size(); ++r) {
        for (Index i = 0; i < size; ++i) rows(static_cast<Index>(r), i) = signs[r] * findings.rows(order[r], i);
    }
    findings.rows = std::move(rows);
    if (findings.energy.rows() > 0) {
        Matrix<double> energy(findings.energy.rows(), findings.energy.cols());
        for (std::size_t r = 0; r < order.size(); ++r) {
            for (std::size_t s = 0; s < order.size(); ++s) {
                energy(static_cast<Index>(r), static_cast<Index>(s)) =
                    signs[r] * signs[s] * findings.energy(order[r], order[s]);
            }
        }
        findings.energy = std::move(energy);
    }
    for (SiteScores& site : findings.sites) {
        Matrix<double> scores(site.scores.rows(), site.scores.cols());
        for (Index p = 0; p < scores.rows(); ++p) {
            for (std::size_t r = 0; r < order.size(); ++r) {
                scores(p, static_cast<Index>(r)) = signs[r] * site.scores(p, order[r]);
            }
        }
        site.scores = std::move(scores);
    }
}

double column_square(const Matrix<double>& scores, Index column) {
    double sum = 0;
    for (Index p = 0; p < scores.rows(); ++p) sum += scores(p, column) * scores(p, column);
    return sum;
}

/// What a square of this site counts in a sum over all: in the units of the job, where every client may have norm 1.
double weight_of(const Findings& findings, const SiteScores& site) {
    return findings.fit.scale_clients && site.norm2 > 0 ? 1 / site.norm2 : 1;
}

/// Sums of squares of all patients' coordinates, as the features tell them; of those at hand where they do not.
std::vector<double> energies(const Findings& findings) {
    std::vector<double> squares(static_cast<std::size_t>(findings.rows.rows()));
    for (std::size_t r = 0; r < squares.size(); ++r) {
        const auto at = static_cast<Index>(r);
        if (findings.energy.rows() > 0) {
            squares[r] = findings.energy(at, at);
            continue;
        }
        for (const SiteScores& site : findings.sites) {
            squares[r] += weight_of(findings, site) * column_square(site.scores, at);
        }
    }
    return squares;
}

/// Largest first. What cannot be told apart keeps its order.
std::vector<Index> order_of(const Findings& findings) {
    const std::vector<double> squares = energies(findings);
    std::vector<Index> order(squares.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
        return squares[static_cast<std::size_t>(a)] > squares[static_cast<std::size_t>(b)];
    });
    return order;
}

/// The sign in which large entries are positive.
double sign_of(const double* row, Index size) {
    double cubes = 0;
    for (Index i = 0; i < size; ++i) cubes += row[i] * row[i] * row[i];
    return cubes < 0 ? -1 : 1;
}

/// A component as a tensor over the feature modes, seen from one of them: left x size x right.
struct Sides {
    Index left = 1, size = 1, right = 1;
};
Sides sides_of(const Shape& features, Index mode) {
    return {features.product(0, mode), features[mode], features.product(mode + 1, features.order())};
}

/// Contracts the component with all profiles but that of `mode`.
std::vector<double> contract(const double* component, const Shape& features,
                             const std::vector<std::vector<double>>& profiles, Index mode) {
    std::vector<double> result(static_cast<std::size_t>(features[mode]));
    std::vector<Index> index(static_cast<std::size_t>(features.order()));
    for (Index at = 0; at < features.size(); ++at) {
        double value = component[at];
        if (value != 0) {
            for (std::size_t n = 0; n < index.size(); ++n) {
                if (static_cast<Index>(n) != mode) value *= profiles[n][static_cast<std::size_t>(index[n])];
            }
            result[static_cast<std::size_t>(index[static_cast<std::size_t>(mode)])] += value;
        }
        for (std::size_t n = index.size(); n-- > 0 && ++index[n] == features[static_cast<Index>(n)];) index[n] = 0;
    }
    return result;
}

double normalise(std::vector<double>& v) {
    double square = 0;
    for (const double x : v) square += x * x;
    const double norm = std::sqrt(square);
    if (norm > 0) {
        for (double& x : v) x /= norm;
    }
    return norm;
}

/// The best product of one vector per mode, by alternating least squares from the slices' norms. Returns its weight.
double best_product(const double* component, const Shape& features, std::vector<std::vector<double>>& profiles) {
    for (Index mode = 0; mode < features.order(); ++mode) {
        const Sides sides = sides_of(features, mode);
        std::vector<double> energy(static_cast<std::size_t>(sides.size));
        for (Index l = 0; l < sides.left; ++l) {
            for (Index i = 0; i < sides.size; ++i) {
                for (Index r = 0; r < sides.right; ++r) {
                    const double value = component[(l * sides.size + i) * sides.right + r];
                    energy[static_cast<std::size_t>(i)] += value * value;
                }
            }
        }
        for (double& e : energy) e = std::sqrt(e);
        normalise(energy);
        profiles.push_back(std::move(energy));
    }
    double weight = 0;
    constexpr int most_rounds = 100;
    for (int round = 0; round < most_rounds; ++round) {
        const double before = weight;
        for (Index mode = 0; mode < features.order(); ++mode) {
            auto next = contract(component, features, profiles, mode);
            weight = normalise(next);
            if (weight > 0) profiles[static_cast<std::size_t>(mode)] = std::move(next);
        }
        if (std::abs(weight - before) <= 1e-9 * weight) break;
    }
    return weight;
}

/// Signs of the profiles: large entries positive, and the last such that the product has the sign of the component.
void settle_signs(std::vector<std::vector<double>>& profiles) {
    double turned = 1;
    for (std::size_t n = 0; n + 1 < profiles.size(); ++n) {
        const double sign = sign_of(profiles[n].data(), static_cast<Index>(profiles[n].size()));
        for (double& value : profiles[n]) value *= sign;
        turned *= sign;
    }
    for (double& value : profiles.back()) value *= turned;
}

/// Where a label stands on a line of numbers or of time; nothing for a name.
std::optional<double> place_of(const std::string& text) {
    double value = 0;
    if (!text.empty() && parse_number(text, value) == NumberText::number) return value;
    for (const TimeBin bin : {TimeBin::day, TimeBin::week, TimeBin::month, TimeBin::quarter}) {
        if (const auto number = parse_bin_label(text, bin)) return static_cast<double>(*number);
    }
    return std::nullopt;
}

/// Codes may be numbers too, but not in equal steps; numbers of something (hours, mm) may be in any.
bool is_in_order(const ModeLabels& mode) {
    const auto& labels = mode.entries;
    const auto first = place_of(labels[0]);
    const auto second = place_of(labels[1]);
    if (!first || !second) return false;
    const double step = *second - *first;
    const auto has_unit = [](const std::string& unit) { return !unit.empty(); };
    const bool measured = std::any_of(mode.units.begin(), mode.units.end(), has_unit);
    for (std::size_t i = 0; i + 1 < labels.size(); ++i) {
        const auto here = place_of(labels[i]);
        const auto next = place_of(labels[i + 1]);
        if (!here || !next || !(*here < *next)) return false;
        if (!measured && std::abs(*next - *here - step) > 1e-6 * step) return false;
    }
    return true;
}

bool is_named(const Schema& schema, Index mode) {
    return !schema.modes.empty() && !schema.modes[static_cast<std::size_t>(mode)].entries.empty();
}

/// Indices without names, and names that are numbers or dates in their order, are points along a line.
bool is_curve(const Schema& schema, Index mode) {
    constexpr Index least_points = 12;
    if (!is_named(schema, mode)) return schema.features[mode] >= least_points;
    const ModeLabels& labels = schema.modes[static_cast<std::size_t>(mode)];
    return labels.entries.size() > 2 && is_in_order(labels);
}

/// As a title says it: a code that is a bare number with what it is a number of.
std::string spoken(const Schema& schema, Index mode, Index index) {
    const std::string label = plain_name(label_of(schema, mode, index));
    const bool number = label.find_first_not_of("0123456789") == std::string::npos;
    return number ? fmt::format("{} {}", mode_name(schema, mode), label) : label;
}

bool has_unit(const Schema& schema, Index mode, Index index) {
    const auto& units = schema.modes[static_cast<std::size_t>(mode)].units;
    return !units.empty() && !units[static_cast<std::size_t>(index)].empty();
}

/// Names of the strongest indices of a mode: those of at least half the largest magnitude, at most `most`.
std::vector<std::string> strongest(const Findings& findings, Index mode, const std::vector<double>& values,
                                   std::size_t most) {
    const Schema& schema = findings.schema;
    std::vector<Index> order(values.size());
    std::iota(order.begin(), order.end(), Index{0});
    const auto size = [&](Index i) { return std::abs(values[static_cast<std::size_t>(i)]); };
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return size(a) > size(b); });
    std::vector<std::string> names;
    for (const Index i : order) {
        if (names.size() == most || size(i) < 0.5 * size(order.front())) break;
        const bool less = values[static_cast<std::size_t>(i)] < 0;
        // Below a mean, or below other numbers, is not none.
        const bool number = findings.centred || has_unit(schema, mode, i);
        names.push_back((less ? number ? "low " : "no " : "") + spoken(schema, mode, i));
    }
    return names;
}

/// Of a component without names: where its curves are strongest.
std::string curve_title(const Schema& schema, const Component& component, std::size_t number) {
    std::vector<std::string> peaks;
    for (Index mode = 0; mode < schema.features.order(); ++mode) {
        const ModeProfile& profile = component.profiles[static_cast<std::size_t>(mode)];
        if (!profile.curve) continue;
        const auto peak = std::max_element(profile.values.begin(), profile.values.end(),
                                           [](double a, double b) { return std::abs(a) < std::abs(b); });
        peaks.push_back(fmt::format("{} {}", mode_name(schema, mode),
                                    label_of(schema, mode, static_cast<Index>(peak - profile.values.begin()))));
    }
    return peaks.empty() ? fmt::format("Component {}", number) : fmt::format("Strongest at {}", fmt::join(peaks, ", "));
}

std::string title_of(const Findings& findings, const Component& component, std::size_t number) {
    const Schema& schema = findings.schema;
    std::string title;
    for (Index mode = 0; mode < schema.features.order(); ++mode) {
        const ModeProfile& profile = component.profiles[static_cast<std::size_t>(mode)];
        if (!profile.named || profile.curve) continue;
        const std::size_t most = schema.features.order() == 1 ? 4 : mode == 0 ? 2 : 3;
        title += fmt::format("{}{}", title.empty() ? "" : " with ",
                             fmt::join(strongest(findings, mode, profile.values, most), ", "));
    }
    return title.empty() ? curve_title(schema, component, number) : title;
}

/// A component without the cells of labels that every patient has, which are no finding.
std::vector<double> without_any(const Findings& findings, Index r) {
    const Index size = findings.rows.cols();
    const double* row = findings.rows.data() + r * size;
    std::vector<double> kept(row, row + size);
    const Shape& features = findings.schema.features;
    const std::vector<Index> any = find_any(findings.schema);
    for (std::size_t n = 0; n < any.size(); ++n) {
        const Sides sides = sides_of(features, static_cast<Index>(n));
        for (Index l = 0; l < sides.left; ++l) {
            double* cells = kept.data() + (l * sides.size + any[n]) * sides.right;
            std::fill_n(cells, sides.right, 0.0);
        }
    }
    return kept;
}

NamedEntry entry_at(const Explanation& explanation, std::vector<Index> index, double weight) {
    NamedEntry entry{.index = std::move(index), .weight = weight};
    for (std::size_t n = 0; n < entry.index.size(); ++n) {
        entry.labels.push_back(label_of(explanation.findings.schema, static_cast<Index>(n), entry.index[n]));
    }
    if (!explanation.evidence) return entry;
    if (const double found = lift(*explanation.evidence, entry.index); found > 0) entry.lift = found;
    entry.patients = patients_with(*explanation.evidence, entry.index);
    return entry;
}

std::vector<NamedEntry> strongest_entries(const Explanation& explanation, const double* row, Index count) {
    const Shape& features = explanation.findings.schema.features;
    std::vector<Index> order(static_cast<std::size_t>(features.size()));
    std::iota(order.begin(), order.end(), Index{0});
    const auto kept = std::min<std::size_t>(order.size(), static_cast<std::size_t>(count));
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                      [&](Index a, Index b) {
                          const double x = std::abs(row[a]);
                          const double y = std::abs(row[b]);
                          return x != y ? x > y : a < b;
                      });
    std::vector<NamedEntry> entries;
    for (std::size_t i = 0; i < kept; ++i) {
        if (row[order[i]] == 0) break;
        std::vector<Index> index;
        for (Index mode = 0; mode < features.order(); ++mode) {
            const Sides sides = sides_of(features, mode);
            index.push_back(order[i] / sides.right % sides.size);
        }
        entries.push_back(entry_at(explanation, std::move(index), row[order[i]]));
    }
    return entries;
}

Component describe(const Explanation& explanation, Index r, const ExplainOptions& options) {
    const Findings& findings = explanation.findings;
    const std::vector<double> kept = without_any(findings, r);
    const double* row = kept.data();
    Component component;
    double square = 0;
    double norm2 = 0;
    for (const SiteScores& site : findings.sites) {
        const double mine = column_square(site.scores, r);
        component.site_shares.push_back(site.norm2 > 0 ? mine / site.norm2 : 0);
        square += weight_of(findings, site) * mine;
        norm2 += weight_of(findings, site) * site.norm2;
    }
    // Without anybody's coordinates there is nothing to have a share of.
    const double unknown = findings.sites.empty() ? std::numeric_limits<double>::quiet_NaN() : 0;
    component.share = norm2 > 0 ? square / norm2 : unknown;
    component.entries = strongest_entries(explanation, row, options.entries);
    std::vector<std::vector<double>> profiles;
    const double weight = best_product(row, findings.schema.features, profiles);
    settle_signs(profiles);
    component.product_share = weight * weight;
    for (Index mode = 0; mode < findings.schema.features.order(); ++mode) {
        component.profiles.push_back({mode_name(findings.schema, mode),
                                      std::move(profiles[static_cast<std::size_t>(mode)]),
                                      is_named(findings.schema, mode), is_curve(findings.schema, mode)});
    }
    component.title = title_of(findings, component, static_cast<std::size_t>(r) + 1);
    return component;
}

/// "Asthma, Hay fever with Salbutamol".
std::string title_of(const Schema& schema, const NamedLabels& named) {
    if (named.empty() && named.within >= 0) return fmt::format("Variation within pattern {}", named.within + 1);
    if (named.empty()) return unnamed_title;
    std::string title;
    for (std::size_t n = 0; n < named.labels.size(); ++n) {
        std::vector<std::string> names;
        for (const Index label : named.labels[n]) names.push_back(spoken(schema, static_cast<Index>(n), label));
        title += fmt::format("{}{}", n == 0 ? "" : " with ", fmt::join(names, ", "));
    }
    return title;
}

/// Titles of what is known to come together; curves have none of these.
void name_all(Explanation& explanation) {
    const Findings& findings = explanation.findings;
    const auto is_name = [](const ModeProfile& profile) { return profile.named && !profile.curve; };
    if (!explanation.evidence || explanation.components.empty()) return;
    const auto& profiles = explanation.components.front().profiles;
    if (!std::all_of(profiles.begin(), profiles.end(), is_name)) {
        explanation.evidence.reset();
        return;
    }
    std::vector<NamedLabels> names = name_components(findings.rows, *explanation.evidence);
    for (std::size_t r = 0; r < names.size(); ++r) {
        Component& component = explanation.components[r];
        component.named = std::move(names[r]);
        component.title = title_of(findings.schema, component.named);
        for (auto& cell : named_cells(component.named)) {
            Index offset = 0;
            for (std::size_t n = 0; n < cell.size(); ++n) {
                offset = offset * findings.schema.features[static_cast<Index>(n)] + cell[n];
            }
            const double weight = findings.rows(static_cast<Index>(r), offset);
            component.pairs.push_back(entry_at(explanation, std::move(cell), weight));
        }
        std::stable_sort(component.pairs.begin(), component.pairs.end(),
                         [](const NamedEntry& a, const NamedEntry& b) { return a.weight > b.weight; });
    }
}

}  // namespace

std::string label_of(const Schema& schema, Index mode, Index index) {
    if (!is_named(schema, mode)) return std::to_string(index + 1);
    return schema.modes[static_cast<std::size_t>(mode)].entries[static_cast<std::size_t>(index)];
}

std::string plain_name(const std::string& label) {
    // Semantic tags of SNOMED CT that conditions, findings, procedures and products have.
    constexpr std::string_view tags[] = {"disorder",       "finding",
                                         "procedure",      "situation",
                                         "regime/therapy", "morphologic abnormality",
                                         "event",          "observable entity",
                                         "product",        "medicinal product",
                                         "clinical drug",  "substance",
                                         "person",         "context-dependent category"};
    for (const std::string_view tag : tags) {
        const std::string ending = fmt::format(" ({})", tag);
        if (label.size() > ending.size() && label.ends_with(ending))
            return label.substr(0, label.size() - ending.size());
    }
    return label;
}

std::string mode_name(const Schema& schema, Index mode) {
    if (!schema.modes.empty() && !schema.modes[static_cast<std::size_t>(mode)].name.empty()) {
        return schema.modes[static_cast<std::size_t>(mode)].name;
    }
    return fmt::format("mode {}", mode + 2);
}

namespace {

/// Components of a model are not at right angles: their own squares do not add up to what they explain together.
void take_explained(Explanation& explanation) {
    const Findings& findings = explanation.findings;
    double explained = 0;
    double norm2 = 0;
    for (std::size_t k = 0; k < findings.sites.size(); ++k) {
        const SiteScores& site = findings.sites[k];
        explanation.site_explained[k] = site.explained;
        explained += weight_of(findings, site) * site.norm2 * site.explained;
        norm2 += weight_of(findings, site) * site.norm2;
    }
    if (norm2 > 0) explanation.explained = explained / norm2;
}

}  // namespace

Index Explanation::phenotypes() const {
    if (!evidence) return static_cast<Index>(components.size());
    return std::count_if(components.begin(), components.end(), [](const Component& c) { return !c.named.empty(); });
}

Explanation explain(Findings findings, const ExplainOptions& options) {
    // A model's components are what they are.
    const Rotation rotation_used = findings.model.empty() ? options.rotation : Rotation::none;
    Explanation explanation{.findings = std::move(findings), .rotation = rotation_used};
    explanation.evidence = evidence_of(explanation.findings.weighting, explanation.findings.schema.features);
    if (!explanation.evidence) explanation.evidence = options.evidence;
    Findings& rotated = explanation.findings;
    if (rotation_used == Rotation::varimax) {
        const Matrix<double> rotation = varimax(rotated.rows);
        if (rotated.energy.rows() > 0) {
            const Matrix<double> turned = product<double>(rotated.energy.view(), rotation.view());
            rotated.energy = product<double>(rotation.view(), turned.view(), Op::transpose);
        }
        for (SiteScores& site : rotated.sites) site.scores = product<double>(site.scores.view(), rotation.view());
    }
    const std::vector<Index> order = order_of(rotated);
    std::vector<double> signs;
    for (const Index r : order)
        signs.push_back(sign_of(rotated.rows.data() + r * rotated.rows.cols(), rotated.rows.cols()));
    arrange(rotated, order, signs);
    explanation.site_explained.assign(rotated.sites.size(), 0);
    for (Index r = 0; r < rotated.rows.rows(); ++r) {
        explanation.components.push_back(describe(explanation, r, options));
        const Component& component = explanation.components.back();
        explanation.explained += component.share;
        for (std::size_t k = 0; k < component.site_shares.size(); ++k)
            explanation.site_explained[k] += component.site_shares[k];
    }
    if (!rotated.model.empty()) take_explained(explanation);
    name_all(explanation);
    return explanation;
}

}  // namespace couplet
