#include "arrays.hpp"
#include "attend.hpp"
#include "couplet/core/error.hpp"
#include "couplet/linalg/svd.hpp"
#include "couplet/tt/arithmetic.hpp"
#include "couplet/tt/rounding.hpp"
#include "couplet/tt/tt_svd.hpp"
#include "free_gil.hpp"
#include "module.hpp"
#include "spectrum.hpp"

namespace couplet::python {
namespace {

/// Tensors below this many entries take a few milliseconds at most: not worth a thread.
constexpr Index brief = Index{1} << 18;

struct DecomposeArguments {
    double eps = 0;
    Index max_rank = unlimited_rank;
    SvdMethod method = SvdMethod::automatic;
    std::uint64_t seed = 0;
};

template <Real T>
TtSvdResult<T> run_tt_svd(TensorView<const T> x, const DecomposeArguments& arguments, ProgressSink progress) {
    return tt_svd<T>(x, {.eps = arguments.eps,
                         .max_rank = arguments.max_rank,
                         .method = arguments.method,
                         .seed = arguments.seed,
                         .progress = std::move(progress)});
}

/// Cores, achieved relative error, norm, whether max_rank cut first, and the engine that did most.
template <Real T>
nb::tuple decompose(const ArrayIn<T>& x, double eps, std::optional<Index> max_rank, SvdMethod method,
                    std::uint64_t seed, const nb::object& watcher) {
    const DecomposeArguments arguments{eps, max_rank.value_or(unlimited_rank), method, seed};
    const auto view = view_of<T>(x);
    TtSvdResult<T> result;
    if (view.size() < brief) {
        const FreeGil free;
        result = run_tt_svd<T>(view, arguments, {});
    } else {
        result = attended(watcher, {nb::cast(x)},
                          [=](const Voice& voice) { return run_tt_svd<T>(view, arguments, voice.progress); });
    }
    return nb::make_tuple(to_arrays(std::move(result.train)), result.rel_error, result.norm, result.rank_limited,
                          nb::cast(std::string(to_string(result.method))));
}

template <Real T>
nb::tuple round_train(const std::vector<ArrayIn<T>>& cores, double eps, std::optional<Index> max_rank,
                      const nb::object& watcher) {
    auto train = std::make_shared<TensorTrain<T>>(to_train<T>(cores));
    auto result = attended(watcher, {}, [train, eps, max_rank](const Voice&) {
        return round(*train, {.eps = eps, .max_rank = max_rank.value_or(unlimited_rank)});
    });
    return nb::make_tuple(to_arrays(std::move(result.train)), result.rel_error);
}

template <Real T>
void check_train(const std::vector<ArrayIn<T>>& cores) {
    to_train<T>(cores);
}

/// The result of `work` on trains, which it owns: here while they are small, else in a thread that Ctrl-C leaves.
template <class F>
auto calculated(bool small, const nb::object& watcher, F work) {
    if (small) {
        const FreeGil free;
        return work();
    }
    return attended(watcher, {}, [work = std::move(work)](const Voice&) { return work(); });
}

template <Real T>
bool is_small(const TensorTrain<T>& train) {
    return train.parameters() < brief / 16;
}

template <Real T>
ArrayOut<T> full(const std::vector<ArrayIn<T>>& cores, const nb::object& watcher) {
    const auto train = std::make_shared<const TensorTrain<T>>(to_train<T>(cores));
    double entries = static_cast<double>(train->left_rank());
    for (const Index size : train->shape().sizes()) entries *= static_cast<double>(size);
    const bool small = is_small(*train) && entries < static_cast<double>(brief);
    return to_array(calculated(small, watcher, [train] { return train->full(); }));
}

template <Real T>
double norm_of(const std::vector<ArrayIn<T>>& cores, const nb::object& watcher) {
    const auto train = std::make_shared<TensorTrain<T>>(to_train<T>(cores));
    return calculated(is_small(*train), watcher, [train] { return norm(*train); });
}

template <Real T>
double dot_of(const std::vector<ArrayIn<T>>& a, const std::vector<ArrayIn<T>>& b, const nb::object& watcher) {
    const auto left = std::make_shared<const TensorTrain<T>>(to_train<T>(a));
    const auto right = std::make_shared<const TensorTrain<T>>(to_train<T>(b));
    return calculated(is_small(*left) && is_small(*right), watcher, [left, right] { return dot(*left, *right); });
}

template <Real T>
nb::list sum_of(const std::vector<ArrayIn<T>>& a, const std::vector<ArrayIn<T>>& b, const nb::object& watcher) {
    const auto left = std::make_shared<const TensorTrain<T>>(to_train<T>(a));
    const auto right = std::make_shared<const TensorTrain<T>>(to_train<T>(b));
    return to_arrays(
        calculated(is_small(*left) && is_small(*right), watcher, [left, right] { return add(*left, *right); }));
}

/// Singular values of the unfolding whose rows are the first `modes` modes.
template <Real T>
std::vector<double> singular_values(const ArrayIn<T>& x, Index modes, const nb::object& watcher) {
    const auto view = view_of<T>(x);
    return attended(watcher, {nb::cast(x)}, [view, modes](const Voice&) {
        require_finite(view, "tensor");
        return cli::spectrum(view.unfold(modes)).values;
    });
}

SvdMethod parse_svd_method(const std::string& name) {
    for (const SvdMethod method : {SvdMethod::automatic, SvdMethod::gram, SvdMethod::qr, SvdMethod::random}) {
        if (to_string(method) == name) return method;
    }
    throw InputError({"method", "'" + name + "'", "one of auto, gram, qr, random", ""});
}

template <Real T>
void add_for(nb::module_& module) {
    const auto x = nb::arg("x").noconvert();
    const auto cores = nb::arg("cores").noconvert();
    module.def(
        "decompose",
        [](const ArrayIn<T>& array, double eps, std::optional<Index> max_rank, const std::string& method,
           std::uint64_t seed, const nb::object& watcher) {
            return decompose<T>(array, eps, max_rank, parse_svd_method(method), seed, watcher);
        },
        x, nb::arg("eps"), nb::arg("max_rank").none(), nb::arg("method"), nb::arg("seed"), nb::arg("watcher"));
    module.def("check", &check_train<T>, cores);
    module.def("full", &full<T>, cores, nb::arg("watcher"));
    module.def("norm", &norm_of<T>, cores, nb::arg("watcher"));
    module.def("dot", &dot_of<T>, nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("watcher"));
    module.def("add", &sum_of<T>, nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("watcher"));
    module.def("round", &round_train<T>, cores, nb::arg("eps"), nb::arg("max_rank").none(), nb::arg("watcher"));
    module.def("singular_values", &singular_values<T>, x, nb::arg("modes"), nb::arg("watcher"));
}

}  // namespace

void add_trains(nb::module_& module) {
    add_for<double>(module);
    add_for<float>(module);
}

}  // namespace couplet::python
