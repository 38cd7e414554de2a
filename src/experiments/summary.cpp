#include "couplet/experiments/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "couplet/experiments/method_bench.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/experiments/style.hpp"

namespace couplet {
namespace {

double value_at(const ExperimentResult& result, const char* figure, const std::string& method,
                const std::string& data) {
    const Row* row = find_category(result, figure, method, data);
    return row == nullptr ? 0 : row->y.mean;
}

SummaryLine line_for(const ExperimentResult& comparison, const std::string& data) {
    SummaryLine line{.data = data,
                     .ours = value_at(comparison, "rse", "ctt-star", data),
                     .centralized = value_at(comparison, "rse", "centralized", data),
                     .printed = value_at(comparison, "rse", "printed-star", data)};
    line.ours_bytes = value_at(comparison, "bytes", "ctt-star", data);
    line.printed_bytes = value_at(comparison, "bytes", "printed-star", data);
    if (const Row* other = least_other(comparison, "rse", data)) {
        line.other = other->y.mean;
        line.other_method = other->method;
        line.other_bytes = value_at(comparison, "bytes", other->method, data);
    }
    return line;
}

/// Ratios of an error that is rounding mean nothing.
bool is_exact(const SummaryLine& line) { return line.ours < rounding_rse; }

/// "2.1 to 50", or "2.1" when both are the same to the digits shown.
std::string range(double low, double high) {
    const std::string a = short_number(low);
    const std::string b = short_number(high);
    return a == b ? a : a + " to " + b;
}

/// "2.3 to 9.1 times smaller than that of ...", over all lines that have both numbers.
template <class Ratio>
std::string ratios(const std::vector<SummaryLine>& lines, Ratio ratio) {
    double low = INFINITY;
    double high = 0;
    for (const SummaryLine& line : lines) {
        if (is_exact(line)) continue;
        const double value = ratio(line);
        if (!(value > 0) || !std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    return high > 0 ? range(low, high) : "";
}

/// Labels of the methods that are best somewhere.
std::string best_names(const std::vector<SummaryLine>& lines) {
    std::vector<std::string> names;
    for (const SummaryLine& line : lines) {
        if (line.other_method.empty()) continue;
        const std::string label(method_style(line.other_method).label);
        if (std::find(names.begin(), names.end(), label) == names.end()) names.push_back(label);
    }
    return fmt::format("{}", fmt::join(names, ", "));
}

const ExperimentResult* find_result(const std::vector<ExperimentResult>& results, std::string_view name) {
    const auto at =
        std::find_if(results.begin(), results.end(), [&](const ExperimentResult& one) { return one.name == name; });
    return at == results.end() ? nullptr : &*at;
}

/// Who fits people best who did not take part, ours against the best of the others on every data set.
std::string heldout_sentence(const ExperimentResult& heldout, const std::vector<SummaryLine>& lines) {
    std::vector<std::string> won;
    std::vector<std::string> lost;
    for (const SummaryLine& line : lines) {
        const Row* ours = find_category(heldout, "heldout", "ctt-star", line.data);
        const Row* other = least_other(heldout, "heldout", line.data);
        if (ours == nullptr || other == nullptr) continue;
        const std::string text = fmt::format("{} ({}; {} {})", line.data, rse_text(ours->y.mean),
                                             method_style(other->method).label, rse_text(other->y.mean));
        (ours->y.mean <= other->y.mean ? won : lost).push_back(text);
    }
    if (won.empty() && lost.empty()) return "";
    std::string sentence = "On people who did not take part ";
    if (!won.empty()) sentence += fmt::format("Couplet is best on {}", fmt::join(won, ", "));
    if (!lost.empty())
        sentence += fmt::format("{}another method is better on {}", won.empty() ? "" : "; ", fmt::join(lost, ", "));
    return sentence + ".";
}

}  // namespace

ReportSummary summarise_results(const std::vector<ExperimentResult>& results) {
    ReportSummary summary;
    const ExperimentResult* comparison = find_result(results, "comparison");
    if (comparison == nullptr) return summary;
    std::vector<std::string> data;
    for (const Row& row : comparison->rows) {
        if (row.figure == "rse" && std::find(data.begin(), data.end(), row.category) == data.end()) {
            data.push_back(row.category);
        }
    }
    for (const std::string& name : data) summary.lines.push_back(line_for(*comparison, name));
    const auto& lines = summary.lines;
    if (lines.empty()) return summary;
    const auto say = [&](std::string sentence) { summary.sentences.push_back(std::move(sentence)); };
    say(fmt::format(
        "The squared error of Couplet in a star is {} times smaller than that of the printed method, with {} times its "
        "bytes.",
        ratios(lines, [](const SummaryLine& l) { return l.printed / l.ours; }),
        ratios(lines, [](const SummaryLine& l) { return l.ours_bytes / l.printed_bytes; })));
    say(fmt::format("It is {} times that of a centralized decomposition, which sees all data on one pile.",
                    ratios(lines, [](const SummaryLine& l) { return l.ours / l.centralized; })));
    for (const SummaryLine& line : lines) {
        if (!is_exact(line)) continue;
        say(fmt::format(
            "On {}, whose rank is that of the model, Couplet is exact to rounding; the printed method leaves {}{}.",
            line.data, short_number(line.printed),
            line.other_method.empty()
                ? ""
                : fmt::format(" and {} {}", method_style(line.other_method).label, short_number(line.other))));
    }
    const auto others = ratios(lines, [](const SummaryLine& l) { return l.other / l.ours; });
    if (!others.empty())
        say(fmt::format(
            "The best of the other papers' methods ({}) has {} times Couplet's squared error after {} times its bytes.",
            best_names(lines), others,
            ratios(lines, [](const SummaryLine& l) { return l.other_bytes / l.ours_bytes; })));
    for (const SummaryLine& line : lines) {
        if (line.other_method.empty() || line.other >= line.ours) continue;
        say(fmt::format("On {} {} is more accurate than Couplet: {} against {}.", line.data,
                        method_style(line.other_method).label, short_number(line.other), short_number(line.ours)));
    }
    if (const ExperimentResult* heldout = find_result(results, "heldout")) {
        if (auto sentence = heldout_sentence(*heldout, lines); !sentence.empty()) say(std::move(sentence));
    }
    return summary;
}

}  // namespace couplet
