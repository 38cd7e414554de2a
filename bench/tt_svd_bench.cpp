#include "couplet/tt/tt_svd.hpp"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/backend.hpp"

namespace {

using couplet::Index;

/// Sum of 20 separable terms plus a little noise: the spectrum decays, then has a floor, as measured data does.
template <class T>
couplet::Tensor<T> test_tensor(const couplet::Shape& shape) {
    couplet::Random random(1);
    auto x = couplet::Tensor<T>(shape);
    const auto unfolding = x.view().unfold(1);
    constexpr Index terms = 20;
    std::vector<double> left(static_cast<std::size_t>(terms * unfolding.rows));
    std::vector<double> right(static_cast<std::size_t>(terms * unfolding.cols));
    for (auto& value : left) value = random.normal();
    for (auto& value : right) value = random.normal();
    for (Index i = 0; i < unfolding.rows; ++i) {
        for (Index j = 0; j < unfolding.cols; ++j) {
            double sum = 1e-3 * random.normal();
            for (Index k = 0; k < terms; ++k) {
                sum += left[static_cast<std::size_t>(i * terms + k)] * right[static_cast<std::size_t>(j * terms + k)];
            }
            unfolding(i, j) = static_cast<T>(sum);
        }
    }
    return x;
}

/// Bytes per second are those of the tensor itself, once per decomposition.
template <class T>
void decompose(benchmark::State& state, const couplet::Shape& shape, const couplet::TtSvdOptions& options) {
    const auto x = test_tensor<T>(shape);
    for (auto _ : state) {
        auto result = couplet::tt_svd<T>(x, options);
        benchmark::DoNotOptimize(result.rel_error);
    }
    state.SetBytesProcessed(state.iterations() * x.size() * static_cast<Index>(sizeof(T)));
    state.counters["threads"] = couplet::thread_count();
}

template <class T>
void add(const std::string& name, const couplet::Shape& shape, const couplet::TtSvdOptions& options) {
    benchmark::RegisterBenchmark((name + "/" + shape.to_string()).c_str(), decompose<T>, shape, options)
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
    benchmark::AddCustomContext("blas_core", couplet::blas_core_name());
    add<double>("eps_f8", {200, 30, 30}, {.eps = 1e-2});
    add<double>("eps_f8", {60, 60, 60, 20}, {.eps = 1e-2});
    add<double>("rank20_f8", {1000, 40, 50}, {.max_rank = 20});
    add<float>("rank20_f4", {1000, 40, 50}, {.max_rank = 20});
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
