#include "couplet/tensor/schema.hpp"
#include "command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/schema_file.hpp"
#include "couplet/table/similar_codes.hpp"
#include "couplet/table/vocabulary.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "options.hpp"
#include "session.hpp"
#include "sizes.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct SchemaArguments {
    std::vector<std::string> files;
    bool compare = false;
    bool propose = false;
    bool merge = false;
    Index threshold = 10;
    std::string rule = "union";
    std::string top;
    std::string output;
};

/// Names come from files: control characters stay off the terminal.
std::string plain(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return text;
}

constexpr std::size_t most_labels = 24;

std::string labels_text(const ModeLabels& mode, std::size_t most) {
    if (mode.entries.empty()) return "no labels";
    std::string text;
    for (std::size_t i = 0; i < mode.entries.size() && i < most; ++i) {
        text += (i > 0 ? ", " : "") + plain(mode.entries[i]);
        if (!mode.units.empty() && !mode.units[i].empty()) text += " [" + plain(mode.units[i]) + "]";
    }
    if (mode.entries.size() > most) text += fmt::format(", ... ({} in all)", mode.entries.size());
    return text;
}

std::string schema_text(const Schema& schema, std::size_t most = most_labels) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (Index n = 0; n < schema.features.order(); ++n) {
        const ModeLabels mode = schema.modes.empty() ? ModeLabels{} : schema.modes[static_cast<std::size_t>(n)];
        const std::string name = mode.name.empty() ? "" : " (" + plain(mode.name) + ")";
        rows.emplace_back(fmt::format("mode {}{}", n + 2, name),
                          fmt::format("{}: {}", count_text(schema.features[n]), labels_text(mode, most)));
    }
    return fields(rows);
}

void show(const SchemaArguments& options, const Session& session) {
    const std::string& file = options.files.front();
    session.claim_output(options.output, options.files);
    const Schema schema = read_schema(file);
    if (!options.output.empty()) save_schema(options.output, schema, session.force());
    Json json = schema_json(schema);
    json["named"] = schema.named();
    json["version"] = version();
    std::string text = schema_text(schema);
    if (!options.output.empty()) {
        json["output"] = options.output;
        text += "\n" + fields({{"written", options.output}});
    }
    session.print(json, text);
}

const char* kind_of(const SchemaDifference& difference) {
    if (difference.reorders) return "order";
    return difference.unnamed ? "unnamed" : "different";
}

const char* verdict_of(const std::vector<SchemaDifference>& differences) {
    const auto any = [&](auto is) { return std::any_of(differences.begin(), differences.end(), is); };
    if (any([](const SchemaDifference& d) { return !d.reorders && !d.unnamed; })) return "different";
    if (any([](const SchemaDifference& d) { return d.unnamed; })) return "unnamed";
    return differences.empty() ? "same" : "order";
}

std::string verdict_text(const std::string& verdict) {
    if (verdict == "same") return "the same";
    if (verdict == "order") return "the same in another order: a federation puts it right by itself";
    if (verdict == "unnamed") return "names on one side only: refused unless --unnamed allow";
    return "different: refused";
}

/// Exit 1 where a federation would refuse the second beside the first.
void compare_files(const SchemaArguments& options, const Session& session) {
    if (!options.output.empty()) {
        throw InputError({"--output", "given with --compare", "it with one file", "Leave it out."});
    }
    const Schema a = read_schema(options.files[0]);
    const Schema b = read_schema(options.files[1]);
    const auto differences = compare(a, b);
    const std::string verdict = verdict_of(differences);
    Json json{{"verdict", verdict}, {"differences", Json::array()}, {"version", version()}};
    std::string text;
    for (const SchemaDifference& d : differences) {
        json["differences"].push_back({{"kind", kind_of(d)}, {"found", d.found}, {"expected", d.expected}});
        text += fmt::format("{}: {}; {} in {}\n", kind_of(d), d.found, d.expected, options.files[0]);
    }
    session.print(json, text + fields({{"schemas", verdict_text(verdict)}}));
    if (verdict == "different" || verdict == "unnamed") {
        throw RunError({options.files[1], verdict_text(verdict), "the names and units of " + options.files[0], ""});
    }
}

void save(const SchemaArguments& options, const Vocabulary& vocabulary, const Session& session, Json& json,
          std::string& text) {
    if (options.output.empty()) return;
    save_vocabulary(options.output, vocabulary, session.force());
    json["output"] = options.output;
    text += "\n" + fields({{"written", options.output}});
}

/// What a site may tell of its own codes.
void propose_terms(const SchemaArguments& options, const Session& session) {
    session.claim_output(options.output, options.files);
    const Proposal proposal = propose(load_vocabulary(options.files.front()), options.threshold);
    Json json = vocabulary_json(proposal.vocabulary);
    json["threshold"] = options.threshold;
    json["withheld"] = proposal.withheld;
    json["version"] = version();
    constexpr std::size_t most_codes = 10;
    std::string text = schema_text(schema_of(proposal.vocabulary), most_codes);
    Index withheld = 0;
    for (const Index count : proposal.withheld) withheld += count;
    text +=
        "\n" + fields({{"withheld", fmt::format("{} codes that fewer than {} patients have; counts are rounded down",
                                                count_text(withheld), count_text(options.threshold))}});
    save(options, proposal.vocabulary, session, json, text);
    session.print(json, text);
}

/// Who is told twice counts twice.
void require_different(const std::vector<std::string>& files) {
    std::error_code ignored;
    for (std::size_t i = 0; i < files.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (!std::filesystem::equivalent(files[i], files[k], ignored)) continue;
            throw InputError({"--merge", fmt::format("{} twice", files[i]), "every proposal once", "Leave one out."});
        }
    }
}

