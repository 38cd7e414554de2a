#include "couplet/table/vocabulary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/schema_file.hpp"
#include "couplet/io/text.hpp"
#include "couplet/table/dates.hpp"
#include "couplet/tensor/any_label.hpp"

namespace couplet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* remedy = "couplet schema --propose DIR -o proposal.json writes one.";
constexpr std::array<std::pair<const char*, TermKind>, 3> kinds{
    {{"codes", TermKind::codes}, {"columns", TermKind::columns}, {"time", TermKind::time}}};

const char* kind_name(TermKind kind) {
    for (const auto& [name, known] : kinds) {
        if (known == kind) return name;
    }
    return "codes";
}

TermKind parse_kind(const Json& mode, const std::string& where) {
    if (!mode.contains("kind")) return TermKind::codes;
    for (const auto& [name, kind] : kinds) {
        if (mode["kind"] == name) return kind;
    }
    throw InputError({where, "a kind of mode " + shown(mode["kind"].dump()), "codes, columns or time", remedy});
}

template <class T, class Is>
std::vector<T> list_of(const Json& mode, const char* key, std::size_t size, const std::string& where, Is is) {
    if (!mode.contains(key)) return {};
    const Json& list = mode[key];
    if (!list.is_array() || list.size() != size || !std::all_of(list.begin(), list.end(), is)) {
        throw InputError(
            {where, fmt::format("{} that do not fit the labels", key), fmt::format("a list of {}", size), remedy});
    }
    return list.get<std::vector<T>>();
}

/// More patients than there are people would not add up.
bool is_count(const Json& json) {
    constexpr std::uint64_t most = 1'000'000'000'000;
    return json.is_number_integer() && json >= 0 && json.get<std::uint64_t>() <= most;
}

ModeTerms parse_terms(const Json& json, const ModeLabels& labels, const std::string& where) {
    ModeTerms mode{.name = labels.name, .kind = parse_kind(json, where)};
    const std::size_t size = labels.entries.size();
    if (size == 0) {
        throw InputError({where, "a mode without labels", "the labels of every mode", remedy});
    }
    auto codes = list_of<std::string>(json, "codes", size, where, [](const Json& c) { return c.is_string(); });
    if (codes.empty()) codes = labels.entries;
    const auto patients = list_of<Index>(json, "patients", size, where, is_count);
    const auto named =
        list_of<Json>(json, "label_patients", size, where, [](const Json& c) { return c.is_null() || is_count(c); });
    for (std::size_t i = 0; i < size; ++i) {
        mode.terms.push_back({.code = codes[i],
                              .label = labels.entries[i],
                              .unit = labels.units.empty() ? "" : labels.units[i],
                              .patients = patients.empty() ? 0 : patients[i]});
        if (!named.empty() && !named[i].is_null()) mode.terms.back().label_patients = named[i].get<Index>();
    }
    std::set<std::string> seen;
    for (const Term& term : mode.terms) {
        if (!seen.insert(term.code).second) {
            throw InputError({where, "the code " + shown(term.code) + " twice", "every code once in a mode", ""});
        }
    }
    return mode;
}

Json read_json(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw InputError({path.string(), "no such file", "a file that can be read", "Check the path."});
    Json json = Json::parse(stream, nullptr, false);
    if (json.is_discarded() || !json.is_object()) {
        throw InputError({path.string(), "text that is no JSON object", "a schema or a proposal", remedy});
    }
    return json;
}

/// What sites say of one code.
struct Told {
    std::size_t sites = 0;
    Index patients = 0;
    std::map<std::string, Index> labels = {};  ///< patients behind each, one for a site that tells no number
    std::optional<std::string> unit = {};
    std::string unit_site = {};
};

