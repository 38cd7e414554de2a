#include "couplet/io/tensor_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "couplet/core/error.hpp"
#include "couplet/io/csv.hpp"
#include "couplet/io/foreign_file.hpp"
#include "couplet/io/fortran.hpp"
#include "couplet/io/npy_convert.hpp"
#include "couplet/io/npz.hpp"
#include "couplet/io/schema_file.hpp"
#include "npz_labels.hpp"

namespace couplet {
namespace {

enum class Format { npy, npz, csv, tns };

Format format_of(const std::string& name) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); });
    const auto ends = [&](const char* extension) { return lower.ends_with(extension); };
    if (ends(".npy")) return Format::npy;
    if (ends(".csv") || ends(".csv.gz")) return Format::csv;
    if (ends(".tns") || ends(".tns.gz")) return Format::tns;
    if (ends(".npz")) return Format::npz;
    constexpr const char* expected = "a tensor in .npy, .npz, .csv, .csv.gz or .tns";
    if (const auto lines = tensor_import(name)) {
        throw InputError({name, "a file of another program", expected, *lines});
    }
    throw InputError(
        {name, "a name that does not say what the file is", expected, "Save the tensor with numpy.save('x.npy', x)."});
}

template <Real T>
bool is_aligned(const std::byte* data) {
    return reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0;
}

template <Real T>
Tensor<T> copy_elements(const std::byte* data, const NpyHeader& header) {
    if (header.fortran_order) return from_fortran<T>(data, header.shape);
    Tensor<T> tensor(header.shape);
    std::memcpy(tensor.data(), data, static_cast<std::size_t>(tensor.size()) * sizeof(T));
    return tensor;
}

Labels make_labels(const NpzReader& archive, const Shape& shape, const std::string& where) {
    for (const std::string& name : archive.names()) {
        if (!name.starts_with("labels_") && !name.starts_with("units_")) continue;
        const std::string number = name.substr(name.find('_') + 1);
        bool known = false;
        for (Index n = 1; n <= shape.order(); ++n) known = known || number == std::to_string(n);
        if (known) continue;
        throw InputError({where, "an array " + name, fmt::format("labels of modes 1 to {}", shape.order()),
                          "Modes count from 1, the patients' first."});
    }
    Labels labels = read_npz_labels(archive, 1, shape.order(), where);
    try {
        check_labels(labels, shape);
    } catch (const InputError& error) {
        throw InputError({where, error.parts().found, error.parts().expected, "Write the file again."});
    }
    return labels;
}

/// The one array of the archive that is the tensor: the one called tensor, or the only one that does not name modes.
std::string tensor_array(const NpzReader& archive, const std::string& where) {
    std::vector<std::string> found;
    for (const std::string& name : archive.names()) {
        if (name == "tensor") return name;
        if (name.starts_with("core_")) {
            throw InputError({where, "a model, with cores", "a tensor",
                              "couplet reconstruct turns a complete model into a tensor."});
        }
        const bool about =
            name == "mode_names" || name == "meta_json" || name.starts_with("labels_") || name.starts_with("units_");
        if (!about) found.push_back(name);
    }
    if (archive.contains("indptr") && archive.contains("indices")) {
        throw InputError({where, "a sparse matrix of SciPy", "a tensor", sparse_import(where)});
    }
    if (found.size() != 1) {
        throw InputError({where, fmt::format("{} arrays that could be the tensor", found.size()),
                          "one, or one called tensor", "numpy.savez('x.npz', tensor=x) writes it."});
    }
    return found.front();
}

}  // namespace

template <Real T>
TensorView<const T> TensorFile::view() const {
    constexpr DType asked = sizeof(T) == 4 ? DType::f4 : DType::f8;
    if (asked != dtype_) {
        throw InputError({name_, fmt::format("{} elements", dtype_name(dtype_)), dtype_name(asked),
                          "Ask for the type that the file holds."});
    }
    return {static_cast<const T*>(data_), shape_};
}

template <Real T>
Tensor<T> TensorFile::take() && {
    Tensor<T> result = [&] {
        if (auto* owned = std::get_if<Tensor<T>>(&storage_)) return std::move(*owned);
        return visit([](auto source) { return convert<T>(source); });
    }();
    result.set_labels(labels_);
    return result;
}

void TensorFile::release(Index first, Index count) const noexcept {
    const auto* file = std::get_if<MappedFile>(&storage_);
    if (file == nullptr || first < 0 || first >= shape_.size() || count <= 0) return;
    const Index item = dtype_ == DType::f4 ? 4 : 8;
    const Index offset = static_cast<const std::byte*>(data_) - file->bytes().data();
    file->release(offset + first * item, std::min(count, shape_.size() - first) * item);
}

