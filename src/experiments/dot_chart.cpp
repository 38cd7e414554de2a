#include <fmt/format.h>

#include <algorithm>
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
constexpr double bottom = 42;
constexpr double row_height = 18;
constexpr double heading_height = 24;

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

void draw_row(Svg& svg, const Figure& figure, const Scale& scale, const Row& row, double y) {
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
    svg.text(width - 4, y + 4, figure.y.log && row.y.mean <= rounding_rse ? "exact" : short_number(row.y.mean), "value",
             Anchor::end);
}

}  // namespace

std::string draw_dots(const Figure& figure, const std::vector<Row>& rows) {
    std::vector<Row> drawable;
    for (const Row& row : rows) {
        if (is_drawable(figure, drawn(figure, row))) drawable.push_back(drawn(figure, row));
    }
    if (drawable.empty()) return "";
    const auto categories = categories_of(drawable);
    const double height = top + bottom + heading_height * static_cast<double>(categories.size()) +
                          row_height * static_cast<double>(drawable.size());
    Svg svg(width, height, fmt::format("{}: {}", figure.title, figure.y.label));
    const Scale scale = value_scale(figure, drawable);
    for (const Tick& tick : scale.ticks()) {
        const double x = scale.at(tick.value);
        svg.line(x, top + heading_height - 8, x, height - bottom + 2, "grid");
        svg.text(x, height - bottom + 17, tick.label, "tick", Anchor::middle);
    }
    svg.text((left + width - right) / 2, height - 6, figure.y.label, "label", Anchor::middle);
    double y = top;
    for (const std::string& category : categories) {
        svg.text(4, y + 16, category, "heading");
        y += heading_height;
        for (const Series& series : series_of(drawable)) {
            for (const Row& row : series.rows) {
                if (row.category != category) continue;
                draw_row(svg, figure, scale, row, y + row_height / 2);
                y += row_height;
            }
        }
    }
    return std::move(svg).finish();
}

}  // namespace couplet
