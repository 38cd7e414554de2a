#include "job_options.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "command.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/number.hpp"
#include "couplet/io/schema_file.hpp"
#include "couplet/io/text.hpp"

namespace couplet::cli {

void refuse_given(const Command& app, std::initializer_list<const char*> options, const std::string& with,
                  const std::string& only) {
    refuse_given(app, std::span(options.begin(), options.size()), with, only);
}

void refuse_given(const Command& app, std::span<const char* const> options, const std::string& with,
                  const std::string& only) {
    for (const char* option : options) {
        const auto known = app.option(option);
        if (!known || known->count() == 0) continue;
        throw InputError({option, "given with " + with, only, "Leave it out."});
    }
}

Index parse_bytes(const std::string& name, const std::string& text) {
    struct Unit {
        std::string_view name;
        double bytes;
    };
    constexpr Unit units[] = {{"", 1},     {"B", 1},         {"kB", 1e3},      {"MB", 1e6},
                              {"GB", 1e9}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    const std::size_t end = text.find_first_not_of("0123456789.");
    const std::string_view digits = std::string_view(text).substr(0, end);
    const std::string_view unit = end == std::string::npos ? "" : std::string_view(text).substr(end);
    double number = 0;
    for (const Unit& known : units) {
        if (unit != known.name || digits.empty() || parse_number(digits, number) != NumberText::number) continue;
        const double bytes = number * known.bytes;
        if (bytes >= 1 && bytes <= 1e15) return static_cast<Index>(bytes);
    }
    throw InputError({name, "'" + text + "'", "a number of bytes such as 5000, 100kB, 2MB or 64KiB", ""});
}

void refuse_idle_flags(const Command& app, const Job& job) {
    if (job.aggregate == Aggregate::subspace) return;
    refuse_given(app, {"--sketch", "--passes"}, fmt::format("--aggregate {}", to_string(job.aggregate)),
                 "it with --aggregate subspace only");
}

void refuse_idle_errors(const Command& app, const Job& job, const Shape& features) {
    if (features.order() > 1 || job.aggregate == Aggregate::stack) return;
    for (const char* flag : {"--eps1", "--eps2"}) {
        if (app.count(flag) == 0) continue;
        throw InputError({flag,
                          fmt::format("given with --aggregate {} for patients by {} features", to_string(job.aggregate),
                                      features.size()),
                          "tensors with two feature modes or more",
                          "There is one shared core, whose rank is --rank: nothing is cut by an error. Leave it out."});
    }
}

std::string lower_rank_note(const Job& job, std::span<const Index> ranks) {
    const bool by_error = job.aggregate == Aggregate::stack && !job.eps && !has_budget(job) && job.eps1 + job.eps2 > 0;
    if (!by_error || !job.rank || ranks.empty() || ranks.front() >= *job.rank) return "";
    return fmt::format(
        "note: rank {} and not {}: with it messages are within the errors that they may have, --eps1 {} and --eps2 {}; "
        "smaller ones keep more",
        ranks.front(), *job.rank, job.eps1, job.eps2);
}

void refuse_idle_consensus(const Command& app, const Job& job) {
    if (job.aggregate == Aggregate::stack) {
        refuse_given(app, {"--weights", "--consensus", "--iterations"}, "--aggregate stack",
                     "it with --aggregate subspace or average: stack merges along a tree of the graph");
    } else if (job.consensus.engine != ConsensusEngine::plain) {
        refuse_given(app, {"--weights"}, "--consensus " + to_string(job.consensus.engine),
                     "it with --consensus plain: the others know their own steps");
    }
}

void add_word(Command& app, const std::string& name, const std::vector<std::string>& words,
              const std::string& shown_default, const std::string& description, TakeText take) {
    add_text(app, name, fmt::format("{}", fmt::join(words, "|")), shown_default, description,
             [name, words, take = std::move(take)](const std::string& text) { take(parse_choice(name, words, text)); });
}

void add_job_flags(Command& app, JobFlags& flags) {
    JobOptions& job = flags.job;
    add_word(
        app, "--aggregate", {"stack", "average", "subspace"}, "stack",
        "How features become common. stack: best common row space of what clients send, certified, along a tree in a "
        "decentralized network; average: that of the CTT of Zhang et al. 2024, element-wise mean; subspace: only sums "
        "travel",
        [&job](const auto& text) { job.aggregate = parse_aggregate(text); });
    add_text(app, "--rank", "R", "chosen by --eps", "Rank R1 between patients and features", [&job](const auto& text) {
        job.rank = parse_count({"--rank", "R", 1, std::numeric_limits<Index>::max(),
                                "couplet simulate --rank auto finds one where the data can be tried out."},
                               text);
    });
    const auto eps = [&](const std::string& name, const std::string& standard, const std::string& description,
                         std::optional<double>& value) {
        add_text(app, name, "E", standard, description,
                 [name, &value](const auto& text) { value = parse_eps(name, text); });
    };
    eps("--eps", "0.1 when no rank and no other error is given", "One certified relative error of everything (stack)",
        job.eps);
    eps("--eps1", "0.01; 0.1 with average", "Relative error of what clients send (stack; average in a star)", job.eps1);
    eps("--eps2", "0.01; 0.05 with average", "Relative error of the shared cores", job.eps2);
    const auto bytes = [&](const std::string& name, const std::string& description, std::optional<Index>& value) {
        add_text(app, name, "N", "", description,
                 [name, &value](const auto& text) { value = parse_bytes(name, text); });
    };
    bytes(
        "--bytes",
        "Bytes of one client's questions and answers, both ways, instead of an error: 100kB, 2MB. Means and deviations "
        "count; greetings with the names of columns, reports and encryption come on top (bytes_overhead). Rank and "
        "precision are chosen for the least error, which is certified (stack)",
        job.bytes);
    bytes("--bytes-total", "The same for the whole federation", job.bytes_total);
    add_word(app, "--precision", {"auto", "f32", "f64"}, "auto",
             "stack: how blocks travel. auto: quantised and entropy-coded, the errors above choose rank and precision "
             "together; f32, f64: as numbers of that many bits",
             [&job](const auto& text) { job.precision = parse_precision(text); });
    app.add_flag(
        "--refit", [&job] { job.refit = true; },
        "Every client fits its personal core to the shared features (default, except with average)");
    app.add_flag(
        "--no-refit", [&job] { job.refit = false; }, "Keep the personal cores from before the exchange (average only)");
    add_word(app, "--sketch", {"auto", "random", "gram"}, "auto",
             "subspace: clients send products with a random block, or their Gram matrix; auto takes the smaller",
             [&job](const auto& text) { job.sketch = parse_sketch(text); });
    add_text(app, "--passes", "N", "3", "subspace: passes over the data with a random block", [&job](const auto& text) {
        job.passes = static_cast<int>(parse_count({"--passes", "N", 1, 50, "Three are usually enough."}, text));
    });
}

void add_consensus_flags(Command& app, JobFlags& flags) {
    JobOptions& job = flags.job;
    add_text(app, "--weights", "WEIGHTS", "paper",
             "decentralized: mixing weights of plain consensus. paper, magic, metropolis, best-constant, or file:PATH "
             "with a matrix",
             [&job](const auto& text) { job.weights = text; });
    add_text(
        app, "--consensus", "auto|plain|chebyshev|finite-time|tree", "auto; plain with average",
        "decentralized: how neighbours find an average. auto: along a tree, or by gossip where --iterations is given",
        [&job](const auto& text) {
            job.consensus = parse_consensus_engine(
                parse_choice("--consensus", {"auto", "plain", "chebyshev", "finite-time", "tree"}, text));
        });
    add_text(app, "--iterations", "N", "auto", "decentralized: rounds of one consensus; auto reaches an error of 1e-10",
             [&job](const auto& text) { job.iterations = parse_consensus_iterations(text); });
}

void add_unnamed_flag(Command& app, Unnamed& unnamed) {
    add_word(app, "--unnamed", {"allow", "refuse"}, "refuse",
             "Data whose features have no names among data whose features have: an error, or taken to be in the same "
             "order",
             [&unnamed](const auto& text) { unnamed = parse_unnamed(text); });
}

void add_schema_flags(Command& app, JobFlags& flags) {
    add_text(app, "--schema", "FILE", "the one that most clients have",
             "Names, order and units of the features, as couplet schema -o writes them, or any file that has them; who "
             "has other names or units is refused, who has another order puts its data in this one",
             [&flags](const auto& text) { flags.schema = text; });
    add_unnamed_flag(app, flags.job.unnamed);
}

std::optional<Schema> given_schema(const JobFlags& flags) {
    if (flags.schema.empty()) return std::nullopt;
    return read_schema(flags.schema);
}

void take_errors(const Command& app, const SavedMerge& merge, JobOptions& job) {
    for (const char* flag : {"--rank", "--eps", "--eps1", "--eps2"}) {
        if (app.count(flag) > 0) return;
    }
    job.rank = merge.job.rank;
    job.eps = merge.job.eps;
    if (job.eps) return;
    job.eps1 = merge.job.eps1;
    job.eps2 = merge.job.eps2;
}

void add_centring_flags(Command& app, CentringOptions& centring) {
    app.add_flag("--centre", centring.centre,
                 "Subtract each feature's mean over the whole federation first; kept in features.npz, done by project, "
                 "undone by reconstruct");
    app.add_flag(
        "--scale", centring.scale,
        "Divide each feature by its standard deviation over the whole federation; without --centre by its root "
        "mean square");
}

void add_preparation_flags(Command& app, JobFlags& flags) {
    add_choice(app, "--scale-clients", {"none", "norm"}, flags.scale_clients,
               "norm: every client counts alike, whatever the size of its numbers. Without it a client whose norm is "
               "not 0 and "
               "not between 1e-75 and 1e75 is refused: squares of its numbers could not be added up");
    add_text(app, "--heldout", "FRACTION", "0",
             "Part of each client's patients kept out of the job, then embedded with the frozen features",
             [&flags](const auto& text) { flags.heldout = parse_fraction("--heldout", text); });
}

void add_data_flags(Command& app, JobFlags& flags) {
    add_preparation_flags(app, flags);
    add_text(app, "--save-state", "FILE.npz", "", "Keep the merge, so that more clients can join later (star, stack)",
             [&flags](const auto& text) { flags.save_state = text; });
    add_text(app, "--resume", "FILE.npz", "", "Let these clients join a merge that --save-state kept",
             [&flags](const auto& text) { flags.resume = text; });
}

}  // namespace couplet::cli
