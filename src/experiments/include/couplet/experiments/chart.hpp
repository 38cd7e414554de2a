#pragma once

#include <optional>
#include <string>
#include <vector>

#include "couplet/experiments/result.hpp"

namespace couplet {

class Scale;
class Svg;

/// The rows of one line or one kind of dots: same method and variant.
struct Series {
    std::string method = {};
    std::string variant = {};
    std::size_t variant_number = 0;  ///< among those of its method, for the dash
    std::vector<Row> rows = {};
};

/// Rows by method and variant: methods in the order of method_styles(), variants as they first come.
std::vector<Series> series_of(const std::vector<Row>& rows);

/// The categories of the rows, as they first come.
std::vector<std::string> category_names(const std::vector<Row>& rows);

/// The lines of a horizontal scale from one height to another, and its numbers so far below them (0: none). Below
/// `exact`, see DrawnRows, there are none.
void draw_grid(Svg& svg, const Scale& scale, std::optional<double> exact, double from, double to, double labels_below);

/// Dash pattern of the variants of one method; the first is solid.
std::string variant_dash(std::size_t number);

/// Rows as they are drawn.
struct DrawnRows {
    std::vector<Row> rows = {};
    /// Where errors that are rounding are drawn on a logarithmic axis: a decade below all others. Nothing when there
    /// are none.
    std::optional<double> exact = {};
    bool is_exact(const Row& row) const noexcept { return exact && row.y.mean == *exact; }
};

/// The rows of a figure that can be drawn: finite, and positive on a logarithmic axis.
DrawnRows drawn_rows(const Figure& figure, const std::vector<Row>& rows);

/// A figure as inline SVG. Lines have their names at their ends and error bars of one standard deviation over the
/// repeats, the paper's numbers are hollow marks. Dots are a row per method below each category, with their value as
/// text.
std::string draw_lines(const Figure& figure, const std::vector<Row>& rows);
std::string draw_dots(const Figure& figure, const std::vector<Row>& rows);
/// Dots whose x axis has a label: that is what the categories are, and each is one row with the marks of all methods on
/// it, the rows in the order in which they come. The marks are named above.
std::string draw_names(const Figure& figure, const std::vector<Row>& rows);

/// Whichever of the three the figure asks for.
std::string draw(const Figure& figure, const std::vector<Row>& rows);

}  // namespace couplet
