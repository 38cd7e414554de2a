#include "couplet/io/npy.hpp"

#include <span>

#include "couplet/io/atomic_file.hpp"

namespace couplet {
namespace {

template <Real T>
void write_array(const std::filesystem::path& path, const TensorView<const T>& tensor, bool overwrite) {
    AtomicFile file(path, overwrite);
    const std::string header = encode_npy_header(sizeof(T) == 4 ? "<f4" : "<f8", tensor.shape());
    file.write(std::as_bytes(std::span(header)));
    file.write(std::as_bytes(std::span(tensor.data(), static_cast<std::size_t>(tensor.size()))));
    file.commit();
}

}  // namespace

void write_npy(const std::filesystem::path& path, const TensorView<const float>& tensor, bool overwrite) {
    write_array(path, tensor, overwrite);
}

void write_npy(const std::filesystem::path& path, const TensorView<const double>& tensor, bool overwrite) {
    write_array(path, tensor, overwrite);
}

}  // namespace couplet
