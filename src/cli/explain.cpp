#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/data/client_folder.hpp"
#include "couplet/explain/carriers.hpp"
#include "couplet/explain/page.hpp"
#include "couplet/explain/summary.hpp"
#include "couplet/io/atomic_file.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/io/staged_files.hpp"
#include "couplet/io/tensor_file.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "factor.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "layout.hpp"
#include "options.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct ExplainArguments {
    std::string result;
    std::string model;
    std::string components;
    std::string rotate = "varimax";
    std::vector<std::string> data;
    Index resamples = 20;
    std::string patient;
    std::string patients;
    Index site = 1;
    std::string compare;
    Index entries = 12;
    std::string output;
};

/// Names come from files: control characters stay off the terminal.
std::string plain(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    return text;
}

/// page.html, page.json and page.csv.
std::array<std::string, 3> output_files(const std::string& page) {
    std::filesystem::path stem(page);
    stem.replace_extension();
    return {page, stem.string() + ".json", stem.string() + ".csv"};
}

/// Whether an earlier run wrote this file beside a page, by how it begins.
bool is_own(const std::string& file) {
    const bool json = file.ends_with(".json");
    const std::string_view begin = json ? "{\n \"result\": " : "component,share,";
    std::string found(begin.size(), '\0');
    std::ifstream(file, std::ios::binary).read(found.data(), static_cast<std::streamsize>(found.size()));
    return found == begin;
}

/// --force is about the page that the user names: what else lies beside it is replaced only if it is of an earlier run.
void require_own_neighbours(const std::string& page) {
    const auto files = output_files(page);
    std::vector<std::string> others;
    for (const std::string& file : {files[1], files[2]}) {
        std::error_code failed;
        if (file != page && std::filesystem::exists(file, failed) && !is_own(file)) others.push_back(file);
    }
    if (others.empty()) return;
    throw InputError({fmt::format("{}", fmt::join(others, ", ")), "something that couplet explain did not write",
                      fmt::format("free names: {} comes with {} and {}", files[0], files[1], files[2]),
                      "Give the page another name with -o; --force replaces only what explain wrote."});
}

void check_flags(const Command& app, const ExplainArguments& options) {
    const auto needs = [&](const char* option, const char* other, bool there) {
        if (app.count(option) > 0 && !there)
            throw InputError({option, std::string("given without ") + other, "both", ""});
    };
    needs("--patient", "--patients", !options.patients.empty());
    needs("--patients", "--patient", !options.patient.empty());
    needs("--site", "--patient", !options.patient.empty());
    needs("--resamples", "--data", !options.data.empty());
    needs("--model", "--components", !options.components.empty());
    needs("--components", "--model", !options.model.empty());
}

Findings load(const std::string& result, const Session& session) {
    Findings findings = load_findings(result);
    for (const std::string& file : findings.unmarked) session.note(unmarked_note(file, result));
    return findings;
}

/// A model fitted on the way, as couplet factor fits it; its files are nobody's.
Findings load_model_of(const ExplainArguments& options, const Session& session) {
    const std::string pattern = (std::filesystem::temp_directory_path() / "couplet-explain-XXXXXX").string();
    std::string folder = pattern;
    if (::mkdtemp(folder.data()) == nullptr) throw RunError({pattern, "a folder that cannot be made", "one", ""});
    const std::unique_ptr<const std::string, void (*)(const std::string*)> gone(&folder, [](const std::string* path) {
        std::error_code ignored;
        std::filesystem::remove_all(*path, ignored);
    });
    factor_into(options.result, options.model, options.components, std::filesystem::path(folder) / "model", session);
    Findings findings = load((std::filesystem::path(folder) / "model").string(), session);
    findings.source = options.result;
    return findings;
}

/// What is said of orthonormal features that a job can find again, and not of the components of a model.
void refuse_for_models(const Command& app, const ExplainArguments& options, const Findings& findings) {
    if (findings.model.empty()) return;
    const auto refuse = [&](const char* option, const char* remedy) {
        if (app.count(option) == 0) return;
        throw InputError({option, "given with the factors of a model (" + findings.model + ")",
                          "the features of a federation", remedy});
    };
    refuse("--data", "couplet factor itself says how well components come back: replicability.");
    refuse("--compare", "Compare the features of the federations.");
    if (options.rotate == "varimax") refuse("--rotate", "Components of a model are not turned.");
}

Rotation rotation_of(const ExplainArguments& options) {
    return options.rotate == "none" ? Rotation::none : Rotation::varimax;
}

