#include "couplet/experiments/slide.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "couplet/experiments/chart.hpp"
#include "couplet/experiments/method_bench.hpp"
#include "couplet/experiments/report.hpp"
#include "couplet/experiments/style.hpp"
#include "couplet/experiments/summary.hpp"
#include "couplet/experiments/svg.hpp"
#include "couplet/io/markup.hpp"

namespace couplet {
namespace {

constexpr double width = 1280;
constexpr double height = 720;

/// What a browser and a converter both understand without the page's style sheet.
constexpr const char* rules =
    "svg{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif}text{fill:#1c1e21}.ground{fill:#fff}.rule{stroke:#d9dbe0}"
    ".title{font-size:31px;font-weight:600}.lead{font-size:17px;fill:#50545b}.question{font-size:17px;fill:#50545b}"
    ".verdict{font-size:25px;font-weight:600}.detail,.source{font-size:14px;fill:#50545b}"
    ".tag,.tick,.label{font-size:12.5px}.tick{fill:#50545b}.grid{stroke:#e4e6ea;stroke-width:1}"
    ".mark.solid{fill:var(--c);stroke:#fff;stroke-width:.8}.mark.open{fill:none;stroke:var(--c);stroke-width:2}";

/// Words in lines of at most so many letters.
std::vector<std::string> wrapped(const std::string& text, std::size_t letters) {
    std::vector<std::string> lines;
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string word = text.substr(at, end - at);
        if (!line.empty() && line.size() + 1 + word.size() > letters) {
            lines.push_back(line);
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
        at = end + 1;
    }
    if (!line.empty()) lines.push_back(line);
    return lines;
}

std::string text_at(double x, double y, const std::string& text, const char* classes) {
    return fmt::format("<text x=\"{:g}\" y=\"{:g}\" class=\"{}\">{}</text>", x, y, classes, escape_markup(text));
}

/// At most two lines: whole sentences, else a list that ends with one of its bracketed parts, as far as they fit. The
/// report has the rest.
std::vector<std::string> detail_lines(const std::string& detail) {
    constexpr std::size_t letters = 76;
    for (const std::string stop : {". ", "), "}) {
        std::string text = detail;
        for (std::size_t end = 0; end != std::string::npos;) {
            auto lines = wrapped(text, letters);
            if (lines.size() <= 2) return lines;
            end = text.rfind(stop);
            if (end != std::string::npos) text = text.substr(0, end) + (stop == ". " ? "." : ").");
        }
    }
    auto lines = wrapped(detail, letters);
    lines.resize(2);
    lines.back() += " ...";
    return lines;
}

std::string draw_answers(const std::vector<Answer>& answers) {
    std::string svg;
    double y = 172;
    for (const Answer& one : answers) {
        svg += text_at(56, y, one.question, "question");
        svg += text_at(56, y + 32, one.verdict, "verdict");
        double below = y + 56;
        for (const std::string& line : detail_lines(one.detail)) {
            svg += text_at(56, below, line, "detail");
            below += 19;
        }
        y += 124;
    }
    return svg;
}

/// Those rows whose method another figure shows for the same category.
std::vector<Row> same_methods(const std::vector<Row>& rows, const std::vector<Row>& shown) {
    std::vector<Row> result;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(result), [&](const Row& row) {
        return std::any_of(shown.begin(), shown.end(), [&](const Row& other) {
            return other.method == row.method && other.category == row.category;
        });
    });
    return result;
}

/// A drawing of the report inside the slide.
std::string placed(std::string drawing, double x, double y, double wide) {
    const std::string opening = "<svg ";
    return drawing.replace(
        0, opening.size(),
        fmt::format("<svg x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" preserveAspectRatio=\"xMinYMin\" ", x, y, wide));
}

/// The errors, and below them what was sent for them.
std::string draw_comparison(const ExperimentResult& comparison) {
    constexpr double x = 690;
    const Figure error{"rse", "Squared error by data set", Chart::dots, {"data set"}, {"RSE, four clients", true}};
    const Figure sent{"bytes", "Bytes sent by data set", Chart::dots, {"data set"}, {"bytes, of all together", true}};
    const std::string errors = draw(error, main_rows(rows_of(comparison, "rse")));
    if (errors.empty()) return "";
    std::string svg = text_at(x, 172, "How close: the squared error", "question") + placed(errors, x, 188, 540);
    // A client by itself sends nothing, and nothing has no place on a logarithmic axis.
    std::vector<Row> rows;
    for (const Row& row : same_methods(rows_of(comparison, "bytes"), main_rows(rows_of(comparison, "rse")))) {
        if (row.y.mean > 0) rows.push_back(row);
    }
    if (rows.empty()) return svg;
    return svg + text_at(x, 432, "What it takes: the bytes sent", "question") + placed(draw(sent, rows), x, 448, 540);
}

std::string colours() {
    std::string sheet;
    for (const MethodStyle& style : method_styles()) sheet += fmt::format(".m-{}{{--c:{}}}", style.id, style.light);
    return sheet;
}

}  // namespace

std::vector<Row> main_rows(const std::vector<Row>& rows) {
    constexpr std::array kept{"ctt-star", "printed-star", "fedsvd", "centralized", "local"};
    std::vector<Row> result;
    for (const Row& row : rows) {
        const bool best =
            MethodBench::trains(row.method) && std::none_of(rows.begin(), rows.end(), [&](const Row& other) {
                return other.category == row.category && MethodBench::trains(other.method) && other.y.mean < row.y.mean;
            });
        if (best || std::find(kept.begin(), kept.end(), row.method) != kept.end()) result.push_back(row);
    }
    return result;
}

std::string render_slide(const std::vector<ExperimentResult>& results) {
    const ReportSummary summary = summarise_results(results);
    if (summary.answers.empty()) return "";
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:g} {1:g}\" width=\"{0:g}\" height=\"{1:g}\" "
        "role=\"img\" aria-label=\"Couplet beside the CTT of Zhang et al. 2024: {2}\">{3}<style>{4}{5}</style>",
        width, height, escape_markup(summary.answers.front().verdict), slide_marker, rules, colours());
    svg += fmt::format("<rect class=\"ground\" width=\"{:g}\" height=\"{:g}\"/>", width, height);
    svg += text_at(56, 76, "The accuracy of all data in one place, without moving the data", "title");
    svg += text_at(56, 110,
                   "Couplet beside Federated Learning Using Coupled Tensor Train Decomposition, Zhang et al. 2024",
                   "lead");
    svg += draw_answers(summary.answers);
    for (const ExperimentResult& result : results) {
        if (result.name == "comparison") svg += draw_comparison(result);
    }
    svg += text_at(56, 700, fmt::format("couplet {}, couplet reproduce: report.html has every number", version()),
                   "source");
    return svg + "</svg>\n";
}

}  // namespace couplet
