#pragma once

#include <string>
#include <utility>
#include <variant>

#include "couplet/io/model.hpp"
#include "couplet/io/tensor_file.hpp"
#include "session.hpp"

namespace couplet::cli {

/// Opens a tensor and reads all of it once, on all threads: the pages of a mapped file have then arrived, and the time
/// of what follows is its own. Throws InputError that names the first NaN or infinity; `missing_remedy` is what it says
/// can be done about NaN, where something can.
TensorFile read_tensor(const std::string& path, const std::string& missing_remedy = {});

/// The same for a verb that was told what to do with NaN: only infinity is refused.
TensorFile read_incomplete_tensor(const std::string& path);

/// Notes where elements of a file were converted, as nothing is changed without a word, and where a column is called
/// and filled like an identifier, which would count as a feature.
void tell_oddities(const TensorFile& file, const Session& session);

/// require_finite() with that remedy for NaN.
void require_complete(TensorView<const double> x, const std::string& path, const std::string& missing_remedy);

/// Reads a model; a tensor by mistake is told how to become one.
AnyModel read_model(const std::string& path);

/// Whether files of this name hold tensors.
bool is_tensor_name(const std::string& path);

/// Of a personal core that does not say of which features it is.
std::string unmarked_note(const std::string& personal, const std::string& features);

/// The train of a model; the error for a personal core alone names the file.
template <Real T>
TensorTrain<T> train_of(Model<T> model, const std::string& path);

/// Two models that can be added or multiplied: same element type, modes and open bond.
template <Real T>
struct ModelPair {
    Model<T> a;
    Model<T> b;
};
using AnyModelPair = std::variant<ModelPair<float>, ModelPair<double>>;

/// float32 only when both are. Throws InputError that names both files when their modes differ.
AnyModelPair read_model_pair(const std::string& path_a, const std::string& path_b);

}  // namespace couplet::cli
