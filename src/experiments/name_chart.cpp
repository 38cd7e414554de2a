#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "couplet/experiments/chart.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/svg.hpp"

namespace couplet {
namespace {

constexpr double width = 500;
constexpr double right = 14;
constexpr double row_height = 19;
constexpr double axis_height = 44;
constexpr double legend_height = 18;
constexpr double letter = 6.6;

double name_room(const std::vector<std::string>& names) {
    std::size_t longest = 0;
    for (const std::string& name : names) longest = std::max(longest, name.size());
    return std::min(16 + letter * static_cast<double>(longest), 0.4 * width);
}

/// Marks and what they stand for, in lines as wide as the drawing; returns where they end.
double draw_legend(Svg& svg, const std::vector<Series>& all) {
    double x = 6;
    double y = legend_height / 2;
    for (const Series& one : all) {
        const std::string label = series_label(one.method, one.variant);
        const double room = 30 + letter * static_cast<double>(label.size());
        if (x > 6 && x + room > width) {
            x = 6;
            y += legend_height;
        }
        svg.marker(x + 4, y, method_style(one.method).marker, fmt::format("m-{}", one.method), false);
        svg.text(x + 13, y + 4, label, "tag");
        x += room;
    }
    return y + legend_height / 2 + 4;
}

Scale scale_of(const Figure& figure, const std::vector<Row>& rows, double left) {
    double low = figure.y.log ? std::numeric_limits<double>::infinity() : 0.0;
    double high = -std::numeric_limits<double>::infinity();
    for (const Row& row : rows) {
        low = std::min(low, row.y.mean);
        high = std::max(high, row.y.mean);
    }
    return {low, high, figure.y.log, left, width - right};
}

}  // namespace

std::string draw_names(const Figure& figure, const std::vector<Row>& rows) {
    const DrawnRows drawn = drawn_rows(figure, rows);
    if (drawn.rows.empty()) return "";
    const auto names = category_names(drawn.rows);
    const auto series = series_of(drawn.rows);
    const double left = name_room(names);
    Svg measure(width, 0, "");
    const double top = draw_legend(measure, series);
    const double end = top + row_height * static_cast<double>(names.size());
    Svg svg(width, end + axis_height, fmt::format("{}: {} of each {}", figure.title, figure.y.label, figure.x.label));
    draw_legend(svg, series);
    const Scale scale = scale_of(figure, drawn.rows, left);
    draw_grid(svg, scale, drawn.exact, top, end, 15);
    if (drawn.exact) svg.text(scale.at(*drawn.exact), end + 15, "exact", "tick", Anchor::middle);
    const auto height_of = [&](const std::string& name) {
        const auto at = std::find(names.begin(), names.end(), name) - names.begin();
        return top + row_height * (static_cast<double>(at) + 0.5);
    };
    for (const std::string& name : names) {
        svg.text(left - 8, height_of(name) + 4, name, "tag", Anchor::end);
        svg.line(left, height_of(name), width - right, height_of(name), "grid");
    }
    // The first of the legend are drawn last, on top.
    for (auto one = series.rbegin(); one != series.rend(); ++one) {
        for (const Row& row : one->rows) {
            svg.marker(scale.at(row.y.mean), height_of(row.category), method_style(one->method).marker,
                       fmt::format("m-{}", one->method), false,
                       fmt::format("{}, {}: {}", series_label(one->method, one->variant), row.category,
                                   drawn.is_exact(row) ? "exact" : short_number(row.y.mean)));
        }
    }
    svg.text((left + width - right) / 2, end + axis_height - 10, figure.y.label, "label", Anchor::middle);
    return std::move(svg).finish();
}

}  // namespace couplet
