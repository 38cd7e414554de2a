#include "couplet/experiments/svg.hpp"

#include <fmt/format.h>

#include "couplet/io/markup.hpp"

namespace couplet {
namespace {

constexpr double radius = 3.6;

const char* anchor_name(Anchor anchor) {
    if (anchor == Anchor::middle) return "middle";
    return anchor == Anchor::end ? "end" : "start";
}

/// Outline of a mark around (0, 0).
std::string outline(Marker marker) {
    constexpr double r = radius;
    switch (marker) {
        case Marker::circle:
            return fmt::format("M{0:.2f},0A{1:.2f},{1:.2f} 0 1 0 {1:.2f},0A{1:.2f},{1:.2f} 0 1 0 {0:.2f},0Z", -r, r);
        case Marker::square:
            return fmt::format("M{0:.2f},{0:.2f}H{1:.2f}V{1:.2f}H{0:.2f}Z", -0.9 * r, 0.9 * r);
        case Marker::diamond:
            return fmt::format("M0,{0:.2f}L{1:.2f},0L0,{1:.2f}L{0:.2f},0Z", -1.25 * r, 1.25 * r);
        case Marker::triangle:
            return fmt::format("M0,{0:.2f}L{1:.2f},{2:.2f}H{3:.2f}Z", -1.15 * r, 1.1 * r, 0.85 * r, -1.1 * r);
        case Marker::triangle_down:
            return fmt::format("M0,{0:.2f}L{1:.2f},{2:.2f}H{3:.2f}Z", 1.15 * r, 1.1 * r, -0.85 * r, -1.1 * r);
        case Marker::cross:
            return fmt::format("M{0:.2f},{0:.2f}L{1:.2f},{1:.2f}M{0:.2f},{1:.2f}L{1:.2f},{0:.2f}", -0.9 * r, 0.9 * r);
        case Marker::plus:
            return fmt::format("M{0:.2f},0H{1:.2f}M0,{0:.2f}V{1:.2f}", -1.1 * r, 1.1 * r);
        case Marker::bar:
            return fmt::format("M{0:.2f},{1:.2f}H{2:.2f}V{3:.2f}H{0:.2f}Z", -1.2 * r, -0.35 * r, 1.2 * r, 0.35 * r);
    }
    return "";
}

}  // namespace

std::string path_point(double x, double y) { return fmt::format("{:.2f},{:.2f} ", x, y); }

Svg::Svg(double width, double height, std::string_view title)
    : text_(fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">", width, height,
                        escape_markup(title))) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view classes) {
    text_ += fmt::format("<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" class=\"{}\"/>", x1, y1, x2, y2,
                         classes);
}

void Svg::polyline(std::string_view points, std::string_view classes, std::string_view dash) {
    const std::string dashes = dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", dash);
    text_ += fmt::format("<polyline points=\"{}\" class=\"{}\"{}/>", points, classes, dashes);
}

void Svg::rect(double x, double y, double width, double height, std::string_view classes, double opacity,
               std::string_view hint) {
    const std::string see_through = opacity == 1 ? "" : fmt::format(" fill-opacity=\"{:.3f}\"", opacity);
    text_ += fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" class=\"{}\"{}", x, y,
                         width, height, classes, see_through);
    text_ += hint.empty() ? "/>" : fmt::format("><title>{}</title></rect>", escape_markup(hint));
}

void Svg::text(double x, double y, std::string_view text, std::string_view classes, Anchor anchor, double rotate) {
    const std::string turn = rotate == 0 ? "" : fmt::format(" transform=\"rotate({:g} {:.2f} {:.2f})\"", rotate, x, y);
    text_ += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" class=\"{}\" text-anchor=\"{}\"{}>{}</text>", x, y, classes,
                         anchor_name(anchor), turn, escape_markup(text));
}

void Svg::marker(double x, double y, Marker marker, std::string_view classes, bool hollow, std::string_view hint) {
    const bool open = marker == Marker::cross || marker == Marker::plus;
    const char* fill = hollow ? "hollow" : open ? "open" : "solid";
    text_ += fmt::format("<path d=\"{}\" transform=\"translate({:.2f} {:.2f})\" class=\"mark {} {}\">", outline(marker),
                         x, y, fill, classes);
    if (!hint.empty()) text_ += fmt::format("<title>{}</title>", escape_markup(hint));
    text_ += "</path>";
}

std::string Svg::finish() && { return std::move(text_) + "</svg>"; }

std::string legend_swatch(std::string_view method, std::string_view dash) {
    const MethodStyle& style = method_style(method);
    const std::string classes = fmt::format("m-{}", style.id);
    Svg svg(30, 12, style.label);
    svg.polyline(path_point(1, 6) + path_point(29, 6), "series " + classes, dash);
    svg.marker(15, 6, style.marker, classes, false);
    return std::move(svg).finish();
}

}  // namespace couplet
