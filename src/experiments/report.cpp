#include "couplet/experiments/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "couplet/core/error.hpp"
#include "couplet/experiments/chart.hpp"
#include "couplet/experiments/gain_section.hpp"
#include "couplet/experiments/headline.hpp"
#include "couplet/experiments/reasons.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/slide.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/experiments/summary.hpp"
#include "couplet/experiments/svg.hpp"
#include "couplet/io/markup.hpp"

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

std::string folded(const std::string& what, const std::string& content) {
    return fmt::format("<details><summary>{}</summary>{}</details>", escape_markup(what), content);
}

std::string figure_table(const Figure& figure, const std::vector<Row>& rows) {
    constexpr std::size_t most_columns = 26;
    const bool wide = columns_of(figure, rows).size() > most_columns;
    return fmt::format("<h3>{}</h3>{}", escape_markup(figure.title),
                       wide && figure.chart == Chart::lines ? point_table(figure, rows) : pivot_table(figure, rows));
}

/// "1 table", "3 tables".
std::string counted(std::size_t number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// The tables behind all figures of an experiment.
std::string tables(const ExperimentResult& result) {
    std::string html;
    std::size_t number = 0;
    for (const Figure& figure : result.figures) {
        const auto rows = rows_of(result, figure.id);
        if (rows.empty()) continue;
        html += figure_table(figure, rows);
        ++number;
    }
    return html.empty() ? "" : folded(counted(number, "table"), "<div class=\"tables\">" + html + "</div>");
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
    std::string html =
        "<div class=\"scroll\"><table class=\"why\"><thead><tr><th>method</th><th>what</th><th>at</th><th>paper</th>"
        "<th>ours</th><th>difference</th></tr></thead>";
    for (const auto& [sentence, lines] : reasons) {
        html += fmt::format("<tbody><tr class=\"reason\"><th colspan=\"6\">{}</th></tr>{}</tbody>",
                            escape_markup(sentence), lines);
    }
    return folded(fmt::format("{} from the paper's by more than 10%, and why",
                              seen.size() == 1 ? "1 number differs" : fmt::format("{} numbers differ", seen.size())),
                  html + "</table></div>");
}

/// With which parameters the methods of other papers ran.
std::string tunings(const ExperimentResult& result) {
    if (result.tunings.empty()) return "";
    std::string html =
        "<div class=\"scroll\"><table class=\"words\"><thead>"
        "<tr><th>method</th><th>data</th><th>rank</th><th>parameters</th></tr></thead><tbody>";
    for (const MethodTuning& one : result.tunings) {
        html += fmt::format("<tr><th>{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
                            escape_markup(method_style(one.method).label), escape_markup(one.data), one.rank,
                            one.parameters.empty() ? "its defaults, not tuned" : escape_markup(one.parameters));
    }
    return folded("parameters of the other methods", html + "</tbody></table></div>");
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

/// Long lists of dots, for a glance: a row for each category, with the marks of the main methods.
struct Lead {
    Figure figure;
    std::vector<Row> rows;
};

Lead lead_of(const ExperimentResult& result, const Figure& figure) {
    constexpr std::size_t many = 24;
    Lead lead{figure, rows_of(result, figure.id)};
    if (figure.chart == Chart::dots && figure.x.label.empty() && lead.rows.size() > many) {
        lead.rows = main_rows(lead.rows);
        lead.figure.x.label = "row";
    }
    return lead;
}

/// What the experiment found, beside the figure that shows it.
std::string lead_part(const ExperimentResult& result, const Experiment* about, const Headline& told) {
    std::string html = "<div class=\"lead-part\">";
    for (const Figure& figure : result.figures) {
        if (figure.id != told.figure) continue;
        const Lead lead = lead_of(result, figure);
        html += render_figure(lead.figure, lead.rows);
    }
    html += "<div class=\"side\">";
    std::string words = about != nullptr ? element("p", escape_markup(about->about)) : "";
    constexpr std::size_t shown = 2;
    std::string list;
    std::string rest;
    for (std::size_t i = 0; i < result.findings.size(); ++i) {
        (i < shown ? list : rest) += element("li", escape_markup(result.findings[i]));
    }
    if (!list.empty()) words += "<ul class=\"findings\">" + list + "</ul>";
    if (!rest.empty()) {
        words +=
            folded(counted(result.findings.size() - shown, "more finding"), "<ul class=\"findings\">" + rest + "</ul>");
    }
    // A phone has the sentence above and the figure; a wide screen has room for the words beside it (style sheet).
    if (!words.empty()) {
        html += fmt::format("<details class=\"words-beside\"><summary>{}</summary>{}</details>",
                            result.findings.empty() ? "how it was done" : "how it was done, and what was found", words);
    }
    for (const std::string& what : result.absent) {
        html += fmt::format("<p class=\"absent\">Not run. {}</p>", escape_markup(what));
    }
    return html + "</div></div>";
}

/// All figures but the one that is shown already, and that one too where it was shown in part.
std::string more_figures(const ExperimentResult& result, const std::string& shown) {
    std::string html;
    std::size_t number = 0;
    for (const Figure& figure : result.figures) {
        const auto rows = rows_of(result, figure.id);
        if (rows.empty() || (figure.id == shown && lead_of(result, figure).rows.size() == rows.size())) continue;
        html += render_figure(figure, rows);
        ++number;
    }
    return html.empty() ? "" : folded(counted(number, "more figure"), "<div class=\"figures\">" + html + "</div>");
}

std::string again(const ExperimentResult& result, const ReportInfo& info) {
    std::string html = fmt::format("<p class=\"cmd\">{}</p>", escape_markup(command(result.name, info)));
    if (info.files) {
        html += fmt::format(
            "<p class=\"files\">Numbers: <a href=\"{0}.csv\">{0}.csv</a>, <a href=\"{0}.json\">{0}.json</a>. "
            "Computed in {1} s with {2} {3}.</p>",
            escape_markup(result.name), short_number(result.seconds), result.threads,
            result.threads == 1 ? "thread" : "threads");
    }
    return folded("run it again, files", html);
}

std::string title_of(const ExperimentResult& result) {
    const Experiment* about = known_experiment(result.name);
    return std::string(about ? about->title : std::string_view(result.name));
}

std::string section(const ExperimentResult& result, const ReportInfo& info) {
    const Experiment* about = known_experiment(result.name);
    const Headline told = headline(result);
    const std::string title = title_of(result);
    std::string html = fmt::format(
        "<section id=\"{}\"><p class=\"where\">{}{}</p><h2>{}</h2>", escape_markup(result.name),
        told.sentence.empty() ? "" : escape_markup(title) + ". ",
        about == nullptr || about->paper.empty() ? "Not in the paper" : "Paper, " + escape_markup(about->paper),
        escape_markup(told.sentence.empty() ? title : told.sentence));
    html += lead_part(result, about, told);
    html += "<div class=\"folded\">" + more_figures(result, told.figure) + tables(result) + differences(result) +
            tunings(result) + again(result, info) + "</div>";
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
        "<th>CTT of Zhang et al. 2024</th><th>best that trains</th><th>centralized</th></tr></thead><tbody>";
    for (const SummaryLine& line : summary.lines) {
        html += fmt::format("<tr><th>{}</th>{}<td>{}</td></tr>", escape_markup(line.data), summary_cells(line),
                            rse_text(line.centralized));
    }
    return html + "</tbody></table></div>";
}

std::string answer_cards(const ReportSummary& summary) {
    std::string html = "<div class=\"answers\">";
    for (const Answer& one : summary.answers) {
        html += fmt::format("<div><h3>{}</h3><p class=\"verdict\">{}</p><p>{}</p></div>", escape_markup(one.question),
                            escape_markup(one.verdict), escape_markup(one.detail));
    }
    return html + "</div>";
}

std::string paper_reasons(const ReportSummary& summary) {
    if (summary.reasons.empty()) return "";
    Index numbers = 0;
    std::string html =
        "<div class=\"scroll\"><table class=\"words\"><thead><tr><th>numbers</th><th>why they "
        "differ</th></tr></thead><tbody>";
    for (const PaperReason& one : summary.reasons) {
        html += fmt::format("<tr><th>{}</th><td>{}</td></tr>", one.numbers, escape_markup(one.sentence));
        numbers += one.numbers;
    }
    return folded(fmt::format("where the paper is not reproduced, and why: {}",
                              counted(static_cast<std::size_t>(numbers), "number")),
                  html + "</tbody></table></div>");
}

/// First the answer.
std::string summary_section(const std::vector<ExperimentResult>& results) {
    const ReportSummary summary = summarise_results(results);
    std::string html = "<section class=\"summary\" id=\"summary\"><h2>The answer</h2>";
    if (summary.answers.empty()) {
        html +=
            "<p>Run the experiments <code>r1_synthetic</code>, <code>error_vs_bytes</code> and <code>heldout</code> "
            "for answers; "
            "below is what was run.</p>";
    } else {
        html += answer_cards(summary);
    }
    html += paper_reasons(summary);
    if (!summary.lines.empty()) {
        std::string list;
        for (const std::string& sentence : summary.sentences) list += element("li", escape_markup(sentence));
        html += folded("who wins by how much: errors and bytes of every data set",
                       summary_table(summary) + "<ul>" + list + "</ul>");
    }
    std::set<std::string> missing;
    for (const ExperimentResult& result : results) missing.insert(result.absent.begin(), result.absent.end());
    for (const std::string& what : missing)
        html += fmt::format("<p class=\"absent\">Missing data. {}</p>", escape_markup(what));
    return html + "</section>";
}

/// The list that stays in view: beside the text on a wide screen, above it on a narrow one.
std::string contents(const std::vector<ExperimentResult>& results, bool gains) {
    std::string html =
        "<nav class=\"contents\" aria-label=\"Contents\"><ol><li><a href=\"#summary\">The answer</a></li>";
    if (gains) html += "<li><a href=\"#joining\">What a site gains by joining</a></li>";
    for (const ExperimentResult& result : results) {
        html +=
            fmt::format("<li><a href=\"#{}\">{}</a></li>", escape_markup(result.name), escape_markup(title_of(result)));
    }
    return html + "</ol></nav>";
}

}  // namespace

std::string render_figure(const Figure& figure, const std::vector<Row>& rows) {
    if (rows.empty()) return "";
    return fmt::format("<figure><h3>{}</h3>{}</figure>", escape_markup(figure.title), draw(figure, rows));
}

std::string render_report(const std::vector<ExperimentResult>& results, const ReportInfo& info) {
    std::string html = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">";
    html += report_marker;
    html +=
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" "
        "content=\"light dark\">"
        "<link rel=\"icon\" href=\"data:,\"><title>Federated coupled tensor trains: the paper "
        "reproduced</title><style>";
    html += report_style_sheet() + report_page_rules() +
            "</style></head>\n<body class=\"report\"><a class=\"skip\" href=\"#summary\">Skip to the answer</a><header "
            "class=\"top\">"
            "<h1>Federated coupled tensor trains: the paper reproduced</h1>";
    html +=
        "<p class=\"lead\">Every table and figure of <cite>Federated Learning Using Coupled Tensor Train "
        "Decomposition</cite> (X. Zhang, E. Kofidis, C. Zhu, L. Zhang and Y. Liu, 2024). \"Zhang et al.\" is their CTT "
        "as the paper "
        "prints it, \"Couplet\" our defaults; hollow marks are the paper's own numbers. RSE is the squared error over "
        "the squared "
        "norm, of all clients together.</p>";
    html += fmt::format(
        "<p class=\"made\">couplet {}, {} effort, seed {}, {} repeats; bars are one standard deviation over the "
        "repeats.</p></header>",
        version(), to_string(info.effort), info.seed, info.repeats);
    const std::string joining = render_gain_section(site_gains(results));
    html +=
        "<div class=\"columns\">" + contents(results, !joining.empty()) + "<main>" + summary_section(results) + joining;
    for (const ExperimentResult& result : results) html += section(result, info) + "\n";
    html +=
        "</main></div><footer>Time is that of the slowest client and the server on the machine that ran this, networks "
        "aside. "
        "docs/reproduce.md says how each experiment is set up and what the paper leaves open.</footer></body></html>\n";
    return html;
}

}  // namespace couplet
