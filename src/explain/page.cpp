#include "couplet/explain/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "couplet/core/error.hpp"
#include "couplet/experiments/report.hpp"
#include "couplet/experiments/scale.hpp"
#include "couplet/explain/drawings.hpp"
#include "couplet/explain/summary.hpp"
#include "couplet/io/markup.hpp"

namespace couplet {
namespace {

/// On top of the style sheet that all pages share. Contrast of text is at least 4.5 to 1 in both schemes.
constexpr const char* rules = R"css(
:root{--more:#0b5cad;--less:#b3470b;--here:#3d6b4f}
svg .more{--c:var(--more)}svg .less{--c:var(--less)}
svg .cell{fill:var(--c);stroke:var(--line);stroke-width:1}
svg .bar{fill:var(--c)}svg .bar.site{fill:var(--here)}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--page);padding:.4rem .7rem}
a:focus-visible,summary:focus-visible{outline:3px solid var(--more);outline-offset:2px}
.plus{color:var(--more)}.minus{color:var(--less)}
.components h2{max-width:52rem;text-wrap:balance}
.facts{font-family:var(--sans);font-size:.92rem;color:var(--soft);margin:.2rem 0 .4rem}
.wide td:first-child,.wide th:first-child{white-space:normal;min-width:12rem;max-width:30rem}
.wide td.name{text-align:left;white-space:normal;min-width:9rem}
.wide th.name{text-align:left}
figcaption{font-size:.84rem;color:var(--soft);margin-top:.3rem}
caption{text-align:left;font-family:var(--sans);font-size:.86rem;color:var(--soft);padding:.2rem 0 .4rem}
@media(max-width:30rem){.wide td.name,.wide td:first-child,.wide th:first-child{min-width:5.2rem}.wide th,.wide td{padding:.22rem .3rem}}
.quiet th,.quiet td,.quiet a{color:var(--soft);font-weight:400}
@media(max-width:40rem){.found thead{position:absolute;left:-99rem}.found,.found caption,.found tbody,.found tr,.found th,.found td{display:block}
.found tr{padding:.5rem 0;border-bottom:1px solid var(--line)}.found th,.found td{border:0;text-align:left;white-space:normal;max-width:none;min-width:0;padding:.1rem 0}
.found td::before{content:attr(data-name) ": ";color:var(--soft)}.found td:empty{display:none}}
@media screen and (prefers-color-scheme:dark){:root{--more:#6cb6ff;--less:#ffa46b;--here:#7fc79b}}
@media print{.skip{display:none}figure,tr{break-inside:avoid}section.component{break-inside:auto}}
)css";

/// What a weight is measured in.
constexpr const char* weight_unit = "the squares of all weights of a pattern add up to 1";

std::string sites_text(std::size_t count) { return count == 1 ? "1 site" : fmt::format("{} sites", count); }

/// What the shares are shares of, in words.
std::string whole(const Explanation& explanation) {
    if (!explanation.findings.shares_of_data) return "what the patterns describe together";
    return explanation.findings.centred ? "the variation around the average patient" : "the variation in the data";
}

/// Where a component lives, in words.
std::string home_text(const Explanation& explanation, const Component& component) {
    const auto& sites = explanation.findings.sites;
    if (sites.size() < 2) return "";
    const auto [least, most] = std::minmax_element(component.site_shares.begin(), component.site_shares.end());
    const std::string& top = sites[static_cast<std::size_t>(most - component.site_shares.begin())].name;
    if (*most <= 0) return "";
    if (*least >= 0.9 * *most) return "It is found at all sites alike.";
    return fmt::format("It is {} at {} ({}), least at {} ({}).",
                       *least >= 0.67 * *most ? "found at all sites, most" : "most pronounced", escape_markup(top),
                       percent_text(*most),
                       escape_markup(sites[static_cast<std::size_t>(least - component.site_shares.begin())].name),
                       percent_text(*least));
}

/// How often the labels of the strongest pair come together; empty where that is not known.
std::string lift_text(const Component& component) {
    if (component.pairs.empty() || !component.pairs.front().lift) return "";
    return fmt::format("{:.1f} times", *component.pairs.front().lift);
}

/// A column of the table of all patterns: on a phone each cell says what it is.
struct SummaryColumn {
    std::string name;
    std::function<std::string(const Component&)> text;
};

std::vector<SummaryColumn> summary_columns(const Explanation& explanation) {
    std::vector<SummaryColumn> columns;
    if (explanation.evidence) {
        columns.push_back({"patients with a named pair", [&](const Component& component) {
                               return escape_markup(patients_text(explanation, component));
                           }});
        columns.push_back({"strongest pair, compared with chance", lift_text});
    }
    columns.push_back({"share of the variation", [](const Component& one) { return percent_text(one.share); }});
    if (!explanation.components.empty() && explanation.components.front().stability) {
        columns.push_back({"stability", [](const Component& component) {
                               return component.stability ? stability_text(*component.stability) : std::string();
                           }});
    }
    return columns;
}

std::string summary_table(const Explanation& explanation) {
    const auto columns = summary_columns(explanation);
    std::string text =
        "<div class=\"scroll\"><table class=\"wide found\"><caption>All patterns, the largest "
        "first</caption><thead><tr><th scope=\"col\">pattern</th>";
    for (const SummaryColumn& column : columns) text += fmt::format("<th scope=\"col\">{}</th>", column.name);
    text += "</tr></thead><tbody>";
    for (std::size_t r = 0; r < explanation.components.size(); ++r) {
        const Component& component = explanation.components[r];
        const bool named = !explanation.evidence || !component.named.empty();
        text += fmt::format("<tr{}><th scope=\"row\"><a href=\"#c{}\">{}. {}</a></th>", named ? "" : " class=\"quiet\"",
                            r + 1, r + 1, escape_markup(component.title));
        for (const SummaryColumn& column : columns) {
            text += fmt::format("<td data-name=\"{}\">{}</td>", column.name, column.text(component));
        }
        text += "</tr>";
    }
    return text + "</tbody></table></div>";
}

std::string entries_table(const Schema& schema, const std::vector<NamedEntry>& entries, const std::string& caption) {
    std::string text = fmt::format("<div class=\"scroll\"><table class=\"wide\"><caption>{}</caption><thead><tr>",
                                   escape_markup(caption));
    for (Index mode = 0; mode < schema.features.order(); ++mode) {
        text += fmt::format("<th scope=\"col\" class=\"name\">{}</th>", escape_markup(mode_name(schema, mode)));
    }
    const bool known = std::any_of(entries.begin(), entries.end(), [](const auto& e) { return e.lift.has_value(); });
    if (known) text += "<th scope=\"col\">patients</th><th scope=\"col\">compared with chance</th>";
    text += "<th scope=\"col\">weight</th></tr></thead><tbody>";
    for (const NamedEntry& entry : entries) {
        text += "<tr>";
        for (const std::string& label : entry.labels)
            text += fmt::format("<td class=\"name\">{}</td>", escape_markup(label));
        if (known) {
            text += entry.lift ? fmt::format("<td>{}</td><td>{:.1f} times</td>", entry.patients, *entry.lift)
                               : fmt::format("<td>fewer than {}</td><td>not told</td>", least_cell);
        }
        text += fmt::format("<td class=\"{}\">{:+.3f}</td></tr>", entry.weight < 0 ? "minus" : "plus", entry.weight);
    }
    return text + "</tbody></table></div>";
}

std::string figure(const std::string& drawing, const std::string& caption) {
    return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", drawing, escape_markup(caption));
}

std::string drawings_of(const Explanation& explanation, Index r) {
    const Component& component = explanation.components[static_cast<std::size_t>(r)];
    std::string text = "<div class=\"figures\">";
    const auto& profiles = component.profiles;
    if (profiles.size() == 2 && !profiles[0].curve && !profiles[1].curve) {
        text += figure(
            draw_heat_map(explanation, r),
            fmt::format(
                "The strongest {} against the strongest {}; deeper colour, larger weight ({}); blue more, orange less",
                profiles[0].name, profiles[1].name, weight_unit));
    }
    for (std::size_t n = 0; n < profiles.size(); ++n) {
        const auto mode = static_cast<Index>(n);
        text += profiles[n].curve
                    ? figure(draw_curve(explanation, r, mode), fmt::format("Course over {}", profiles[n].name))
                    : figure(draw_bars(explanation, r, mode),
                             fmt::format("Strongest entries of {}: weight ({})", profiles[n].name, weight_unit));
    }
    if (explanation.findings.sites.size() > 1)
        text += figure(draw_sites(explanation, r), "Share of the variation at each site");
    return text + "</div>";
}

std::string component_section(const Explanation& explanation, const Told& told, Index r) {
    const Component& component = explanation.components[static_cast<std::size_t>(r)];
    std::string text = fmt::format("<section class=\"component\" id=\"c{0}\"><h2>{0}. {1}</h2>", r + 1,
                                   escape_markup(component.title));
    if (const std::string patients = patients_text(explanation, component); !patients.empty()) {
        text += fmt::format(
            "<p>{} have at least one of the named pairs. The strongest comes together {} as often as if "
            "its labels were independent.</p>",
            escape_markup(patients), lift_text(component));
    }
    text += explanation.findings.sites.empty()
                ? std::string("<p class=\"facts\">Its share is not known: the features lie here alone.")
                : fmt::format("<p class=\"facts\">{} of {}. {}", percent_text(component.share), whole(explanation),
                              home_text(explanation, component));
    if (component.stability) {
        text += fmt::format(
            " When the sites' patients are drawn anew {} times, the pattern is {}; in the worst draw {:.2f}.",
            told.resamples, stability_text(*component.stability), *component.least_stability);
    }
    text += "</p>";
    if (!component.pairs.empty()) {
        text += entries_table(explanation.findings.schema, component.pairs, "What the title names, pair by pair");
    }
    text += drawings_of(explanation, r);
    text += "<details><summary>Strongest entries in numbers</summary>" +
            entries_table(explanation.findings.schema, component.entries,
                          fmt::format("Entries of pattern {} with the largest weights ({})", r + 1, weight_unit)) +
            "</details>";
    return text + "</section>";
}

/// Why anybody joins, in a sentence; empty where it was not measured.
std::string gain_text(const Findings& findings) {
    if (findings.gains.empty()) return "";
    double alone = 0;
    double together = 0;
    for (const SiteGain& gain : findings.gains) {
        alone += gain.alone / static_cast<double>(findings.gains.size());
        together += gain.together / static_cast<double>(findings.gains.size());
    }
    const auto better = std::count_if(findings.gains.begin(), findings.gains.end(),
                                      [](const SiteGain& g) { return g.together < g.alone; });
    return fmt::format(
        " On patients that nobody has learnt from, the error of a site by itself is {} on average, and {} with the "
        "federation's patterns: {} of {} are described better.",
        short_number(alone), short_number(together), better, sites_text(findings.gains.size()));
}

std::string gain_section(const Findings& findings) {
    if (findings.gains.empty()) return "";
    std::string text =
        "<section class=\"summary\"><h2>What joining brings</h2><p>The error is the part of a patient's record that is "
        "not described; less is better.</p>";
    text +=
        "<div class=\"scroll\"><table><caption>Error on new patients, by site</caption><thead><tr><th "
        "scope=\"col\">site</th><th scope=\"col\">alone</th><th "
        "scope=\"col\">with the federation</th><th scope=\"col\">change</th></tr></thead><tbody>";
    for (const SiteGain& gain : findings.gains) {
        text += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}{}</td></tr>",
                            escape_markup(gain.name), short_number(gain.alone), short_number(gain.together),
                            gain.together <= gain.alone ? "−" : "+",
                            percent_text(gain.alone > 0 ? std::abs(gain.together - gain.alone) / gain.alone : 0));
    }
    return text + "</tbody></table></div></section>";
}

