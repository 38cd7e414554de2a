#pragma once

#include <google/protobuf/repeated_field.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "couplet/tensor/shape.hpp"

/// Checks of the numbers and texts that a remote party has sent. Everything throws InputError that blames `who`.
namespace couplet::wire {

using Numbers = google::protobuf::RepeatedField<std::uint64_t>;

// A tensor file has at most 64 modes, the patients among them.
inline constexpr int most_modes = 63;
inline constexpr std::size_t most_text = 4096;

[[noreturn]] void refuse(const std::string& who, const std::string& found, const std::string& expected);

void put(Numbers* field, std::span<const Index> values);

Index to_index(std::uint64_t value, const std::string& who, const char* what);
double finite(double value, const std::string& who, const char* what);
/// A finite number of at least 0.
double squares(double value, const std::string& who, const char* what);
/// From 0 up to 1.
double part(double value, const std::string& who, const char* what);
/// Short, UTF-8, and without control characters.
std::string text(const std::string& value, const std::string& who);
/// At most `most` numbers, each at least 1.
std::vector<Index> indices(const Numbers& values, const std::string& who, const char* what, int most);
/// At least one mode, with a product that fits.
Shape modes_of(const Numbers& values, const std::string& who);
/// Ranks that a train over these modes can have: neighbours bound each other, so a head cannot promise more numbers
/// than its shape allows.
std::vector<Index> ranks_of(const Numbers& values, const Shape& modes, const std::string& who);
/// A product; throws when it cannot be counted.
Index counted(Index a, Index b, const std::string& who);
/// Numbers in a train; likewise.
Index train_numbers(const Shape& modes, const std::vector<Index>& ranks, const std::string& who);

}  // namespace couplet::wire
