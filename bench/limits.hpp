#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "couplet/core/random.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/linalg/products.hpp"

/// What this machine can do, measured, so that a benchmark can say how near to it we are.
namespace bench {

inline double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class F>
double best_seconds(int repeats, F run) {
    double best = 1e300;
    for (int i = 0; i < repeats; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        best = std::min(best, seconds_since(start));
    }
    return best;
}

/// Sums 64-bit words over all threads; returned so that the reads are not optimised away.
inline std::uint64_t read_all(const std::uint64_t* words, std::size_t count) {
    constexpr couplet::Index parts = 64;
    std::vector<std::uint64_t> sums(parts);
    couplet::parallel_for(parts, [&](couplet::Index p) {
        const std::size_t first = count * static_cast<std::size_t>(p) / parts;
        const std::size_t last = count * static_cast<std::size_t>(p + 1) / parts;
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

/// Flop/s of a product of random matrices, on all threads. Not of identities: some processors are faster on zeros.
template <class T>
double product_flops() {
    constexpr couplet::Index n = 1536;
    couplet::Random random(1);
    couplet::Matrix<T> a(n, n);
    for (couplet::Index i = 0; i < a.size(); ++i) a.data()[i] = static_cast<T>(random.normal());
    couplet::Matrix<T> c(n, n);
    const double seconds = best_seconds(
        5, [&] { couplet::multiply<T>(a.view(), couplet::Op::none, a.view(), couplet::Op::none, c.view()); });
    return 2.0 * n * n * n / seconds;
}

}  // namespace bench
