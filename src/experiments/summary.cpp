#include "couplet/experiments/summary.hpp"

#include <fmt/format.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "couplet/experiments/method_bench.hpp"
#include "couplet/experiments/reasons.hpp"
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
    const auto rse = [&](const char* method) { return value_at(comparison, "rse", method, data); };
    const auto bytes = [&](const std::string& method) { return value_at(comparison, "bytes", method, data); };
    SummaryLine line{.data = data,
                     .ours = rse("ctt-star"),
                     .centralized = rse("centralized"),
                     .peers = rse("ctt-dec"),
                     .printed = rse("printed-star"),
                     .masked = rse("fedsvd"),
                     .ours_bytes = bytes("ctt-star"),
                     .centralized_bytes = bytes("centralized"),
                     .peers_bytes = bytes("ctt-dec"),
                     .printed_bytes = bytes("printed-star"),
                     .masked_bytes = bytes("fedsvd")};
    for (const Row& row : comparison.rows) {
        if (row.figure != "rse" || row.category != data || !MethodBench::trains(row.method)) continue;
        if (!line.other_method.empty() && row.y.mean >= line.other) continue;
        line.other = row.y.mean;
        line.other_method = row.method;
        line.other_bytes = bytes(row.method);
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

/// "2.3 to 9.1", over all lines that have both numbers, "at least 2.3" where that spans too much; empty when none has.
template <class Ratio>
std::string ratios(const std::vector<SummaryLine>& lines, Ratio ratio, bool of_errors = true) {
    double low = INFINITY;
    double high = 0;
    for (const SummaryLine& line : lines) {
        if (of_errors && is_exact(line)) continue;
        const double value = ratio(line);
        if (!(value > 0) || !std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    // A span of orders of magnitude says nothing of either end's data.
    constexpr double widest = 100;
    if (high > widest * low) return "at least " + range(low, low);
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
        const bool best = ours->y.mean <= other->y.mean || rse_text(ours->y.mean) == rse_text(other->y.mean);
        (best ? won : lost).push_back(text);
    }
    if (won.empty() && lost.empty()) return "";
    std::string sentence = "On people who did not take part ";
    if (!won.empty()) sentence += fmt::format("Couplet is best, or as good as any, on {}", fmt::join(won, ", "));
    if (!lost.empty())
        sentence += fmt::format("{}another method is better on {}", won.empty() ? "" : "; ", fmt::join(lost, ", "));
    return sentence + ".";
}

/// On every data set the point of another method that is furthest ahead of Couplet with as many bytes.
std::string few_bytes_sentence(const ExperimentResult& result) {
    std::vector<std::string> parts;
    bool compared = false;
    for (const Figure& figure : result.figures) {
        const auto rows = rows_of(result, figure.id);
        const Row* best = nullptr;
        double ahead = 1;
        for (const Row& row : rows) {
            const auto ours = least_within(rows, "ctt-star", row.x);
            if (!MethodBench::trains(row.method) || !ours) continue;
            compared = true;
            if (!(*ours > ahead * row.y.mean)) continue;
            ahead = *ours / row.y.mean;
            best = &row;
        }
        if (best == nullptr) continue;
        parts.push_back(fmt::format("on {} {} has {} with {} bytes, and Couplet {}", figure.title,
                                    method_style(best->method).label, rse_text(best->y.mean), short_number(best->x),
                                    rse_text(*least_within(rows, "ctt-star", best->x))));
    }
    if (parts.empty()) return compared ? "At no number of bytes is a method that trains ahead of Couplet." : "";
    return fmt::format("Where bytes are scarce, methods that train are ahead: {}.", fmt::join(parts, "; "));
}

/// "rse" of "rse_table", in words.
std::string kind_of(const Row& row) {
    const std::string metric = row.figure.substr(0, row.figure.find('_'));
    if (metric == "rse") return "errors";
    if (metric == "numbers") return "counts of numbers sent";
    return metric == "seconds" ? "times" : metric;
}

/// A number of the paper: two figures can show it, evaluated in two ways.
using PaperPlace = std::tuple<std::string, std::string, std::string, std::string, std::string, double>;

PaperPlace paper_place(const ExperimentResult& result, const Row& row) {
    const std::string method = row.method == "printed-paper" ? "printed-dec" : row.method;
    return {result.name, kind_of(row), method, row.variant, row.category, row.x};
}

/// Every number of the paper that was measured: whether one of the ways to measure it comes within 10%, else why not.
struct Reproduced {
    bool within = false;
    std::string note = {};
};

std::map<PaperPlace, Reproduced> reproduced(const std::vector<ExperimentResult>& results) {
    std::map<PaperPlace, Reproduced> all;
    for (const ExperimentResult& result : results) {
        for (const Row& row : result.rows) {
            if (!row.paper) continue;
            Reproduced& one = all[paper_place(result, row)];
            one.within = one.within || !differs_from_paper(row);
            if (one.note.empty()) one.note = row.note;
        }
    }
    return all;
}

void count_paper(ReportSummary& summary, const std::vector<ExperimentResult>& results) {
    for (const auto& [place, one] : reproduced(results)) {
        const std::string& kind = std::get<1>(place);
        auto count = std::find_if(summary.paper.begin(), summary.paper.end(),
                                  [&](const PaperCount& other) { return other.what == kind; });
        if (count == summary.paper.end()) count = summary.paper.insert(count, {.what = kind});
        ++count->all;
        if (one.within) ++count->within;
        if (one.within || kind == "times") continue;
        auto why = std::find_if(summary.reasons.begin(), summary.reasons.end(),
                                [&note = one.note](const PaperReason& other) { return other.sentence == note; });
        if (why == summary.reasons.end()) why = summary.reasons.insert(why, {.sentence = one.note});
        ++why->numbers;
    }
    std::stable_sort(summary.reasons.begin(), summary.reasons.end(),
                     [](const PaperReason& a, const PaperReason& b) { return a.numbers > b.numbers; });
}

void answer_paper(ReportSummary& summary) {
    Index within = 0;
    Index all = 0;
    std::vector<std::string> parts;
    std::string times;
    for (const PaperCount& count : summary.paper) {
        if (count.what == "times") {
            times = fmt::format(" Its {} times are of another machine and program: shown, not counted.", count.all);
            continue;
        }
        within += count.within;
        all += count.all;
        parts.push_back(fmt::format("{} of {} {}", count.within, count.all, count.what));
    }
    if (all == 0) return;
    const char* verdict = within == all ? "Yes" : within == 0 ? "No" : "In part";
    summary.answers.push_back({"Is the paper reproduced?",
                               fmt::format("{}: {} of its {} numbers", verdict, within, all),
                               fmt::format("Within 10% are {}.{}{}", fmt::join(parts, " and "), times,
                                           summary.reasons.empty() ? "" : " Where not, and why, is below.")});
}

/// Of every data set whether a method other than Couplet is ahead of it, given as many bytes.
void answer_bytes(ReportSummary& summary, const ExperimentResult& curves) {
    std::vector<std::string> lost;
    Index all = 0;
    double closest = INFINITY;
    std::string name;
    for (const Figure& figure : curves.figures) {
        const auto rows = rows_of(curves, figure.id);
        if (least_within(rows, "ctt-star", INFINITY)) ++all;
        bool behind = false;
        for (const Row& row : rows) {
            const auto ours = least_within(rows, "ctt-star", row.x);
            if (row.method.starts_with("ctt-") || !ours || *ours < rounding_rse || row.y.mean < rounding_rse) continue;
            behind = behind || row.y.mean < *ours;
            if (row.y.mean / *ours >= closest) continue;
            closest = row.y.mean / *ours;
            name = fmt::format("{} on {}", method_style(row.method).label, figure.title);
        }
        if (behind) lost.push_back(figure.title);
    }
    if (all == 0 || !std::isfinite(closest)) return;
    summary.answers.push_back(
        {"Who wins at equal bytes?",
         lost.empty() ? fmt::format("Couplet, on all {} data sets", all)
                      : fmt::format("Couplet, on {} of {} data sets", all - static_cast<Index>(lost.size()), all),
         fmt::format("Closest is {}, with {:.2g} times Couplet's squared error at the bytes where it does best.{}",
                     name, closest,
                     lost.empty() ? "" : fmt::format(" Ahead somewhere on {}.", fmt::join(lost, ", ")))});
}

/// The fewest bytes with which a method's error is at most this.
std::optional<double> bytes_for(const std::vector<Row>& rows, const std::string& method, double error) {
    std::optional<double> least;
    for (const Row& row : rows) {
        if (row.method == method && row.y.mean <= error) least = std::min(least.value_or(row.x), row.x);
    }
    return least;
}

/// How many times Couplet's bytes the most accurate of the others takes for its error, on every data set.
void answer_error(ReportSummary& summary, const ExperimentResult& curves) {
    std::vector<double> ratios;
    std::vector<std::string> parts;
    for (const Figure& figure : curves.figures) {
        const auto rows = rows_of(curves, figure.id);
        const Row* best = nullptr;
        for (const Row& row : rows) {
            if (MethodBench::trains(row.method) && (best == nullptr || row.y.mean < best->y.mean)) best = &row;
        }
        if (best == nullptr) continue;
        const auto ours = bytes_for(rows, "ctt-star", best->y.mean);
        if (!ours) continue;
        ratios.push_back(best->x / *ours);
        parts.push_back(fmt::format("{} {:.0f} ({})", figure.title, ratios.back(), method_style(best->method).label));
    }
    if (ratios.empty()) return;
    const double least = *std::min_element(ratios.begin(), ratios.end());
    summary.answers.push_back(
        {"Who wins at equal error?",
         least >= 1 ? fmt::format("Couplet, with at least {:.0f} times fewer bytes", std::floor(least))
                    : "Not Couplet everywhere",
         fmt::format(
             "For the best error of a method that trains, how many times Couplet's bytes that method sends: {}.",
             fmt::join(parts, ", "))});
}

void answer_new_people(ReportSummary& summary, const ExperimentResult& heldout) {
    std::vector<std::string> parts;
    std::vector<std::pair<std::string, Index>> winners;  // the others, and on how many data sets
    Index won = 0;
    Index all = 0;
    for (const Row& row : heldout.rows) {
        if (row.figure != "heldout" || row.method != "ctt-star") continue;
        const Row* other = least_other(heldout, "heldout", row.category);
        if (other == nullptr) continue;
        ++all;
        const bool best = row.y.mean <= other->y.mean || rse_text(row.y.mean) == rse_text(other->y.mean);
        const std::string name(method_style(other->method).label);
        if (best) {
            ++won;
        } else {
            const auto at =
                std::find_if(winners.begin(), winners.end(), [&](const auto& one) { return one.first == name; });
            if (at == winners.end()) {
                winners.emplace_back(name, 1);
            } else {
                ++at->second;
            }
        }
        parts.push_back(
            fmt::format("{} {} ({} {})", row.category, rse_text(row.y.mean), name, rse_text(other->y.mean)));
    }
    if (all == 0) return;
    std::vector<std::string> names;
    if (won > 0) names.push_back(fmt::format("Couplet on {}", won));
    for (const auto& [name, times] : winners) names.push_back(fmt::format("{} on {}", name, times));
    summary.answers.push_back({"Who wins for new patients?",
                               won == all ? fmt::format("Couplet, on all {} data sets", all)
                                          : fmt::format("{} of {} data sets", fmt::join(names, ", "), all),
                               fmt::format("Error of people who did not take part, and the best of the others: {}.",
                                           fmt::join(parts, ", "))});
}

}  // namespace

ReportSummary summarise_results(const std::vector<ExperimentResult>& results) {
    ReportSummary summary;
    count_paper(summary, results);
    answer_paper(summary);
    if (const auto* curves = find_result(results, "error_vs_bytes")) {
        answer_bytes(summary, *curves);
        answer_error(summary, *curves);
    }
    if (const auto* heldout = find_result(results, "heldout")) answer_new_people(summary, *heldout);
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
    // A sentence that lacks one of its numbers is not said.
    const auto say = [&](const char* text, const std::string& first, const std::string& second = "-",
                         const std::string& third = "-") {
        if (first.empty() || second.empty() || third.empty()) return;
        summary.sentences.push_back(fmt::format(fmt::runtime(text), first, second, third));
    };
    say("The squared error of Couplet in a star is {} times smaller than that of the CTT of Zhang et al. 2024, with {} "
        "times its "
        "bytes.",
        ratios(lines, [](const SummaryLine& l) { return l.printed / l.ours; }),
        ratios(
            lines, [](const SummaryLine& l) { return l.ours_bytes / l.printed_bytes; }, false));
    say("It is {} times that of a centralized decomposition, which sees all data in one place.",
        ratios(lines, [](const SummaryLine& l) { return l.ours / l.centralized; }));
    for (const SummaryLine& line : lines) {
        if (!is_exact(line)) continue;
        summary.sentences.push_back(fmt::format(
            "On {}, whose rank is that of the model, Couplet is exact to rounding; the CTT of Zhang et al. 2024 leaves "
            "{}{}.",
            line.data, short_number(line.printed),
            line.other_method.empty()
                ? ""
                : fmt::format(" and {} {}", method_style(line.other_method).label, short_number(line.other))));
    }
    say("FedSVD, to which all data travel under a mask, has {} times Couplet's squared error with {} times its bytes.",
        ratios(lines, [](const SummaryLine& l) { return l.masked / l.ours; }),
        ratios(
            lines, [](const SummaryLine& l) { return l.masked_bytes / l.ours_bytes; }, false));
    say("The best of the methods that train ({}) has {} times Couplet's squared error after {} times its bytes.",
        best_names(lines), ratios(lines, [](const SummaryLine& l) { return l.other / l.ours; }),
        ratios(
            lines, [](const SummaryLine& l) { return l.other_bytes / l.ours_bytes; }, false));
    for (const SummaryLine& line : lines) {
        if (line.other_method.empty() || line.other >= line.ours) continue;
        summary.sentences.push_back(fmt::format("On {} {} is more accurate than Couplet: {} against {}.", line.data,
                                                method_style(line.other_method).label, short_number(line.other),
                                                short_number(line.ours)));
    }
    say("{}",
        find_result(results, "error_vs_bytes") ? few_bytes_sentence(*find_result(results, "error_vs_bytes")) : "");
    say("Among peers, who merge along a tree, Couplet has {} times the squared error of its star with {} times its "
        "bytes.",
        ratios(lines, [](const SummaryLine& l) { return l.peers / l.ours; }),
        ratios(
            lines, [](const SummaryLine& l) { return l.peers_bytes / l.ours_bytes; }, false));
    say("{}", find_result(results, "heldout") ? heldout_sentence(*find_result(results, "heldout"), lines) : "");
    return summary;
}

}  // namespace couplet
