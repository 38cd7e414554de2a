#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "couplet/experiments/chart.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/svg.hpp"

namespace couplet {
namespace {

// In the units of the drawing, which is as wide as a phone.
constexpr double width = 460;
constexpr double height = 310;
constexpr double left = 62;
constexpr double right = 14;
constexpr double top = 12;
constexpr double bottom = 46;

struct Range {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    void add(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

/// The ends of an error bar, inside what the axis can show.
std::pair<double, double> error_bar(const Row& row, const Axis& axis) {
    const double low = row.y.mean - row.y.sd;
    return {axis.log && low <= 0 ? row.y.mean / 3 : low, row.y.mean + row.y.sd};
}

struct Plane {
    Scale x;
    Scale y;
};

Plane make_plane(const Figure& figure, const std::vector<Row>& rows) {
    Range x;
    Range y;
    for (const Row& row : rows) {
        x.add(row.x);
        const auto [low, high] = error_bar(row, figure.y);
        y.add(low);
        y.add(high);
        if (row.paper && (!figure.y.log || *row.paper > 0)) y.add(*row.paper);
    }
    return {Scale(x.low, x.high, figure.x.log, left, width - right),
            Scale(y.low, y.high, figure.y.log, height - bottom, top)};
}

void draw_axes(Svg& svg, const Figure& figure, const Plane& plane, std::optional<double> exact) {
    if (exact) {
        const double y = plane.y.at(*exact);
        svg.line(left, y, width - right, y, "grid");
        svg.text(left - 7, y + 4, "exact", "tick", Anchor::end);
    }
    for (const Tick& tick : plane.y.ticks()) {
        if (exact && tick.value < 2 * *exact) continue;  // no number there means anything
        const double y = plane.y.at(tick.value);
        svg.line(left, y, width - right, y, "grid");
        svg.text(left - 7, y + 4, tick.label, "tick", Anchor::end);
    }
    for (const Tick& tick : plane.x.ticks()) {
        const double x = plane.x.at(tick.value);
        svg.line(x, height - bottom, x, height - bottom + 4, "axis");
        svg.text(x, height - bottom + 17, tick.label, "tick", Anchor::middle);
    }
    svg.line(left, height - bottom, width - right, height - bottom, "axis");
    svg.text((left + width - right) / 2, height - 8, figure.x.label, "label", Anchor::middle);
    svg.text(14, (top + height - bottom) / 2, figure.y.label, "label", Anchor::middle, -90);
}

void draw_series(Svg& svg, const Figure& figure, const Plane& plane, const Series& series, const DrawnRows& drawn) {
    const MethodStyle& style = method_style(series.method);
    const std::string classes = fmt::format("m-{}", style.id);
    std::string points;
    for (const Row& row : series.rows) {
        const double x = plane.x.at(row.x);
        points += path_point(x, plane.y.at(row.y.mean));
        if (row.y.sd <= 0) continue;
        const auto [low, high] = error_bar(row, figure.y);
        svg.line(x, plane.y.at(low), x, plane.y.at(high), "error " + classes);
    }
    if (series.rows.size() > 1) svg.polyline(points, "series " + classes, variant_dash(series.variant_number));
    for (const Row& row : series.rows) {
        const std::string label = series_label(series.method, series.variant);
        const double x = plane.x.at(row.x);
        svg.marker(x, plane.y.at(row.y.mean), style.marker, classes, false,
                   fmt::format("{}: {} at {}", label, drawn.is_exact(row) ? "exact" : short_number(row.y.mean),
                               short_number(row.x)));
        if (!row.paper || (figure.y.log && *row.paper <= 0)) continue;
        svg.marker(x, plane.y.at(*row.paper), style.marker, classes, true,
                   fmt::format("the paper, {}: {} at {}", label, short_number(*row.paper), short_number(row.x)));
    }
}

}  // namespace

std::string draw_lines(const Figure& figure, const std::vector<Row>& rows) {
    const DrawnRows drawn = drawn_rows(figure, rows);
    if (drawn.rows.empty()) return "";
    Svg svg(width, height, fmt::format("{}: {} against {}", figure.title, figure.y.label, figure.x.label));
    const Plane plane = make_plane(figure, drawn.rows);
    draw_axes(svg, figure, plane, drawn.exact);
    // The first of the legend are drawn last, on top.
    const auto series = series_of(drawn.rows);
    for (auto one = series.rbegin(); one != series.rend(); ++one) draw_series(svg, figure, plane, *one, drawn);
    return std::move(svg).finish();
}

}  // namespace couplet
