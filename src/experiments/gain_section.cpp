#include "couplet/experiments/gain_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "couplet/experiments/scale.hpp"
#include "couplet/io/markup.hpp"

namespace couplet {
namespace {

constexpr std::string_view site_word = ", site ";

/// The sites of one data set together; the mean over sites, each of which counts alike.
struct DataGain {
    std::string data = {};
    Index sites = 0;
    Index better = 0;
    double alone = 0;
    double together = 0;
};

std::vector<DataGain> by_data(const std::vector<HeldoutGain>& gains) {
    std::vector<DataGain> result;
    for (const HeldoutGain& gain : gains) {
        auto at = std::find_if(result.begin(), result.end(), [&](const auto& one) { return one.data == gain.data; });
        if (at == result.end()) at = result.insert(result.end(), DataGain{.data = gain.data});
        ++at->sites;
        at->better += gain.together < gain.alone ? 1 : 0;
        at->alone += gain.alone;
        at->together += gain.together;
    }
    for (DataGain& one : result) {
        one.alone /= static_cast<double>(one.sites);
        one.together /= static_cast<double>(one.sites);
    }
    return result;
}

std::string error_text(double rse) { return rse < rounding_rse ? "exact" : fmt::format("{:.3g}", rse); }

std::string change_text(double alone, double together) {
    if (alone < rounding_rse) return "";
    return fmt::format("{}{:.1f}%", together > alone ? "+" : "−", 100 * std::abs(together / alone - 1));
}

std::string row_text(const std::string& name, double alone, double together) {
    return fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>", escape_markup(name),
                       error_text(alone), error_text(together), change_text(alone, together));
}

std::string table_text(const char* what, const std::string& rows) {
    return fmt::format(
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">{}</th><th scope=\"col\">alone</th><th "
        "scope=\"col\">with the federation</th><th scope=\"col\">change</th></tr></thead>{}</table></div>",
        what, rows);
}

}  // namespace

std::string gain_category(const std::string& data, Index site) { return fmt::format("{}{}{}", data, site_word, site); }

std::vector<HeldoutGain> site_gains(const std::vector<ExperimentResult>& results) {
    std::vector<HeldoutGain> gains;
    for (const ExperimentResult& result : results) {
        for (const Row& row : rows_of(result, gain_figure)) {
            if (row.method != "local") continue;
            const Row* together = find_category(result, gain_figure, "ctt-star", row.category);
            const std::size_t at = row.category.rfind(site_word);
            if (together == nullptr || at == std::string::npos) continue;
            HeldoutGain gain{row.category.substr(0, at), 0, row.y.mean, together->y.mean};
            const char* number = row.category.data() + at + site_word.size();
            std::from_chars(number, row.category.data() + row.category.size(), gain.site);
            gains.push_back(std::move(gain));
        }
    }
    return gains;
}

std::vector<std::string> gain_sentences(const std::vector<HeldoutGain>& gains) {
    std::vector<std::string> sentences;
    for (const DataGain& one : by_data(gains)) {
        sentences.push_back(one.alone < rounding_rse
                                ? fmt::format("{}: every site alone describes new people exactly.", one.data)
                                : fmt::format("{}: {} alone, {} with the federation ({} of {} sites gain).", one.data,
                                              error_text(one.alone), error_text(one.together), one.better, one.sites));
    }
    return sentences;
}

std::string render_gain_section(const std::vector<HeldoutGain>& gains) {
    if (gains.empty()) return "";
    std::string means = "<tbody>";
    std::string sites;
    for (const DataGain& all : by_data(gains)) {
        means += row_text(all.data, all.alone, all.together);
        sites += "<tbody>";
        for (const HeldoutGain& gain : gains) {
            if (gain.data == all.data)
                sites += row_text(gain_category(gain.data, gain.site), gain.alone, gain.together);
        }
        sites += "</tbody>";
    }
    return "<section id=\"joining\"><h2>What a site gains by joining</h2><p>The error on people whom nobody has learnt "
           "from, a fifth of each site's: with features that the site learns by itself, and with those of all sites "
           "together. It is the part of a record that is not described; less is better.</p>" +
           table_text("data, mean of its sites", means + "</tbody>") + "<details><summary>site by site</summary>" +
           table_text("site", sites) + "</details></section>";
}

}  // namespace couplet
