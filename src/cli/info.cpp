#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/npz.hpp"
#include "couplet/io/sparse_file.hpp"
#include "couplet/io/text.hpp"
#include "couplet/linalg/magnitude.hpp"
#include "couplet/sim/state_file.hpp"
#include "couplet/tt/arithmetic.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "layout.hpp"
#include "session.hpp"
#include "statistics.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct InfoArguments {
    std::string input;
};

using Rows = std::vector<std::pair<std::string, std::string>>;

Index file_bytes(const std::string& path) { return static_cast<Index>(std::filesystem::file_size(path)); }

Json labels_json(const Labels& labels) {
    Json modes = Json::array();
    for (const ModeLabels& mode : labels) {
        Json one{{"name", mode.name}, {"entries", mode.entries}};
        if (!mode.units.empty()) one["units"] = mode.units;
        modes.push_back(std::move(one));
    }
    return modes;
}

/// Names come from files: shown() keeps control characters off the terminal.
void add_label_rows(const Labels& labels, Rows& rows, Index first_mode = 1) {
    constexpr std::size_t most_shown = 3;
    for (std::size_t n = 0; n < labels.size(); ++n) {
        const ModeLabels& mode = labels[n];
        if (mode.name.empty() && mode.entries.empty()) continue;
        std::string text = mode.name.empty() ? "" : shown(mode.name);
        for (std::size_t i = 0; i < mode.entries.size() && i < most_shown; ++i) {
            text += (i > 0 ? ", " : (text.empty() ? "" : ": ")) + shown(mode.entries[i]);
        }
        if (mode.entries.size() > most_shown) text += fmt::format(", ... ({})", mode.entries.size());
        rows.emplace_back(fmt::format("mode {}", static_cast<Index>(n) + first_mode), text);
    }
}

/// What is to be said of a tensor.
struct TensorFacts {
    Shape shape;
    Labels labels;
    std::string dtype;
    bool fortran = false;
    Statistics statistics;
};

TensorFacts dense_facts(const std::string& path) {
    const TensorFile file = open_tensor(path);
    return {file.shape(), file.labels(),
            file.converted_from().empty() ? std::string(dtype_name(file.dtype())) : file.converted_from(),
            path.ends_with(".npy") && read_npy_header(path).fortran_order,
            file.visit([](auto x) { return statistics(x); })};
}

/// Of the entries and the zeros between them, which are never made.
TensorFacts sparse_facts(const std::string& path) {
    const SparseTensor x = read_sparse(path);
    const Index size = x.shape().size();
    Statistics s = statistics(TensorView<const double>(x.values().data(), {x.count()}));
    if (const Index zeros = size - x.count(); zeros > 0) {
        s.mean *= static_cast<double>(s.finite) / static_cast<double>(s.finite + zeros);
        s.finite += zeros;
        s.min = std::min(s.min, 0.0);
        s.max = std::max(s.max, 0.0);
    }
    return {x.shape(), x.labels(), dtype_name(DType::f8), false, s};
}

