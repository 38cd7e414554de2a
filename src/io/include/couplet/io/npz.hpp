#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/io/npy_header.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

struct NpzLimits {
    /// Compressed members together may grow to this; stored ones cannot exceed the file.
    Index max_inflated_bytes = Index{8} << 30;
};

/// The named arrays of an .npz archive (numpy.savez and numpy.savez_compressed). Bytes are hostile: every
/// size is checked against the archive and the limits before memory is allocated, and the checksum after
/// reading.
class NpzReader {
  public:
    explicit NpzReader(const std::filesystem::path& path, const NpzLimits& limits = {});
    /// Reads bytes that the caller keeps alive; `name` stands for the file in messages.
    NpzReader(std::span<const std::byte> bytes, std::string name, const NpzLimits& limits = {});
    ~NpzReader();
    NpzReader(NpzReader&&) noexcept;
    NpzReader& operator=(NpzReader&&) noexcept;

    /// Names of the arrays, sorted, without ".npy". Members that are no arrays are left out.
    std::vector<std::string> names() const;
    bool contains(std::string_view array) const;
    /// All below throw InputError when the array is missing, damaged or of another type.
    NpyHeader header(std::string_view array) const;
    /// A float32 or float64 array as T, in row-major order; float64 to float32 is refused, as it would lose
    /// digits.
    template <Real T>
    Tensor<T> tensor(std::string_view array) const;
    std::vector<std::int64_t> integers(std::string_view array) const;
    /// The strings of a text array ('U' or 'S'), or the one string that a uint8 array spells; UTF-8.
    std::vector<std::string> texts(std::string_view array) const;

  private:
    class Archive;
    std::unique_ptr<Archive> archive_;
};

/// Writes an .npz archive atomically (see AtomicFile). Arrays are stored uncompressed with a fixed time
/// stamp: equal arrays give equal bytes, and numpy.load needs no pickle.
class NpzWriter {
  public:
    NpzWriter(const std::filesystem::path& path, bool overwrite);
    ~NpzWriter();
    NpzWriter(NpzWriter&&) noexcept;
    NpzWriter& operator=(NpzWriter&&) noexcept;

    /// The elements are not copied: they must stay alive and unchanged until commit().
    void add(const std::string& array, const TensorView<const float>& tensor);
    void add(const std::string& array, const TensorView<const double>& tensor);
    /// These are copied. Text is UTF-8; anything else, or a NUL at the end, which NumPy would lose, throws
    /// InputError.
    void add_integers(const std::string& array, std::span<const std::int64_t> values);
    void add_texts(const std::string& array, std::span<const std::string> values);
    /// One string as an array of order 0: `archive[name].item()` in Python.
    void add_text(const std::string& array, const std::string& value);
    /// Throws RunError when the disk is full or fails, InputError when nothing was added.
    void commit();

  private:
    class Archive;
    std::unique_ptr<Archive> archive_;
};

}  // namespace couplet
