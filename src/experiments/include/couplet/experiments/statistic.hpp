#pragma once

#include <span>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// A number measured several times.
struct Statistic {
    double mean = 0;
    double sd = 0;  ///< sample standard deviation; 0 for one value
    Index count = 0;
    friend bool operator==(const Statistic&, const Statistic&) = default;
};

/// Throws InputError when there are no values.
Statistic summarise(std::span<const double> values);

}  // namespace couplet