/// Data of other sites, or in another order, would say something else of these components.
void require_sites(const ExplainArguments& options, const std::vector<Tensor<double>>& tensors,
                   const Findings& findings) {
    const std::size_t sites =
        findings.sites.empty() ? static_cast<std::size_t>(findings.clients) : findings.sites.size();
    if (sites > 0 && tensors.size() != sites) {
        throw InputError({"--data", fmt::format("{} files", tensors.size()),
                          fmt::format("{}, one for each site of the result, in its order", sites), ""});
    }
    if (findings.sites.empty()) return;
    for (std::size_t k = 0; k < tensors.size(); ++k) {
        const Index patients = tensors[k].shape()[0];
        const Index fitted = findings.sites[k].scores.rows();
        // Held-out patients have no row in a personal core.
        if (findings.gains.empty() ? patients == fitted : patients >= fitted) continue;
        throw InputError({options.data[k], fmt::format("{} patients", patients),
                          fmt::format("{}, as {} has", fitted, plain(findings.sites[k].name)),
                          "Give the tensors of the sites in the order of the result."});
    }
    const bool moved = findings.centred || findings.scaled || findings.weighting.weighted();
    const bool as_it_is = !moved && !findings.fit.clipped;
    if (!findings.shares_of_data || !findings.gains.empty() || !as_it_is) return;
    for (std::size_t k = 0; k < tensors.size(); ++k) {
        const auto size = scaled_norm<double>(tensors[k].view().unfold(1));
        const double found = std::ldexp(size.squares, 2 * (size.exponent - findings.exponent));
        const double expected = findings.sites[k].norm2;
        // Imputed entries have no square in the file, and are refused later.
        if (std::isnan(found) || std::abs(found - expected) <= 1e-3 * expected) continue;
        throw InputError({options.data[k],
                          fmt::format("a norm of {}", number_text(std::ldexp(std::sqrt(found), findings.exponent))),
                          fmt::format("{}, as {} has", number_text(std::ldexp(std::sqrt(expected), findings.exponent)),
                                      plain(findings.sites[k].name)),
                          "Give the tensors that the result is of, in its order."});
    }
}

/// Whose patients those are: as the user says, or the site called as the folder of the list.
std::size_t site_of(const Command& app, const ExplainArguments& options, const Findings& findings) {
    const auto& sites = findings.sites;
    const std::string folder = std::filesystem::weakly_canonical(options.patients).parent_path().filename().string();
    const auto named = std::find_if(sites.begin(), sites.end(), [&](const auto& site) { return site.name == folder; });
    const auto given = static_cast<std::size_t>(options.site - 1);
    if (app.count("--site") == 0) {
        if (named != sites.end()) return static_cast<std::size_t>(named - sites.begin());
        if (sites.size() < 2) return 0;
        std::vector<std::string> names;
        for (const auto& site : sites) names.push_back(plain(site.name));
        throw InputError({"--site", "none", fmt::format("whose patients those are, of {}", fmt::join(names, ", ")),
                          "Sites count from 1."});
    }
    if (named != sites.end() && given < sites.size() && static_cast<std::size_t>(named - sites.begin()) != given) {
        throw InputError({"--patients", fmt::format("the patients of {}", plain(named->name)),
                          "those of " + plain(sites[given].name) + ", as --site says",
                          fmt::format("Use --site {}.", named - sites.begin() + 1)});
    }
    return given;
}

/// The tensor that couplet table wrote with a list of patients; empty where there is none beside it.
std::filesystem::path tensor_beside(const std::filesystem::path& patients) {
    const auto clients = listed_clients(patients.parent_path());
    if (clients.size() != 1) return {};
    const auto file = patients.parent_path() / clients.front().file;
    std::error_code failed;
    return std::filesystem::is_regular_file(file, failed) ? file : std::filesystem::path();
}

/// Rows are patients by their number alone: a list of other rows would tell one patient's story of another.
void require_same_data(const std::string& patients, const SiteScores& site, const Session& session) {
    if (site.data.empty()) return;
    const auto tensor = tensor_beside(patients);
    if (tensor.empty()) {
        session.note(fmt::format(
            "{}: no tensor beside it, so that nobody can say whether its rows are those of the result", patients));
        return;
    }
    if (data_print(open_tensor(tensor.string()).take<double>().view()) == site.data) return;
    throw InputError({patients, fmt::format("a list beside a tensor ({}) that the result is not of", tensor.string()),
                      fmt::format("the list of the rows that {} took part with", plain(site.name)),
                      "Tables that were built again may count their patients otherwise: run the job again with them."});
}

