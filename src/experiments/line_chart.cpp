#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "couplet/experiments/chart.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/svg.hpp"

namespace couplet {
namespace {

// In the units of the drawing, which is as wide as a phone.
constexpr double width = 500;
constexpr double height = 310;
constexpr double left = 62;
constexpr double top = 12;
constexpr double bottom = 46;
constexpr double swatch = 22;        // a piece of line before its label
constexpr double label_height = 15;  // from one label to the next

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
    double right;  ///< where labels begin
};

/// Room for the labels at the ends of the lines.
double label_room(const std::vector<Series>& all) {
    constexpr double letter = 6.4;
    std::size_t longest = 0;
    for (const Series& one : all) longest = std::max(longest, series_label(one.method, one.variant).size());
    return std::min(swatch + 14 + letter * static_cast<double>(longest), 0.5 * width);
}

Plane make_plane(const Figure& figure, const std::vector<Row>& rows, double room) {
    Range x;
    Range y;
    for (const Row& row : rows) {
        x.add(row.x);
        const auto [low, high] = error_bar(row, figure.y);
        y.add(low);
        y.add(high);
        if (row.paper && (!figure.y.log || *row.paper > 0)) y.add(*row.paper);
    }
    return {Scale(x.low, x.high, figure.x.log, left, width - room),
            Scale(y.low, y.high, figure.y.log, height - bottom, top), width - room};
}

void draw_axes(Svg& svg, const Figure& figure, const Plane& plane, std::optional<double> exact) {
    if (exact) {
        const double y = plane.y.at(*exact);
        svg.line(left, y, plane.right, y, "grid");
        svg.text(left - 7, y + 4, "exact", "tick", Anchor::end);
    }
    for (const Tick& tick : plane.y.ticks()) {
        if (exact && tick.value < 2 * *exact) continue;  // no number there means anything
        const double y = plane.y.at(tick.value);
        svg.line(left, y, plane.right, y, "grid");
        svg.text(left - 7, y + 4, tick.label, "tick", Anchor::end);
    }
    for (const Tick& tick : plane.x.ticks()) {
        const double x = plane.x.at(tick.value);
        svg.line(x, height - bottom, x, height - bottom + 4, "axis");
        svg.text(x, height - bottom + 17, tick.label, "tick", Anchor::middle);
    }
    svg.line(left, height - bottom, plane.right, height - bottom, "axis");
    svg.text((left + plane.right) / 2, height - 8, figure.x.label, "label", Anchor::middle);
    svg.text(11, (top + height - bottom) / 2, figure.y.label, "label", Anchor::middle, -90);
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

/// Heights of labels for lines that end at these heights: in their order, apart, inside the drawing.
std::vector<double> spread(std::vector<double> wanted) {
    std::vector<std::size_t> order(wanted.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return wanted[a] < wanted[b]; });
    double least = top;
    for (const std::size_t i : order) {
        wanted[i] = std::max(wanted[i], least);
        least = wanted[i] + label_height;
    }
    double most = height - bottom;
    for (auto i = order.rbegin(); i != order.rend(); ++i) {
        wanted[*i] = std::min(wanted[*i], most);
        most = wanted[*i] - label_height;
    }
    return wanted;
}

/// The name of every line beside its end, with its mark, so that no legend has to be looked up.
void draw_labels(Svg& svg, const Plane& plane, const std::vector<Series>& all) {
    std::vector<double> ends;
    for (const Series& one : all) ends.push_back(plane.y.at(one.rows.back().y.mean));
    const std::vector<double> places = spread(ends);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const MethodStyle& style = method_style(all[i].method);
        const std::string classes = fmt::format("m-{}", style.id);
        const double from = plane.right + 5;
        svg.polyline(path_point(from, places[i]) + path_point(from + swatch, places[i]), "series " + classes,
                     variant_dash(all[i].variant_number));
        svg.marker(from + swatch / 2, places[i], style.marker, classes, false);
        svg.text(from + swatch + 4, places[i] + 4, series_label(all[i].method, all[i].variant), "tag");
    }
}

}  // namespace

std::string draw_lines(const Figure& figure, const std::vector<Row>& rows) {
    const DrawnRows drawn = drawn_rows(figure, rows);
    if (drawn.rows.empty()) return "";
    Svg svg(width, height, fmt::format("{}: {} against {}", figure.title, figure.y.label, figure.x.label));
    const auto series = series_of(drawn.rows);
    const Plane plane = make_plane(figure, drawn.rows, label_room(series));
    draw_axes(svg, figure, plane, drawn.exact);
    // The first of the labels are drawn last, on top.
    for (auto one = series.rbegin(); one != series.rend(); ++one) draw_series(svg, figure, plane, *one, drawn);
    draw_labels(svg, plane, series);
    return std::move(svg).finish();
}

}  // namespace couplet
