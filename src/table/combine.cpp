#include "combine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "couplet/tensor/any_label.hpp"

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

/// What the entries are, which sites must agree on: counts, sums and last values are not those of a table of means.
std::string unit_of(const Gathered& gathered, const FoundMode& mode, const CodeFacts& facts) {
    const std::string unit = facts.unit.value_or("");
    if (mode.kind == TermKind::columns) return unit;
    // Of several modes of a table the first one of codes tells it.
    for (const Block& block : gathered.blocks) {
        const auto is_codes = [&](std::size_t n) { return !gathered.modes[n].bin; };
        auto first = std::find_if(block.modes.begin(), block.modes.end(), is_codes);
        if (first == block.modes.end()) first = block.modes.begin();
        if (&gathered.modes[*first] != &mode) continue;
        switch (gathered.rule) {
            case CellRule::presence:
                return "";
            case CellRule::count:
                return "events";
            case CellRule::sum:
                return unit.empty() ? "sum" : "sum of " + unit;
            case CellRule::mean:
                return unit.empty() ? "mean" : unit;
            case CellRule::last:
                return unit.empty() ? "last" : "last " + unit;
        }
    }
    return unit;
}

Term term_of(const Gathered& gathered, const FoundMode& mode, std::uint32_t number, const TableOptions& options) {
    const CodeFacts& facts = mode.book.facts[number];
    const auto [label, patients] = facts.labels.best(facts.patients);
    Term term{mode.book.codes[number], label, unit_of(gathered, mode, facts), facts.patients};
    if (!label.empty() && patients < facts.patients) term.label_patients = patients;
    if (term.label.empty() && options.name_of) term.label = options.name_of(mode.name, term.code);
    if (term.label.empty()) term.label = term.code;
    return term;
}

bool is_unmapped(const CodeFacts& facts) { return facts.group < 0; }

/// Where every code is of one patient, and every patient has one, the column identifies the patients, and its codes
/// would travel with the schema.
void require_shared(const Gathered& gathered, const FoundMode& mode) {
    constexpr std::size_t enough = 20;
    const std::size_t codes = mode.book.codes.size();
    if (mode.kind != TermKind::codes || codes < enough || codes < gathered.patients.size()) return;
    const auto shared = [](const CodeFacts& facts) { return facts.patients > 1; };
    if (std::any_of(mode.book.facts.begin(), mode.book.facts.end(), shared)) return;
    throw InputError({"`modes`", fmt::format("{} of {}, each of one patient alone", codes, mode.name),
                      "codes that patients share", "Name another column: this one identifies the patients."});
}

/// Bins from the first to the last, those that nobody has too.
void place_time(const Gathered& gathered, const FoundMode& mode, const TableOptions& options, ModeTerms& terms,
                std::vector<std::int64_t>& position) {
    const std::string unit = unit_of(gathered, mode, mode.whole);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = 0; i < mode.book.codes.size(); ++i) {
        numbers.push_back(*parse_bin_label(mode.book.codes[i], *mode.bin));
    }
    const auto [first, last] = std::minmax_element(numbers.begin(), numbers.end());
    if (*last - *first >= options.most_codes) {
        throw InputError({"`modes`", fmt::format("{} bins of a {}", *last - *first + 1, to_string(*mode.bin)),
                          fmt::format("at most {}", options.most_codes), "Use a coarser bin, or raise `max_codes`."});
    }
    for (std::int64_t number = *first; number <= *last; ++number) {
        const std::string label = bin_label(number, *mode.bin);
        terms.terms.push_back({label, label, unit, 0});
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        position[i] = numbers[i] - *first;
        terms.terms[static_cast<std::size_t>(position[i])].patients = mode.book.facts[i].patients;
    }
}

void place_found(const Gathered& gathered, const FoundMode& mode, const TableOptions& options, Index top,
                 ModeTerms& terms, Placement& placement, std::vector<std::int64_t>& position) {
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
        terms.terms.push_back(term_of(gathered, mode, number, options));
    }
}

[[noreturn]] void refuse_unit(const FoundMode& mode, const Term& term, const std::string& unit) {
    const auto said = [](const std::string& text) { return text.empty() ? "no unit" : shown(text); };
    throw InputError({mode.name, fmt::format("{} in {}", shown(term.label), said(unit)),
                      said(term.unit) + ", as in the schema",
                      "Convert the values to the unit of the schema, name the column of the units, or use the "
                      "`aggregate` of the other sites."});
}

