// Prints one JSON object: threads, BLAS kernel family, read bandwidth for arrays of given sizes (bytes, as arguments),
// and the matrix product's speed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "couplet/core/threads.hpp"
#include "couplet/linalg/backend.hpp"
#include "couplet/linalg/products.hpp"

namespace {

using couplet::Index;

template <class F>
double best_seconds(int repeats, F run) {
    double best = 1e300;
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
}

/// Sums 64-bit words over all threads; returned so that the reads are not optimised away.
std::uint64_t read_all(const std::vector<std::uint64_t>& words) {
    constexpr Index parts = 64;
    std::vector<std::uint64_t> sums(parts);
    couplet::parallel_for(parts, [&](Index p) {
        const std::size_t first = words.size() * static_cast<std::size_t>(p) / parts;
        const std::size_t last = words.size() * static_cast<std::size_t>(p + 1) / parts;
        std::uint64_t lanes[16] = {};
        std::size_t i = first;
        for (; i + 16 <= last; i += 16) {
            for (std::size_t l = 0; l < 16; ++l) lanes[l] += words[i + l];
        }
        for (; i < last; ++i) lanes[0] += words[i];
        for (const auto lane : lanes) sums[static_cast<std::size_t>(p)] += lane;
    });
    std::uint64_t total = 0;
    for (const auto sum : sums) total += sum;
    return total;
}

template <class T>
double product_flops() {
    constexpr Index n = 1536;
    const auto a = couplet::Matrix<T>::identity(n);
    couplet::Matrix<T> c(n, n);
    const double seconds = best_seconds(
        5, [&] { couplet::multiply<T>(a.view(), couplet::Op::none, a.view(), couplet::Op::none, c.view()); });
    return 2.0 * n * n * n / seconds;
}

}  // namespace

int main(int argc, char** argv) {
    nlohmann::json result{{"threads", couplet::thread_count()}, {"blas_core", couplet::blas_core_name()}};
    std::uint64_t sink = 0;
    for (int i = 1; i < argc; ++i) {
        const auto bytes = std::strtoull(argv[i], nullptr, 10);
        const std::vector<std::uint64_t> words(std::max<std::size_t>(1, bytes / 8), 1);
        result["read_seconds"][argv[i]] = best_seconds(9, [&] { sink += read_all(words); });
    }
    result["gemm_f64_flops"] = product_flops<double>();
    result["gemm_f32_flops"] = product_flops<float>();
    result["checksum"] = sink;
    std::cout << result.dump() << '\n';
    return 0;
}