std::string best_label(const std::map<std::string, Index>& labels) {
    const auto most = std::max_element(labels.begin(), labels.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most->first;
}

void require_same_modes(std::span<const Vocabulary> sites, std::span<const std::string> names) {
    const auto said = [](const Vocabulary& site) {
        std::string text;
        for (const ModeTerms& mode : site.modes) text += (text.empty() ? "" : ", ") + mode.name;
        return text;
    };
    for (std::size_t k = 1; k < sites.size(); ++k) {
        const bool same = std::ranges::equal(sites[k].modes, sites[0].modes, [](const auto& a, const auto& b) {
            return a.name == b.name && a.kind == b.kind;
        });
        if (same) continue;
        throw InputError({names[k], "modes " + said(sites[k]), said(sites[0]) + " as in " + names[0],
                          "Build the tables of all sites with the same `modes`."});
    }
}

std::map<std::string, Told> gather(std::span<const Vocabulary> sites, std::span<const std::string> names,
                                   std::size_t n) {
    std::map<std::string, Told> all;
    for (std::size_t k = 0; k < sites.size(); ++k) {
        for (const Term& term : sites[k].modes[n].terms) {
            Told& told = all[term.code];
            ++told.sites;
            told.patients += term.patients;
            told.labels[term.label] += std::max<Index>(1, term.patients);
            if (told.unit && *told.unit != term.unit) {
                const auto said = [](const std::string& unit) { return unit.empty() ? "no unit" : shown(unit); };
                throw InputError({names[k], fmt::format("{} in {}", shown(term.label), said(term.unit)),
                                  fmt::format("{} as in {}", said(*told.unit), told.unit_site),
                                  "Build the tables with the units, in one unit, and with the same `aggregate`."});
            }
            told.unit = term.unit;
            told.unit_site = names[k];
        }
    }
    return all;
}

/// Bins between those of the sites belong to the mode too: time has no gaps.
void fill_bins(std::vector<Term>& terms, Index most) {
    for (const TimeBin bin : {TimeBin::day, TimeBin::week, TimeBin::month, TimeBin::quarter, TimeBin::year}) {
        std::vector<std::int64_t> numbers;
        for (const Term& term : terms) {
            if (const auto number = parse_bin_label(term.code, bin)) numbers.push_back(*number);
        }
        if (numbers.size() != terms.size() || numbers.empty()) continue;
        const auto [first, last] = std::minmax_element(numbers.begin(), numbers.end());
        if (*last - *first >= most) {
            throw InputError({"`merge`", fmt::format("{} bins of a {}", *last - *first + 1, to_string(bin)),
                              fmt::format("at most {}", most), "Use a coarser bin at the sites."});
        }
        std::set<std::string> known;
        const std::string unit = terms.front().unit;
        for (const Term& term : terms) known.insert(term.code);
        for (std::int64_t number = *first; number <= *last; ++number) {
            const std::string label = bin_label(number, bin);
            if (known.insert(label).second) terms.push_back({label, label, unit, 0});
        }
        return;
    }
    if (terms.empty()) return;
    throw InputError(
        {"`merge`", fmt::format("bins as different as {} and {}", shown(terms.front().code), shown(terms.back().code)),
         "days, weeks, months, quarters or years at all sites", "Build the tables with the same @BIN."});
}

/// What is kept of one mode, in the order of its kind.
std::vector<Term> choose(const std::map<std::string, Told>& all, TermKind kind, std::size_t sites,
                         const MergeOptions& options, Index top) {
    std::vector<Term> terms;
    for (const auto& [code, told] : all) {
        if (options.rule == MergeRule::every && told.sites < sites) continue;
        terms.push_back({code, best_label(told.labels), told.unit.value_or(""), told.patients});
    }
    const auto by_code = [](const Term& a, const Term& b) { return code_less(a.code, b.code); };
    const auto is_any = [](const Term& term) { return term.code == any_label; };
    const auto by_count = [&](const Term& a, const Term& b) {
        if (is_any(a) != is_any(b)) return is_any(a);
        return a.patients != b.patients ? a.patients > b.patients : by_code(a, b);
    };
    if (kind == TermKind::codes) {
        std::sort(terms.begin(), terms.end(), by_count);
        const Index most = top + (!terms.empty() && is_any(terms.front()) ? 1 : 0);
        if (top > 0 && static_cast<Index>(terms.size()) > most) terms.resize(static_cast<std::size_t>(most));
    } else {
        constexpr Index most_bins = 100'000;
        if (kind == TermKind::time) fill_bins(terms, most_bins);
        std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.code < b.code; });
    }
    return terms;
}

}  // namespace

namespace {

/// Labels that occur twice with their codes behind them, until none does.
std::vector<std::string> different_labels(const ModeTerms& mode) {
    std::vector<std::string> labels;
    for (const Term& term : mode.terms) labels.push_back(term.label);
    for (;;) {
        std::map<std::string, int> times;
        for (const std::string& label : labels) ++times[label];
        if (times.size() == labels.size()) return labels;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            if (times[labels[i]] > 1) labels[i] += fmt::format(" ({})", mode.terms[i].code);
        }
    }
}

}  // namespace

bool code_less(std::string_view a, std::string_view b) noexcept {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
}

Schema schema_of(const Vocabulary& vocabulary) {
    std::vector<Index> sizes;
    Labels labels;
    for (const ModeTerms& mode : vocabulary.modes) {
        ModeLabels one{.name = mode.name, .entries = different_labels(mode)};
        for (const Term& term : mode.terms) one.units.push_back(term.unit);
        sizes.push_back(static_cast<Index>(mode.terms.size()));
        labels.push_back(std::move(one));
    }
    return make_schema(Shape(std::move(sizes)), std::move(labels), "vocabulary");
}

