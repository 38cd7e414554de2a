// coding RANK EPS FILE...: the block of so many singular vectors of each tensor, quantised to a relative error of EPS.
// Prints one JSON object: bytes of our coder beside other ways to write the same integers, and numbers a minute on one
// core, every sample.
#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "couplet/coding/integers.hpp"
#include "couplet/coding/quantise.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/tensor_file.hpp"
#include "couplet/linalg/products.hpp"
#include "couplet/linalg/svd.hpp"

namespace {

using couplet::Index;
using Integers = std::vector<std::int32_t>;

struct Block {
    couplet::Matrix<double> rows;
    double norm = 0;  ///< of the whole tensor
    Index inner = 0;
};

Block read_block(const char* file, Index rank) {
    const auto x = couplet::open_tensor(file, {}).take<double>();
    const auto svd = couplet::truncated_svd<double>(x.view().unfold(1), {.max_rank = rank});
    auto rows = couplet::transpose(svd.v.view());
    for (Index i = 0; i < rows.rows(); ++i) {
        for (Index j = 0; j < rows.cols(); ++j) rows(i, j) *= svd.sigma[static_cast<std::size_t>(i)];
    }
    const double norm = std::sqrt(couplet::squared_norm(x.view().unfold(1)));
    return {std::move(rows), norm, x.shape()[x.shape().order() - 1]};
}

std::span<const double> numbers(const Block& block) {
    return {block.rows.data(), static_cast<std::size_t>(block.rows.size())};
}

double error(const Block& block, double step, Integers& q) {
    couplet::quantise(numbers(block), step, q);
    double sum = 0;
    for (std::size_t i = 0; i < q.size(); ++i) {
        const double e = numbers(block)[i] - static_cast<double>(q[i]) * step;
        sum += e * e;
    }
    return std::sqrt(sum);
}

Integers quantised(const Block& block, double eps) {
    Integers q(numbers(block).size());
    double low = couplet::least_step(numbers(block));
    double high = block.norm;
    for (int i = 0; i < 40; ++i) {
        const double step = std::sqrt(low * high);
        (error(block, step, q) > eps * block.norm ? high : low) = step;
    }
    error(block, low, q);
    return q;
}

double order0_bytes(Integers q) {
    std::ranges::sort(q);
    double bits = 0;
    for (auto first = q.begin(); first != q.end();) {
        const auto last = std::upper_bound(first, q.end(), *first);
        const auto count = static_cast<double>(last - first);
        bits -= count * std::log2(count / static_cast<double>(q.size()));
        first = last;
    }
    return bits / 8;
}

/// zlib at its best on 16-bit numbers, which do it more good than 32-bit ones.
std::size_t zlib_bytes(const Integers& q) {
    std::vector<std::int16_t> narrow;
    for (const std::int32_t value : q) narrow.push_back(static_cast<std::int16_t>(std::clamp(value, -32768, 32767)));
    const auto size = static_cast<uLong>(2 * narrow.size());
    uLongf bytes = compressBound(size);
    std::vector<Bytef> out(bytes);
    compress2(out.data(), &bytes, reinterpret_cast<const Bytef*>(narrow.data()), size, 9);
    return bytes;
}

template <class F>
std::vector<double> millions_a_minute(std::size_t count, F run) {
    std::vector<double> samples;
    for (int i = 0; i < 9; ++i) {
        const auto start = std::chrono::steady_clock::now();
        run();
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        samples.push_back(static_cast<double>(count) / seconds * 60e-6);
    }
    return samples;
}

nlohmann::json measure(const char* file, Index rank, double eps) {
    const Block block = read_block(file, rank);
    Integers q = quantised(block, eps);
    const Index rows = block.rows.rows();
    const Index cols = block.rows.cols();
    std::vector<std::byte> bytes;
    const auto encode = millions_a_minute(q.size(), [&] {
        bytes = couplet::encode_integers({q.data(), rows, cols}, block.inner);
    });
    Integers back(q.size());
    const auto decode = millions_a_minute(q.size(), [&] {
        couplet::decode_integers(bytes, block.inner, {back.data(), rows, cols});
    });
    return {{"file", file},
            {"rows", rows},
            {"cols", cols},
            {"bytes", bytes.size()},
            {"order0_bytes", order0_bytes(q)},
            {"zlib_bytes", zlib_bytes(q)},
            {"float_bytes", 4 * q.size()},
            {"exact", q == back},
            {"encode_millions_a_minute", encode},
            {"decode_millions_a_minute", decode}};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        std::cerr << "usage: coding RANK EPS FILE...\n";
        return 2;
    }
    try {
        nlohmann::json result = nlohmann::json::array();
        for (int i = 3; i < argc; ++i) result.push_back(measure(argv[i], std::atoll(argv[1]), std::atof(argv[2])));
        std::cout << result << "\n";
    } catch (const couplet::Error& error) {
        std::cerr << "coding: " << error.what() << "\n";
        return 1;
    }
    return 0;
}
