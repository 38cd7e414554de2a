#include "couplet/experiments/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "couplet/core/error.hpp"
#include "couplet/core/markup.hpp"
#include "couplet/experiments/chart.hpp"
#include "couplet/experiments/reasons.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/experiments/summary.hpp"
#include "couplet/experiments/svg.hpp"

namespace couplet {
namespace {

/// Two digits say how uncertain a mean is.
std::string deviation(double sd) { return sd >= 1e-4 && sd < 100 ? fmt::format("{:.2g}", sd) : short_number(sd); }

std::string number_cell(const Row& row) {
    if (row.y.mean > 0 && row.y.mean < rounding_rse) return "&lt; 1e-12";
    std::string text = table_number(row.y.mean);
    if (row.y.sd > 0) text += fmt::format(" <small>± {}</small>", deviation(row.y.sd));
    if (row.paper) text += fmt::format("<br><small>paper {}</small>", table_number(*row.paper));
    return text;
}

std::string element(const char* tag, const std::string& content) { return fmt::format("<{0}>{1}</{0}>", tag, content); }

/// Column heads of a pivot: the categories, or the numbers on the x axis.
struct Column {
    std::string head;
    std::string category;
    double x = 0;
};

std::vector<Column> columns_of(const Figure& figure, const std::vector<Row>& rows) {
    std::vector<Column> columns;
    for (const Row& row : rows) {
        const Column column{figure.chart == Chart::dots ? row.category : short_number(row.x), row.category, row.x};
        const bool known = std::any_of(columns.begin(), columns.end(), [&](const Column& other) {
            return other.category == column.category && other.x == column.x;
        });
        if (!known) columns.push_back(column);
    }
    if (figure.chart == Chart::lines) {
        std::sort(columns.begin(), columns.end(), [](const Column& a, const Column& b) { return a.x < b.x; });
    }
    return columns;
}

/// A line per method and variant, a column per place.
std::string pivot_table(const Figure& figure, const std::vector<Row>& rows) {
    const auto columns = columns_of(figure, rows);
    constexpr std::size_t many = 8;
    std::string html = columns.size() > many ? "<div class=\"scroll\"><table class=\"many\"><thead><tr>"
                                             : "<div class=\"scroll\"><table><thead><tr>";
    html += element("th", figure.chart == Chart::lines ? escape_markup(figure.y.label + " / " + figure.x.label)
                                                       : escape_markup(figure.y.label));
    for (const Column& column : columns) html += element("th", escape_markup(column.head));
    html += "</tr></thead><tbody>";
    for (const Series& series : series_of(rows)) {
        html += "<tr>" + element("th", escape_markup(series_label(series.method, series.variant)));
        for (const Column& column : columns) {
            const auto at = std::find_if(series.rows.begin(), series.rows.end(), [&](const Row& row) {
                return row.category == column.category && row.x == column.x;
            });
            html += element("td", at == series.rows.end() ? "" : number_cell(*at));
        }
        html += "</tr>";
    }
    return html + "</tbody></table></div>";
}

/// Where x was measured too no two lines share a column: a line per point.
std::string point_table(const Figure& figure, const std::vector<Row>& rows) {
    std::string html =
        fmt::format("<div class=\"scroll\"><table><thead><tr><th>method</th><th>{}</th><th>{}</th></tr></thead><tbody>",
                    escape_markup(figure.x.label), escape_markup(figure.y.label));
    for (const Series& series : series_of(rows)) {
        for (const Row& row : series.rows) {
            html += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td></tr>",
                                escape_markup(series_label(series.method, series.variant)), short_number(row.x),
                                number_cell(row));
        }
    }
    return html + "</tbody></table></div>";
}

std::string figure_table(const Figure& figure, const std::vector<Row>& rows) {
    constexpr std::size_t most_columns = 26;
    const bool wide = figure.chart == Chart::lines && columns_of(figure, rows).size() > most_columns;
    return wide ? fmt::format("<details><summary>{}, {} lines</summary>{}</details>", escape_markup(figure.title),
                              rows.size(), point_table(figure, rows))
                : fmt::format("<details open><summary>{}</summary>{}</details>", escape_markup(figure.title),
                              pivot_table(figure, rows));
}

/// The tables behind all figures of an experiment, below them: they are wider than a figure.
std::string tables(const ExperimentResult& result) {
    std::string html;
    for (const Figure& figure : result.figures) {
        const auto rows = rows_of(result, figure.id);
        if (!rows.empty()) html += figure_table(figure, rows);
    }
    return html.empty() ? "" : "<div class=\"tables\"><h3>Tables</h3>" + html + "</div>";
}

std::string legend(const std::vector<Row>& rows) {
    std::string html = "<ul class=\"legend\">";
    for (const Series& series : series_of(rows)) {
        html +=
            fmt::format("<li>{}<span>{}</span></li>", legend_swatch(series.method, variant_dash(series.variant_number)),
                        escape_markup(series_label(series.method, series.variant)));
    }
    return html + "</ul>";
}

/// "RSE", "numbers per link": what a figure's y axis measures, without the details.
std::string metric_of(const ExperimentResult& result, const std::string& id) {
    for (const Figure& figure : result.figures) {
        if (figure.id == id) return figure.y.label.substr(0, figure.y.label.find(','));
    }
    return id;
}

/// Every row that differs from the paper by more than a tenth, below the sentence that says why.
std::string differences(const ExperimentResult& result) {
    std::vector<std::pair<std::string, std::string>> reasons;  // sentence, lines of the table
    std::set<std::string> seen;                                // a method can be drawn in two figures
    for (const Row& row : result.rows) {
        if (row.note.empty() || !row.paper) continue;
        const std::string place = row.category.empty() ? short_number(row.x) : row.category;
        const std::string line =
            fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:+.0f}%</td></tr>",
                        escape_markup(series_label(row.method, row.variant)),
                        escape_markup(metric_of(result, row.figure)), escape_markup(place), short_number(*row.paper),
                        short_number(row.y.mean), 100 * (row.y.mean / *row.paper - 1));
        if (!seen.insert(line).second) continue;
        auto at = std::find_if(reasons.begin(), reasons.end(), [&](const auto& one) { return one.first == row.note; });
        if (at == reasons.end()) at = reasons.insert(at, {row.note, ""});
        at->second += line;
    }
    if (reasons.empty()) return "";
    std::string html = fmt::format(
        "<h3>Where ours differs from the paper by more than 10%, and why</h3><details open><summary>Table, {} "
        "lines</summary><div class=\"scroll\"><table class=\"why\"><thead><tr><th>method</th><th>what</th><th>at</th>"
        "<th>paper</th><th>ours</th><th>difference</th></tr></thead>",
        seen.size());
    for (const auto& [sentence, lines] : reasons) {
        html += fmt::format("<tbody><tr class=\"reason\"><th colspan=\"6\">{}</th></tr>{}</tbody>",
                            escape_markup(sentence), lines);
    }
    return html + "</table></div></details>";
}