std::string patient_section(const Explanation& explanation, const PatientStory& story) {
    std::string text = fmt::format(
        "<section class=\"summary\" id=\"patient\"><h2>Patient {}</h2><p class=\"facts\">At {}. This part of the page "
        "names a person: it stays at the site.</p>",
        escape_markup(story.id), escape_markup(story.site));
    if (story.unusual.empty()) {
        text +=
            "<p>Nothing is unusual: no pattern deviates by two standard deviations or more from the other patients of "
            "the site.</p>";
    } else {
        text += "<p>Unusual about this patient:</p><ul>";
        for (const Index r : story.unusual) {
            const PatientComponent& one = story.components[static_cast<std::size_t>(r)];
            text += fmt::format(
                "<li><a href=\"#c{}\">{}</a>: {} than {} of the site's patients ({:+.1f} standard deviations)</li>",
                r + 1, escape_markup(explanation.components[static_cast<std::size_t>(r)].title),
                one.deviation > 0 ? "more" : "less", percent_text(one.deviation > 0 ? one.above : 1 - one.above),
                one.deviation);
        }
        text += "</ul>";
    }
    text += entries_table(explanation.findings.schema, story.made_of,
                          "What the patterns say of this patient, strongest first");
    text +=
        "<div class=\"scroll\"><table class=\"wide\"><caption>The patient in each pattern</caption><thead><tr><th "
        "scope=\"col\">pattern</th><th scope=\"col\">score</th><th "
        "scope=\"col\">deviation</th><th scope=\"col\">above</th></tr></thead><tbody>";
    for (std::size_t r = 0; r < story.components.size(); ++r) {
        const PatientComponent& one = story.components[r];
        text += fmt::format("<tr><th scope=\"row\">{}. {}</th><td>{:.3g}</td><td>{:+.1f}</td><td>{}</td></tr>", r + 1,
                            escape_markup(explanation.components[r].title), one.score, one.deviation,
                            percent_text(one.above));
    }
    text += "</tbody></table></div>";
    if (!story.nearest.empty()) {
        text +=
            "<div class=\"scroll\"><table><caption>Most similar patients; 1 is the typical distance of two "
            "patients</caption><thead><tr><th scope=\"col\">patient</th><th "
            "scope=\"col\">distance</th></tr></thead><tbody>";
        for (const NearPatient& near : story.nearest) {
            text +=
                fmt::format("<tr><th scope=\"row\">{}</th><td>{:.2f}</td></tr>", escape_markup(near.id), near.distance);
        }
        text += "</tbody></table></div>";
    }
    return text + "</section>";
}