/// The schema's terms with this site's counts.
void place_given(const Gathered& gathered, const FoundMode& mode, const ModeTerms& given, ModeTerms& terms,
                 std::vector<std::int64_t>& position) {
    std::map<std::string_view, std::int64_t> places;
    terms.terms = given.terms;
    const auto has_unit = [](const Term& term) { return !term.unit.empty(); };
    // A schema without any unit leaves them to the sites, whose federation compares them.
    const bool with_units = std::any_of(given.terms.begin(), given.terms.end(), has_unit);
    bool met = false;
    for (Term& term : terms.terms) {
        term.patients = 0;
        term.label_patients = {};
        places.emplace(term.code, static_cast<std::int64_t>(&term - terms.terms.data()));
    }
    for (std::size_t i = 0; i < mode.book.codes.size(); ++i) {
        const auto at = places.find(mode.book.codes[i]);
        if (at == places.end()) continue;
        const CodeFacts& facts = mode.book.facts[i];
        Term& term = terms.terms[static_cast<std::size_t>(at->second)];
        const std::string unit = unit_of(gathered, mode, mode.kind == TermKind::time ? mode.whole : facts);
        if (with_units && term.unit != unit) refuse_unit(mode, term, unit);
        term.unit = unit;
        position[i] = at->second;
        term.patients = facts.patients;
        met = met || facts.events > 0;
    }
    if (met) return;
    throw InputError({"`schema`", fmt::format("no {} that this site has", mode.name), "at least one",
                      "The codes of the schema are others: see couplet schema --propose."});
}

/// Terms from columns that the table does not have: "age", or "sex=f" of a column sex.
std::vector<std::int64_t> absent_terms(const FoundMode& mode, const ModeTerms& terms) {
    std::vector<std::int64_t> absent;
    if (mode.kind != TermKind::columns) return absent;
    for (std::size_t i = 0; i < terms.terms.size(); ++i) {
        const std::string& code = terms.terms[i].code;
        const bool here = std::any_of(mode.columns.begin(), mode.columns.end(), [&](const FoundColumn& column) {
            return code == column.label || code.starts_with(column.label + "=");
        });
        if (!here) absent.push_back(static_cast<std::int64_t>(i));
    }
    return absent;
}

/// Of each column that some patient lacks the terms that are its values, those of a schema that nobody here has too.
std::vector<std::vector<std::int64_t>> value_terms(const FoundMode& mode, const ModeTerms& terms) {
    std::vector<std::vector<std::int64_t>> values(mode.columns.size());
    for (std::size_t c = 0; c < values.size(); ++c) {
        if (mode.columns[c].without.empty()) continue;
        for (std::size_t i = 0; i < terms.terms.size(); ++i) {
            const bool of_column = terms.terms[i].code.starts_with(mode.columns[c].label + "=");
            if (of_column) values[c].push_back(static_cast<std::int64_t>(i));
        }
    }
    return values;
}

bool is_any(const Term& term) { return term.code == any_label; }

/// Whether the modes get a label that every patient has.
bool wants_any(const Gathered& gathered, const TableOptions& options) {
    const bool presences = gathered.rule == CellRule::presence && !gathered.in_order && !options.absent_nan;
    if (options.any == AnyLabel::on && !presences) {
        throw InputError({"`any`", "on for other entries than presences of codes", "`aggregate` presence of events",
                          "A label that every patient has says something of presences only."});
    }
    if (options.schema) {
        const auto has = [](const ModeTerms& mode) {
            return std::any_of(mode.terms.begin(), mode.terms.end(), is_any);
        };
        const auto& modes = options.schema->modes;
        const bool all = std::all_of(modes.begin(), modes.end(), has);
        const bool given = all && !modes.empty();
        if (options.any != AnyLabel::automatic && (options.any == AnyLabel::on) != given) {
            throw InputError({"`any`",
                              given ? "off with a schema that has such labels" : "on with a schema without such labels",
                              "what the schema has", "Leave `any` out: all sites build alike."});
        }
        if (given && !presences) {
            throw InputError({"`schema`", std::string("labels ") + any_label + ", which presences have",
                              "presences of events", "Build with `aggregate` presence, as the other sites."});
        }
        return given;
    }
    if (options.any != AnyLabel::automatic) return options.any == AnyLabel::on;
    const auto one_of_codes = [&](const Block& block) {
        return block.modes.size() == 1 && gathered.modes[block.modes.front()].kind == TermKind::codes;
    };
    return presences && gathered.blocks.size() > 1 &&
           std::all_of(gathered.blocks.begin(), gathered.blocks.end(), one_of_codes);
}