/// With which parameters the methods of other papers ran.
std::string tunings(const ExperimentResult& result) {
    if (result.tunings.empty()) return "";
    std::string html =
        "<details><summary>Parameters of the other methods</summary><div class=\"scroll\"><table "
        "class=\"words\"><thead>"
        "<tr><th>method</th><th>data</th><th>rank</th><th>parameters</th></tr></thead><tbody>";
    for (const MethodTuning& one : result.tunings) {
        html += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
                            escape_markup(method_style(one.method).label), escape_markup(one.data), one.rank,
                            one.parameters.empty() ? "its defaults, not tuned" : escape_markup(one.parameters));
    }
    return html + "</tbody></table></div></details>";
}

std::string command(const std::string& name, const ReportInfo& info) {
    std::string text = "couplet reproduce ";
    if (info.effort == Effort::quick) text += "quick ";
    text += name + " -o report";
    if (info.seed != 0) text += fmt::format(" --seed {}", info.seed);
    return text + fmt::format(" --repeats {} --force", info.repeats);
}

const Experiment* known_experiment(const std::string& name) {
    for (const Experiment* one : experiments()) {
        if (one->name == name) return one;
    }
    return nullptr;
}

std::string section(const ExperimentResult& result, const ReportInfo& info) {
    const Experiment* about = known_experiment(result.name);
    std::string html = fmt::format("<section id=\"{}\"><h2>{}</h2>", escape_markup(result.name),
                                   escape_markup(about ? about->title : std::string_view(result.name)));
    if (about != nullptr) {
        html += fmt::format("<p class=\"where\">{}</p>",
                            about->paper.empty() ? "Not in the paper" : "Paper, " + escape_markup(about->paper));
        html += element("p", escape_markup(about->about));
    }
    if (!result.findings.empty()) {
        html += "<ul class=\"findings\">";
        for (const std::string& sentence : result.findings) html += element("li", escape_markup(sentence));
        html += "</ul>";
    }
    for (const std::string& what : result.absent) {
        html += fmt::format("<p class=\"absent\">Not run. {}</p>", escape_markup(what));
    }
    html += "<div class=\"figures\">";
    for (const Figure& figure : result.figures) html += render_figure(figure, rows_of(result, figure.id));
    html += "</div>" + tables(result) + differences(result) + tunings(result);
    html += fmt::format("<p class=\"cmd\">{}</p>", escape_markup(command(result.name, info)));
    if (info.files) {
        html += fmt::format(
            "<p class=\"files\">Numbers: <a href=\"{0}.csv\">{0}.csv</a>, <a href=\"{0}.json\">{0}.json</a>. "
            "Computed in {1} s with {2} {3}.</p>",
            escape_markup(result.name), short_number(result.seconds), result.threads,
            result.threads == 1 ? "thread" : "threads");
    }
    return html + "</section>";
}