std::string names_of(const std::vector<NamedEntry>& entries) {
    std::vector<std::string> names;
    for (const NamedEntry& entry : entries)
        names.push_back(escape_markup(fmt::format("{} ({:+.2f})", fmt::join(entry.labels, " with "), entry.weight)));
    return fmt::format("{}", fmt::join(names, "; "));
}

std::string drift_section(const Explanation& explanation, const Told& told) {
    const Drift& drift = *told.drift;
    const Explanation& before = *told.before;
    std::string text = fmt::format(
        "<section class=\"summary\" id=\"drift\"><h2>What changed</h2><p>Compared with {}. {} of what these patterns "
        "describe was described before as well.</p>",
        escape_markup(before.findings.source), percent_text(drift.overlap));
    text +=
        "<div class=\"scroll\"><table class=\"wide\"><caption>Patterns now and before</caption><thead><tr><th "
        "scope=\"col\">pattern</th><th scope=\"col\">agreement</th><th "
        "scope=\"col\">share before</th><th scope=\"col\">share now</th><th scope=\"col\" class=\"name\">entries that "
        "changed</th></tr></thead><tbody>";
    for (const Change& change : drift.changes) {
        const bool gone = change.after < 0;
        const Component& component = gone ? before.components[static_cast<std::size_t>(change.before)]
                                          : explanation.components[static_cast<std::size_t>(change.after)];
        std::string what = gone ? "gone" : change.before < 0 ? "new" : "";
        if (!change.gained.empty()) what += "more: " + names_of(change.gained);
        if (!change.lost.empty()) what += (what.empty() ? "" : "; ") + std::string("less: ") + names_of(change.lost);
        text += fmt::format(
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td class=\"name\">{}</td></tr>",
            escape_markup(component.title), gone || change.before < 0 ? "–" : fmt::format("{:.2f}", change.agreement),
            change.before < 0 ? "–" : percent_text(change.share_before), gone ? "–" : percent_text(change.share_after),
            what);
    }
    return text + "</tbody></table></div></section>";
}