void show_tensor(const InfoArguments& options, const Session& session) {
    const TensorFacts facts = is_sparse_name(options.input) ? sparse_facts(options.input) : dense_facts(options.input);
    const Statistics& s = facts.statistics;
    const Shape& shape = facts.shape;
    const bool none_finite = s.nan + s.inf == shape.size();
    const std::string no_number = "none: no number is finite";
    // Finite numbers can have a norm that is none.
    const bool beyond = !none_finite && std::isinf(s.norm);
    Json json{{"kind", "tensor"},
              {"dtype", facts.dtype},
              {"order", shape.order()},
              {"shape", shape.sizes()},
              {"numbers", shape.size()},
              {"bytes", file_bytes(options.input)},
              {"fortran_order", facts.fortran},
              {"norm", none_finite || beyond ? Json() : Json(s.norm)},
              {"min", none_finite ? Json() : Json(s.min)},
              {"max", none_finite ? Json() : Json(s.max)},
              {"mean", none_finite ? Json() : Json(s.mean)},
              {"nonzeros", s.nonzeros},
              {"nan", s.nan},
              {"inf", s.inf},
              {"labels", labels_json(facts.labels)},
              {"version", version()}};
    Rows rows{{"kind", "tensor"},
              {"shape", shape_text(shape)},
              {"elements",
               fmt::format("{} {}{}", count_text(shape.size()), facts.dtype, facts.fortran ? ", Fortran order" : "")},
              {"file", bytes_text(file_bytes(options.input))},
              {"norm", none_finite ? no_number
                       : beyond    ? "beyond the largest number, 1.8e308"
                                   : number_text(s.norm)},
              {"min, mean, max",
               none_finite ? no_number
                           : fmt::format("{}, {}, {}", number_text(s.min), number_text(s.mean), number_text(s.max))},
              {"nonzeros", fmt::format("{} ({:.3g}%)", count_text(s.nonzeros),
                                       100 * static_cast<double>(s.nonzeros) / static_cast<double>(shape.size()))}};
    if (s.nan + s.inf > 0) {
        rows.emplace_back(
            "not finite",
            fmt::format("{} NaN, {} Inf (left out above; NaN is taken as missing by simulate, coordinator "
                        "and project with --missing impute, else refused; Inf is refused)",
                        count_text(s.nan), count_text(s.inf)));
    }
    add_label_rows(facts.labels, rows);
    session.print(json, fields(rows));
}

std::string metadata_text(const nlohmann::json& metadata) {
    Rows rows;
    for (const auto& [name, value] : metadata.items()) {
        const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
            return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
        });
        const auto replace = nlohmann::json::error_handler_t::replace;
        rows.emplace_back(plain ? name : shown(name), value.dump(-1, ' ', true, replace));
    }
    return rows.empty() ? "" : "\nmetadata\n" + fields(rows, 2);
}

template <Real T>
double model_norm(const Model<T>& model, const std::string& path) {
    if (model.is_features() || model.is_complete()) {
        Model<T> copy{.first_mode = model.first_mode, .cores = {}, .labels = {}};
        for (const Tensor<T>& core : model.cores) copy.cores.push_back(Tensor<T>::copy(core.view()));
        return couplet::norm(train_of(std::move(copy), path));
    }
    return scaled_norm(model.cores.front().view().unfold(2)).norm(path);
}

/// How many numbers cores are beside the tensor that they stand for.
std::string beside_tensor(double compression) {
    if (compression == 1) return {};
    return fmt::format(", {}x {} the tensor", number_text(compression < 1 ? 1 / compression : compression),
                       compression < 1 ? "as many as" : "fewer than");
}

template <Real T>
void show_model(const Model<T>& model, const InfoArguments& options, const Session& session) {
    std::vector<Index> sizes;
    std::vector<Index> ranks{model.cores.front().shape()[0]};
    Index numbers = 0;
    for (const Tensor<T>& core : model.cores) {
        sizes.push_back(core.shape()[1]);
        ranks.push_back(core.shape()[2]);
        numbers += core.size();
    }
    const Shape shape(sizes);
    // A personal core of rank 1 looks like the train of a vector; what the file says of its origin tells them apart.
    const bool personal =
        model.cores.size() == 1 && (model.metadata.contains("features_print") || model.metadata.contains("client"));
    const char* kind = model.is_features() ? "features" : (model.is_complete() && !personal ? "model" : "personal");
    const char* dtype = dtype_name(sizeof(T) == 4 ? DType::f4 : DType::f8);
    const double norm = model_norm(model, options.input);
    const double open = static_cast<double>(ranks.front()) * static_cast<double>(ranks.back());
    const double compression = static_cast<double>(shape.size()) * open / static_cast<double>(numbers);
    const Json json{{"kind", kind},
                    {"dtype", dtype},
                    {"order", shape.order()},
                    {"shape", sizes},
                    {"ranks", ranks},
                    {"numbers", numbers},
                    {"compression", compression},
                    {"bytes", file_bytes(options.input)},
                    {"norm", norm},
                    {"labels", labels_json(model.labels)},
                    {"metadata", model.metadata},
                    {"version", version()}};
    Rows rows{{"kind", kind},
              {"modes", shape_text(shape)},
              // A federation's features begin with the rank between patients and features.
              {"ranks", fmt::format("{} (R_{} ... R_{})", ranks_text(ranks), model.first_mode - 1,
                                    model.first_mode - 1 + shape.order())},
              {"cores", fmt::format("{} {} numbers{}", count_text(numbers), dtype, beside_tensor(compression))},
              {"file", bytes_text(file_bytes(options.input))},
              {"norm", number_text(norm)}};
    add_label_rows(model.labels, rows, model.first_mode);
    session.print(json, fields(rows) + metadata_text(model.metadata));
}

