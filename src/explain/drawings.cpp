#include "couplet/explain/drawings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/svg.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

constexpr std::size_t shown_labels = 8;

const Component& component_of(const Explanation& explanation, Index number) {
    return explanation.components[static_cast<std::size_t>(number)];
}

/// The indices of a mode with the largest weights, largest first.
std::vector<Index> strongest(const ModeProfile& profile, std::size_t most) {
    std::vector<Index> order(profile.values.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
        return std::abs(profile.values[static_cast<std::size_t>(a)]) >
               std::abs(profile.values[static_cast<std::size_t>(b)]);
    });
    if (order.size() > most) order.resize(most);
    return order;
}

/// As on a page: without the word that a code list puts behind every name.
std::string short_label(const Schema& schema, Index mode, Index index) {
    return plain_name(label_of(schema, mode, index));
}

const char* sign_class(double value) { return value < 0 ? "less" : "more"; }

}  // namespace

std::string shortened(const std::string& text, std::size_t most) {
    const auto points = decode_utf8(text);
    if (!points || points->size() <= most) return text;
    return encode_utf8(points->substr(0, most - 1)) + "…";
}

std::string draw_heat_map(const Explanation& explanation, Index number) {
    const Component& component = component_of(explanation, number);
    const Schema& schema = explanation.findings.schema;
    const auto rows = strongest(component.profiles[0], shown_labels);
    const auto cols = strongest(component.profiles[1], shown_labels);
    // Names of columns lean over the last one.
    constexpr double left = 200, top = 140, cell = 30, over = 104;
    const double width = left + cell * static_cast<double>(cols.size()) + over;
    const double height = top + cell * static_cast<double>(rows.size()) + 6;
    const auto weight = [&](Index i, Index j) { return explanation.findings.rows(number, i * schema.features[1] + j); };
    double largest = 0;
    for (const Index i : rows) {
        for (const Index j : cols) largest = std::max(largest, std::abs(weight(i, j)));
    }
    Svg svg(width, height,
            fmt::format("{}: {} against {}, the strongest of each", component.title, component.profiles[0].name,
                        component.profiles[1].name));
    for (std::size_t j = 0; j < cols.size(); ++j) {
        svg.text(left + cell * (static_cast<double>(j) + 0.6), top - 8, shortened(short_label(schema, 1, cols[j]), 24),
                 "label", Anchor::start, -40);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double y = top + cell * static_cast<double>(i);
        svg.text(left - 8, y + 0.62 * cell, shortened(short_label(schema, 0, rows[i]), 28), "label", Anchor::end);
        for (std::size_t j = 0; j < cols.size(); ++j) {
            const double value = weight(rows[i], cols[j]);
            const double depth = largest > 0 ? std::abs(value) / largest : 0;
            // A box has its line in any case, so that pale ones are seen.
            svg.rect(left + cell * static_cast<double>(j) + 1, y + 1, cell - 2, cell - 2,
                     fmt::format("cell {}", sign_class(value)), depth,
                     fmt::format("{}, {}: {:+.2f}", label_of(schema, 0, rows[i]), label_of(schema, 1, cols[j]), value));
        }
    }
    return std::move(svg).finish();
}

