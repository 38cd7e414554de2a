// Prints one JSON object: threads, BLAS kernel family, read bandwidth for arrays of given sizes (bytes, as arguments),
// and the matrix product's speed.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "couplet/linalg/backend.hpp"
#include "limits.hpp"

int main(int argc, char** argv) {
    nlohmann::json result{{"threads", couplet::thread_count()}, {"blas_core", couplet::blas_core_name()}};
    std::uint64_t sink = 0;
    for (int i = 1; i < argc; ++i) {
        const auto bytes = std::strtoull(argv[i], nullptr, 10);
        const std::vector<std::uint64_t> words(std::max<std::size_t>(1, bytes / 8), 1);
        result["read_seconds"][argv[i]] =
            bench::best_seconds(9, [&] { sink += bench::read_all(words.data(), words.size()); });
    }
    result["gemm_f64_flops"] = bench::product_flops<double>();
    result["gemm_f32_flops"] = bench::product_flops<float>();
    result["checksum"] = sink;
    std::cout << result.dump() << '\n';
    return 0;
}
