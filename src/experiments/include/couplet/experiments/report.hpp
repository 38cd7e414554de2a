#pragma once

#include <string>
#include <vector>

#include "couplet/experiments/experiment.hpp"
#include "couplet/experiments/result.hpp"

namespace couplet {

/// What the page says about how it was made.
struct ReportInfo {
    std::uint64_t seed = 0;
    Index repeats = 3;
    Effort effort = Effort::full;
    bool files = true;  ///< whether NAME.csv and NAME.json lie beside the page and are linked
};

/// Says that a page was made here; replacing any other needs --force.
inline constexpr const char* report_marker = "<meta name=\"generator\" content=\"couplet reproduce\">";

/// One self-contained page: first the answers, then of every experiment what it found, as a sentence, with the figure
/// that shows it as inline SVG; further figures, the tables behind them, its command and its files are folded. A list
/// of contents stays in view. No script, nothing from a network; fits paper, a phone and a dark screen.
std::string render_report(const std::vector<ExperimentResult>& results, const ReportInfo& info);

/// Parts of it, for pages of other programs.
std::string report_style_sheet();
/// The layout of the report's page, below the rules of report_style_sheet() that other pages share.
std::string report_page_rules();
/// A figure with its title; empty when there is nothing to show.
std::string render_figure(const Figure& figure, const std::vector<Row>& rows);

}  // namespace couplet
