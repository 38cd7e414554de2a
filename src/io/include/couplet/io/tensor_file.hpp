#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "couplet/io/mapped_file.hpp"
#include "couplet/io/npy_header.hpp"
#include "couplet/io/tns.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet {

class NpzReader;

struct TensorFileOptions {
    IndexBase index_base = IndexBase::detect;  ///< of .tns files
    /// Limit on what a text file, or elements of another type, may become in memory, checked before allocating.
    Index max_bytes = Index{8} << 30;
};

/// A read-only tensor from a file. A C-ordered .npy file is mapped, not copied: opening costs nothing and
/// pages arrive when first read. Everything else is held in memory in row-major order: whole numbers,
/// bool, float16 and big-endian elements as float64. The values are as in the file: NaN and infinity pass.
class TensorFile {
  public:
    const std::string& name() const noexcept { return name_; }
    DType dtype() const noexcept { return dtype_; }
    const Shape& shape() const noexcept { return shape_; }
    const Labels& labels() const noexcept { return labels_; }
    /// "int64" where the file has such elements, which were converted; empty: it has dtype().
    const std::string& converted_from() const noexcept { return converted_; }
    bool is_mapped() const noexcept { return std::holds_alternative<MappedFile>(storage_); }

    /// The tensor, valid while this object lives; moving the object does not end it. Throws InputError unless
    /// T is dtype().
    template <Real T>
    TensorView<const T> view() const;
    /// Calls `f` with the TensorView<const float> or TensorView<const double>.
    template <class F>
    decltype(auto) visit(F&& f) const {
        return dtype_ == DType::f4 ? std::forward<F>(f)(view<float>()) : std::forward<F>(f)(view<double>());
    }
    /// The tensor in memory of its own, labels included, converted to T when that is not dtype(). Costs
    /// nothing when it is already in memory as T.
    template <Real T>
    Tensor<T> take() &&;
    /// Lets the system drop the mapped pages of elements [first, first + count), for consumers that stream
    /// through a tensor larger than memory. Touching them again reads them again. Does nothing unless
    /// is_mapped().
    void release(Index first, Index count) const noexcept;

  private:
    friend TensorFile open_tensor(const std::filesystem::path&, const TensorFileOptions&);
    friend TensorFile decode_tensor(std::span<const std::byte>, const std::string&, const TensorFileOptions&);
    TensorFile() = default;
    template <Real T>
    void hold(Tensor<T> tensor);
    const std::byte* decode_npy(std::span<const std::byte> bytes, const TensorFileOptions& options);
    void decode_npz(const NpzReader& archive);
    void decode_text(std::span<const std::byte> bytes, const TensorFileOptions& options);

    std::string name_;
    DType dtype_ = DType::f8;
    std::string converted_;
    Shape shape_;
    Labels labels_;
    const void* data_ = nullptr;
    std::variant<MappedFile, Tensor<float>, Tensor<double>> storage_;
};

/// Opens .npy, .npz, .csv, .csv.gz, .tns or .tns.gz, told apart by the name. A .npz file holds the tensor as its only
/// array, or as the one called tensor, and may name its modes as models do. Without labels of its own a file has those
/// of the manifest.json beside it that lists it. Throws InputError for every kind of wrong content.
TensorFile open_tensor(const std::filesystem::path& path, const TensorFileOptions& options = {});

/// Same, from bytes in memory, which are not needed afterwards; `name` stands for the path.
TensorFile decode_tensor(std::span<const std::byte> bytes, const std::string& name,
                         const TensorFileOptions& options = {});

}  // namespace couplet
