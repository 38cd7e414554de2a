#include "couplet/tt/rounding.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "couplet/core/error.hpp"
#include "couplet/io/data_print.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "layout.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct RoundArguments {
    std::string input;
    std::optional<double> eps;
    std::optional<Index> max_rank;
    std::string output;
};

/// What still holds of rounded features: the means that were taken out, and the personal cores that go with them.
template <Real T>
nlohmann::json kept_metadata(const Model<T>& model) {
    nlohmann::json kept = nlohmann::json::object();
    if (!model.is_features()) return kept;
    if (model.metadata.contains("centring")) kept["centring"] = model.metadata["centring"];
    if (model.metadata.contains("rounded_of")) {
        kept["rounded_of"] = model.metadata["rounded_of"];
    } else if constexpr (std::is_same_v<T, double>) {
        kept["rounded_of"] = features_print(model.cores);
    }
    return kept;
}

template <Real T>
void round_model(Model<T> model, const RoundArguments& options, const Session& session) {
    const Index first_mode = model.first_mode;
    const Labels labels = model.labels;
    const nlohmann::json kept = kept_metadata(model);
    const TensorTrain<T> train = train_of(std::move(model), options.input);
    auto result =
        couplet::round(train, {.eps = options.eps.value_or(0), .max_rank = options.max_rank.value_or(unlimited_rank)});
    const auto ranks = result.train.ranks();
    const Index numbers = result.train.parameters();
    Model<T> rounded = to_model(std::move(result.train), first_mode);
    rounded.labels = labels;
    rounded.metadata = kept;
    rounded.metadata.update({{"norm", result.norm}, {"rounding_error", result.rel_error}, {"version", version()}});
    save_model(options.output, rounded, session.force());

    const Json json{{"shape", train.shape().sizes()},
                    {"ranks", ranks},
                    {"ranks_before", train.ranks()},
                    {"rel_error", result.rel_error},
                    {"rank_limited", result.rank_limited},
                    {"norm", result.norm},
                    {"version", version()},
                    {"output", options.output}};
    session.print(json,
                  fields({{"modes", shape_text(train.shape())},
                          {"ranks before", ranks_text(train.ranks())},
                          {"ranks", ranks_text(ranks)},
                          {"relative error", number_text(result.rel_error)},
                          {"numbers", fmt::format("{} become {}", count_text(train.parameters()), count_text(numbers))},
                          {"written", options.output}}));
}

void execute_round(const RoundArguments& options, const Session& session) {
    if (!options.eps && !options.max_rank) {
        throw InputError({"--eps", "missing", "--eps E, --max-rank R or both",
                          "Say how much to round: --eps 0.01 allows an error of one percent."});
    }
    session.claim_output(options.output, std::array{options.input});
    std::visit([&](auto&& model) { round_model(std::move(model), options, session); }, read_model(options.input));
}

Action set_up_round(Command& app) {
    auto options = std::make_shared<RoundArguments>();
    add_input(app, "M.npz", options->input, "Model to round");
    add_eps(app, options->eps,
            "Relative error allowed, 0 <= E < 1, against the model as it is. With --max-rank alone 0, so that only the "
            "rank cuts");
    add_max_rank(app, options->max_rank, "No rank exceeds R, even if the error then does");
    add_output(app, ".npz", true, options->output, "Model to write");
    return [options](Session& session) { execute_round(*options, session); };
}

}  // namespace

extern const Verb round_verb{
    .name = "round",
    .group = arithmetic_group,
    .summary = "shrink the ranks of a model within an error",
    .description =
        "Finds the smallest ranks that keep the model within the error, without forming the tensor. Sums have "
        "ranks that are larger than they need to be: round them. At least one of --eps and --max-rank is "
        "needed. Labels are kept.",
    .output =
        "relative error: norm of the change over the norm of the model.\n"
        "--json: shape, ranks, ranks_before, rel_error, rank_limited, norm, version, output.",
    .examples =
        "couplet round M.npz --eps 0.01 -o small.npz\n"
        "couplet round M.npz --max-rank 10 -o small.npz",
    .setup = set_up_round};

}  // namespace couplet::cli
