#pragma once

#include <cmath>
#include <string>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// What stands there instead of a finite number, and where.
inline std::string element_text(const Shape& shape, Index offset, double value) {
    std::string at;
    for (const Index i : shape.indices(offset)) at += (at.empty() ? "" : ", ") + std::to_string(i);
    const char* name = std::isnan(value) ? "NaN" : (value > 0 ? "Inf" : "-Inf");
    return std::string(name) + " at index (" + at + "), counted from 0";
}

}  // namespace couplet
