#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/explain/findings.hpp"
#include "couplet/io/memory_limit.hpp"
#include "couplet/io/npy.hpp"
#include "couplet/io/owner_only.hpp"
#include "couplet/sim/centring_file.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "layout.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct ReconstructArguments {
    std::string input;
    std::string personal;
    std::string output;
};

/// The command that was meant, with the two files at their places.
std::string meant(const std::string& features, const std::string& personal, const std::string& output) {
    return fmt::format("couplet reconstruct {} --personal {} -o {}", features, personal, output);
}

/// A tensor where a personal core belongs; its owner may make one of it.
Model<double> read_personal(const ReconstructArguments& options) {
    if (is_tensor_name(options.personal)) {
        throw InputError(
            {"--personal", options.personal + ", a tensor by its name", "the personal core of some patients (.npz)",
             fmt::format("Make one with: couplet project {} {} -o P.npz", options.input, options.personal)});
    }
    return to_double(read_model(options.personal));
}

/// Features and the personal core of a client make its train.
Model<double> joined(const ReconstructArguments& options, const Session& session) {
    Model<double> features = to_double(read_model(options.input));
    Model<double> personal = read_personal(options);
    if (features.is_personal() && personal.is_features()) {
        throw InputError({options.input, "a personal core, and --personal is features", "the features first",
                          "Write: " + meant(options.personal, options.input, options.output)});
    }
    const Index rank = features.is_features() ? features.cores.front().shape()[0] : 0;
    if (!features.is_features() || !personal.is_personal() || personal.cores.front().shape()[2] != rank) {
        throw InputError({"--personal", fmt::format("{} with {}", options.personal, options.input),
                          "features.npz and a personal core of the same run", "Keep the files of one run together."});
    }
    if (!require_same_run(features, options.input, personal, options.personal)) {
        session.note(unmarked_note(options.personal, options.input));
    }
    features.cores.insert(features.cores.begin(), std::move(personal.cores.front()));
    if (!features.labels.empty()) features.labels.insert(features.labels.begin(), ModeLabels{});
    features.first_mode = 1;
    return features;
}

/// With an open left bond its index comes first as a mode of its own.
template <Real T>
Shape full_shape(const TensorTrain<T>& train) {
    std::vector<Index> sizes;
    if (train.left_rank() > 1) sizes.push_back(train.left_rank());
    sizes.insert(sizes.end(), train.shape().sizes().begin(), train.shape().sizes().end());
    return Shape(std::move(sizes));
}

/// What the modes of full_shape() are called; nothing where no mode has a name.
template <Real T>
std::vector<std::string> mode_names(const TensorTrain<T>& train, bool has_patients) {
    const Labels& labels = train.labels();
    if (std::ranges::all_of(labels, [](const ModeLabels& mode) { return mode.name.empty(); })) return {};
    std::vector<std::string> names;
    if (train.left_rank() > 1) names.emplace_back("component");
    for (std::size_t n = 0; n < labels.size(); ++n) {
        const Index number = static_cast<Index>(n) + (has_patients ? 1 : 2);
        names.push_back(!labels[n].name.empty() ? labels[n].name
                        : number == 1           ? "patient"
                                                : fmt::format("mode {}", number));
    }
    return names;
}

/// A small model can stand for terabytes. The system would hand out the memory and end the process later.
void require_memory(const Shape& shape, Index item, const std::string& path) {
    const Index memory = memory_limit();
    if (shape.size() <= memory / item) return;
    throw RunError({path, fmt::format("a tensor {} of more memory than there is", shape_text(shape)),
                    fmt::format("at most {}", bytes_text(memory)), "Use a larger machine."});
}