template <Real T>
void TensorFile::hold(Tensor<T> tensor) {
    dtype_ = sizeof(T) == 4 ? DType::f4 : DType::f8;
    shape_ = tensor.shape();
    labels_ = tensor.labels();
    data_ = tensor.data();
    storage_ = std::move(tensor);
}

/// Takes shape and type from the bytes. Returns the elements when they can be used where they are; otherwise
/// copies them and returns nothing.
const std::byte* TensorFile::decode_npy(std::span<const std::byte> bytes, const TensorFileOptions& options) {
    const auto total = static_cast<Index>(bytes.size());
    const NpyHeader header = parse_npy_header(bytes, total, name_);
    if (auto elements = convertible_elements(header)) {
        // A file has its own size: what it becomes is at most eight times that.
        check_npy_size(header, total, name_);
        if (header.shape.size() > options.max_bytes / static_cast<Index>(sizeof(double))) {
            throw InputError({name_, fmt::format("{} elements of {}", header.shape.size(), *elements),
                              fmt::format("at most {} bytes as float64", options.max_bytes),
                              "Save it as float32 or float64: such files are not copied."});
        }
        hold(convert_elements(bytes, header, name_));
        converted_ = std::move(*elements);
        return nullptr;
    }
    dtype_ = require_tensor_header(header, name_);
    check_npy_size(header, total, name_);
    shape_ = header.shape;
    const std::byte* data = bytes.data() + header.data_offset;
    const bool row_major = !header.fortran_order || header.shape.order() == 1;
    const bool aligned = dtype_ == DType::f4 ? is_aligned<float>(data) : is_aligned<double>(data);
    if (row_major && aligned) return data;
    if (dtype_ == DType::f4) {
        hold(copy_elements<float>(data, header));
    } else {
        hold(copy_elements<double>(data, header));
    }
    return nullptr;
}

void TensorFile::decode_text(std::span<const std::byte> bytes, const TensorFileOptions& options) {
    if (format_of(name_) == Format::csv) {
        CsvReader csv(bytes, name_);
        hold(read_csv(csv, options.max_bytes));
    } else {
        LineReader lines(bytes, name_);
        const TnsLimits limits{.max_bytes = options.max_bytes};
        hold(to_dense(read_tns_entries(lines, options.index_base, limits), options.max_bytes, name_));
    }
}

void TensorFile::decode_npz(const NpzReader& archive) {
    const std::string array = tensor_array(archive, name_);
    const auto labelled = [&](auto tensor) {
        tensor.set_labels(make_labels(archive, tensor.shape(), name_));
        hold(std::move(tensor));
    };
    if (require_tensor_header(archive.header(array), name_ + ": " + array) == DType::f4) {
        labelled(archive.tensor<float>(array));
    } else {
        labelled(archive.tensor<double>(array));
    }
}

TensorFile open_tensor(const std::filesystem::path& path, const TensorFileOptions& options) {
    TensorFile tensor;
    tensor.name_ = path.string();
    // Before it is opened: what another program keeps may be a folder.
    std::error_code unknown;
    if (tensor_import(path) && std::filesystem::exists(path, unknown)) format_of(tensor.name_);
    MappedFile file(path);
    const Format format = format_of(tensor.name_);
    file.expect_stream();
    if (format == Format::npz) {
        tensor.decode_npz(NpzReader(path));
    } else if (format != Format::npy) {
        tensor.decode_text(file.bytes(), options);
    } else if (const std::byte* elements = tensor.decode_npy(file.bytes(), options)) {
        tensor.data_ = elements;
        tensor.storage_ = std::move(file);
    }
    if (tensor.labels_.empty()) tensor.labels_ = labels_beside(path, tensor.shape_);
    return tensor;
}

TensorFile decode_tensor(std::span<const std::byte> bytes, const std::string& name, const TensorFileOptions& options) {
    TensorFile tensor;
    tensor.name_ = name;
    if (format_of(name) == Format::npz) {
        tensor.decode_npz(NpzReader(bytes, name));
    } else if (format_of(name) != Format::npy) {
        tensor.decode_text(bytes, options);
    } else if (const std::byte* elements = tensor.decode_npy(bytes, options)) {
        const NpyHeader in_place{.descr = {}, .fortran_order = false, .shape = tensor.shape_};
        if (tensor.dtype_ == DType::f4) {
            tensor.hold(copy_elements<float>(elements, in_place));
        } else {
            tensor.hold(copy_elements<double>(elements, in_place));
        }
    }
    return tensor;
}

template TensorView<const float> TensorFile::view() const;
template TensorView<const double> TensorFile::view() const;
template Tensor<float> TensorFile::take() &&;
template Tensor<double> TensorFile::take() &&;

}  // namespace couplet
