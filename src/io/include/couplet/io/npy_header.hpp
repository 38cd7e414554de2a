#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "couplet/tensor/shape.hpp"

namespace couplet {

/// Element types of tensors on disk: IEEE float32 and float64, little endian.
enum class DType { f4, f8 };
/// "float32" or "float64".
const char* dtype_name(DType dtype) noexcept;

/// More modes than this are refused; NumPy 2 has the same limit.
inline constexpr Index max_order = 64;

/// What the header of a .npy array says (NumPy's numpy.lib.format, versions 1, 2 and 3).
struct NpyHeader {
    std::string descr;  ///< element type as written, such as "<f8"
    bool fortran_order = false;
    Shape shape;
    Index item_bytes = 0;   ///< bytes per element; 0 when the type has no fixed size (object)
    Index data_offset = 0;  ///< where the elements start
};

/// Bytes before the elements, from at least the first 12 bytes of an array of `total_bytes` bytes. Throws
/// InputError, naming `where`, for a wrong magic string, an unknown version or a header longer than the
/// array.
Index npy_data_offset(std::span<const std::byte> first, Index total_bytes, const std::string& where);

/// Parses the header; `bytes` holds at least npy_data_offset() bytes of it. The dict literal may have its
/// three keys in any order. Throws InputError for anything else than that dict, a structured type included.
/// The sizes are only what the header claims: see check_npy_size().
NpyHeader parse_npy_header(std::span<const std::byte> bytes, Index total_bytes, const std::string& where);

/// Throws InputError unless header and elements fill exactly `total_bytes`. Allocate only after this.
void check_npy_size(const NpyHeader& header, Index total_bytes, const std::string& where);

/// The element type of a tensor; throws InputError for any other type, a scalar, more than max_order modes,
/// or a mode of size 0.
DType require_tensor_header(const NpyHeader& header, const std::string& where);

/// Header of the file at `path`, with the checks of parse_npy_header().
NpyHeader read_npy_header(const std::filesystem::path& path);

/// A version 1 header, padded so that the elements start at a multiple of 64 bytes as NumPy does.
std::string encode_npy_header(const std::string& descr, const Shape& shape);

}  // namespace couplet
