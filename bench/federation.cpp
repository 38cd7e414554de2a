// federation [--plain] RANK SECONDS FILE...: the whole federation on these clients, again and again in one process for
// so many seconds; --plain: messages of 64-bit numbers, nothing is quantised and coded. Prints one JSON object: every
// sample, and the error.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/tensor_file.hpp"
#include "couplet/linalg/backend.hpp"
#include "couplet/sim/simulate.hpp"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nlohmann::json measure(bool plain, couplet::Index rank, double seconds, const std::vector<const char*>& files) {
    std::vector<couplet::Tensor<double>> tensors;
    for (const char* file : files) tensors.push_back(couplet::open_tensor(file, {}).take<double>());
    const couplet::MemorySource source(std::move(tensors));
    couplet::prepare_backend();
    std::vector<double> samples;
    double rse = 0;
    const auto begin = std::chrono::steady_clock::now();
    while (samples.empty() || (seconds_since(begin) < seconds && samples.size() < 1000)) {
        const auto start = std::chrono::steady_clock::now();
        couplet::SimulationOptions options;
        options.job.rank = rank;
        if (plain) options.job.precision = couplet::Precision::f64;
        rse = couplet::simulate(source, std::move(options)).rse;
        samples.push_back(seconds_since(start));
    }
    return {{"samples", samples}, {"rse", rse}};
}

}  // namespace

int main(int argc, char** argv) {
    const bool plain = argc > 1 && std::string_view(argv[1]) == "--plain";
    if (plain) {
        --argc;
        ++argv;
    }
    if (argc < 4) {
        std::cerr << "usage: federation [--plain] RANK SECONDS FILE...\n";
        return 2;
    }
    try {
        std::cout << measure(plain, std::atoll(argv[1]), std::atof(argv[2]), {argv + 3, argv + argc}) << "\n";
    } catch (const couplet::Error& error) {
        std::cerr << "federation: " << error.what() << "\n";
        return 1;
    }
    return 0;
}
