#include "combine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"

namespace couplet {
namespace {

constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

/// Fills in how many patients have each code. Cells come by patient, so that a code's last patient tells a new one.
void count_patients(Gathered& gathered) {
    for (const Block& block : gathered.blocks) {
        std::vector<std::vector<std::uint32_t>> last;
        for (const std::size_t mode : block.modes) {
            last.emplace_back(gathered.modes[mode].book.codes.size(), nobody);
        }
        if (gathered.in_order) {
            for (CodeFacts& facts : gathered.modes[block.modes.front()].book.facts) facts.patients = facts.events;
            continue;
        }
        block.cells.for_each([&](const CellKey& key, double) {
            for (std::size_t n = 0; n < block.modes.size(); ++n) {
                std::uint32_t& before = last[n][key.codes[n]];
                if (before == key.patient) continue;
                before = key.patient;
                ++gathered.modes[block.modes[n]].book.facts[key.codes[n]].patients;
            }
        });
    }
}

Term term_of(const FoundMode& mode, std::uint32_t number, const TableOptions& options) {
    const CodeFacts& facts = mode.book.facts[number];
    Term term{mode.book.codes[number], facts.label, facts.unit, facts.patients};
    if (term.label.empty() && options.name_of) term.label = options.name_of(mode.name, term.code);
    if (term.label.empty()) term.label = term.code;
    return term;
}

bool is_unmapped(const CodeFacts& facts) { return facts.group < 0; }

/// Bins from the first to the last, those that nobody has too.
void place_time(const FoundMode& mode, const TableOptions& options, ModeTerms& terms,
                std::vector<std::int64_t>& position) {
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < mode.book.codes.size(); ++i) {
        numbers.push_back(*parse_bin_label(mode.book.codes[i], *mode.bin));
    }
    const auto [first, last] = std::minmax_element(numbers.begin(), numbers.end());
    if (*last - *first >= options.most_codes) {
        throw InputError({"--modes", fmt::format("{} bins of a {}", *last - *first + 1, to_string(*mode.bin)),
                          fmt::format("at most {}", options.most_codes), "Use a coarser bin, or raise --max-codes."});
    }
    for (std::int64_t number = *first; number <= *last; ++number) {
        const std::string label = bin_label(number, *mode.bin);
        terms.terms.push_back({label, label, "", 0});
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        position[i] = numbers[i] - *first;
        terms.terms[static_cast<std::size_t>(position[i])].patients = mode.book.facts[i].patients;
    }
}

void place_found(const FoundMode& mode, const TableOptions& options, Index top, ModeTerms& terms, Placement& placement,
                 std::vector<std::int64_t>& position) {
    std::vector<std::uint32_t> order(mode.book.codes.size());
    std::iota(order.begin(), order.end(), 0U);
    std::erase_if(order, [&](std::uint32_t i) { return is_unmapped(mode.book.facts[i]); });
    const auto by_code = [&](std::uint32_t a, std::uint32_t b) {
        return code_less(mode.book.codes[a], mode.book.codes[b]);
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const CodeFacts& x = mode.book.facts[a];
        const CodeFacts& y = mode.book.facts[b];
        if (mode.kind == TermKind::columns) return x.group != y.group ? x.group < y.group : by_code(a, b);
        return x.patients != y.patients ? x.patients > y.patients : by_code(a, b);
    });
    if (top > 0 && mode.kind == TermKind::codes && static_cast<Index>(order.size()) > top) {
        placement.cut_terms += static_cast<Index>(order.size()) - top;
        order.resize(static_cast<std::size_t>(top));
    }
    for (const std::uint32_t number : order) {
        position[number] = static_cast<std::int64_t>(terms.terms.size());
        terms.terms.push_back(term_of(mode, number, options));
    }
}

/// The schema's terms with this site's counts.
void place_given(const FoundMode& mode, const ModeTerms& given, ModeTerms& terms, std::vector<std::int64_t>& position) {
    std::map<std::string_view, std::int64_t> places;
    terms.terms = given.terms;
    for (Term& term : terms.terms) {
        term.patients = 0;
        places.emplace(term.code, static_cast<std::int64_t>(&term - terms.terms.data()));
    }
    for (std::size_t i = 0; i < mode.book.codes.size(); ++i) {
        const auto at = places.find(mode.book.codes[i]);
        if (at == places.end()) continue;
        const CodeFacts& facts = mode.book.facts[i];
        Term& term = terms.terms[static_cast<std::size_t>(at->second)];
        if (!term.unit.empty() && !facts.unit.empty() && term.unit != facts.unit) {
            throw InputError({"--schema", fmt::format("{} of {} in {}", mode.name, shown(term.label), shown(term.unit)),
                              fmt::format("{}, as this site has it", shown(facts.unit)),
                              "Convert the values to the unit of the schema first."});
        }
        position[i] = at->second;
        term.patients = facts.patients;
    }
}

