#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "couplet/experiments/data_library.hpp"

namespace couplet {

/// A table of the paper over R1: rows are the star and L = 1 ... 4.
struct PaperTable {
    std::array<Index, 7> ranks;
    std::array<std::array<double, 7>, 5> rse;
    std::array<std::array<double, 7>, 5> numbers;  ///< per link
    std::array<std::array<double, 7>, 5> seconds;
};

/// The tables "RSE, run-time, and communication cost of CTT with varying R1 and L"; nothing for other data.
const PaperTable* paper_r1_table(DataId data) noexcept;

/// A line of the comparison table.
struct PaperComparison {
    DataId data;
    std::string_view method;  ///< id of style.hpp
    double rounds;
    double seconds;
    double rse;
};
std::span<const PaperComparison> paper_comparison() noexcept;

}  // namespace couplet
