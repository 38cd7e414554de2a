#pragma once

#include <span>
#include <string>

#include "couplet/tensor/shape.hpp"

namespace couplet::cli {

/// "200 x 30 x 30".
std::string shape_text(const Shape& shape);
/// "1 5 3 1".
std::string ranks_text(std::span<const Index> ranks);
/// "18,000,000".
std::string count_text(Index count);
/// "137.3 MiB".
std::string bytes_text(Index bytes);
/// "1.23 s", "45.6 ms", "7.8 us".
std::string seconds_text(double seconds);
/// Few digits, for people: "0.0123", "4.56e-09".
std::string number_text(double value);
/// All digits: reads back as the same number.
std::string exact_text(double value);

}  // namespace couplet::cli
