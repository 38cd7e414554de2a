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
constexpr double axis_height = 26;

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
    // A stem measures from zero, which a logarithmic axis does not have.
    if (figure.y.log) {
        svg.line(left, y, width - right, y, "grid");
    } else {
        svg.line(left, y, x, y, "stem " + classes);
    }
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

struct Category {
    std::string name;
    DrawnRows drawn;
};

/// The rows of each category, in order; errors that are rounding lie below all others that share their axis.
std::vector<Category> categories_of(const Figure& figure, const std::vector<Row>& rows) {
    const DrawnRows all = drawn_rows(figure, rows);
    std::vector<Category> categories;
    for (const std::string& name : category_names(all.rows)) {
        const auto inside = [&](const Row& row) { return row.category == name; };
        std::vector<Row> own;
        const auto& from = figure.own_axes ? rows : all.rows;
        std::copy_if(from.begin(), from.end(), std::back_inserter(own), inside);
        categories.push_back({name, figure.own_axes ? drawn_rows(figure, own) : DrawnRows{std::move(own), all.exact}});
    }
    return categories;
}

void draw_category(Svg& svg, const Figure& figure, const Scale& scale, const Category& category, double y) {
    svg.text(4, y + 16, category.name, "heading");
    y += heading_height;
    for (const Series& series : series_of(category.drawn.rows)) {
        for (const Row& row : series.rows) {
            draw_row(svg, figure, scale, row, category.drawn.is_exact(row), y + row_height / 2);
            y += row_height;
        }
    }
}

}  // namespace

std::string draw_dots(const Figure& figure, const std::vector<Row>& rows) {
    const auto categories = categories_of(figure, rows);
    if (categories.empty()) return "";
    std::vector<Row> all;
    for (const Category& one : categories) all.insert(all.end(), one.drawn.rows.begin(), one.drawn.rows.end());
    const auto count = static_cast<double>(categories.size());
    const double height = top + bottom + heading_height * count + row_height * static_cast<double>(all.size()) +
                          axis_height * (figure.own_axes ? count : 1);
    Svg svg(width, height, fmt::format("{}: {}", figure.title, figure.y.label));
    const Scale shared = value_scale(figure, all);
    double y = top;
    for (const Category& one : categories) {
        const Scale scale = figure.own_axes ? value_scale(figure, one.drawn.rows) : shared;
        const double end = y + heading_height + row_height * static_cast<double>(one.drawn.rows.size());
        const bool last = &one == &categories.back();
        draw_grid(svg, scale, one.drawn.exact, y + heading_height - 4, end + 2, figure.own_axes || last ? 12 : 0);
        draw_category(svg, figure, scale, one, y);
        y = end + (figure.own_axes || last ? axis_height : 0);
    }
    svg.text((left + width - right) / 2, height - 8, figure.y.label, "label", Anchor::middle);
    return std::move(svg).finish();
}

}  // namespace couplet