/// Puts the label that every patient has in front, or finds it among the schema's terms. Returns its place.
std::int64_t place_any(const Gathered& gathered, bool given, ModeTerms& terms, std::vector<std::int64_t>& position) {
    const auto all = static_cast<Index>(gathered.patients.size());
    const auto at = std::find_if(terms.terms.begin(), terms.terms.end(), is_any);
    if (given) {
        at->patients = all;
        return at - terms.terms.begin();
    }
    if (at != terms.terms.end()) {
        throw InputError({terms.name, std::string("a code ") + any_label, "codes of another name",
                          "It is the name of what every patient has: rename the code, or use `any` off."});
    }
    terms.terms.insert(terms.terms.begin(), {.code = any_label, .label = any_label, .patients = all});
    for (std::int64_t& place : position) place += place >= 0 ? 1 : 0;
    return 0;
}

void note_unknown(const FoundMode& mode, const std::vector<std::int64_t>& position, bool given, Placement& placement) {
    for (std::size_t i = 0; i < position.size(); ++i) {
        const CodeFacts& facts = mode.book.facts[i];
        if (position[i] >= 0 || facts.events == 0 || (!given && !is_unmapped(facts))) continue;
        placement.unknown.push_back(
            {mode.name, mode.book.codes[i],
             is_unmapped(facts) ? "no matching concept" : facts.labels.best(facts.patients).label, facts.events});
        placement.unknown_events += facts.events;
    }
}

const ModeTerms& given_mode(const Vocabulary& schema, const Gathered& gathered, std::size_t n) {
    if (schema.modes.size() != gathered.modes.size()) {
        throw InputError({"`schema`", fmt::format("{} modes", schema.modes.size()),
                          fmt::format("{}, as the tables give", gathered.modes.size()), "Build with other `modes`."});
    }
    const ModeTerms& mode = schema.modes[n];
    if (!mode.name.empty() && mode.name != gathered.modes[n].name) {
        throw InputError({"`schema`", fmt::format("mode {} called {}", n + 2, shown(mode.name)),
                          fmt::format("{}, as the tables give", shown(gathered.modes[n].name)),
                          "Name and order the modes with `modes` NAME=COLUMN."});
    }
    return mode;
}

/// Reads the entries of one block patient by patient.
class BlockRows {
  public:
    BlockRows(const Gathered& gathered, const Placement& placement, const Block& block, const Shape& features)
        : cursor_(block.cells.cursor()) {
        for (const std::size_t mode : block.modes) {
            positions_.push_back(&placement.position[mode]);
            strides_.push_back(features.product(static_cast<Index>(mode) + 1, features.order()));
            if (!placement.any.empty()) any_.push_back(placement.any[mode] * strides_.back());
        }
        for (const std::int64_t at : placement.absent[block.modes.front()]) absent_.push_back(at * strides_.front());
        const auto& columns = gathered.modes[block.modes.front()].columns;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            const auto& values = placement.values[block.modes.front()][c];
            if (values.empty()) continue;
            Lacking one{&columns[c].without};
            for (const std::int64_t at : values) one.offsets.push_back(at * strides_.front());
            lacking_.push_back(std::move(one));
        }
        more_ = cursor_.next(key_, value_);
    }

    void read(std::uint32_t patient) {
        entries_.clear();
        for (; more_ && key_.patient == patient; more_ = cursor_.next(key_, value_)) {
            Index offset = 0;
            bool known = true;
            for (std::size_t n = 0; n < positions_.size(); ++n) {
                const std::int64_t at = (*positions_[n])[key_.codes[n]];
                known = known && at >= 0;
                offset += at * strides_[n];
            }
            if (known) entries_.emplace_back(offset, value_);
        }
        for (const Index offset : absent_) entries_.emplace_back(offset, std::numeric_limits<double>::quiet_NaN());
        for (Lacking& column : lacking_) add_lacking(column, patient);
    }
    const PatientEntries& entries() const noexcept { return entries_; }
    /// Of the labels that every patient has: offset of the cell of all of them.
    Index any_offset() const { return std::accumulate(any_.begin(), any_.end(), Index{0}); }
    /// Adds the presences of every part of a cell's labels, with the others left open, each once.
    void add_any() {
        const std::size_t cells = entries_.size();
        std::set<Index> met;
        for (std::size_t i = 0; i < cells; ++i) met.insert(entries_[i].first);
        const auto add = [&](Index offset) {
            if (met.insert(offset).second) entries_.emplace_back(offset, 1);
        };
        const std::size_t modes = any_.size();
        for (std::size_t i = 0; i < cells; ++i) {
            // Offsets are sums of one multiple of each stride, the largest first.
            for (std::size_t open = 1; open + 1 < std::size_t{1} << modes; ++open) {
                Index rest = entries_[i].first;
                Index offset = 0;
                for (std::size_t n = 0; n < modes; ++n) {
                    const Index own = rest / strides_[n] * strides_[n];
                    rest -= own;
                    offset += (open >> n & 1) != 0 ? any_[n] : own;
                }
                add(offset);
            }
        }
        add(any_offset());
    }

  private:
    /// A column that some patients lack, and the offsets of the entries that are its values.
    struct Lacking {
        const std::vector<std::uint32_t>* patients;
        std::vector<Index> offsets = {};
        std::size_t next = 0;  ///< among its patients
    };
    /// Patients come in the order in which the table has them.
    void add_lacking(Lacking& column, std::uint32_t patient) {
        if (column.next == column.patients->size() || (*column.patients)[column.next] != patient) return;
        ++column.next;
        for (const Index offset : column.offsets) {
            // Another view of the same column, its year for example, may have told it already.
            const auto same = [&](const auto& entry) { return entry.first == offset; };
            if (std::any_of(entries_.begin(), entries_.end(), same)) continue;
            entries_.emplace_back(offset, std::numeric_limits<double>::quiet_NaN());
        }
    }

    CellStore::Cursor cursor_;
    std::vector<const std::vector<std::int64_t>*> positions_;
    std::vector<Index> strides_;
    std::vector<Index> any_;  ///< of each mode, the offset of the label that every patient has; empty: there is none
    CellKey key_;
    double value_ = 0;
    bool more_ = false;
    std::vector<Index> absent_;  ///< offsets of entries that are known of nobody here
    std::vector<Lacking> lacking_;
    PatientEntries entries_;
};

