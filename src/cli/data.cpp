#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/data/client_files.hpp"
#include "couplet/data/data_file.hpp"
#include "couplet/data/diabetes.hpp"
#include "couplet/data/ecg.hpp"
#include "couplet/data/ehr.hpp"
#include "couplet/data/hidden.hpp"
#include "couplet/data/hospitals.hpp"
#include "couplet/data/split.hpp"
#include "couplet/data/synthetic.hpp"
#include "couplet/io/text.hpp"
#include "format.hpp"
#include "layout.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct DataArguments {
    std::string kind;
    std::string spec;
    Index clients = 4;
    std::string count = "1000";
    std::optional<std::filesystem::path> place;
    std::string embedding = "outer";
    Index points = 110;
    std::string classes = "two";
    std::string source = "cms";
    std::string top = "40x40";
    std::string duplicates = "clip";
    std::string frequent_by = "records";
    bool shuffle = false;
    std::optional<double> hidden;  ///< --missing; nothing: the usual part
    double missing = 0;            ///< of the entries of a tensor
    std::string missing_as = "nan";
    std::string output;

    std::optional<Index> people() const {
        if (count == "all") return std::nullopt;
        return parse_count({"--count", "N", 1, std::numeric_limits<Index>::max(), "Or all."}, count);
    }
};

/// An option that only some kinds know; `kinds` as in "ecg, diabetes".
struct Only {
    const char* option;
    std::vector<std::string> kinds;
};

const std::vector<Only>& only() {
    static const std::vector<Only> all{{"SPEC", {"synthetic"}},
                                       {"--clients", {"synthetic", "ecg", "diabetes", "ehr"}},
                                       {"--missing-as", {"synthetic", "ecg", "diabetes", "ehr"}},
                                       {"--count", {"ecg", "diabetes", "hospitals"}},
                                       {"--data", {"ecg", "diabetes", "ehr"}},
                                       {"--embedding", {"ecg"}},
                                       {"--points", {"ecg"}},
                                       {"--classes", {"ecg"}},
                                       {"--source", {"ehr"}},
                                       {"--top", {"ehr"}},
                                       {"--duplicates", {"ehr"}},
                                       {"--frequent-by", {"ehr"}},
                                       {"--shuffle", {"ecg", "diabetes", "ehr"}}};
    return all;
}

void refuse_foreign(const Command& app, const DataArguments& options) {
    for (const Only& one : only()) {
        if (app.count(one.option) == 0) continue;
        if (std::find(one.kinds.begin(), one.kinds.end(), options.kind) != one.kinds.end()) continue;
        throw InputError({one.option, fmt::format("given with data {}", options.kind),
                          fmt::format("it with data {} only", fmt::join(one.kinds, " or ")), "Leave it out."});
    }
    const bool cms = options.kind != "ehr" || options.source == "cms";
    for (const char* option : {"--duplicates", "--frequent-by"}) {
        if (cms || app.count(option) == 0) continue;
        throw InputError({option, "given with --source synthea", "it with --source cms only", "Leave it out."});
    }
}

/// "40x30": how many codes of each of the two feature modes.
std::pair<Index, Index> parse_top(const std::string& text) {
    const std::size_t cross = text.find('x');
    const Count count{"--top", "AxB", 1, 1'000'000, "Write for example 40x40: diagnoses x medications."};
    if (cross == std::string::npos) {
        throw InputError({"--top", shown(text), "two numbers joined by x", count.remedy});
    }
    return {parse_count(count, text.substr(0, cross)), parse_count(count, text.substr(cross + 1))};
}

Dataset read_ecg(const DataArguments& options, std::uint64_t seed) {
    EcgOptions how{.count = options.people(), .points = options.points, .seed = seed};
    if (options.embedding == "lag") how.embedding = EcgEmbedding::lag;
    if (options.classes == "five") how.classes = find_data_file(DataFile::ecg_classes, options.place);
    return load_ecg(find_data_file(DataFile::ecg, options.place), how);
}