/// The RSE of those who keep their data at home, the least (to the digits shown) in bold.
std::string summary_cells(const SummaryLine& line) {
    double least = line.ours;
    for (const double rse : {line.masked, line.printed, line.other}) {
        if (rse > 0) least = std::min(least, rse);
    }
    const auto cell = [&](double rse, const std::string& after = "") {
        if (rse == 0) return std::string("<td></td>");
        return fmt::format("<td{}>{}{}</td>", rse_text(rse) == rse_text(least) ? " class=\"best\"" : "", rse_text(rse),
                           after);
    };
    const std::string name =
        line.other_method.empty()
            ? ""
            : fmt::format(" <small>{}</small>", escape_markup(method_style(line.other_method).label));
    return cell(line.ours) + cell(line.masked) + cell(line.printed) + cell(line.other, name);
}

std::string summary_table(const ReportSummary& summary) {
    std::string html =
        "<div class=\"scroll\"><table><thead><tr><th>RSE, four clients</th><th>Couplet, star</th><th>FedSVD</th>"
        "<th>printed method</th><th>best that trains</th><th>centralized</th></tr></thead><tbody>";
    for (const SummaryLine& line : summary.lines) {
        html += fmt::format("<tr><th>{}</th>{}<td>{}</td></tr>", escape_markup(line.data), summary_cells(line),
                            rse_text(line.centralized));
    }
    return html + "</tbody></table></div>";
}

std::string summary_section(const std::vector<ExperimentResult>& results) {
    const ReportSummary summary = summarise_results(results);
    std::string html = "<section class=\"summary\" id=\"summary\"><h2>Who wins, by how much</h2>";
    if (summary.lines.empty()) {
        html +=
            "<p>Run the experiment <code>comparison</code> for a verdict over all methods; below is what was run.</p>";
    } else {
        html += summary_table(summary) + "<ul>";
        for (const std::string& sentence : summary.sentences) html += element("li", escape_markup(sentence));
        html += "</ul>";
    }
    std::set<std::string> missing;
    for (const ExperimentResult& result : results) missing.insert(result.absent.begin(), result.absent.end());
    for (const std::string& what : missing)
        html += fmt::format("<p class=\"absent\">Missing data. {}</p>", escape_markup(what));
    html += "<nav aria-label=\"Experiments\"><ol>";
    for (const ExperimentResult& result : results) {
        const Experiment* about = known_experiment(result.name);
        html += fmt::format("<li><a href=\"#{}\">{}</a></li>", escape_markup(result.name),
                            escape_markup(about ? about->title : std::string_view(result.name)));
    }
    return html + "</ol></nav></section>";
}

}  // namespace

std::string render_figure(const Figure& figure, const std::vector<Row>& rows) {
    if (rows.empty()) return "";
    const std::string drawing = figure.chart == Chart::lines ? draw_lines(figure, rows) : draw_dots(figure, rows);
    std::string html = fmt::format("<figure><h3>{}</h3>{}", escape_markup(figure.title), drawing);
    if (figure.chart == Chart::lines) html += legend(rows);
    return html + "</figure>";
}

std::string render_report(const std::vector<ExperimentResult>& results, const ReportInfo& info) {
    std::string html = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">";
    html += report_marker;
    html +=
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" "
        "content=\"light dark\">"
        "<link rel=\"icon\" href=\"data:,\"><title>Federated coupled tensor trains: the paper "
        "reproduced</title><style>";
    html +=
        report_style_sheet() +
        "</style></head>\n<body><header class=\"top\"><h1>Federated coupled tensor trains: the paper reproduced</h1>";
    html +=
        "<p class=\"lead\">Every table and figure of <cite>Federated Learning Using Coupled Tensor Train "
        "Decomposition</cite> (Zhang, "
        "Kofidis, Zhu, Zhang, Liu), with the method as printed, Couplet's defaults, and the paper's own numbers as "
        "hollow marks. RSE is "
        "the squared error over the squared norm, of all clients together.</p>";
    html += fmt::format(
        "<p class=\"made\">couplet {}, {} effort, seed {}, {} repeats; bars are one standard deviation over the "
        "repeats.</p></header>",
        version(), to_string(info.effort), info.seed, info.repeats);
    html += "<main>" + summary_section(results);
    for (const ExperimentResult& result : results) html += section(result, info) + "\n";
    html +=
        "</main><footer>Time is that of the slowest client and the server on the machine that ran this, networks "
        "aside. "
        "docs/reproduce.md says how each experiment is set up and what the paper leaves open.</footer></body></html>\n";
    return html;
}

}  // namespace couplet