void note_unknown(const FoundMode& mode, const std::vector<std::int64_t>& position, bool given, Placement& placement) {
    for (std::size_t i = 0; i < position.size(); ++i) {
        const CodeFacts& facts = mode.book.facts[i];
        if (position[i] >= 0 || facts.events == 0 || (!given && !is_unmapped(facts))) continue;
        placement.unknown.push_back(
            {mode.name, mode.book.codes[i], is_unmapped(facts) ? "no matching concept" : facts.label, facts.events});
        placement.unknown_events += facts.events;
    }
}

const ModeTerms& given_mode(const Vocabulary& schema, const Gathered& gathered, std::size_t n) {
    if (schema.modes.size() != gathered.modes.size()) {
        throw InputError({"--schema", fmt::format("{} modes", schema.modes.size()),
                          fmt::format("{}, as the tables give", gathered.modes.size()), "Build with other --modes."});
    }
    const ModeTerms& mode = schema.modes[n];
    if (!mode.name.empty() && mode.name != gathered.modes[n].name) {
        throw InputError({"--schema", fmt::format("mode {} called {}", n + 2, shown(mode.name)),
                          fmt::format("{}, as the tables give", shown(gathered.modes[n].name)),
                          "Name and order the modes with --modes NAME=COLUMN."});
    }
    return mode;
}

/// Reads the entries of one block patient by patient.
class BlockRows {
  public:
    BlockRows(const Placement& placement, const Block& block, const Shape& features) : cursor_(block.cells.cursor()) {
        for (const std::size_t mode : block.modes) {
            positions_.push_back(&placement.position[mode]);
            strides_.push_back(features.product(static_cast<Index>(mode) + 1, features.order()));
        }
        more_ = cursor_.next(key_, value_);
    }

    const PatientEntries& of(std::uint32_t patient) {
        entries_.clear();
        for (; more_ && key_.patient == patient; more_ = cursor_.next(key_, value_)) {
            Index offset = 0;
            bool known = true;
            for (std::size_t n = 0; n < positions_.size(); ++n) {
                const std::int64_t at = (*positions_[n])[key_.codes[n]];
                known = known && at >= 0;
                offset += at * strides_[n];
            }
            if (known && value_ != 0) entries_.emplace_back(offset, value_);
        }
        return entries_;
    }

  private:
    CellStore::Cursor cursor_;
    std::vector<const std::vector<std::int64_t>*> positions_;
    std::vector<Index> strides_;
    CellKey key_;
    double value_ = 0;
    bool more_ = false;
    PatientEntries entries_;
};

}  // namespace

Placement place_terms(Gathered& gathered, const TableOptions& options) {
    count_patients(gathered);
    Placement placement;
    const std::size_t modes = gathered.modes.size();
    if (options.top.size() > 1 && options.top.size() != modes) {
        throw InputError({"--top", fmt::format("{} numbers", options.top.size()),
                          fmt::format("one, or one for each of the {} modes", modes), "For example 40x40."});
    }
    for (std::size_t n = 0; n < modes; ++n) {
        const FoundMode& mode = gathered.modes[n];
        std::vector<std::int64_t> position(mode.book.codes.size(), -1);
        ModeTerms terms{mode.name, mode.kind, {}};
        if (options.schema) {
            place_given(mode, given_mode(*options.schema, gathered, n), terms, position);
        } else if (mode.kind == TermKind::time) {
            place_time(mode, options, terms, position);
        } else {
            const Index top = options.top.empty() ? 0 : options.top[options.top.size() == 1 ? 0 : n];
            place_found(mode, options, top, terms, placement, position);
        }
        note_unknown(mode, position, options.schema.has_value(), placement);
        if (terms.terms.empty()) {
            throw InputError({mode.name, "no codes", "at least one", "Check the columns in --modes."});
        }
        placement.vocabulary.modes.push_back(std::move(terms));
        placement.position.push_back(std::move(position));
    }
    std::stable_sort(placement.unknown.begin(), placement.unknown.end(),
                     [](const UnknownTerm& a, const UnknownTerm& b) { return a.events > b.events; });
    return placement;
}

void for_each_patient(const Gathered& gathered, const Placement& placement, const Shape& features,
                      const std::function<void(std::uint32_t, const PatientEntries&)>& f) {
    std::vector<BlockRows> blocks;
    for (const Block& block : gathered.blocks) blocks.emplace_back(placement, block, features);
    PatientEntries entries;
    PatientEntries next;
    for (std::uint32_t patient = 0; patient < gathered.patients.size(); ++patient) {
        entries.assign(1, {0, 1.0});
        for (BlockRows& block : blocks) {
            next.clear();
            // Every block is read, so that its cursor moves on.
            for (const auto& [more, factor] : block.of(patient)) {
                for (const auto& [offset, value] : entries) next.emplace_back(offset + more, value * factor);
            }
            std::swap(entries, next);
        }
        std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        f(patient, entries);
    }
}

}  // namespace couplet