/// The tensors of --data, in the order of the result.
std::vector<Tensor<double>> load_data(const ExplainArguments& options, const Findings& findings) {
    std::vector<Tensor<double>> tensors;
    if (options.data.empty()) return tensors;
    for (const std::string& file : options.data) tensors.push_back(open_tensor(file).take<double>());
    require_sites(options, tensors, findings);
    const MemorySource given(std::move(tensors));
    const AlignedSource aligned = align_source(given, Unnamed::allow, findings.schema);
    std::vector<Tensor<double>> ordered;
    Labels labels{ModeLabels{}};
    labels.insert(labels.end(), findings.schema.modes.begin(), findings.schema.modes.end());
    for (Index k = 0; k < aligned.source.clients(); ++k) {
        ordered.push_back(Tensor<double>::copy(aligned.source.client(k)->view()));
        if (!findings.schema.modes.empty()) ordered.back().set_labels(labels);
    }
    return ordered;
}

/// What only the data tells: who carries what, and how well it comes back.
void add_data(const ExplainArguments& options, const Session& session, std::vector<Tensor<double>> tensors,
              Explanation& explanation) {
    if (tensors.empty()) return;
    if (explanation.evidence) count_carriers(explanation, tensors);
    add_stability(explanation, MemorySource(std::move(tensors)),
                  {.resamples = options.resamples, .seed = session.seed()});
}

std::string explained_text(const Explanation& explanation) {
    if (explanation.findings.sites.empty()) return "not known: no site's coordinates lie beside the features";
    return fmt::format("{} of {}", percent_text(explanation.explained),
                       !explanation.findings.shares_of_data ? "what the components describe"
                       : explanation.findings.centred       ? "the data"
                                                            : "the data's sum of squares, means included");
}

/// A number alone says nothing: "index 2 of mode 3", "hour 5".
std::string label_text(const Schema& schema, const NamedEntry& entry, std::size_t n) {
    const std::string& label = entry.labels[n];
    const std::string mode = mode_name(schema, static_cast<Index>(n));
    if (schema.modes.empty() || schema.modes[n].entries.empty()) return fmt::format("index {} of {}", label, mode);
    const bool number = label.find_first_not_of("0123456789") == std::string::npos;
    return number ? fmt::format("{} {}", mode, label) : label;
}

std::string entry_text(const Explanation& explanation, const NamedEntry& entry) {
    std::vector<std::string> labels;
    for (std::size_t n = 0; n < entry.labels.size(); ++n) {
        labels.push_back(label_text(explanation.findings.schema, entry, n));
    }
    std::string known;
    if (entry.lift)
        known =
            fmt::format("  ({:.1f} times as often as by chance, {} patients)", *entry.lift, count_text(entry.patients));
    return fmt::format("{:+.2f}  {}{}", entry.weight, plain(fmt::format("{}", fmt::join(labels, " with "))), known);
}

std::string components_text(const Explanation& explanation) {
    constexpr std::size_t shown_entries = 6;
    std::string text;
    for (std::size_t r = 0; r < explanation.components.size(); ++r) {
        const Component& component = explanation.components[r];
        text += fmt::format("{}. {}\n", r + 1, plain(component.title));
        std::vector<std::pair<std::string, std::string>> rows{{"share", percent_text(component.share)}};
        if (explanation.findings.sites.size() > 1) {
            std::vector<std::string> sites;
            for (std::size_t k = 0; k < component.site_shares.size(); ++k) {
                sites.push_back(fmt::format("{} {}", plain(explanation.findings.sites[k].name),
                                            percent_text(component.site_shares[k])));
            }
            rows.back().second += fmt::format(" ({})", fmt::join(sites, ", "));
        }
        if (const std::string patients = patients_text(explanation, component); !patients.empty()) {
            rows.emplace_back("patients", plain(patients));
        }
        if (component.stability) {
            rows.emplace_back("stability",
                              fmt::format("{:.2f}, at least {:.2f}", *component.stability, *component.least_stability));
        }
        const auto& entries = component.pairs.empty() ? component.entries : component.pairs;
        for (std::size_t i = 0; i < std::min(shown_entries, entries.size()); ++i) {
            rows.emplace_back(i == 0 ? "made of" : "", entry_text(explanation, entries[i]));
        }
        text += fields(rows, 3) + "\n";
    }
    return text;
}

