#include "couplet/table/similar_codes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "couplet/io/text.hpp"
#include "couplet/tensor/any_label.hpp"

namespace couplet {
namespace {

/// Letters of Latin-1 and Latin Extended-A without their marks, from U+00C0 on: '.' where there is no other letter.
constexpr std::u32string_view plain_letters =
    U"AAAAAA.CEEEEIIII.NOOOOO..UUUUY..aaaaaa.ceeeeiiii.nooooo..uuuuy.y"
    U"AaAaAaCcCcCcCcDd..EeEeEeEeEeGgGgGgGgHh..IiIiIiIiI..."
    U"JjKk.LlLlLl....NnNnNn...OoOoOo..RrRrRrSsSsSsSsTtTt..UuUuUuUuUuUuWwYyYZzZzZz";

char32_t without_mark(char32_t c) {
    constexpr char32_t first = 0xC0;
    if (c < first || c - first >= plain_letters.size() || plain_letters[c - first] == U'.') return c;
    return plain_letters[c - first];
}

bool is_mark(char32_t c) { return c >= 0x300 && c <= 0x36F; }

/// A code without what two ways of writing it may differ by. Text that is no UTF-8 stays as it is.
std::string folded(const std::string& text, bool accents, bool punctuation) {
    const auto points = decode_utf8(text);
    if (!points) return text;
    std::u32string kept = *points;
    if (punctuation) {
        const std::size_t list = kept.find_last_of(U":|/");
        if (list != std::u32string::npos && list + 1 < kept.size()) kept.erase(0, list + 1);
    }
    std::u32string result;
    for (char32_t c : kept) {
        if (c == U' ' || (accents && is_mark(c)) || (punctuation && (c == U'.' || c == U'-' || c == U'_'))) continue;
        if (accents) c = without_mark(c);
        result += c >= U'A' && c <= U'Z' ? c - U'A' + U'a' : c;
    }
    return encode_utf8(result);
}

struct Likeness {
    const char* why;
    std::function<std::string(const Term&)> form;  ///< equal for codes that are alike
};

std::vector<Likeness> likenesses(bool labels) {
    std::vector<Likeness> all{
        {"capitals or blanks", [](const Term& term) { return folded(term.code, false, false); }},
        {"accents", [](const Term& term) { return folded(term.code, true, false); }},
        {"punctuation or the name of a code list", [](const Term& term) { return folded(term.code, true, true); }}};
    if (labels) all.push_back({"label", [](const Term& term) { return folded(term.label, true, false); }});
    return all;
}

void find_alike(const ModeTerms& mode, const Likeness& how, std::set<std::pair<std::string, std::string>>& known,
                std::vector<SimilarCodes>& result) {
    std::map<std::string, std::string> seen;
    for (const Term& term : mode.terms) {
        const std::string form = how.form(term);
        if (term.code == any_label || form.empty()) continue;
        const auto [at, fresh] = seen.emplace(form, term.code);
        if (fresh || !known.insert({at->second, term.code}).second) continue;
        result.push_back({mode.name, at->second, term.code, how.why});
    }
}

}  // namespace

std::vector<SimilarCodes> similar_codes(const Vocabulary& vocabulary, bool labels) {
    std::vector<SimilarCodes> result;
    for (const ModeTerms& mode : vocabulary.modes) {
        if (mode.kind != TermKind::codes) continue;
        std::set<std::pair<std::string, std::string>> known;
        for (const Likeness& how : likenesses(labels)) find_alike(mode, how, known, result);
    }
    return result;
}

std::string similar_text(const std::vector<SimilarCodes>& similar) {
    constexpr std::size_t most = 4;
    std::vector<std::string> named;
    for (std::size_t i = 0; i < std::min(most, similar.size()); ++i) {
        const SimilarCodes& pair = similar[i];
        named.push_back(fmt::format("{} and {} ({})", shown(pair.one), shown(pair.other),
                                    pair.why == "label" ? "one label" : "but for " + pair.why));
    }
    return fmt::format("codes that look alike count as two: {}{}", fmt::join(named, ", "),
                       similar.size() > most ? fmt::format(" and {} more", similar.size() - most) : "");
}

nlohmann::ordered_json similar_json(const std::vector<SimilarCodes>& similar) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const SimilarCodes& pair : similar) {
        list.push_back({{"mode", pair.mode}, {"codes", {pair.one, pair.other}}, {"why", pair.why}});
    }
    return list;
}

}  // namespace couplet
