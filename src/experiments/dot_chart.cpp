#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "couplet/experiments/chart.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/svg.hpp"

namespace couplet {
namespace {

constexpr double width = 460;
constexpr double left = 176;  // labels of the rows
constexpr double right = 58;  // values as text
constexpr double top = 6;
constexpr double bottom = 26;
constexpr double row_height = 18;
constexpr double heading_height = 24;
constexpr double axis_height = 26;  // below each category

std::vector<std::string> categories_of(const std::vector<Row>& rows) {
    std::vector<std::string> names;
    for (const Row& row : rows) {
        if (std::find(names.begin(), names.end(), row.category) == names.end()) names.push_back(row.category);
    }
    return names;
}

Scale value_scale(const Figure& figure, const std::vector<Row>& rows) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (const Row& row : rows) {
        low = std::min(low, row.y.mean);
        high = std::max(high, row.y.mean + row.y.sd);
        if (!row.paper || (figure.y.log && *row.paper <= 0)) continue;
        low = std::min(low, *row.paper);
        high = std::max(high, *row.paper);
    }
    return {figure.y.log ? low : std::min(low, 0.0), high, figure.y.log, left, width - right};
}

void draw_row(Svg& svg, const Figure& figure, const Scale& scale, const Row& row, bool exact, double y) {
    const MethodStyle& style = method_style(row.method);
    const std::string classes = fmt::format("m-{}", style.id);
    const double x = scale.at(row.y.mean);
    svg.text(left - 8, y + 4, series_label(row.method, row.variant), "tick", Anchor::end);
    svg.line(left, y, x, y, "stem " + classes);
    if (row.y.sd > 0) {
        const double low = std::max(row.y.mean - row.y.sd, scale.low());
        svg.line(scale.at(low), y, scale.at(row.y.mean + row.y.sd), y, "error " + classes);
    }
    svg.marker(x, y, style.marker, classes, false);
    if (row.paper && (!figure.y.log || *row.paper > 0)) {
        svg.marker(scale.at(*row.paper), y, style.marker, classes, true,
                   fmt::format("the paper: {}", short_number(*row.paper)));
    }
    svg.text(width - 4, y + 4, exact ? "exact" : short_number(row.y.mean), "value", Anchor::end);
}

/// One category: heading, rows and an axis of its own. Returns where the next begins.
double draw_category(Svg& svg, const Figure& figure, const std::string& category, const DrawnRows& drawn, double y) {
    const Scale scale = value_scale(figure, drawn.rows);
    const double first = y + heading_height;
    const double end = first + row_height * static_cast<double>(drawn.rows.size());
    svg.text(4, y + 16, category, "heading");
    for (const Tick& tick : scale.ticks()) {
        if (drawn.exact && tick.value < 2 * *drawn.exact) continue;  // no number there means anything
        svg.line(scale.at(tick.value), first - 4, scale.at(tick.value), end + 2, "grid");
        svg.text(scale.at(tick.value), end + 14, tick.label, "tick", Anchor::middle);
    }
    y = first;
    for (const Series& series : series_of(drawn.rows)) {
        for (const Row& row : series.rows) {
            draw_row(svg, figure, scale, row, drawn.is_exact(row), y + row_height / 2);
            y += row_height;
        }
    }
    return end + axis_height;
}

}  // namespace

std::string draw_dots(const Figure& figure, const std::vector<Row>& rows) {
    double height = top + bottom;
    std::vector<std::pair<std::string, DrawnRows>> categories;
    for (const std::string& category : categories_of(rows)) {
        std::vector<Row> own;
        std::copy_if(rows.begin(), rows.end(), std::back_inserter(own),
                     [&](const Row& row) { return row.category == category; });
        auto drawn = drawn_rows(figure, own);
        if (drawn.rows.empty()) continue;
        height += heading_height + row_height * static_cast<double>(drawn.rows.size()) + axis_height;
        categories.emplace_back(category, std::move(drawn));
    }
    if (categories.empty()) return "";
    Svg svg(width, height, fmt::format("{}: {}", figure.title, figure.y.label));
    double y = top;
    for (const auto& [category, drawn] : categories) y = draw_category(svg, figure, category, drawn, y);
    svg.text((left + width - right) / 2, height - 8, figure.y.label, "label", Anchor::middle);
    return std::move(svg).finish();
}

}  // namespace couplet
