#include <memory>
#include <utility>
#include <variant>

#include "couplet/core/error.hpp"
#include "couplet/tt/arithmetic.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct NormArguments {
    std::string input;
};

void execute_norm(const NormArguments& options, const Session& session) {
    const auto measure = [&](auto&& model) { return couplet::norm(train_of(std::move(model), options.input)); };
    const double value = std::visit(measure, read_model(options.input));
    session.print({{"norm", value}, {"version", version()}}, exact_text(value) + "\n");
}

Action set_up_norm(Command& app) {
    auto options = std::make_shared<NormArguments>();
    add_input(app, "M.npz", options->input, "Model to measure");
    return [options](Session& session) { execute_norm(*options, session); };
}

}  // namespace

extern const Verb norm_verb{
    .name = "norm",
    .group = arithmetic_group,
    .summary = "Frobenius norm of a model",
    .description =
        "The root of the sum of all squared entries, without forming the tensor. couplet info shows the norm of "
        "a tensor file.",
    .output = "One number, all its digits. --json: norm, version.",
    .examples = "couplet norm M.npz",
    .setup = set_up_norm};

}  // namespace couplet::cli
