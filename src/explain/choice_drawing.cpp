#include "couplet/explain/choice_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

namespace couplet {
namespace {

constexpr double width = 520;
constexpr double height = 300;
constexpr double left = 48;
constexpr double right = 150;
constexpr double top = 20;
constexpr double bottom = 44;

constexpr const char* style =
    "<style>text{font:12px sans-serif;fill:#333}.axis{stroke:#888;stroke-width:1}.limit{stroke:#888;stroke-dasharray:3 "
    "3}.a{stroke:#0072b2;fill:none;stroke-width:2}.b{stroke:#d55e00;fill:none;stroke-width:2}.c{stroke:#009e73;fill:"
    "none;"
    "stroke-width:2;stroke-dasharray:6 3}.chosen{fill:#0072b2}@media (prefers-color-scheme:dark){text{fill:#ddd}}"
    "</style>";

using Curve = std::function<std::optional<double>(const ChoicePoint&)>;

class Plane {
  public:
    explicit Plane(const Choice& choice) : most_(std::max<double>(2, static_cast<double>(choice.points.size()))) {}
    double x(double components) const { return left + (components - 1) / (most_ - 1) * (width - left - right); }
    /// Values are parts of one; what lies outside is drawn at the edge.
    static double y(double value) { return height - bottom - std::clamp(value, 0.0, 1.0) * (height - top - bottom); }

  private:
    double most_;
};

std::string draw_curve(const Choice& choice, const Plane& plane, const char* name, const char* label,
                       const Curve& value) {
    std::string points;
    double end = 0;
    for (const ChoicePoint& point : choice.points) {
        const auto here = value(point);
        if (point.degenerate || !here) continue;
        end = plane.y(*here);
        points += fmt::format("{:.1f},{:.1f} ", plane.x(static_cast<double>(point.components)), end);
    }
    if (points.empty()) return {};
    points.pop_back();
    return fmt::format("<polyline class=\"{}\" points=\"{}\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", name, points,
                       width - right + 8, end + 4, label);
}

std::string draw_axes(const Choice& choice, const Plane& plane) {
    std::string text = fmt::format(
        "<line class=\"axis\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<line class=\"limit\" x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{3:.1f}\" y2=\"{3:.1f}\"/>",
        left, width - right, Plane::y(0), Plane::y(stable_agreement));
    for (const double value : {0.0, 0.5, 1.0}) {
        text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", left - 6,
                            Plane::y(value) + 4, value);
    }
    for (const ChoicePoint& point : choice.points) {
        text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
                            plane.x(static_cast<double>(point.components)), height - bottom + 18, point.components);
    }
    return text + fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">components</text>",
                              (left + width - right) / 2, height - 8);
}

}  // namespace

std::string draw_choice(const Choice& choice) {
    const Plane plane(choice);
    std::string text =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" role=\"img\"><title>{}</title>{}",
                    width, height, choice_reason(choice), style);
    text += draw_axes(choice, plane);
    text += draw_curve(choice, plane, "a", "agreement",
                       [](const ChoicePoint& point) { return std::optional(point.agreement); });
    text += draw_curve(
        choice, plane, "b", choice.resampled ? "held-out error" : "error",
        [&](const ChoicePoint& point) { return choice.resampled ? point.held_out : std::optional(point.rel_error); });
    text +=
        draw_curve(choice, plane, "c", "core consistency", [](const ChoicePoint& point) { return point.consistency; });
    for (const ChoicePoint& point : choice.points) {
        if (point.components != choice.components) continue;
        text += fmt::format("<circle class=\"chosen\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>",
                            plane.x(static_cast<double>(point.components)), Plane::y(point.agreement));
    }
    return text + "</svg>\n";
}

std::string choice_reason(const Choice& choice) {
    const char* what = choice.resampled ? "fits to halves of the patients" : "starts";
    if (choice.components == 0) {
        double best = 0;
        for (const ChoicePoint& point : choice.points) best = std::max(best, point.agreement);
        return fmt::format("nothing is stable: {} agree by {:.2f} at most, beyond chance, where {:.2f} is asked for",
                           what, best, stable_agreement);
    }
    const auto& chosen = choice.points[static_cast<std::size_t>(choice.components - 1)];
    std::string text =
        fmt::format("{} is the largest number whose components all come back: {} agree by {:.2f}, beyond chance",
                    choice.components, what, chosen.agreement);
    if (choice.components == static_cast<Index>(choice.points.size())) return text + "; more were not tried";
    const auto& next = choice.points[static_cast<std::size_t>(choice.components)];
    if (next.degenerate) return text + "; one more cancel each other";
    if (next.agreement >= stable_agreement && next.consistency) {
        return text + fmt::format("; the core of one more is not consistent ({:.2f})", *next.consistency);
    }
    return text + fmt::format("; with one more the least stable does by {:.2f}", next.agreement);
}

}  // namespace couplet