Dataset read_ehr(const DataArguments& options) {
    const auto [first, second] = parse_top(options.top);
    if (options.source == "cms") {
        return load_cms(
            find_data_file(DataFile::cms, options.place),
            {.diagnoses = first,
             .medications = second,
             .duplicates = options.duplicates == "sum" ? Duplicates::sum : Duplicates::clip,
             .frequent_by = options.frequent_by == "patients" ? FrequentBy::patients : FrequentBy::records});
    }
    return load_synthea({.patients = find_data_file(DataFile::synthea_patients, options.place),
                         .conditions = find_data_file(DataFile::synthea_conditions, options.place),
                         .medications = find_data_file(DataFile::synthea_medications, options.place)},
                        {.conditions = first, .medications = second});
}

/// The recipe in words, enough to make the same clients again.
std::string recipe(const DataArguments& options) {
    const char* order = options.shuffle ? ", shuffled" : "";
    if (options.kind == "ecg") {
        return fmt::format("count={},points={},embedding={},classes={}{}", options.count, options.points,
                           options.embedding, options.classes, order);
    }
    if (options.kind == "diabetes") return fmt::format("count={}{}", options.count, order);
    const std::string cms = options.source != "cms"
                                ? ""
                                : fmt::format(",duplicates={},frequent_by={}", options.duplicates, options.frequent_by);
    return fmt::format("source={},top={}{}{}", options.source, options.top, cms, order);
}

/// Part of the recipe; empty when nothing is hidden.
std::string missing_text(const DataArguments& options) {
    return options.missing == 0 ? "" : fmt::format(", missing={} as {}", options.missing, options.missing_as);
}

/// Hides entries of a client whose first patient has this number.
void hide(const DataArguments& options, std::uint64_t seed, Index first_patient, Tensor<double>& x) {
    const MissingAs as = options.missing_as == "zero" ? MissingAs::zero : MissingAs::nan;
    hide_entries(x.view(), {.fraction = options.missing, .as = as, .seed = seed, .first_patient = first_patient});
}

/// What was written, one client after the other.
struct Written {
    std::vector<std::vector<Index>> shapes;
    std::vector<std::string> files;
    bool labels = false;
    std::string source;
    Index available = 0;

    void add(const Dataset& client) {
        const auto sizes = client.tensor.shape().sizes();
        shapes.emplace_back(sizes.begin(), sizes.end());
        files.push_back(fmt::format("client_{}.npy", files.size() + 1));
        labels = labels || !client.labels.empty();
        source = client.source;
    }
    std::vector<Index> total() const {
        std::vector<Index> sizes = shapes.front();
        for (std::size_t k = 1; k < shapes.size(); ++k) sizes[0] += shapes[k][0];
        return sizes;
    }
};

/// One client after the other, each made when it is its turn.
Written write_all(const DataArguments& options, const Session& session, const Manifest& manifest,
                  const std::function<Dataset(Index)>& make) {
    Written written;
    const ProgressSink progress = session.progress();
    write_clients(
        options.output, manifest, options.clients,
        [&](Index k) {
            report(progress, "writing", k, options.clients);
            Dataset client = make(k);
            written.add(client);
            return client;
        },
        session.force());
    report(progress, "writing", options.clients, options.clients);
    return written;
}

Written write_synthetic(const DataArguments& options, const Session& session, Manifest& manifest) {
    if (options.spec.empty()) {
        throw InputError({"SPEC", "missing", "the shape of the tensor to make",
                          "For example: couplet data synthetic 200x30x30 -o clients"});
    }
    const SyntheticClients clients(parse_synthetic(options.spec, session.seed()), options.clients);
    manifest.spec = to_string(clients.spec()) + missing_text(options);
    Index first_patient = 0;
    return write_all(options, session, manifest, [&](Index k) {
        Dataset client{.tensor = clients.client(k)};
        hide(options, session.seed(), first_patient, client.tensor);
        first_patient += client.tensor.shape()[0];
        return client;
    });
}

Dataset read_public(const DataArguments& options, const Session& session) {
    if (options.kind == "ecg") return read_ecg(options, session.seed());
    if (options.kind == "ehr") return read_ehr(options);
    const DiabetesOptions how{.count = options.people(), .seed = session.seed()};  // flags are judged before files
    return load_diabetes(find_data_file(DataFile::diabetes, options.place), how);
}

