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

/// Puts rows and coordinates in the order of `order` and turns those over whose sign is -1.
void arrange(Findings& findings, const std::vector<Index>& order, const std::vector<double>& signs) {
    const Index size = findings.rows.cols();
    Matrix<double> rows(findings.rows.rows(), size);
    for (std::size_t r = 0; r < order.size(); ++r) {
        for (Index i = 0; i < size; ++i) rows(static_cast<Index>(r), i) = signs[r] * findings.rows(order[r], i);
    }
    findings.rows = std::move(rows);
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

/// Largest share first. Without coordinates the order is that of the result.
std::vector<Index> order_of(const Findings& findings) {
    std::vector<double> squares(static_cast<std::size_t>(findings.rows.rows()));
    for (const SiteScores& site : findings.sites) {
        for (std::size_t r = 0; r < squares.size(); ++r)
            squares[r] += weight_of(findings, site) * column_square(site.scores, static_cast<Index>(r));
    }
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

std::vector<NamedEntry> strongest_entries(const Schema& schema, const double* row, Index count) {
    const Shape& features = schema.features;
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
        NamedEntry entry{.weight = row[order[i]]};
        if (entry.weight == 0) break;
        for (Index mode = 0; mode < features.order(); ++mode) {
            const Sides sides = sides_of(features, mode);
            entry.index.push_back(order[i] / sides.right % sides.size);
            entry.labels.push_back(label_of(schema, mode, entry.index.back()));
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

Component describe(const Explanation& explanation, Index r, const ExplainOptions& options) {
    const Findings& findings = explanation.findings;
    const double* row = findings.rows.data() + r * findings.rows.cols();
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
    component.entries = strongest_entries(findings.schema, row, options.entries);
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

Explanation explain(Findings findings, const ExplainOptions& options) {
    // A model's components are what they are.
    const Rotation rotation_used = findings.model.empty() ? options.rotation : Rotation::none;
    Explanation explanation{.findings = std::move(findings), .rotation = rotation_used};
    Findings& rotated = explanation.findings;
    if (rotation_used == Rotation::varimax) {
        const Matrix<double> rotation = varimax(rotated.rows);
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
    return explanation;
}

}  // namespace couplet
