#include "couplet/tensor/schema.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/core/utf8.hpp"

namespace couplet {
namespace {

constexpr const char* remedy_labels =
    "Give every client the same columns under the same names; couplet schema --compare shows what differs.";
constexpr const char* remedy_unnamed =
    "Name them everywhere (csv header, manifest.json), or use `unnamed` allow if all are in the same order.";

std::string trimmed(const std::string& text) {
    constexpr const char* blanks = " \t\r\n";
    const auto first = text.find_first_not_of(blanks);
    if (first == std::string::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

void trim_all(std::vector<std::string>& texts) {
    for (std::string& text : texts) text = trimmed(text);
}

bool is_named(const ModeLabels& mode) { return !mode.name.empty() || !mode.entries.empty() || !mode.units.empty(); }

constexpr std::size_t longest_shown = 80;  ///< of a label, in bytes: others fill nobody's log with theirs

/// Labels come from files and end on terminals.
std::string quoted(std::string text) {
    if (text.empty()) return "(no name)";
    text = shortened(text, longest_shown);
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    // A backtick would begin the name of a parameter (couplet/core/spelling.hpp).
    std::replace(text.begin(), text.end(), '`', '\'');
    return "'" + text + "'";
}

/// A few of many labels.
std::string listed(const std::vector<std::string>& labels) {
    constexpr std::size_t most = 12;
    std::string text;
    for (std::size_t i = 0; i < std::min(labels.size(), most); ++i) text += (i > 0 ? ", " : "") + quoted(labels[i]);
    if (labels.size() > most) text += " and " + std::to_string(labels.size() - most) + " more";
    return text;
}

const ModeLabels& mode_of(const Schema& schema, Index n) {
    static const ModeLabels nothing{};
    return schema.modes.empty() ? nothing : schema.modes[static_cast<std::size_t>(n)];
}

std::string mode_text(Index n, const ModeLabels& a, const ModeLabels& b) {
    const std::string& name = a.name.empty() ? b.name : a.name;
    return "mode " + std::to_string(n + 2) + (name.empty() ? "" : " (" + shortened(name, longest_shown) + ")");
}

/// Labels of `a` that `b` lacks, as often as it lacks them, in their order.
std::vector<std::string> without(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::multiset<std::string> rest(b.begin(), b.end());
    std::vector<std::string> result;
    for (const std::string& label : a) {
        if (const auto at = rest.find(label); at != rest.end()) {
            rest.erase(at);
        } else {
            result.push_back(label);
        }
    }
    return result;
}

bool has_twins(const std::vector<std::string>& labels) {
    return std::set<std::string>(labels.begin(), labels.end()).size() != labels.size();
}

std::string unit_at(const ModeLabels& mode, std::size_t i) {
    return mode.units.empty() ? std::string() : mode.units[i];
}

/// For each index of the job's mode the place of the same label in mine.
std::vector<Index> places(const std::vector<std::string>& job, const std::vector<std::string>& mine) {
    std::map<std::string, Index> at;
    for (std::size_t i = 0; i < mine.size(); ++i) at[mine[i]] = static_cast<Index>(i);
    std::vector<Index> result;
    result.reserve(job.size());
    for (const std::string& label : job) result.push_back(at.at(label));
    return result;
}

void compare_units(Index n, const ModeLabels& job, const ModeLabels& mine, std::vector<SchemaDifference>& differences) {
    if (job.units.empty() && mine.units.empty()) return;
    std::vector<std::string> found;
    std::vector<std::string> expected;
    std::vector<std::string> silent;
    std::vector<std::string> stated;
    // Labels that occur twice are only ever in the same order.
    const bool by_label = !job.entries.empty() && !mine.entries.empty() && job.entries != mine.entries;
    const auto at = by_label ? places(job.entries, mine.entries) : std::vector<Index>{};
    const std::size_t size = std::max(job.units.size(), mine.units.size());
    for (std::size_t i = 0; i < size; ++i) {
        const std::string theirs = unit_at(job, i);
        const std::string ours = unit_at(mine, by_label ? static_cast<std::size_t>(at[i]) : i);
        if (theirs == ours) continue;
        const auto& entries = job.entries.empty() ? mine.entries : job.entries;
        const std::string label = entries.empty() ? "index " + std::to_string(i + 1) : entries[i];
        const bool unknown = theirs.empty() || ours.empty();
        const auto say = [&](const std::string& unit) {
            return label + (unit.empty() ? " without a unit" : " in " + unit);
        };
        (unknown ? silent : found).push_back(say(ours));
        (unknown ? stated : expected).push_back(say(theirs));
    }
    const std::string mode = mode_text(n, job, mine);
    if (!found.empty()) differences.push_back({mode + " has " + listed(found), listed(expected)});
    if (!silent.empty()) differences.push_back({mode + " has " + listed(silent), listed(stated), true});
}

void compare_mode(Index n, const ModeLabels& job, const ModeLabels& mine, std::vector<SchemaDifference>& differences) {
    const std::string mode = mode_text(n, job, mine);
    if (!job.name.empty() && !mine.name.empty() && job.name != mine.name) {
        differences.push_back({"mode " + std::to_string(n + 2) + " is " + quoted(mine.name), quoted(job.name)});
    }
    if (job.entries.empty() != mine.entries.empty()) {
        const auto say = [](const ModeLabels& side) {
            return side.entries.empty() ? std::string("no labels") : "the labels " + listed(side.entries);
        };
        differences.push_back({mode + " has " + say(mine), say(job), true});
    } else if (job.entries != mine.entries) {
        const auto extra = without(mine.entries, job.entries);
        const auto lacking = without(job.entries, mine.entries);
        if (!extra.empty() || !lacking.empty()) {
            const auto say = [](const std::vector<std::string>& labels) {
                return labels.empty() ? std::string("nothing in their place") : listed(labels);
            };
            differences.push_back({mode + " has " + say(extra), say(lacking)});
            return;
        }
        const bool nameless = std::find(job.entries.begin(), job.entries.end(), "") != job.entries.end();
        if (nameless || has_twins(job.entries)) {
            differences.push_back({mode + " has " + (nameless ? "columns without a label" : "labels more than once") +
                                       " in the order " + listed(mine.entries),
                                   "the order " + listed(job.entries) + ": others cannot be told apart"});
            return;
        }
        differences.push_back({mode + " has the order " + listed(mine.entries), listed(job.entries), false, true});
    }
    compare_units(n, job, mine, differences);
}

bool same_set(std::vector<std::string> a, std::vector<std::string> b) {
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    return !a.empty() && a == b;
}

/// A name, or labels, that the other side has on another mode: the modes may be swapped, whatever else is not told.
void compare_places(const Schema& job, const Schema& mine, std::vector<SchemaDifference>& differences) {
    for (Index n = 0; n < job.features.order(); ++n) {
        for (Index m = 0; m < job.features.order(); ++m) {
            const ModeLabels& theirs = mode_of(job, m);
            const ModeLabels& ours = mode_of(mine, n);
            if (n == m) continue;
            const std::string at = "mode " + std::to_string(n + 2);
            const std::string there = "mode " + std::to_string(m + 2);
            if (!ours.name.empty() && ours.name == theirs.name && mode_of(job, n).name != ours.name) {
                differences.push_back({at + " is " + quoted(ours.name), there + " to be " + quoted(ours.name)});
            }
            const bool told = !mode_of(job, n).entries.empty();
            if (!told && same_set(ours.entries, theirs.entries) && mode_of(mine, m).entries != theirs.entries) {
                differences.push_back({at + " has the labels " + listed(ours.entries), "them on " + there});
            }
        }
    }
}

bool excludes(const SchemaDifference& difference, Unnamed unnamed) {
    return !difference.reorders && !(difference.unnamed && unnamed == Unnamed::allow);
}

bool fits(const Schema& job, const Schema& mine, Unnamed unnamed) {
    const auto differences = compare(job, mine);
    return std::none_of(differences.begin(), differences.end(),
                        [&](const SchemaDifference& d) { return excludes(d, unnamed); });
}

/// What most say; the first of equals. Nothing where nobody says anything.
template <class T>
std::optional<T> most_frequent(const std::vector<T>& values) {
    std::optional<T> best;
    std::ptrdiff_t votes = 0;
    for (const T& value : values) {
        const auto count = std::count(values.begin(), values.end(), value);
        if (count <= votes) continue;
        votes = count;
        best = value;
    }
    return best;
}

struct Candidate {
    const Schema* schema = nullptr;
    std::vector<std::size_t> parties;  ///< that have exactly this one
    Index votes = 0;                   ///< parties that fit it
};

std::vector<Candidate> candidates_of(std::span<const SchemaParty> parties, Unnamed unnamed) {
    std::vector<Candidate> distinct;
    for (std::size_t k = 0; k < parties.size(); ++k) {
        const auto same = std::find_if(distinct.begin(), distinct.end(),
                                       [&](const Candidate& c) { return *c.schema == parties[k].schema; });
        if (same != distinct.end()) {
            same->parties.push_back(k);
        } else {
            distinct.push_back({&parties[k].schema, {k}, 0});
        }
    }
    for (Candidate& candidate : distinct) {
        for (const Candidate& other : distinct) {
            if (fits(*candidate.schema, *other.schema, unnamed)) {
                candidate.votes += static_cast<Index>(other.parties.size());
            }
        }
    }
    return distinct;
}

[[noreturn]] void refuse_tie(std::span<const SchemaParty> parties, const Candidate& a, const Candidate& b,
                             Unnamed unnamed) {
    const std::string& first = parties[a.parties.front()].name;
    ErrorParts parts = *misfit(*a.schema, *b.schema, unnamed, parties[b.parties.front()].name, first);
    parts.expected += "; as many clients have the one as the other (" + std::to_string(a.votes) + ")";
    parts.remedy += " Or say which it is with `schema`.";
    throw InputError(std::move(parts));
}

/// The modes of those who fit the winner, put together: the most frequent order, and every name and unit that is known.
Schema joined(std::span<const SchemaParty> parties, const Schema& winner, Unnamed unnamed) {
    std::vector<const Schema*> group;
    for (const SchemaParty& party : parties) {
        if (fits(winner, party.schema, unnamed)) group.push_back(&party.schema);
    }
    Schema job{winner.features, {}};
    for (Index n = 0; n < winner.features.order(); ++n) {
        std::vector<std::string> names;
        std::vector<std::vector<std::string>> orders;
        for (const Schema* schema : group) {
            const ModeLabels& mode = mode_of(*schema, n);
            if (!mode.name.empty()) names.push_back(mode.name);
            if (!mode.entries.empty()) orders.push_back(mode.entries);
        }
        ModeLabels mode{most_frequent(names).value_or(""), most_frequent(orders).value_or(std::vector<std::string>{})};
        for (const Schema* schema : group) {
            const ModeLabels& theirs = mode_of(*schema, n);
            if (theirs.units.empty()) continue;
            const bool moved = !theirs.entries.empty() && !mode.entries.empty() && theirs.entries != mode.entries;
            // Who fits a winner without labels may have others than the rest of the group: it is refused later.
            if (moved && !same_set(theirs.entries, mode.entries)) continue;
            mode.units.resize(theirs.units.size());
            const auto at = moved ? places(mode.entries, theirs.entries) : std::vector<Index>{};
            for (std::size_t i = 0; i < mode.units.size(); ++i) {
                if (mode.units[i].empty()) mode.units[i] = theirs.units[moved ? static_cast<std::size_t>(at[i]) : i];
            }
        }
        job.modes.push_back(std::move(mode));
    }
    if (!job.named()) job.modes.clear();
    return job;
}

// FNV-1a over texts with their lengths, stirred at the end.
class Fingerprint {
  public:
    void add(std::string_view text) {
        add(text.size());
        for (const char c : text) step(static_cast<unsigned char>(c));
    }
    void add(std::uint64_t number) {
        for (int i = 0; i < 8; ++i) step(static_cast<unsigned char>(number >> (8 * i)));
    }
    /// Never 0.
    std::uint64_t value() const {
        std::uint64_t x = hash_;
        x ^= x >> 33;
        x *= 0xff51afd7ed558ccdULL;
        x ^= x >> 33;
        x *= 0xc4ceb9fe1a85ec53ULL;
        x ^= x >> 33;
        return x == 0 ? 1 : x;
    }

  private:
    void step(unsigned char byte) {
        hash_ ^= byte;
        hash_ *= 0x100000001b3ULL;
    }
    std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

Schema with_sorted_labels(const Schema& schema) {
    Schema sorted = schema;
    for (ModeLabels& mode : sorted.modes) {
        if (mode.entries.empty()) continue;
        const ModeLabels before = mode;
        std::sort(mode.entries.begin(), mode.entries.end());
        if (before.units.empty() || has_twins(mode.entries)) continue;
        const auto at = places(mode.entries, before.entries);
        for (std::size_t i = 0; i < at.size(); ++i) mode.units[i] = before.units[static_cast<std::size_t>(at[i])];
    }
    return sorted;
}

}  // namespace

bool Schema::named() const noexcept { return std::any_of(modes.begin(), modes.end(), is_named); }

Schema make_schema(Shape features, Labels modes, const std::string& where) {
    try {
        check_labels(modes, features);
    } catch (const InputError& error) {
        throw InputError(
            {where, error.parts().found, error.parts().expected, "Every index has one label, or none has."});
    }
    for (ModeLabels& mode : modes) {
        mode.name = trimmed(mode.name);
        trim_all(mode.entries);
        trim_all(mode.units);
        const auto unknown = [](const std::string& text) { return text.empty(); };
        if (std::all_of(mode.units.begin(), mode.units.end(), unknown)) mode.units.clear();
        if (std::all_of(mode.entries.begin(), mode.entries.end(), unknown)) mode.entries.clear();
    }
    Schema schema{std::move(features), std::move(modes)};
    if (!schema.named()) schema.modes.clear();
    return schema;
}

Schema feature_schema(const Tensor<double>& x, const std::string& where) {
    if (x.shape().order() < 1) return {};
    Labels labels = x.labels();
    if (!labels.empty()) labels.erase(labels.begin());
    const auto sizes = x.shape().sizes().subspan(1);
    return make_schema(Shape(std::vector<Index>(sizes.begin(), sizes.end())), std::move(labels), where);
}

Unnamed parse_unnamed(std::string_view name) {
    if (name == "refuse") return Unnamed::refuse;
    if (name == "allow") return Unnamed::allow;
    throw InputError({"`unnamed`", "'" + std::string(name) + "'", "allow or refuse", ""});
}

std::string_view to_string(Unnamed unnamed) noexcept { return unnamed == Unnamed::allow ? "allow" : "refuse"; }

std::vector<SchemaDifference> compare(const Schema& job, const Schema& mine) {
    std::vector<SchemaDifference> differences;
    if (job.features.order() != mine.features.order()) {
        return {{std::to_string(mine.features.order() + 1) + " modes (" + mine.features.to_string() + " features)",
                 std::to_string(job.features.order() + 1) + " (" + job.features.to_string() + ")"}};
    }
    for (Index n = 0; n < job.features.order(); ++n) {
        const ModeLabels& theirs = mode_of(job, n);
        const ModeLabels& ours = mode_of(mine, n);
        if (job.features[n] == mine.features[n]) {
            compare_mode(n, theirs, ours, differences);
            continue;
        }
        std::string found = mode_text(n, theirs, ours) + " has size " + std::to_string(mine.features[n]);
        std::string expected = std::to_string(job.features[n]);
        if (const auto extra = without(ours.entries, theirs.entries); !extra.empty())
            found += ", with " + listed(extra);
        if (const auto more = without(theirs.entries, ours.entries); !more.empty())
            expected += ", with " + listed(more);
        differences.push_back({std::move(found), std::move(expected)});
    }
    compare_places(job, mine, differences);
    return differences;
}

std::optional<ErrorParts> misfit(const Schema& job, const Schema& mine, Unnamed unnamed, const std::string& who,
                                 const std::string& whose) {
    ErrorParts parts{who, "", "", remedy_unnamed};
    for (const SchemaDifference& difference : compare(job, mine)) {
        if (!excludes(difference, unnamed)) continue;
        if (!difference.unnamed) parts.remedy = remedy_labels;
        parts.found += (parts.found.empty() ? "" : "; ") + difference.found;
        parts.expected += (parts.expected.empty() ? "" : "; ") + difference.expected;
    }
    if (parts.found.empty()) return std::nullopt;
    parts.expected += " as " + whose + " has";
    return parts;
}

Alignment align(const Schema& job, const Schema& mine, Unnamed unnamed, const std::string& who,
                const std::string& whose) {
    if (auto parts = misfit(job, mine, unnamed, who, whose)) throw InputError(std::move(*parts));
    Alignment alignment(static_cast<std::size_t>(job.features.order()));
    bool any = false;
    for (Index n = 0; n < job.features.order(); ++n) {
        const auto& theirs = mode_of(job, n).entries;
        const auto& ours = mode_of(mine, n).entries;
        if (theirs == ours || theirs.empty() || ours.empty()) continue;
        alignment[static_cast<std::size_t>(n)] = places(theirs, ours);
        any = true;
    }
    return any ? alignment : Alignment{};
}

Tensor<double> reordered(const TensorView<const double>& x, const Alignment& alignment) {
    if (alignment.empty()) return Tensor<double>::copy(x);
    const Shape& shape = x.shape();
    Tensor<double> result(shape);
    // Where each column of the first unfolding comes from: the same for every patient.
    const Index width = shape.product(1, shape.order());
    std::vector<Index> from(static_cast<std::size_t>(width), 0);
    Index stride = width;
    for (Index n = 1; n < shape.order(); ++n) {
        const auto& order = alignment[static_cast<std::size_t>(n - 1)];
        stride = shape[n] > 0 ? stride / shape[n] : 0;
        for (Index j = 0; j < width; ++j) {
            const Index i = stride > 0 ? j / stride % shape[n] : 0;
            from[static_cast<std::size_t>(j)] += stride * (order.empty() ? i : order[static_cast<std::size_t>(i)]);
        }
    }
    for (Index row = 0; row < shape[0]; ++row) {
        const double* const source = x.data() + row * width;
        double* const target = result.data() + row * width;
        for (Index j = 0; j < width; ++j) target[j] = source[from[static_cast<std::size_t>(j)]];
    }
    return result;
}

std::string describe(const Alignment& alignment, const Schema& job) {
    std::string text;
    for (std::size_t n = 0; n < alignment.size(); ++n) {
        if (alignment[n].empty()) continue;
        const ModeLabels& mode = mode_of(job, static_cast<Index>(n));
        text += (text.empty() ? "" : "; ") + mode_text(static_cast<Index>(n), mode, mode) + " put in the order " +
                listed(mode.entries);
    }
    return text;
}

namespace {

SchemaAgreement judged(std::span<const SchemaParty> parties, Unnamed unnamed, const Schema& job) {
    SchemaAgreement agreement{job, 0, {}};
    for (const SchemaParty& party : parties) {
        agreement.misfits.push_back(misfit(job, party.schema, unnamed, party.name, "the job"));
        if (!agreement.misfits.back()) ++agreement.votes;
    }
    return agreement;
}

/// Whoever has no labels can only follow an order that all others share.
void require_one_order(std::span<const SchemaParty> parties, const Schema& job) {
    for (Index n = 0; n < job.features.order(); ++n) {
        std::set<std::vector<std::string>> orders;
        const SchemaParty* bare = nullptr;
        for (const SchemaParty& party : parties) {
            if (party.schema.features != job.features) continue;
            const auto& entries = mode_of(party.schema, n).entries;
            if (entries.empty()) bare = &party;
            if (same_set(entries, mode_of(job, n).entries)) orders.insert(entries);
        }
        if (bare == nullptr || orders.size() < 2) continue;
        throw InputError({bare->name, "mode " + std::to_string(n + 2) + " without labels",
                          "labels: the others have them in several orders", "Name them, or put all in one order."});
    }
}

}  // namespace

SchemaAgreement agree(std::span<const SchemaParty> parties, Unnamed unnamed) {
    if (parties.empty()) throw InputError({"clients", "none", "at least one client", ""});
    std::vector<Candidate> candidates = candidates_of(parties, unnamed);
    // What has no names fits whatever has some, where that is allowed: it must not decide.
    if (unnamed == Unnamed::allow &&
        std::any_of(candidates.begin(), candidates.end(), [](const Candidate& c) { return c.schema->named(); })) {
        std::erase_if(candidates, [](const Candidate& c) { return !c.schema->named(); });
    }
    const auto most = std::max_element(candidates.begin(), candidates.end(),
                                       [](const Candidate& a, const Candidate& b) { return a.votes < b.votes; });
    for (const Candidate& other : candidates) {
        if (other.votes == most->votes && !fits(*most->schema, *other.schema, unnamed)) {
            refuse_tie(parties, *most, other, unnamed);
        }
    }
    const Schema job = joined(parties, *most->schema, unnamed);
    require_one_order(parties, job);
    return judged(parties, unnamed, job);
}

SchemaAgreement agree(std::span<const SchemaParty> parties, Unnamed unnamed, const Schema& given) {
    const bool any = std::any_of(parties.begin(), parties.end(), [](const SchemaParty& p) { return p.schema.named(); });
    if (given.named() || unnamed == Unnamed::refuse || !any) return judged(parties, unnamed, given);
    // A schema that tells sizes alone says nothing of those who have names: they must fit one another too.
    std::vector<SchemaParty> with_given(parties.begin(), parties.end());
    with_given.push_back({"the job", given});
    SchemaAgreement agreement = agree(with_given, unnamed);
    if (agreement.misfits.back()) throw InputError(*agreement.misfits.back());
    agreement.misfits.pop_back();
    --agreement.votes;
    return agreement;
}

SchemaPrint fingerprint(const Schema& schema) {
    SchemaPrint print;
    const auto over = [](const Schema& of, auto part) {
        Fingerprint hash;
        bool any = false;
        for (std::size_t n = 0; n < of.modes.size(); ++n) any = part(of.modes[n], n, hash) || any;
        return any ? hash.value() : 0;
    };
    const auto labels = [](const ModeLabels& mode, std::size_t n, Fingerprint& hash) {
        if (mode.entries.empty()) return false;
        hash.add(n);
        hash.add(mode.entries.size());
        for (const std::string& label : mode.entries) hash.add(label);
        return true;
    };
    const auto units = [](const ModeLabels& mode, std::size_t n, Fingerprint& hash) {
        if (mode.units.empty()) return false;
        hash.add(n);
        for (const std::string& unit : mode.units) hash.add(unit);
        return true;
    };
    const auto names = [](const ModeLabels& mode, std::size_t n, Fingerprint& hash) {
        if (mode.name.empty()) return false;
        hash.add(n);
        hash.add(mode.name);
        return true;
    };
    const Schema sorted = with_sorted_labels(schema);
    print.order = over(schema, labels);
    print.labels = over(sorted, labels);
    print.units = over(sorted, units);
    print.names = over(schema, names);
    return print;
}

Schema peer_schema(const Schema& mine, std::span<const SchemaPrint> prints, std::span<const std::string> names,
                   Unnamed unnamed) {
    const auto require = [&](std::uint64_t SchemaPrint::*part, const char* what, bool may_lack) {
        std::size_t told = prints.size();
        for (std::size_t k = 0; k < prints.size(); ++k) {
            if (prints[k].*part != 0 && told == prints.size()) told = k;
        }
        if (told == prints.size()) return;
        for (std::size_t k = 0; k < prints.size(); ++k) {
            if (prints[k].*part == prints[told].*part || (prints[k].*part == 0 && may_lack)) continue;
            const bool lacks = prints[k].*part == 0;
            throw InputError({names[k],
                              lacks ? std::string("no ") + what + ", unlike " + names[told]
                                    : std::string("other ") + what + " than " + names[told],
                              std::string("the same ") + what + " at all peers",
                              lacks ? remedy_unnamed : remedy_labels});
        }
    };
    const bool allowed = unnamed == Unnamed::allow;
    require(&SchemaPrint::labels, "labels", allowed);
    require(&SchemaPrint::units, "units", allowed);
    require(&SchemaPrint::names, "names of modes", true);
    std::set<std::uint64_t> orders;
    for (const SchemaPrint& print : prints) orders.insert(print.order);
    const bool lacking = orders.erase(0) > 0;
    if (orders.size() <= 1) return mine;
    if (lacking) {
        throw InputError({"peers", "labels in several orders, and a peer without labels", "labels at all, or one order",
                          remedy_unnamed});
    }
    return with_sorted_labels(mine);
}

}  // namespace couplet