std::string reading_guide(const Explanation& explanation) {
    std::string text =
        "<section id=\"reading\"><h2>How to read this page</h2><p>Every patient's record is described as a sum of a "
        "few patterns. The more a pattern contributes to records, the larger its share.</p>";
    const Findings& findings = explanation.findings;
    text +=
        explanation.evidence
            ? fmt::format(
                  "<p>A title names what comes together at least {} times as often as if it were independent, "
                  "in at least {} patients and beyond what chance does anywhere in such a table. Smaller "
                  "numbers of patients are withheld.</p>",
                  least_lift, least_cell)
            : std::string(
                  "<p>A pattern is named after its strongest entries. Whether these come together more "
                  "often than chance is not known here: the sites' data, or tables with a label (any), say it.</p>");
    if (findings.weighting.weighted()) {
        text +=
            "<p>Patterns are formed from what deviates from the labels' prevalences over all sites, so that what is "
            "frequent everywhere is in no pattern for that alone.</p>";
    }
    text +=
        "<p>Weights say how strongly an entry belongs to a pattern. Entries of one sign come together; an entry of the "
        "other sign (orange, with a minus) is rarer where "
        "the pattern is strong. Patterns describe; they do not say what causes what.</p>";
    if (explanation.rotation == Rotation::varimax) {
        text +=
            "<p>The patterns are turned so that each has few strong entries (varimax). What they describe together, "
            "and how well, is untouched by that.</p>";
    }
    const std::string& sent = findings.left_sites;
    return text + (sent.empty() ? "" : "<p>" + sent + "</p>") + "</section>";
}

}  // namespace