std::string patient_text(const Explanation& explanation, const PatientStory& story) {
    std::vector<std::pair<std::string, std::string>> rows{{"patient", plain(story.id) + " at " + plain(story.site)}};
    for (std::size_t i = 0; i < story.unusual.size(); ++i) {
        const auto r = static_cast<std::size_t>(story.unusual[i]);
        rows.emplace_back(i == 0 ? "unusual" : "", fmt::format("{:+.1f} deviations: {}", story.components[r].deviation,
                                                               plain(explanation.components[r].title)));
    }
    if (story.unusual.empty()) rows.emplace_back("unusual", "nothing");
    for (std::size_t i = 0; i < story.made_of.size(); ++i)
        rows.emplace_back(i == 0 ? "made of" : "", entry_text(explanation, story.made_of[i]));
    for (std::size_t i = 0; i < story.nearest.size(); ++i) {
        rows.emplace_back(i == 0 ? "nearest" : "", fmt::format("{} ({:.2f} of the typical distance)",
                                                               plain(story.nearest[i].id), story.nearest[i].distance));
    }
    return fields(rows) + "\n";
}

std::string drift_text(const Explanation& explanation, const Told& told) {
    std::vector<std::vector<std::string>> rows{{"pattern", "agreement", "share before", "share now"}};
    for (const Change& change : told.drift->changes) {
        const bool gone = change.after < 0;
        const Component& component = gone ? told.before->components[static_cast<std::size_t>(change.before)]
                                          : explanation.components[static_cast<std::size_t>(change.after)];
        rows.push_back({plain(component.title),
                        gone                ? "gone"
                        : change.before < 0 ? "new"
                                            : fmt::format("{:.2f}", change.agreement),
                        change.before < 0 ? "-" : percent_text(change.share_before),
                        gone ? "-" : percent_text(change.share_after)});
    }
    return table(rows) +
           fmt::format("{} of the patterns' space was there before\n\n", percent_text(told.drift->overlap));
}

void write_files(const ExplainArguments& options, const Session& session, const Explanation& explanation,
                 const Told& told, const Json& json) {
    const auto files = output_files(options.output);
    const std::string name = std::filesystem::path(files[1]).stem().string();
    const std::array texts{render_explanation(explanation, told, name),
                           json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n",
                           explanation_csv(explanation)};
    std::vector<std::unique_ptr<AtomicFile>> open;
    // A page that names a patient is nobody else's business.
    const unsigned permissions = told.patient ? 0600 : 0666;
    for (std::size_t i = 0; i < files.size(); ++i) {
        open.push_back(std::make_unique<AtomicFile>(files[i], session.force(), permissions));
        open.back()->write(std::as_bytes(std::span(texts[i])));
    }
    const CommitTogether together;
    for (const auto& file : open) file->commit();
}

void execute_explain(const Command& app, const ExplainArguments& options, const Session& session) {
    check_flags(app, options);
    std::vector<std::string> inputs{options.result, options.patients, options.compare};
    inputs.insert(inputs.end(), options.data.begin(), options.data.end());
    std::erase(inputs, "");
    if (!options.output.empty()) {
        require_own_neighbours(options.output);
        for (const std::string& file : output_files(options.output)) session.claim_output(file, inputs);
    }
    Findings findings = options.model.empty() ? load(options.result, session) : load_model_of(options, session);
    refuse_for_models(app, options, findings);
    std::vector<Tensor<double>> tensors = load_data(options, findings);
    const ExplainOptions how{.rotation = rotation_of(options),
                             .entries = options.entries,
                             .evidence = evidence_of(tensors, findings.schema)};
    Explanation explanation = explain(std::move(findings), how);
    add_data(options, session, std::move(tensors), explanation);
    Told told{.resamples = options.data.empty() ? 0 : options.resamples};
    if (!options.patient.empty()) {
        const std::size_t site = site_of(app, options, explanation.findings);
        told.patient = tell_patient(explanation, site, read_patients(options.patients), options.patient);
        require_same_data(options.patients, explanation.findings.sites[site], session);
    }
    Explanation before;
    if (!options.compare.empty()) {
        // What the data at hand says is of its own labels.
        before = explain(load(options.compare, session), {.rotation = how.rotation, .entries = how.entries});
        told.drift = compare_results(before, explanation);
        told.before = &before;
    }
    Json json = explanation_json(explanation, told);
    json["version"] = version();
    std::string text;
    if (told.patient) text += patient_text(explanation, *told.patient);
    if (told.drift) text += drift_text(explanation, told);
    text += components_text(explanation);
    std::vector<std::pair<std::string, std::string>> rows{{"found", found_text(explanation)},
                                                          {"explained", explained_text(explanation)}};
    if (const std::string sure = certainty_text(explanation, told.resamples); !sure.empty()) {
        rows.insert(rows.begin() + 1, {"how sure", sure});
    }
    if (!options.output.empty()) {
        write_files(options, session, explanation, told, json);
        json["output"] = options.output;
        const auto files = output_files(options.output);
        rows.emplace_back("written", fmt::format("{}, {}, {}", files[0], files[1], files[2]));
    }
    session.print(json, text + fields(rows));
}

