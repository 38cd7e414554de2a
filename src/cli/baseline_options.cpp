#include "baseline_options.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/text.hpp"
#include "format.hpp"
#include "options.hpp"

namespace couplet::cli {
namespace {

constexpr std::array names{
    "--rounds", "--tolerance", "--loss",          "--no-compression", "--step",      "--decay",  "--fibers", "--tau",
    "--rho",    "--prox",      "--gradient-clip", "--gradient-noise", "--threshold", "--gossip", "--tuned",  "--cache"};

double parse_real(const std::string& option, const std::string& text) {
    double value = 0;
    if (text.empty() || parse_number(text, value) != NumberText::number) {
        throw InputError({option, shown(text), "a number", ""});
    }
    return value;
}

/// The flag of a parameter: two names say what they clip and add noise to, for other methods do so elsewhere.
std::string flag_of(const std::string& parameter) {
    const bool private_one = parameter == "clip" || parameter == "noise";
    return (private_one ? "--gradient-" : "--") + parameter;
}

void add_real(Command& app, const std::string& parameter, const std::string& description, const char* standard,
              std::optional<double>& value) {
    const std::string flag = flag_of(parameter);
    add_text(app, flag, "X", standard, description,
             [flag, &value](const auto& text) { value = parse_real(flag, text); });
    app.option(flag)->group(baselines_group);
}

void add_whole(Command& app, const Count& count, const std::string& description, const char* standard,
               std::optional<Index>& value) {
    add_text(app, count.option, count.letter, standard, description,
             [count, &value](const auto& text) { value = parse_count(count, text); });
    app.option(count.option)->group(baselines_group);
}

std::string parameter_text(const std::optional<double>& value) { return number_text(*value); }
std::string parameter_text(const std::optional<Index>& value) { return std::to_string(*value); }

}  // namespace

void add_training_options(Command& app, BaselineOptions& options) {
    add_text(app, "--rounds", "N", "200", "Exchanges at most", [&options](const auto& text) {
        options.rounds = parse_count({"--rounds", "N", 1, 1'000'000, "It is the number of exchanges."}, text);
    });
    add_text(app, "--tolerance", "E", "0.001",
             "Stop when ten evaluations in a row, five rounds apart, lower the objective by less than this part; 0 "
             "never stops early",
             [&options](const auto& text) { options.tolerance = parse_eps("--tolerance", text); });
    add_text(app, "--loss", "square|logistic", "square",
             "logistic: for tensors of zeros and ones (fedgtf-ef, fedgtf-ef-pc, cidertf)",
             [&options](const auto& text) {
                 options.loss = parse_loss(parse_choice("--loss", {"square", "logistic"}, text));
             });
    app.add_flag(
        "--no-compression", [&options] { options.compress = false; },
        "Send full precision instead of signs (fedgtf-ef, fedgtf-ef-pc, cidertf)");
    for (const char* name : {"--rounds", "--tolerance", "--loss", "--no-compression"}) {
        app.option(name)->group(baselines_group);
    }
}

void add_tuning_options(Command& app, Tuning& tuning) {
    add_real(app, "step", "Step, relative to the longest that is safe (all but trip)", "depends on the method",
             tuning.step);
    add_real(app, "decay", "The step of round t is step / (1 + decay t) (all but trip)", "depends on the method",
             tuning.decay);
    add_whole(app, {"--fibers", "N", 0}, "Fibers sampled for a gradient, 0 for all (all but trip)",
              "16 times the rank, at least 1024", tuning.fibers);
    add_whole(app, {"--tau", "N", 1, 1'000'000, "It is a number of local steps."},
              "Local steps between exchanges (fedgtf-ef-pc, dpfact, dpsgd, cidertf)", "depends on the method",
              tuning.tau);
    add_real(app, "rho", "trip: penalty, relative to the curvature; dpfact: pull to the mean", "1; 0.9", tuning.rho);
    add_real(app, "prox", "Shrinkage in a step (fedgtf-ef, fedgtf-ef-pc, dpfact)", "0.0001; 0 for fedgtf-ef-pc",
             tuning.prox);
    add_real(app, "clip", "dpfact: what one patient adds to a gradient at most, relative to the mean patient; 0: off",
             "0", tuning.clip);
    add_real(app, "noise",
             "dpfact: noise in a clipped gradient, relative to the clip, as its paper has it; no guarantee here", "0",
             tuning.noise);
    add_real(app, "threshold", "cidertf: relative squared change of a factor that is worth a message", "1e-06",
             tuning.threshold);
    add_real(app, "gossip", "cidertf: step towards the neighbours", "1", tuning.gossip);
}

void add_cache_options(Command& app, BaselineFlags& flags) {
    app.add_flag("--tuned", flags.tuned, "Take what couplet tune found for these data, this method and this rank")
        .group(baselines_group);
    add_text(app, "--cache", "FILE.json", "couplet/tuning.json in $XDG_CACHE_HOME or ~/.cache",
             "Where couplet tune keeps what it found", [&flags](const auto& text) { flags.cache = text; });
    app.option("--cache")->group(baselines_group);
}

std::span<const char* const> baseline_flag_names() { return names; }

std::string tuning_text(const Tuning& tuning) {
    std::string text;
    for_each_parameter(tuning, [&](const char* name, const auto& value) {
        if (value) text += fmt::format("{}{} {}", text.empty() ? "" : " ", flag_of(name), parameter_text(value));
    });
    return text;
}

Json tuning_json(const Tuning& tuning) {
    Json json = Json::object();
    for_each_parameter(tuning, [&](const char* name, const auto& value) {
        if (value) json[name] = *value;
    });
    return json;
}

}  // namespace couplet::cli