std::string render_explanation(const Explanation& explanation, const Told& told, const std::string& data) {
    const Findings& findings = explanation.findings;
    const auto count = explanation.components.size();
    std::string page =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
        "content=\"width=device-width,initial-scale=1\">";
    page += explain_marker;
    page += "<meta name=\"color-scheme\" content=\"light dark\"><title>What the federation found</title><style>" +
            report_style_sheet() + rules + "</style></head><body>";
    page += fmt::format("<a class=\"skip\" href=\"#main\">Skip to the patterns</a><header class=\"top\"><h1>{}</h1>",
                        found_text(explanation));
    page += fmt::format("<p class=\"lead\">{}{}{}</p>", escape_markup(certainty_text(explanation, told.resamples)),
                        gain_text(findings),
                        findings.sites.empty() ? std::string()
                                               : fmt::format(" Together the patterns describe {} of {}.",
                                                             percent_text(explanation.explained), whole(explanation)));
    page += fmt::format(
        "<p class=\"made\">Made by couplet {} from {}. <a href=\"#reading\">How to read this "
        "page</a></p></header><main id=\"main\">",
        version(), escape_markup(findings.source));
    page += "<section class=\"summary\"><h2>The patterns</h2>" + summary_table(explanation) + "</section>";
    page += gain_section(findings);
    if (told.patient) page += patient_section(explanation, *told.patient);
    if (told.drift) page += drift_section(explanation, told);
    page += "<div class=\"components\">";
    for (std::size_t r = 0; r < count; ++r) page += component_section(explanation, told, static_cast<Index>(r));
    page += "</div>" + reading_guide(explanation);
    if (!data.empty()) {
        page += fmt::format(
            "<p class=\"files\">The same in numbers: <a href=\"{0}.json\">{0}.json</a>, <a "
            "href=\"{0}.csv\">{0}.csv</a></p>",
            escape_markup(data));
    }
    return page + "</main></body></html>\n";
}

}  // namespace couplet