void show_merge(const InfoArguments& options, const Session& session) {
    const SavedMerge merge = load_state(options.input);
    const Ledger all = merge.ledger();
    Json clients = Json::array();
    Rows rows{{"kind", "saved merge"},
              {"features", shape_text(merge.schema.features)},
              {"clients", count_text(all.clients)},
              {"patients", count_text(all.rows)}};
    for (const Contribution& one : merge.contributions) {
        clients.push_back({{"name", one.client}, {"rows", one.state.ledger.rows}, {"rank", one.state.block.rows()}});
        rows.emplace_back(shown(one.client), fmt::format("{} patients, rank {}", count_text(one.state.ledger.rows),
                                                         count_text(one.state.block.rows())));
    }
    Json json{{"kind", "merge"}, {"shape", merge.schema.features.sizes()}, {"clients", std::move(clients)}};
    if (merge.job.rank) json["rank"] = *merge.job.rank;
    if (merge.job.eps) {
        json["eps"] = *merge.job.eps;
        rows.emplace_back("eps", number_text(*merge.job.eps));
    } else {
        rows.emplace_back("rank", merge.job.rank ? count_text(*merge.job.rank) : "free");
    }
    json["scale_clients"] = merge.scale_clients;
    json["bytes"] = file_bytes(options.input);
    json["labels"] = labels_json(merge.schema.modes);
    json["version"] = version();
    add_label_rows(merge.schema.modes, rows, 2);
    session.print(json, fields(rows));
}

enum class Archive { model, merge, tensor };

/// What a .npz file is, by its arrays.
Archive archive_kind(const std::string& path) {
    const NpzReader archive(path);
    const auto names = archive.names();
    const auto any = [&](const char* front) {
        return std::any_of(names.begin(), names.end(),
                           [&](const std::string& name) { return name.starts_with(front); });
    };
    if (any("core_")) return Archive::model;
    return any("upload_1_") ? Archive::merge : Archive::tensor;
}

void execute_info(const InfoArguments& options, const Session& session) {
    if (!options.input.ends_with(".npz")) return show_tensor(options, session);
    const Archive kind = archive_kind(options.input);
    if (kind == Archive::merge) return show_merge(options, session);
    if (kind == Archive::tensor) return show_tensor(options, session);
    const AnyModel any = read_model(options.input);
    std::visit([&](const auto& model) { show_model(model, options, session); }, any);
}

Action set_up_info(Command& app) {
    auto options = std::make_shared<InfoArguments>();
    add_input(app, "FILE", options->input, "Tensor (.npy, .npz, .csv, .csv.gz, .tns), model or saved merge (.npz)");
    return [options](Session& session) { execute_info(*options, session); };
}

}  // namespace

extern const Verb info_verb{
    .name = "info",
    .group = tensors_group,
    .summary = "what a tensor or model file holds",
    .description =
        "Shows type, shape, size and norm; for a tensor also the range of its values and how many are zero or "
        "not finite, for a model its ranks, labels and metadata, for a saved merge the clients in it.",
    .output =
        "--json, both: kind (tensor, model, features, personal), dtype, order, shape, numbers, bytes, norm (null where "
        "it is no number), labels, "
        "version. Tensors: fortran_order, min, max, mean, nonzeros, nan, inf. Models: ranks, compression, metadata. "
        "Saved "
        "merges (kind merge): shape, clients [{name, rows, rank}], rank, eps, scale_clients, bytes, labels, version.",
    .examples =
        "couplet info X.npy\n"
        "couplet info M.npz --json",
    .setup = set_up_info};

}  // namespace couplet::cli
