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

namespace {

/// Text in lines of at most so many characters, broken at blanks where there are some.
std::vector<std::string> wrapped(const std::string& text, std::size_t most) {
    auto points = decode_utf8(text);
    if (!points) return {text};
    std::vector<std::string> lines;
    while (points->size() > most) {
        std::size_t at = points->rfind(U' ', most);
        if (at == std::u32string::npos || at == 0) at = most;
        lines.push_back(encode_utf8(points->substr(0, at)));
        points->erase(0, at + ((*points)[at] == U' ' ? 1 : 0));
    }
    lines.push_back(encode_utf8(*points));
    return lines;
}

constexpr double figure_width = 450;
constexpr double line_height = 16;

/// "A", "B", ...: names of columns, explained below.
std::string letter(std::size_t number) { return std::string(1, static_cast<char>('A' + number)); }

void draw_box(Svg& svg, double x, double y, double side, double value, double largest, const std::string& hint) {
    const double depth = largest > 0 ? std::abs(value) / largest : 0;
    // A box has its line in any case, so that pale ones are seen.
    svg.rect(x + 1, y + 1, side - 2, side - 2, fmt::format("cell {}", sign_class(value)), depth, hint);
}

}  // namespace

std::string draw_heat_map(const Explanation& explanation, Index number) {
    const Component& component = component_of(explanation, number);
    const Schema& schema = explanation.findings.schema;
    const auto rows = strongest(component.profiles[0], shown_labels);
    const auto cols = strongest(component.profiles[1], shown_labels);
    constexpr double cell = 31, top = 24, left = figure_width - cell * static_cast<double>(shown_labels) - 2;
    constexpr std::size_t row_letters = 30, key_letters = 62;
    const auto weight = [&](Index i, Index j) { return explanation.findings.rows(number, i * schema.features[1] + j); };
    double largest = 0;
    for (const Index i : rows) {
        for (const Index j : cols) largest = std::max(largest, std::abs(weight(i, j)));
    }
    std::vector<std::vector<std::string>> names;
    double height = top;
    for (const Index i : rows) {
        names.push_back(wrapped(short_label(schema, 0, i), row_letters));
        height += std::max(cell, line_height * static_cast<double>(names.back().size()) + 4);
    }
    std::vector<std::vector<std::string>> key;
    double key_height = 10;
    for (std::size_t j = 0; j < cols.size(); ++j) {
        key.push_back(wrapped(short_label(schema, 1, cols[j]), key_letters));
        key_height += line_height * static_cast<double>(key.back().size());
    }
    Svg svg(figure_width, height + key_height + 4,
            fmt::format("{}: {} against {}, the strongest of each", component.title, component.profiles[0].name,
                        component.profiles[1].name));
    for (std::size_t j = 0; j < cols.size(); ++j) {
        svg.text(left + cell * (static_cast<double>(j) + 0.5), top - 8, letter(j), "label", Anchor::middle);
    }
    double y = top;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto lines = static_cast<double>(names[i].size());
        const double row = std::max(cell, line_height * lines + 4);
        for (std::size_t k = 0; k < names[i].size(); ++k) {
            const double shift = line_height * (static_cast<double>(k) - (lines - 1) / 2);
            svg.text(left - 8, y + row / 2 + 5 + shift, names[i][k], "label", Anchor::end);
        }
        for (std::size_t j = 0; j < cols.size(); ++j) {
            const double value = weight(rows[i], cols[j]);
            draw_box(svg, left + cell * static_cast<double>(j), y + (row - cell) / 2, cell, value, largest,
                     fmt::format("{}, {}: {:+.2f}", label_of(schema, 0, rows[i]), label_of(schema, 1, cols[j]), value));
        }
        y += row;
    }
    y += 10;
    for (std::size_t j = 0; j < key.size(); ++j) {
        for (std::size_t k = 0; k < key[j].size(); ++k) {
            y += line_height;
            if (k == 0) svg.text(4, y, letter(j), "value");
            svg.text(22, y, key[j][k], "label");
        }
    }
    return std::move(svg).finish();
}

std::string draw_bars(const Explanation& explanation, Index number, Index mode) {
    const Component& component = component_of(explanation, number);
    const ModeProfile& profile = component.profiles[static_cast<std::size_t>(mode)];
    const auto order = strongest(profile, shown_labels);
    constexpr double number_width = 52, bar = 15;
    constexpr std::size_t letters = 64;
    double most = 0;
    double least = 0;
    std::vector<std::vector<std::string>> names;
    double height = 4;
    for (const Index i : order) {
        most = std::max(most, profile.values[static_cast<std::size_t>(i)]);
        least = std::min(least, profile.values[static_cast<std::size_t>(i)]);
        names.push_back(wrapped(short_label(explanation.findings.schema, mode, i), letters));
        height += line_height * static_cast<double>(names.back().size()) + bar + 9;
    }
    // Room on the left of the axis only where something points there.
    const double scale = most > least ? (figure_width - number_width - 8) / (most - least) : 0;
    const double middle = 4 - least * scale;
    Svg svg(figure_width, height, fmt::format("{}: weight of each {}", component.title, profile.name));
    double y = 4;
    for (std::size_t k = 0; k < order.size(); ++k) {
        const double value = profile.values[static_cast<std::size_t>(order[k])];
        const double length = scale * std::abs(value);
        for (const std::string& line : names[k]) svg.text(4, (y += line_height) - 3, line, "label");
        svg.rect(value < 0 ? middle - length : middle, y + 1, std::max(length, 0.5), bar,
                 fmt::format("bar {}", sign_class(value)), 1,
                 fmt::format("{}: {:+.2f}", label_of(explanation.findings.schema, mode, order[k]), value));
        svg.text(value < 0 ? middle + 6 : middle + length + 6, y + 13, fmt::format("{:+.2f}", value), "value");
        svg.line(middle, y, middle, y + bar + 2, "axis");
        y += bar + 9;
    }
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