Written write_public(const DataArguments& options, const Session& session, Manifest& manifest) {
    const ProgressSink progress = session.progress();
    report(progress, "reading", 0, 1);
    Dataset all = read_public(options, session);
    manifest.spec = recipe(options) + missing_text(options);
    hide(options, session.seed(), 0, all.tensor);
    std::optional<std::uint64_t> shuffle;
    if (options.shuffle) shuffle = session.seed();
    std::vector<Dataset> clients = split_dataset(all, options.clients, shuffle);
    report(progress, "reading", 1, 1);
    Written written =
        write_all(options, session, manifest, [&](Index k) { return std::move(clients[static_cast<std::size_t>(k)]); });
    written.available = all.available;
    return written;
}

/// What a row of the tensor is.
std::string noun(const DataArguments& options) { return options.kind == "ecg" ? "beats" : "patients"; }

std::string rows_text(const Written& written, const std::string& what) {
    const Index least = (*std::min_element(written.shapes.begin(), written.shapes.end()))[0];
    const Index most = (*std::max_element(written.shapes.begin(), written.shapes.end()))[0];
    return least == most ? fmt::format("{} {} each", count_text(most), what)
                         : fmt::format("{} to {} {} each", count_text(least), count_text(most), what);
}

/// Tables instead of tensors, as the sites have them before couplet table.
void execute_hospitals(const DataArguments& options, const Session& session) {
    const HospitalOptions usual;
    const HospitalOptions how{.patients = options.people().value_or(usual.patients),
                              .gaps = options.hidden.value_or(usual.gaps),
                              .seed = session.seed()};
    const auto sites = write_hospitals(options.output, how, session.force());
    Json list = Json::array();
    std::vector<std::pair<std::string, std::string>> rows;
    for (const HospitalFiles& site : sites) {
        list.push_back({{"name", site.name}, {"patients", site.patients}, {"files", site.files}});
        rows.emplace_back(site.name,
                          fmt::format("{} patients: {}", count_text(site.patients), fmt::join(site.files, ", ")));
    }
    rows.emplace_back("written",
                      fmt::format("{0}/{1}, ..., {0}/truth.json (the rules)", options.output, sites.front().name));
    session.print({{"kind", options.kind},
                   {"sites", std::move(list)},
                   {"patients", how.patients},
                   {"gaps", how.gaps},
                   {"seed", session.seed()},
                   {"version", version()},
                   {"output", options.output}},
                  fields(rows));
}

void execute_data(const Command& app, const DataArguments& options, const Session& session) {
    refuse_foreign(app, options);
    clean_on_interrupt(options.output);
    if (options.kind == "hospitals") return execute_hospitals(options, session);
    Manifest manifest{.kind = options.kind, .spec = {}, .seed = session.seed()};
    const Written written = options.kind == "synthetic" ? write_synthetic(options, session, manifest)
                                                        : write_public(options, session, manifest);
    const std::vector<Index> shape = written.total();
    Json json{{"kind", options.kind},     {"spec", manifest.spec},  {"clients", options.clients}, {"shape", shape},
              {"shapes", written.shapes}, {"files", written.files}, {"labels", written.labels}};
    std::vector<std::pair<std::string, std::string>> rows{
        {"tensor", fmt::format("{} ({})", shape_text(Shape(shape)), options.kind)},
        {"made as", manifest.spec},
        {"clients", fmt::format("{}, {}{}", count_text(options.clients), rows_text(written, noun(options)),
                                written.labels ? ", with labels" : "")}};
    if (!written.source.empty()) {
        json["source"] = written.source;
        json["available"] = written.available;
        rows.emplace_back("source",
                          fmt::format("{}, {} {} there", written.source, count_text(written.available), noun(options)));
    }
    json["seed"] = session.seed();
    json["version"] = version();
    json["output"] = options.output;
    rows.emplace_back("written",
                      fmt::format("{}/client_1.npy{}, manifest.json", options.output,
                                  options.clients > 1 ? fmt::format(" ... client_{}.npy", options.clients) : ""));
    session.print(json, fields(rows));
}