Json vocabulary_json(const Vocabulary& vocabulary) {
    Json json = schema_json(schema_of(vocabulary));
    for (std::size_t n = 0; n < vocabulary.modes.size(); ++n) {
        const ModeTerms& mode = vocabulary.modes[n];
        Json& one = json["modes"][n];
        one["kind"] = kind_name(mode.kind);
        one["codes"] = Json::array();
        Json patients = Json::array();
        Json named = Json::array();
        bool told = false;
        bool mixed = false;
        for (const Term& term : mode.terms) {
            one["codes"].push_back(term.code);
            patients.push_back(term.patients);
            told = told || term.patients > 0;
            named.push_back(term.label_patients ? Json(*term.label_patients) : Json());
            mixed = mixed || term.label_patients;
        }
        if (mixed) one["label_patients"] = std::move(named);
        if (told) one["patients"] = std::move(patients);
    }
    if (vocabulary.patients > 0) json["patients"] = vocabulary.patients;
    return json;
}

Vocabulary parse_vocabulary(const Json& json, const std::string& where) {
    const Schema schema = parse_schema(json, where);
    Vocabulary vocabulary;
    for (std::size_t n = 0; n < static_cast<std::size_t>(schema.features.order()); ++n) {
        const ModeLabels labels = schema.modes.empty() ? ModeLabels{} : schema.modes[n];
        vocabulary.modes.push_back(parse_terms(json["modes"][n], labels, where));
    }
    if (json.contains("patients")) {
        if (!is_count(json["patients"])) {
            throw InputError({where, "patients that are no number", "a whole number up to 1e12", remedy});
        }
        vocabulary.patients = json["patients"].get<Index>();
    }
    return vocabulary;
}

Vocabulary load_vocabulary(const fs::path& path) {
    std::error_code ignored;
    const fs::path file = fs::is_directory(path, ignored) ? path / "manifest.json" : path;
    const Json json = read_json(file);
    return parse_vocabulary(json.contains("vocabulary") ? json["vocabulary"] : json, file.string());
}

void save_vocabulary(const fs::path& path, const Vocabulary& vocabulary, bool overwrite) {
    const std::string out = vocabulary_json(vocabulary).dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
    AtomicFile file(path, overwrite);
    file.write(std::as_bytes(std::span(out)));
    file.commit();
}

Proposal propose(const Vocabulary& mine, Index threshold) {
    Proposal proposal;
    const auto rounded = [&](Index patients) { return patients / threshold * threshold; };
    proposal.vocabulary.patients = rounded(mine.patients);
    for (const ModeTerms& mode : mine.modes) {
        ModeTerms told{mode.name, mode.kind, {}};
        const auto frequent = [&](const Term& term) { return term.patients >= threshold; };
        // Bins follow each other: those between two that are told are no news.
        const auto first = std::find_if(mode.terms.begin(), mode.terms.end(), frequent);
        const auto last = std::find_if(mode.terms.rbegin(), mode.terms.rend(), frequent).base();
        for (auto at = first; at < last; ++at) {
            if (mode.kind != TermKind::time && !frequent(*at)) continue;
            Term term = *at;
            term.patients = mode.kind == TermKind::time ? 0 : rounded(term.patients);
            if (term.label_patients && *term.label_patients < threshold) term.label = term.code;
            term.label_patients = {};
            told.terms.push_back(std::move(term));
        }
        if (told.terms.empty()) {
            throw InputError({"`threshold`", fmt::format("{}: no {} is left", threshold, mode.name),
                              "at least one that so many patients have", "Use a smaller threshold."});
        }
        proposal.withheld.push_back(static_cast<Index>(mode.terms.size() - told.terms.size()));
        proposal.vocabulary.modes.push_back(std::move(told));
    }
    return proposal;
}

Vocabulary merge_vocabularies(std::span<const Vocabulary> sites, std::span<const std::string> names,
                              const MergeOptions& options) {
    if (sites.empty()) throw InputError({"`merge`", "no proposals", "at least one", ""});
    require_same_modes(sites, names);
    const std::size_t modes = sites[0].modes.size();
    if (options.top.size() > 1 && options.top.size() != modes) {
        throw InputError({"`top`", fmt::format("{} numbers", options.top.size()),
                          fmt::format("one, or one for each of the {} modes", modes), "For example 40x40."});
    }
    Vocabulary merged;
    for (const Vocabulary& site : sites) merged.patients += site.patients;
    for (std::size_t n = 0; n < modes; ++n) {
        const auto all = gather(sites, names, n);
        const Index top = options.top.empty() ? 0 : options.top[options.top.size() == 1 ? 0 : n];
        const ModeTerms& mode = sites[0].modes[n];
        merged.modes.push_back({mode.name, mode.kind, choose(all, mode.kind, sites.size(), options, top)});
        if (merged.modes.back().terms.empty()) {
            throw InputError({"`merge`", fmt::format("no {} that all sites have", mode.name), "at least one",
                              "Use `rule` union, or a smaller `threshold` at the sites."});
        }
    }
    return merged;
}

}  // namespace couplet
