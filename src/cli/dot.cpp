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

struct DotArguments {
    std::string a;
    std::string b;
};

void execute_dot(const DotArguments& options, const Session& session) {
    const auto product = [&](auto&& pair) {
        return couplet::dot(train_of(std::move(pair.a), options.a), train_of(std::move(pair.b), options.b));
    };
    const double value = std::visit(product, read_model_pair(options.a, options.b));
    session.print({{"dot", value}, {"version", version()}}, exact_text(value) + "\n");
}

Action set_up_dot(Command& app) {
    auto options = std::make_shared<DotArguments>();
    add_input(app, "A.npz", options->a, "First model");
    add_input(app, "B.npz", options->b, "Second model, with the same modes");
    return [options](Session& session) { execute_dot(*options, session); };
}

}  // namespace

extern const Verb dot_verb{.name = "dot",
                           .group = arithmetic_group,
                           .summary = "inner product of two models",
                           .description = "The sum over all entries of A times B, without forming either tensor.",
                           .output = "One number, all its digits. --json: dot, version.",
                           .examples = "couplet dot A.npz B.npz",
                           .setup = set_up_dot};

}  // namespace couplet::cli