Action set_up_data(Command& app) {
    auto options = std::make_shared<DataArguments>();
    add_choice(app, "KIND", {"synthetic", "hospitals", "ecg", "diabetes", "ehr"}, options->kind,
               "synthetic: random tensors of known rank; hospitals: tables of three made-up hospitals, with what was "
               "planted in "
               "them; ecg: heart beats; diabetes: a health survey; ehr: diagnoses "
               "and medications of patients");
    app.add_option("SPEC", options->spec,
                   "synthetic only: the shape, and how it is made after a colon. 200x30x30:rank=20,density=0.4,"
                   "personal=uniform,noise=0,patients=total shows the defaults (density is 0.1 from order 4 on); "
                   "personal may be gaussian, and patients=each gives every client that many patients")
        .type("TEXT");
    add_count(app, {"--clients", "K", 1, 1'000'000, "It is the number of files to write."}, options->clients,
              "Clients that share the patients, as evenly as possible");
    app.add_option("--count", options->count,
                   "ecg, diabetes: how many beats or people to pick at random, or all; hospitals: patients to make up")
        .type("N")
        .standard(options->count);
    app.add_option(
           "--data", [options](const std::string& text) { options->place = text; },
           "ecg, diabetes, ehr: the public file, or a folder that holds it")
        .type("FILE")
        .standard("the folder in the environment variable COUPLET_DATA");
    add_choice(app, "--embedding", {"outer", "lag"}, options->embedding,
               "ecg: a beat x becomes the matrix x[i] x[t] (outer) or x[i + t] (lag)");
    add_count(app, {"--points", "N", 1, 140, "A beat has 140 points."}, options->points,
              "ecg: size of the second mode");
    add_choice(app, "--classes", {"two", "five"}, options->classes,
               "ecg: labels normal or not, or the five classes of ECG5000");
    add_choice(app, "--source", {"cms", "synthea"}, options->source, "ehr: CMS SynPUF, or the csv export of Synthea");
    app.add_option("--top", options->top, "ehr: how many of the most frequent diagnoses and medications to keep")
        .type("AxB")
        .standard(options->top);
    add_choice(app, "--duplicates", {"clip", "sum"}, options->duplicates,
               "ehr from cms: several records of one entry become 1, or their sum");
    add_choice(app, "--frequent-by", {"records", "patients"}, options->frequent_by,
               "ehr from cms: what makes a code frequent");
    app.add_flag("--shuffle", options->shuffle, "Deal the rows to the clients at random instead of in order");
    app.add_option(
           "--missing",
           [options](const std::string& text) {
               options->hidden = parse_fraction("--missing", text);
               options->missing = *options->hidden;
           },
           "Part of the entries to hide at random, the same ones however many clients there are; hospitals: part of "
           "the "
           "laboratory values that are empty cells")
        .type("FRACTION")
        .standard("0; 0.2 with hospitals");
    add_choice(app, "--missing-as", {"nan", "zero"}, options->missing_as,
               "What a hidden entry is written as: NaN, for simulate --missing impute, or zero as in the paper");
    app.add_option("-o,--output", options->output, "Folder to write; it is made if it is not there")
        .type("DIR")
        .required();
    return [options, &app](Session& session) { execute_data(app, *options, session); };
}

}  // namespace

extern const Verb data_verb{
    .name = "data",
    .group = federation_group,
    .summary = "make a federation's tensors, or tables of made-up hospitals",
    .description =
        "Writes client_1.npy, client_2.npy, ... with one patient (or heart beat) per index of the first mode, "
        "labels_<k>.npy where the data has classes, and manifest.json, which says how they were made. The same seed "
        "gives the same files. hospitals writes the tables of three hospitals in folders of their own instead, with "
        "local codes and gaps, and truth.json, which says what was planted: start there to try couplet table.",
    .output =
        "tensor: the shape of all clients together.\n"
        "--json: kind, spec, clients, shape, shapes (one per client), files, labels (whether there are any), source "
        "and available (patients or beats in it; public data only), seed, version, output. hospitals: kind, sites "
        "[{name, "
        "patients, files}], patients, gaps, seed, version, output.",
    .examples =
        "couplet data synthetic 200x30x30 --clients 4 -o clients\n"
        "couplet data synthetic 20x30x30:patients=each --clients 8 -o many\n"
        "couplet data synthetic 200x30x30 --missing 0.1 -o holes\n"
        "couplet data hospitals -o hospitals\n"
        "couplet data ecg --data ecg.csv --embedding lag -o ecg\n"
        "couplet data diabetes --data diabetes.csv --count 5000 -o diabetes\n"
        "couplet data ehr --source cms --top 40x40 --data cms.csv -o ehr",
    .common = "clients count data source top missing output",
    .setup = set_up_data};

}  // namespace couplet::cli
