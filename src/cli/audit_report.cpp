#include "audit_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "couplet/audit/audit_summary.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/markup.hpp"
#include "couplet/io/page_style.hpp"
#include "format.hpp"
#include "layout.hpp"

namespace couplet::cli {
namespace {

Json recovery_json(const Recovery& recovery) {
    return {{"recovered", recovery.recovered},
            {"patients", recovery.patients},
            {"controls_recovered", recovery.controls_recovered},
            {"controls", recovery.controls}};
}

Json finding_json(const Finding& finding) {
    Json json{{"mode", finding.mode},
              {"seen_by", finding.seen_by},
              {"what", finding.what},
              {"verdict", to_string(finding.verdict)},
              {"sentence", verdict_sentence(finding)},
              {"directions", finding.directions}};
    for (const auto& attack : finding.attacks()) json[std::string(attack.name)] = recovery_json(attack.recovery);
    json["membership"] = {
        {"auc", finding.membership.value}, {"low", finding.membership.low}, {"high", finding.membership.high}};
    json["second_moment"] = {{"relative_error", finding.moment.relative_error},
                             {"small_cells", finding.moment.small_cells},
                             {"disclosed", finding.moment.disclosed}};
    if (finding.guarantee) {
        json["guarantee"] = {{"epsilon", finding.guarantee->epsilon}, {"delta", finding.guarantee->delta}};
        if (!finding.weakness.empty()) json["guarantee"]["weakness"] = finding.weakness;
    }
    if (!finding.policy.empty()) json["policy"] = finding.policy;
    return json;
}

std::string recovered_text(const Finding& finding) {
    const Recovery& best = finding.best().recovery;
    return best.patients == 0 ? "-" : fmt::format("{} of {}", best.recovered, best.patients);
}

std::string control_text(const Finding& finding) {
    const Recovery& best = finding.best().recovery;
    return best.controls == 0 ? "-" : fmt::format("{} of {}", best.controls_recovered, best.controls);
}

std::string membership_text(const Finding& finding) {
    const Auc& auc = finding.membership;
    if (auc.low == 0 && auc.high == 1) return "-";
    return fmt::format("{:.2f} [{:.2f}, {:.2f}]", auc.value, auc.low, auc.high);
}

std::string cells_text(const Finding& finding) {
    return fmt::format("{} of {}", finding.moment.disclosed, finding.moment.small_cells);
}

constexpr const char* explanation =
    "recovered: patients whose record an attack rebuilt (correlation above 0.9), by what is seen as it is, by "
    "independent components, by the search for outer products or whole by a lattice, whichever finds more; control: "
    "the same attack on "
    "patients who did not take part. "
    "membership: how well one can tell who took part, by what of a record is not in what is seen or by how much it "
    "stands "
    "out there, whichever tells more; 0.50 is guessing, in brackets the 95% interval. small cells: sums and counts "
    "that "
    "rest on 1 to 10 people and can be read. Empty records and copies are no patients. That no attack here succeeded "
    "is not a guarantee.";

std::string heading(const AuditReport& report, const AuditSubject& subject) {
    return fmt::format("{}: {} patients of {} at {} clients, rank {}, {} controls", subject.client,
                       count_text(report.patients), count_text(report.patients_total), count_text(report.clients),
                       count_text(subject.rank), count_text(report.controls));
}

/// What was not counted; empty: everything was.
std::string left_out_text(const AuditReport& report) {
    std::vector<std::string> parts;
    if (report.left_out > 0) parts.push_back(count_text(report.left_out) + " records that are empty or copies");
    if (report.controls_left_out > 0) {
        parts.push_back(count_text(report.controls_left_out) +
                        " controls that are empty, copies or records of patients who took part");
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string leverage_text(const AuditReport& report) {
    return fmt::format("{:.2f}{}", report.leverage,
                       report.leverage > LeakageLimits{}.warn_leverage
                           ? ": one patient alone shapes a direction of what is sent"
                           : "");
}

std::string ranked_text(const RankedMode& one) {
    const std::string found =
        one.recovered.patients == 0
            ? ""
            : fmt::format(", {} of {} records rebuilt", one.recovered.recovered, one.recovered.patients);
    return fmt::format("{}: {}{}", mode_in_words(one.mode), to_string(one.verdict), found);
}

std::string ranking_text(const AuditReport& report) {
    std::string text = "The modes, the one that shows least first:";
    int place = 0;
    for (const auto& one : rank_modes(report)) text += fmt::format("\n  {}. {}", ++place, ranked_text(one));
    return text;
}

std::string ranking_items(const AuditReport& report) {
    std::string items;
    for (const auto& one : rank_modes(report)) items += "<li>" + escape_markup(ranked_text(one)) + "</li>\n";
    return items;
}

Json ranking_json(const AuditReport& report) {
    Json modes = Json::array();
    for (const auto& one : rank_modes(report)) {
        modes.push_back({{"mode", one.mode},
                         {"verdict", to_string(one.verdict)},
                         {"recovered", one.recovered.recovered},
                         {"patients", one.recovered.patients},
                         {"auc", one.membership.value}});
    }
    return modes;
}

/// On top of the style sheet that all pages share. A verdict is a mark at its row, so that its words stay readable in
/// both schemes.
constexpr const char* page_rules = R"css(
.wide td,.wide th{text-align:left;vertical-align:top}
.wide td{white-space:normal;min-width:7rem}.wide td:last-child{min-width:14rem}
.wide td.n{text-align:right;white-space:nowrap;min-width:0}.wide th.n{text-align:right}
.wide td:first-child{padding-left:.6rem;border-left:.4rem solid var(--verdict,var(--line))}
.wide thead th:first-child{padding-left:1rem;min-width:7rem}
.patients{--verdict:#b3261e}.membership{--verdict:#c77700}.second-moments{--verdict:#b59f00}
.features-only{--verdict:#5f9e6e}.differentially-private{--verdict:#2e7d32}
p,li{overflow-wrap:anywhere}[tabindex]:focus-visible{outline:2px solid var(--link)}
@media screen and (max-width:40rem){.wide,.wide tbody,.wide tr,.wide td{display:block}.wide thead{position:absolute;left:-99rem}
.wide tr{border-left:.4rem solid var(--verdict,var(--line));border-bottom:1px solid var(--line);padding:.5rem 0 .5rem .6rem}
.wide tr td,.wide tr td.n,.wide tr td:first-child,.wide tr td:last-child{text-align:left;white-space:normal;min-width:0;border:0;padding:.05rem 0}.wide td:first-child{font-weight:600}
.wide td.n::before{content:attr(data-name) ": ";color:var(--soft)}}
@media print{.wide td,.wide td:last-child{min-width:0}}
)css";

std::string page_row(const Finding& finding) {
    std::string policy;
    for (const auto& change : finding.policy) policy += "<br><small>" + escape_markup(change) + "</small>";
    return fmt::format(
        "<tr class=\"{}\"><td>{}{}</td><td>{}<br><small>{}</small></td><td class=\"n\" data-name=\"recovered\">{}</td>"
        "<td class=\"n\" data-name=\"control\">{}</td><td class=\"n\" data-name=\"membership\">{}</td>"
        "<td class=\"n\" data-name=\"small cells\">{}</td><td>{}</td></tr>\n",
        to_string(finding.verdict), escape_markup(finding.mode), policy, escape_markup(finding.seen_by),
        escape_markup(finding.what), recovered_text(finding), control_text(finding), membership_text(finding),
        cells_text(finding), escape_markup(verdict_sentence(finding)));
}

}  // namespace

Json audit_json(const AuditReport& report, const AuditSubject& subject) {
    Json findings = Json::array();
    for (const auto& finding : report.findings) findings.push_back(finding_json(finding));
    Json json{{"verdict", to_string(report.worst())},
              {"summary", summary_of(report)},
              {"ranking", ranking_json(report)},
              {"findings", findings},
              {"skipped", report.skipped},
              {"client", subject.client},
              {"clients", report.clients},
              {"patients", report.patients},
              {"patients_total", report.patients_total},
              {"controls", report.controls},
              {"left_out", report.left_out},
              {"controls_left_out", report.controls_left_out},
              {"rank", subject.rank},
              {"leverage", report.leverage},
              {"seed", subject.seed},
              {"version", version()}};
    if (!subject.output.empty()) json["output"] = subject.output;
    return json;
}

std::string audit_text(const AuditReport& report, const AuditSubject& subject) {
    std::string text = wrapped(summary_of(report), 0) + "\n\n" + ranking_text(report) + "\n\n";
    text += heading(report, subject) + "\n\n";
    std::vector<std::vector<std::string>> rows{{"mode", "recovered", "control", "membership", "small cells"}};
    for (const auto& finding : report.findings) {
        rows.push_back({fmt::format("{} / {}", finding.mode, finding.seen_by), recovered_text(finding),
                        control_text(finding), membership_text(finding), cells_text(finding)});
    }
    text += table(rows) + "\n";
    std::vector<std::pair<std::string, std::string>> verdicts;
    for (const auto& finding : report.findings) {
        verdicts.emplace_back(fmt::format("{} / {}", finding.mode, finding.seen_by),
                              finding.policy.empty()
                                  ? verdict_sentence(finding)
                                  : fmt::format("{} ({})", verdict_sentence(finding), fmt::join(finding.policy, ", ")));
    }
    for (const auto& skipped : report.skipped) verdicts.emplace_back("not tried", skipped);
    if (const auto left_out = left_out_text(report); !left_out.empty()) verdicts.emplace_back("left out", left_out);
    verdicts.emplace_back("leverage", leverage_text(report));
    if (!subject.output.empty()) verdicts.emplace_back("written", subject.output);
    return text + fields(verdicts) + "\n" + wrapped(explanation, 0) + "\n";
}

std::string audit_page(const AuditReport& report, const AuditSubject& subject) {
    std::string rows;
    for (const auto& finding : report.findings) rows += page_row(finding);
    std::string skipped;
    for (const auto& reason : report.skipped) skipped += "<li>" + escape_markup(reason) + "</li>\n";
    const auto left_out = left_out_text(report);
    return fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
        "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">"
        "<title>What leaks: {0}</title><style>{1}</style></head><body>\n"
        "<header class=\"top\"><h1>What leaks</h1><p class=\"lead\">{10}</p></header>\n<main>"
        "<h2>The modes, the one that shows least first</h2>\n<ol>\n{11}</ol>\n<h2>What was tried</h2><p>{2}, from "
        "{3}.</p>"
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"What was found\"><table class=\"wide\">"
        "<thead><tr><th scope=\"col\">mode</th><th scope=\"col\">seen by</th><th scope=\"col\" "
        "class=\"n\">recovered</th>"
        "<th scope=\"col\" class=\"n\">control</th><th scope=\"col\" class=\"n\">membership</th>"
        "<th scope=\"col\" class=\"n\">small cells</th><th scope=\"col\">verdict</th></tr></thead>"
        "<tbody>\n{4}</tbody></table></div>\n"
        "<p>{5}</p>\n<p>Largest leverage of a patient: {6}.</p>\n{7}</main>\n"
        "<footer>Couplet {8}, seed {9}.</footer></body></html>\n",
        escape_markup(subject.client), page_style_sheet() + page_rules, escape_markup(heading(report, subject)),
        escape_markup(subject.description), rows, explanation, leverage_text(report),
        (left_out.empty() ? "" : "<p>Left out: " + left_out + ".</p>\n") +
            (skipped.empty() ? "" : "<h2>Not tried</h2><ul>\n" + skipped + "</ul>\n"),
        version(), subject.seed, escape_markup(summary_of(report)), ranking_items(report));
}

}  // namespace couplet::cli
