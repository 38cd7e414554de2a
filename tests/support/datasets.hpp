#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "couplet/data/data_file.hpp"
#include "couplet/data/diabetes.hpp"
#include "couplet/data/ecg.hpp"
#include "couplet/data/ehr.hpp"
#include "couplet/data/synthetic.hpp"

/// The federations that ALGORITHMS.md quotes figures for.
namespace couplet::support {

inline std::vector<Tensor<double>> synthetic_clients(const std::string& spec, std::uint64_t seed, Index clients) {
    const SyntheticClients source(parse_synthetic(spec, seed), clients);
    std::vector<Tensor<double>> result;
    for (Index k = 0; k < clients; ++k) result.push_back(source.client(k));
    return result;
}

struct RealData {
    const char* name;
    Index rank;
};

/// Nothing when COUPLET_DATA is not set.
inline std::optional<Tensor<double>> load_real(const std::string& name) {
    if (std::getenv("COUPLET_DATA") == nullptr) return std::nullopt;
    if (name == "ecg") {
        // 200 of the 1000 beats, 40 of the 110 points: the test is of the method, not of the machine.
        return std::move(load_ecg(find_data_file(DataFile::ecg), {.count = 200, .points = 40}).tensor);
    }
    if (name == "diabetes") return std::move(load_diabetes(find_data_file(DataFile::diabetes), {.count = 600}).tensor);
    return std::move(load_cms(find_data_file(DataFile::cms)).tensor);
}

}  // namespace couplet::support