/// The vocabulary of a federation from the proposals of its sites.
void merge_terms(const SchemaArguments& options, const Session& session) {
    session.claim_output(options.output, options.files);
    require_different(options.files);
    std::vector<Vocabulary> sites;
    for (const std::string& file : options.files) sites.push_back(load_vocabulary(file));
    MergeOptions how{.rule = options.rule == "intersection" ? MergeRule::every : MergeRule::any,
                     .top = parse_sizes("--top", options.top)};
    Vocabulary merged = merge_vocabularies(sites, options.files, how);
    Json json = vocabulary_json(merged);
    json["rule"] = options.rule;
    json["sites"] = options.files.size();
    const auto similar = similar_codes(merged, true);
    json["similar"] = similar_json(similar);
    if (!similar.empty()) {
        session.note(fmt::format("warning: {}. couplet table --map makes one code of them", similar_text(similar)));
    }
    json["version"] = version();
    std::string text = schema_text(schema_of(merged));
    save(options, merged, session, json, text);
    session.print(json, text);
}

/// Flags of one way to use the verb do nothing in the others.
void check_flags(const Command& app, const SchemaArguments& options) {
    if (options.compare + options.propose + options.merge > 1) {
        throw InputError({"schema", "more than one of --compare, --propose and --merge", "one of them", ""});
    }
    const auto only = [&](const char* option, bool fits, const char* with) {
        if (!fits && app.count(option) > 0) {
            throw InputError(
                {option, std::string("given without ") + with, std::string("it with ") + with, "Leave it out."});
        }
    };
    only("--threshold", options.propose, "--propose");
    only("--rule", options.merge, "--merge");
    only("--top", options.merge, "--merge");
}

void execute_schema(const Command& app, const SchemaArguments& options, const Session& session) {
    check_flags(app, options);
    if (options.merge) return merge_terms(options, session);
    const std::size_t wanted = options.compare ? 2 : 1;
    if (options.files.size() != wanted) {
        throw InputError({"FILE", fmt::format("{} files", options.files.size()),
                          options.compare ? "two files to compare" : "one file",
                          "couplet schema FILE, couplet schema --compare A B, or couplet schema --merge A B ..."});
    }
    if (options.compare) return compare_files(options, session);
    if (options.propose) return propose_terms(options, session);
    show(options, session);
}

Action set_up_schema(Command& app) {
    auto options = std::make_shared<SchemaArguments>();
    app.add_option("FILE", options->files,
                   "A tensor (.npy with a manifest.json beside it, .npz, .csv), features, a model or a saved merge "
                   "(.npz), a manifest.json or a schema (.json)")
        .type("FILE")
        .required();
    app.add_flag("--compare", options->compare, "Say what differs between two files");
    app.add_flag("--propose", options->propose,
                 "What this site may tell of its codes: FILE is a folder that couplet table wrote");
    add_count(app, {"--threshold", "N", 1, 1'000'000, ""}, options->threshold,
              "--propose: codes that fewer patients have stay at the site; counts are rounded down to a multiple of "
              "it");
    app.add_flag("--merge", options->merge, "The federation's vocabulary from the proposals of its sites");
    add_choice(app, "--rule", {"union", "intersection"}, options->rule,
               "--merge: keep what any site has, or what every site has");
    app.add_option("--top", options->top,
                   "--merge: keep so many of the most frequent codes: 40, or 40x30 for each mode")
        .type("N");
    app.add_option("-o,--output", options->output, "Schema to write (.json)").type("FILE.json");
    return [options, &app](Session& session) { execute_schema(app, *options, session); };
}

}  // namespace

extern const Verb schema_verb{
    .name = "schema",
    .group = federation_group,
    .summary = "names, labels and units of the features in a file",
    .description =
        "Clients of a federation must mean the same by the same column. A schema says for every feature mode its name, "
        "the labels of its indices in order, and their units: from the header of a .csv file (\"systolic [mmHg]\" is a "
        "label with a unit), from the manifest.json beside a .npy file, or from mode_names, labels_<n> and units_<n> "
        "in a "
        ".npz file. Federations compare schemas before anything is computed: the same labels in another order are put "
        "in "
        "order, others are refused.\n\n"
        "--compare shows what differs, and ends with exit 1 where a federation would refuse.\n\n"
        "Sites have different codes. --propose tells those of a table that at least --threshold patients have, with "
        "their counts; --merge makes one vocabulary of the proposals, in the order of the counts; couplet table "
        "--schema "
        "builds to it.",
    .output =
        "A line per feature mode.\n"
        "--json: modes [{name, size, labels, units}], named, version, output; with --compare verdict (same, order, "
        "unnamed, different), differences [{kind, found, expected}], version; --propose adds codes, kind and patients "
        "to the "
        "modes, patients, threshold, withheld (by mode); --merge the same, rule, sites and similar [{mode, "
        "codes, why}] (codes that look alike: but for capitals, blanks, accents or punctuation, or of one label).\n"
        "-o: the same modes as JSON, for --schema of simulate, coordinator and peer.",
    .examples =
        "couplet schema a.csv\n"
        "couplet schema a.csv -o schema.json\n"
        "couplet schema --compare a.csv b.csv\n"
        "couplet schema --propose site -o a.json\n"
        "couplet schema --merge a.json b.json c.json --top 60x60 -o schema.json",
    .common = "compare propose merge output",
    .setup = set_up_schema};

}  // namespace couplet::cli