Action set_up_explain(Command& app) {
    auto options = std::make_shared<ExplainArguments>();
    add_input(app, "RESULT", options->result,
              "Folder of a result (couplet simulate -o, or what a client or peer keeps), or its features.npz; or the "
              "folder of couplet factor, whose components are explained as they are");
    add_text(app, "--model", "pca|cp|nncp|tucker", "the federation's own features",
             "Fit a model to the result first, as couplet factor does, and explain its components",
             [options](const auto& text) {
                 options->model = parse_choice("--model", {"pca", "cp", "nncp", "tucker"}, text);
             });
    app.add_option("--components", options->components, "With --model: how many").type("R|auto");
    add_choice(app, "--rotate", {"varimax", "none"}, options->rotate,
               "varimax: components with few strong entries, the fit untouched; none: as computed");
    app.add_option("--data", options->data,
                   "The sites' tensors: says how stable each component is when every site draws its patients again")
        .type("X.npy...");
    add_count(app, {"--resamples", "N", 1, 10'000, ""}, options->resamples, "How often they are drawn");
    app.add_option("--patient", options->patient, "Tell of one patient, at the site: with --patients").type("ID");
    app.add_option("--patients", options->patients, "patients.csv of the site, as couplet table wrote it").type("FILE");
    add_text(app, "--site", "K", "the site called as the folder of --patients", "Whose patients those are, from 1",
             [options](const auto& text) {
                 options->site = parse_count({"--site", "K", 1, 1'000'000, "Sites count from 1."}, text);
             });
    app.add_option("--compare", options->compare, "An older result: what changed since").type("OTHER");
    add_count(app, {"--entries", "N", 1, 1000, ""}, options->entries, "Entries to name of each component");
    add_output(
        app, ".html", false, options->output,
        "Page to write, with .json and .csv of the same name beside it; --force replaces the page, and of the others "
        "only what explain wrote");
    return [options, &app](Session& session) { execute_explain(app, *options, session); };
}

}  // namespace

extern const Verb explain_verb{
    .name = "explain",
    .group = federation_group,
    .summary = "say what each component is, by name",
    .description =
        "For each component of a federation: its share of the variation over all and at each site, its strongest "
        "entries by name, and where in the federation it lives. Components are turned by varimax first, which leaves "
        "the "
        "fit as it is. With -o a page for readers who do not know the method: heat maps, curves and bars, on screen, "
        "phone and paper.\n\n"
        "A title names labels that come together at least 1.2 times as often as by chance: by the sums that a "
        "federation "
        "with --weight makes, and otherwise by --data, where it is of presences. Number, order, sign and name of a "
        "component "
        "follow from the features, so that every party has the same.\n\n"
        "--data says who carries what, by site, and how stable components are: every site draws as many of its own "
        "patients again, with replacement, "
        "and the same job is run anew, --resamples times. --patient tells of one patient beside the others of the "
        "site; such a page stays at the site. --compare matches the components of two results.",
    .output =
        "What was found, how sure it is, and a paragraph per component, largest share first.\n"
        "--json: result, rotation, share_of (data, or explained where the data's norm is not known), explained (null "
        "where the features lie alone, as each share), rse, weight, phenotypes (components whose labels come together "
        "more often than chance, where that is known), "
        "sites "
        "[{name, patients, explained}], gain, components [{number, title, share, sites, stability, least_stability, "
        "beyond_chance, pairs [{labels, weight, lift, patients}] (those that the title names; numbers below 10 are "
        "withheld), carriers {all, sites [{name, patients}]} (with --data; null: withheld), entries "
        "[{labels, weight, lift, patients}], product_share, profiles [{mode, curve, values}]}], resamples, patient "
        "{id, site, "
        "components, "
        "unusual, made_of, nearest}, drift {overlap, changes [{before, after, agreement, share_before, share_after, "
        "gained, "
        "lost}]}, version, output.",
    .examples =
        "couplet explain result\n"
        "couplet explain result -o page.html --data a/tensor.tns b/tensor.tns\n"
        "couplet explain result --patient 4711 --patients a/patients.csv --site 1\n"
        "couplet explain result --model nncp --components 8 -o phenotypes.html\n"
        "couplet explain result --compare older -o drift.html",
    .common = "data rotate patient patients compare output",
    .setup = set_up_explain};

}  // namespace couplet::cli
