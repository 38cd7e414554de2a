#pragma once

#include <string>
#include <string_view>

#include "couplet/experiments/style.hpp"

namespace couplet {

enum class Anchor { start, middle, end };

/// A drawing in the making. Colours come from classes of the page's style sheet, so that one sheet serves light, dark
/// and paper. Numbers are written with two digits after the point.
class Svg {
  public:
    /// `title` is what a screen reader says.
    Svg(double width, double height, std::string_view title);

    void line(double x1, double y1, double x2, double y2, std::string_view classes);
    /// Points as "x,y x,y"; see path_point().
    void polyline(std::string_view points, std::string_view classes, std::string_view dash = "");
    /// A box with its corner at (x, y); `opacity` of its fill, and `hint` shows when the pointer rests.
    void rect(double x, double y, double width, double height, std::string_view classes, double opacity = 1,
              std::string_view hint = "");
    void text(double x, double y, std::string_view text, std::string_view classes, Anchor anchor = Anchor::start,
              double rotate = 0);
    /// A mark of a method at a place; hollow ones stand for the paper's numbers. `hint` shows when the pointer rests.
    void marker(double x, double y, Marker marker, std::string_view classes, bool hollow, std::string_view hint = "");
    std::string finish() &&;

  private:
    std::string text_;
};

std::string path_point(double x, double y);

/// The mark and a piece of line of one series, for a legend.
std::string legend_swatch(std::string_view method, std::string_view dash);

}  // namespace couplet
