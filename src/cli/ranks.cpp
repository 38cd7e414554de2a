#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/progress.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "layout.hpp"
#include "plot.hpp"
#include "session.hpp"
#include "spectrum.hpp"
#include "terminal.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

constexpr std::array asked_errors{0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 1e-3, 1e-6};
constexpr std::array<Index, 10> asked_ranks{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};

struct RanksArguments {
    std::string input;
};

struct Unfolding {
    Index mode = 0;  ///< modes 1..mode index the rows
    Index rows = 0;
    Index cols = 0;
    Spectrum spectrum;
    std::vector<double> errors;
};

using Table = std::vector<std::vector<std::string>>;

template <Real T>
std::vector<Unfolding> unfoldings(TensorView<const T> x, const Session& session) {
    const ProgressSink progress = session.progress();
    const Index count = x.shape().order() - 1;
    std::vector<Unfolding> all;
    for (Index n = 1; n <= count; ++n) {
        report(progress, "unfolding", n - 1, count);
        const MatrixView<const T> a = x.unfold(n);
        Unfolding unfolding{.mode = n, .rows = a.rows, .cols = a.cols, .spectrum = spectrum(a), .errors = {}};
        unfolding.errors = truncation_errors(unfolding.spectrum.values);
        all.push_back(std::move(unfolding));
    }
    report(progress, "unfolding", count, count);
    return all;
}

Json to_json(const Unfolding& unfolding) {
    Json ranks = Json::object();
    for (const double error : asked_errors) ranks[exact_text(error)] = rank_for_error(unfolding.errors, error);
    return {{"mode", unfolding.mode},
            {"rows", unfolding.rows},
            {"cols", unfolding.cols},
            {"method", to_string(unfolding.spectrum.method)},
            {"singular_values", unfolding.spectrum.values},
            {"rank_for_error", ranks}};
}

std::string size_text(const Unfolding& unfolding) { return fmt::format("{} x {}", unfolding.rows, unfolding.cols); }

std::string rank_table(const std::vector<Unfolding>& all) {
    Table rows{{"modes", "rows x cols"}};
    for (const double error : asked_errors) rows.front().push_back(fmt::format("{:g}", error));
    for (const Unfolding& unfolding : all) {
        auto& row = rows.emplace_back(std::vector{fmt::format("1..{}", unfolding.mode), size_text(unfolding)});
        for (const double error : asked_errors) row.push_back(std::to_string(rank_for_error(unfolding.errors, error)));
    }
    return "Smallest rank for a relative error of at most\n" + table(rows);
}

std::string error_table(const std::vector<Unfolding>& all) {
    std::size_t longest = 0;
    for (const Unfolding& unfolding : all) longest = std::max(longest, unfolding.spectrum.values.size());
    // Eight ranks fit a line.
    std::vector<std::size_t> ranks;
    for (const Index rank : asked_ranks) {
        if (static_cast<std::size_t>(rank) <= longest && ranks.size() < 8)
            ranks.push_back(static_cast<std::size_t>(rank));
    }
    Table rows{{"modes"}};
    for (const std::size_t rank : ranks) rows.front().push_back(std::to_string(rank));
    for (const Unfolding& unfolding : all) {
        auto& row = rows.emplace_back(std::vector{fmt::format("1..{}", unfolding.mode)});
        for (const std::size_t rank : ranks) {
            row.push_back(rank < unfolding.errors.size() ? fmt::format("{:.2g}", unfolding.errors[rank]) : "-");
        }
    }
    return "Relative error of the best approximation of rank\n" + table(rows);
}

std::string plots(const std::vector<Unfolding>& all) {
    std::string text;
    for (const Unfolding& unfolding : all) {
        const std::string plot = log_plot(unfolding.spectrum.values, locale_is_utf8());
        text += fmt::format("\nSingular values of modes 1..{} ({}), relative to the largest{}\n{}", unfolding.mode,
                            size_text(unfolding), unfolding.spectrum.method == SvdMethod::gram ? ", down to 1e-8" : "",
                            plot.empty() ? "all zero\n" : plot);
    }
    return text;
}

void execute_ranks(const RanksArguments& options, const Session& session) {
    const TensorFile file = read_tensor(options.input);
    tell_oddities(file, session);
    if (file.shape().order() < 2) {
        throw InputError({options.input, "one mode", "a tensor of two modes or more",
                          "A vector has no unfolding: it is one exact core."});
    }
    const std::vector<Unfolding> all = file.visit([&](auto x) { return unfoldings(x, session); });
    Json list = Json::array();
    for (const Unfolding& unfolding : all) list.push_back(to_json(unfolding));
    session.print({{"shape", file.shape().sizes()}, {"unfoldings", list}, {"version", version()}},
                  fmt::format("tensor  {}, {}\n\n{}\n{}{}", shape_text(file.shape()), dtype_name(file.dtype()),
                              rank_table(all), error_table(all), plots(all)));
}

Action set_up_ranks(Command& app) {
    auto options = std::make_shared<RanksArguments>();
    add_input(app, "X.npy", options->input, "Tensor to look at: .npy with float32 or float64, .csv, .csv.gz or .tns");
    return [options](Session& session) { execute_ranks(*options, session); };
}

}  // namespace

extern const Verb ranks_verb{
    .name = "ranks",
    .group = tensors_group,
    .summary = "which rank gives which error, before decomposing",
    .description =
        "Computes the singular values of every unfolding: the tensor as a matrix whose rows are indexed by modes 1..n "
        "and "
        "columns by the rest, for n = 1, ..., N-1. A tensor train cuts each of them at one rank.\n\n"
        "The errors are those of one cut. A train of N modes makes N-1 cuts: to stay within an error E in all, look "
        "for "
        "E / sqrt(N-1) in the table.",
    .output =
        "--json: shape, version and unfoldings, each with mode (n), rows, cols, method (qr is accurate to rounding; "
        "gram, for large ones, to 1e-8 of the largest), singular_values, rank_for_error {error: rank}.",
    .examples =
        "couplet ranks X.npy\n"
        "couplet ranks X.npy --json",
    .setup = set_up_ranks};

}  // namespace couplet::cli
