#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/progress.hpp"
#include "couplet/core/stopwatch.hpp"
#include "couplet/io/sparse_file.hpp"
#include "couplet/linalg/backend.hpp"
#include "couplet/tt/sparse_source.hpp"
#include "couplet/tt/tt_svd.hpp"
#include "format.hpp"
#include "inputs.hpp"
#include "layout.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace couplet::cli {
namespace {

constexpr double default_eps = 1e-2;
constexpr std::array methods{SvdMethod::automatic, SvdMethod::gram, SvdMethod::qr, SvdMethod::random};

struct DecomposeArguments {
    std::string input;
    std::optional<double> eps;
    std::optional<Index> max_rank;
    std::string method = "auto";
    Index repeat = 1;
    std::string output;

    /// Only a rank: no other cut.
    double effective_eps() const { return eps.value_or(max_rank ? 0 : default_eps); }
};

SvdMethod method_named(const std::string& name) {
    return *std::find_if(methods.begin(), methods.end(), [&](SvdMethod m) { return to_string(m) == name; });
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <Real T>
struct Run {
    TtSvdResult<T> result;
    std::vector<double> seconds;  ///< of every repetition
};

/// What is decomposed, as far as the report speaks of it.
struct Input {
    Shape shape;
    Labels labels;
    std::string stored;  ///< "float64", "121,057 entries"
    Index bytes = 0;     ///< as it is stored
    double read_seconds = 0;
};

template <Real T>
using Decomposer = std::function<TtSvdResult<T>(const TtSvdOptions&)>;

template <Real T>
Run<T> compute(const Decomposer<T>& decomposer, const ConsumedSink& consumed, const DecomposeArguments& options,
               const Session& session) {
    const ProgressSink progress = session.progress();
    TtSvdOptions how;
    how.eps = options.effective_eps();
    how.max_rank = options.max_rank.value_or(unlimited_rank);
    how.method = method_named(options.method);
    how.seed = session.seed();
    how.consumed = consumed;
    if (options.repeat == 1) how.progress = progress;
    Run<T> run;
    for (Index i = 0; i < options.repeat; ++i) {
        if (options.repeat > 1) report(progress, "repeat", i, options.repeat);
        run.result = {};  // the last run's memory is not this one's
        Stopwatch watch;
        run.result = decomposer(how);
        run.seconds.push_back(watch.lap());
    }
    report(progress, "done", 1, 1);
    return run;
}

template <Real T>
void save(TtSvdResult<T> result, const Labels& labels, const DecomposeArguments& options, const Session& session) {
    Model<T> model = to_model(std::move(result.train));
    model.labels = labels;
    model.metadata = {{"eps", options.effective_eps()},
                      {"method", to_string(result.method)},
                      {"norm", result.norm},
                      {"rank_limited", result.rank_limited},
                      {"rel_error", result.rel_error},
                      {"seed", session.seed()},
                      {"version", version()}};
    save_model(options.output, model, session.force());
}

template <Real T>
void decompose(const Input& input, const Decomposer<T>& decomposer, const ConsumedSink& consumed,
               const DecomposeArguments& options, const Session& session) {
    prepare_backend();  // no part of the computation
    auto [result, runs] = compute<T>(decomposer, consumed, options, session);
    const std::vector<Index> ranks = result.train.ranks();
    const Index numbers = result.train.parameters();
    const double compression = static_cast<double>(input.shape.size()) / static_cast<double>(numbers);
    const double compute_seconds = median(runs);

    Json json{{"shape", input.shape.sizes()},
              {"ranks", ranks},
              {"rel_error", result.rel_error},
              {"compression", compression},
              {"method", to_string(result.method)},
              {"seconds", {{"read", input.read_seconds}, {"compute", compute_seconds}, {"write", 0.0}}},
              {"rank_limited", result.rank_limited},
              {"norm", result.norm},
              {"seed", session.seed()},
              {"version", version()}};
    if (options.repeat > 1) json["runs"] = runs;

    const double eps = options.effective_eps();
    const char* over = !(options.eps && result.rel_error > eps) ? ""
                       : result.rank_limited                    ? ", cut by --max-rank first"
                                                                : ", as close as these numbers can store";
    std::vector<std::pair<std::string, std::string>> rows{
        {"tensor", fmt::format("{}, {}, {}", shape_text(input.shape), input.stored, bytes_text(input.bytes))},
        {"ranks", ranks_text(ranks)},
        {"relative error", eps > 0
                               ? fmt::format("{} (asked: {}{})", number_text(result.rel_error), number_text(eps), over)
                               : number_text(result.rel_error)},
        {"compression", fmt::format("{} numbers become {}, {}x {}", count_text(input.shape.size()), count_text(numbers),
                                    number_text(compression < 1 ? 1 / compression : compression),
                                    compression < 1 ? "as many" : "fewer")},
        {"method", std::string(to_string(result.method))}};

    double write_seconds = 0;
    if (!options.output.empty()) {
        Stopwatch watch;
        save(std::move(result), input.labels, options, session);
        write_seconds = watch.lap();
        json["seconds"]["write"] = write_seconds;
        json["output"] = options.output;
        rows.emplace_back("written", options.output);
    }
    rows.emplace_back("time", fmt::format("read {}, compute {}{}, write {}", seconds_text(input.read_seconds),
                                          seconds_text(compute_seconds),
                                          options.repeat > 1 ? fmt::format(" (median of {})", options.repeat) : "",
                                          seconds_text(write_seconds)));
    session.print(json, fields(rows));
}

/// Sums over what is stored win over the kernels of dense memory where a tenth of the cells or less is there.
bool stays_sparse(const SparseTensor& x) { return x.count() <= x.shape().size() / 10; }

void decompose_dense(const Tensor<double>& x, Input input, const DecomposeArguments& options, const Session& session) {
    input.stored = dtype_name(DType::f8);
    input.bytes = x.size() * static_cast<Index>(sizeof(double));
    decompose<double>(
        input, [&](const TtSvdOptions& how) { return tt_svd(x.view(), how); }, {}, options, session);
}

void decompose_entries(const DecomposeArguments& options, const Session& session) {
    Stopwatch watch;
    const SparseTensor x = read_sparse(options.input);
    require_finite(x, options.input);
    Input input{x.shape(), x.labels(), count_text(x.count()) + " entries",
                x.count() * static_cast<Index>(sizeof(Index) + sizeof(double)), watch.lap()};
    if (!stays_sparse(x)) return decompose_dense(x.full(), std::move(input), options, session);
    decompose<double>(
        input, [&](const TtSvdOptions& how) { return tt_svd(sparse_source(x), x.shape(), how); }, {}, options, session);
}

void decompose_file(const DecomposeArguments& options, const Session& session) {
    Stopwatch watch;
    const TensorFile file = read_tensor(options.input,
                                        "Replace or remove missing values first; couplet simulate --missing impute "
                                        "fills them from what a federation has learnt.");
    tell_oddities(file, session);
    const double read_seconds = watch.lap();
    file.visit([&]<class T>(TensorView<const T> x) {
        const Input input{x.shape(), file.labels(), dtype_name(file.dtype()), x.size() * static_cast<Index>(sizeof(T)),
                          read_seconds};
        decompose<T>(
            input, [&](const TtSvdOptions& how) { return tt_svd(x, how); },
            [&file](Index first, Index count) { file.release(first, count); }, options, session);
    });
}

void execute_decompose(const DecomposeArguments& options, const Session& session) {
    session.claim_output(options.output, std::array{options.input});
    if (is_sparse_name(options.input)) return decompose_entries(options, session);
    decompose_file(options, session);
}

Action set_up_decompose(Command& app) {
    auto options = std::make_shared<DecomposeArguments>();
    std::vector<std::string> names;
    names.reserve(std::size(methods));
    for (const SvdMethod method : methods) names.emplace_back(to_string(method));
    add_input(app, "X.npy", options->input, "Tensor to decompose: .npy with float32 or float64, .csv, .csv.gz or .tns");
    add_eps(
        app, options->eps,
        "Relative error allowed, 0 <= E < 1: the norm of what is lost over the norm of the tensor. Without --eps and "
        "--max-rank 0.01; with --max-rank alone 0, so that only the rank cuts");
    add_max_rank(app, options->max_rank, "No rank exceeds R, even if the error then does");
    add_choice(app, "--method", names, options->method,
               "How singular vectors are found: gram is fastest but cannot see errors below 1e-6, qr is accurate to "
               "rounding, random suits small ranks, auto picks");
    add_count(app, {"--repeat", "N", 1, 1000000, "It is the number of timed runs."}, options->repeat,
              "Compute N times and report the median time");
    add_output(app, ".npz", false, options->output, "Model to write; without it nothing is written");
    return [options](Session& session) { execute_decompose(*options, session); };
}

}  // namespace

extern const Verb decompose_verb{
    .name = "decompose",
    .group = tensors_group,
    .summary = "split a tensor into a tensor train (TT-SVD)",
    .description =
        "Finds a chain of small three-way cores whose product is the tensor within the relative error asked for, with "
        "ranks as small as that allows. The error is reported as achieved. An .npy file is mapped, not copied; the "
        "entries of a .tns file are never made a dense tensor when a tenth of the cells or less is there.",
    .output =
        "ranks: R_0 ... R_N, the sizes of the bonds between cores; both ends are 1. relative error: norm of the "
        "difference over the norm of the tensor. compression: numbers in the tensor over numbers in the cores.\n"
        "--json: shape, ranks, rel_error, compression, method, seconds {read, compute, write}, rank_limited "
        "(--max-rank "
        "cut more than the error asked for), norm, seed, version, runs (with --repeat), output (with -o).",
    .examples =
        "couplet decompose X.npy\n"
        "couplet decompose X.npy --eps 0.05 -o M.npz\n"
        "couplet decompose X.npy --max-rank 20 --json --quiet",
    .setup = set_up_decompose};

}  // namespace couplet::cli