std::string draw_bars(const Explanation& explanation, Index number, Index mode) {
    const Component& component = component_of(explanation, number);
    const ModeProfile& profile = component.profiles[static_cast<std::size_t>(mode)];
    const auto order = strongest(profile, shown_labels);
    constexpr double left = 212, step = 24, width = 450, number_width = 52;
    double most = 0;
    double least = 0;
    for (const Index i : order) {
        most = std::max(most, profile.values[static_cast<std::size_t>(i)]);
        least = std::min(least, profile.values[static_cast<std::size_t>(i)]);
    }
    // Room on the left of the axis only where something points there.
    const double scale = most > least ? (width - number_width - left - 8) / (most - least) : 0;
    const double middle = left + 8 - least * scale;
    const double height = step * static_cast<double>(order.size()) + 8;
    Svg svg(width, height, fmt::format("{}: weight of each {}", component.title, profile.name));
    for (std::size_t k = 0; k < order.size(); ++k) {
        const double value = profile.values[static_cast<std::size_t>(order[k])];
        const double y = 4 + step * static_cast<double>(k);
        const double length = scale * std::abs(value);
        const std::string label = label_of(explanation.findings.schema, mode, order[k]);
        svg.text(left, y + 15, shortened(short_label(explanation.findings.schema, mode, order[k]), 30), "label",
                 Anchor::end);
        svg.rect(value < 0 ? middle - length : middle, y + 4, std::max(length, 0.5), step - 9,
                 fmt::format("bar {}", sign_class(value)), 1, fmt::format("{}: {:+.2f}", label, value));
        svg.text(value < 0 ? middle + 6 : middle + length + 6, y + 15, fmt::format("{:+.2f}", value), "value");
    }
    svg.line(middle, 2, middle, height - 2, "axis");
    return std::move(svg).finish();
}

std::string draw_curve(const Explanation& explanation, Index number, Index mode) {
    const Component& component = component_of(explanation, number);
    const ModeProfile& profile = component.profiles[static_cast<std::size_t>(mode)];
    constexpr double width = 450, height = 190, left = 46, right = 12, top = 10, bottom = 38;
    const auto [low, high] = std::minmax_element(profile.values.begin(), profile.values.end());
    const Scale y(std::min(0.0, *low), std::max(0.0, *high), false, height - bottom, top);
    const auto count = static_cast<double>(profile.values.size());
    const auto x = [&](double i) { return left + (width - left - right) * (count > 1 ? i / (count - 1) : 0.5); };
    Svg svg(width, height, fmt::format("{}: curve over {}", component.title, profile.name));
    for (const Tick& tick : y.ticks()) {
        svg.line(left, y.at(tick.value), width - right, y.at(tick.value), "grid");
        svg.text(left - 6, y.at(tick.value) + 4, tick.label, "tick", Anchor::end);
    }
    svg.line(left, y.at(0), width - right, y.at(0), "axis");
    std::string points;
    for (std::size_t i = 0; i < profile.values.size(); ++i)
        points += path_point(x(static_cast<double>(i)), y.at(profile.values[i]));
    svg.polyline(points, "series more");
    const Schema& schema = explanation.findings.schema;
    const auto last = static_cast<Index>(profile.values.size()) - 1;
    for (const Index i : {Index{0}, last / 2, last}) {
        const Anchor anchor = i == 0 ? Anchor::start : i == last ? Anchor::end : Anchor::middle;
        svg.text(x(static_cast<double>(i)), height - bottom + 16, shortened(label_of(schema, mode, i), 16), "tick",
                 anchor);
    }
    svg.text((left + width - right) / 2, height - 6, profile.name, "label", Anchor::middle);
    return std::move(svg).finish();
}

std::string draw_sites(const Explanation& explanation, Index number) {
    const Component& component = component_of(explanation, number);
    const auto& sites = explanation.findings.sites;
    constexpr std::size_t most_sites = 12;
    constexpr double left = 150, step = 22, reach = 220, width = 450;
    const std::size_t count = std::min(most_sites, sites.size());
    double largest = 0;
    for (std::size_t k = 0; k < count; ++k) largest = std::max(largest, component.site_shares[k]);
    Svg svg(width, step * static_cast<double>(count) + 6,
            fmt::format("{}: share of the variation at each site", component.title));
    for (std::size_t k = 0; k < count; ++k) {
        const double y = 3 + step * static_cast<double>(k);
        const double length = largest > 0 ? reach * component.site_shares[k] / largest : 0;
        svg.text(left - 8, y + 15, shortened(sites[k].name, 20), "label", Anchor::end);
        svg.rect(left, y + 4, std::max(length, 0.5), step - 9, "bar site", 1);
        svg.text(left + length + 6, y + 15, fmt::format("{:.1f}%", 100 * component.site_shares[k]), "value");
    }
    return std::move(svg).finish();
}

}  // namespace couplet