template <Real T>
void reconstruct(Model<T> model, const ReconstructArguments& options, const Session& session, double read_seconds) {
    const Centring centring = read_centring(model.metadata, options.input);
    const bool has_patients = !model.is_features();
    const TensorTrain<T> train = train_of(std::move(model), options.input);
    require_memory(full_shape(train), sizeof(T), options.input);
    Stopwatch watch;
    Tensor<T> full = train.full();
    if constexpr (std::is_same_v<T, double>) {
        // Without its patients a train has no mean to come back to.
        if (has_patients && !centring.empty()) full = restored(full.view(), centring, options.input);
    }
    const double compute_seconds = watch.lap();
    {
        std::optional<OwnerOnly> patients;
        if (!options.personal.empty()) patients.emplace();
        write_npy(options.output, full.view(), session.force());
    }
    const double write_seconds = watch.lap();
    const char* dtype = dtype_name(sizeof(T) == 4 ? DType::f4 : DType::f8);
    const Index bytes = full.size() * static_cast<Index>(sizeof(T));
    Json json{{"shape", full.shape().sizes()},
              {"ranks", train.ranks()},
              {"dtype", dtype},
              {"seconds", {{"read", read_seconds}, {"compute", compute_seconds}, {"write", write_seconds}}},
              {"version", version()},
              {"output", options.output}};
    std::vector<std::pair<std::string, std::string>> rows{
        {"tensor", fmt::format("{}, {}, {}", shape_text(full.shape()), dtype, bytes_text(bytes))}};
    // The file has no place for names.
    if (const auto names = mode_names(train, has_patients); !names.empty()) {
        json["modes"] = names;
        rows.emplace_back("modes", fmt::format("{}", fmt::join(names, " x ")));
    }
    rows.emplace_back("from ranks", ranks_text(train.ranks()));
    rows.emplace_back("written", options.output);
    rows.emplace_back("time", fmt::format("read {}, compute {}, write {}", seconds_text(read_seconds),
                                          seconds_text(compute_seconds), seconds_text(write_seconds)));
    session.print(json, fields(rows));
}

/// A personal core of rank 1 looks like the train of a vector; what the file says of its origin tells them apart.
template <Real T>
bool is_vector(const Model<T>& model) {
    constexpr std::array marks{"client", "features", "features_print", "job"};
    const auto marked = [&](const char* mark) { return model.metadata.contains(mark); };
    return model.is_complete() && std::none_of(marks.begin(), marks.end(), marked);
}

/// A personal core alone is no tensor; the features are mostly beside it.
template <Real T>
void refuse_personal(const Model<T>& model, const ReconstructArguments& options) {
    if (!model.is_personal() || is_vector(model)) return;
    const std::string beside = (std::filesystem::path(options.input).parent_path() / "features.npz").string();
    std::error_code failed;
    const bool there = std::filesystem::exists(beside, failed);
    throw InputError({options.input, "a personal core alone", "the features of its federation too",
                      "Write: " + meant(there ? beside : "features.npz", options.input, options.output)});
}

void execute_reconstruct(const ReconstructArguments& options, const Session& session) {
    session.claim_output(options.output, std::array{options.input});
    Stopwatch watch;
    AnyModel any = options.personal.empty() ? read_model(options.input) : AnyModel(joined(options, session));
    const double read_seconds = watch.lap();
    std::visit([&](const auto& model) { refuse_personal(model, options); }, any);
    std::visit([&](auto&& model) { reconstruct(std::forward<decltype(model)>(model), options, session, read_seconds); },
               std::move(any));
}

Action set_up_reconstruct(Command& app) {
    auto options = std::make_shared<ReconstructArguments>();
    add_input(app, "M.npz", options->input, "Model to multiply out");
    app.add_option(
           "--personal", options->personal,
           "Personal core of a client or of couplet project, where the model is the features of a federation: "
           "gives the tensor of its patients, with means and scales put back. A core of other features is refused")
        .type("P.npz");
    add_output(app, ".npy", true, options->output, "Tensor to write");
    return [options](Session& session) { execute_reconstruct(*options, session); };
}

}  // namespace

extern const Verb reconstruct_verb{
    .name = "reconstruct",
    .group = tensors_group,
    .summary = "multiply a model out to the full tensor",
    .description =
        "Writes the tensor that the cores of a model stand for, in the element type of the model. The features "
        "of a federation have an open first bond, which becomes the first mode.",
    .output =
        "modes: what they are called, where the model knows it; the file itself has no place for names.\n"
        "--json: shape, ranks, dtype, seconds {read, compute, write}, version, output, modes (where they have names).",
    .examples = "couplet reconstruct M.npz -o Y.npy",
    .setup = set_up_reconstruct};

}  // namespace couplet::cli
