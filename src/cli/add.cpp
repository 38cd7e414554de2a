#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>
#include <variant>

#include "couplet/core/error.hpp"
#include "couplet/tt/arithmetic.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "layout.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

struct AddArguments {
    std::string a;
    std::string b;
    std::string output;
};

template <Real T>
void add_models(ModelPair<T> pair, const AddArguments& options, const Session& session) {
    const Index first_mode = pair.a.first_mode;
    TensorTrain<T> sum = couplet::add(train_of(std::move(pair.a), options.a), train_of(std::move(pair.b), options.b));
    const Shape shape = sum.shape();
    const auto ranks = sum.ranks();
    Model<T> model = to_model(std::move(sum), first_mode);
    model.metadata = {{"version", version()}};
    save_model(options.output, model, session.force());
    const Json json{{"shape", shape.sizes()}, {"ranks", ranks}, {"version", version()}, {"output", options.output}};
    session.print(json,
                  fields({{"modes", shape_text(shape)}, {"ranks", ranks_text(ranks)}, {"written", options.output}}));
}

void execute_add(const AddArguments& options, const Session& session) {
    session.claim_output(options.output, std::array{options.a, options.b});
    std::visit([&](auto&& pair) { add_models(std::move(pair), options, session); },
               read_model_pair(options.a, options.b));
}

Action set_up_add(Command& app) {
    auto options = std::make_shared<AddArguments>();
    add_input(app, "A.npz", options->a, "First model");
    add_input(app, "B.npz", options->b, "Second model, with the same modes");
    add_output(app, ".npz", true, options->output, "Model to write");
    return [options](Session& session) { execute_add(*options, session); };
}

}  // namespace

extern const Verb add_verb{
    .name = "add",
    .group = arithmetic_group,
    .summary = "sum of two models",
    .description =
        "Adds two models of one shape, exactly: inner ranks add up. The sum is float32 only when both are; the "
        "labels are those of A. couplet round shrinks the result.",
    .output = "--json: shape, ranks, version, output.",
    .examples =
        "couplet add A.npz B.npz -o sum.npz\n"
        "couplet round sum.npz --eps 1e-6 -o small.npz",
    .setup = set_up_add};

}  // namespace couplet::cli