[[noreturn]] void refuse_overflow(const Gathered& gathered, std::uint32_t patient) {
    throw InputError({gathered.tables.front(),
                      fmt::format("values of the patient {} that add up to more than a number can hold",
                                  shown(gathered.patients[patient])),
                      "numbers up to 1.8e308", "Look for a value that stands for a missing one."});
}

}  // namespace

Placement place_terms(Gathered& gathered, const TableOptions& options) {
    count_patients(gathered);
    Placement placement;
    const bool any = wants_any(gathered, options);
    const std::size_t modes = gathered.modes.size();
    if (options.top.size() > 1 && options.top.size() != modes) {
        throw InputError({"`top`", fmt::format("{} numbers", options.top.size()),
                          fmt::format("one, or one for each of the {} modes", modes), "For example 40x40."});
    }
    for (std::size_t n = 0; n < modes; ++n) {
        const FoundMode& mode = gathered.modes[n];
        std::vector<std::int64_t> position(mode.book.codes.size(), -1);
        ModeTerms terms{mode.name, mode.kind, {}};
        if (options.schema) {
            place_given(gathered, mode, given_mode(*options.schema, gathered, n), terms, position);
        } else if (mode.kind == TermKind::time) {
            place_time(gathered, mode, options, terms, position);
        } else {
            require_shared(gathered, mode);
            const Index top = options.top.empty() ? 0 : options.top[options.top.size() == 1 ? 0 : n];
            place_found(gathered, mode, options, top, terms, placement, position);
        }
        note_unknown(mode, position, options.schema.has_value(), placement);
        if (terms.terms.empty()) {
            throw InputError({mode.name, "no codes", "at least one", "Check the columns in `modes`."});
        }
        if (any) placement.any.push_back(place_any(gathered, options.schema.has_value(), terms, position));
        placement.absent.push_back(options.schema ? absent_terms(mode, terms) : std::vector<std::int64_t>{});
        placement.values.push_back(value_terms(mode, terms));
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
    for (const Block& block : gathered.blocks) blocks.emplace_back(gathered, placement, block, features);
    PatientEntries entries;
    PatientEntries next;
    for (std::uint32_t patient = 0; patient < gathered.patients.size(); ++patient) {
        entries.assign(1, {0, 1.0});
        for (BlockRows& block : blocks) {
            next.clear();
            // Every block is read, so that its cursor moves on.
            block.read(patient);
            if (!placement.any.empty()) block.add_any();
            for (const auto& [more, factor] : block.entries()) {
                for (const auto& [offset, value] : entries) next.emplace_back(offset + more, value * factor);
            }
            std::swap(entries, next);
        }
        std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [offset, value] : entries) {
            if (std::isinf(value)) refuse_overflow(gathered, patient);
        }
        f(patient, entries);
    }
}

}  // namespace couplet
