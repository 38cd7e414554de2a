#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "couplet/io/npz.hpp"
#include "couplet/tt/tensor_train.hpp"

namespace couplet {

/// What an .npz model file holds: cores `first_mode`, first_mode + 1, ... of a tensor train, each R_{n-1} x
/// I_n x R_n.
/// - complete: core_1 ... core_N with R_0 = R_N = 1;
/// - features: core_2 ... core_N, R_N = 1, an open left bond R_1 shared by all clients;
/// - personal: core_1 alone, 1 x I_1 x R_1, the left factor of one client.
template <Real T>
struct Model {
    Index first_mode = 1;  ///< 1, or 2 for features
    std::vector<Tensor<T>> cores;
    Labels labels;                                       ///< empty, or one entry per core
    nlohmann::json metadata = nlohmann::json::object();  ///< rel_error, method, version and whatever else travels along

    bool is_features() const noexcept { return first_mode == 2; }
    bool is_personal() const noexcept { return first_mode == 1 && cores.size() == 1; }
    /// Also true of a personal core of rank 1, which is the train of a vector.
    bool is_complete() const noexcept { return first_mode == 1 && !cores.empty() && cores.back().shape()[2] == 1; }
};

using AnyModel = std::variant<Model<float>, Model<double>>;

/// Throws InputError, naming `where`, unless the cores are one of the three kinds, neighbouring ranks agree,
/// the labels fit and the metadata is an object.
template <Real T>
void check_model(const Model<T>& model, const std::string& where);

/// An array that is kept beside the cores, under a name of its own.
struct NamedArray {
    std::string name;
    TensorView<const double> values;
};

/// Writes the cores as `core_<n>`, the metadata as JSON text in `meta_json`, the names of the modes in
/// `mode_names`, their labels in `labels_<n>` and units in `units_<n>`. Atomic and reproducible (see NpzWriter); throws
/// as check_model() and NpzWriter do.
template <Real T>
void save_model(const std::filesystem::path& path, const Model<T>& model, bool overwrite,
                std::span<const NamedArray> beside = {});

/// Reads a model. Cores of both types give a Model<double>; arrays under other names are ignored. Throws
/// InputError for anything that check_model() refuses and for NaN or infinity in a core.
AnyModel load_model(const std::filesystem::path& path, const NpzLimits& limits = {});
/// Same, from bytes in memory, which are not needed afterwards; `name` stands for the path.
AnyModel decode_model(std::span<const std::byte> bytes, const std::string& name, const NpzLimits& limits = {});

/// The same model with float64 cores.
Model<double> to_double(AnyModel model);

/// The train of a complete or features model, labels included; throws InputError for a personal core of rank
/// above 1, whose right bond is open.
template <Real T>
TensorTrain<T> to_train(Model<T> model);

/// A model of all cores of `train`, labels included; `first_mode` is 2 for the features of a federation.
template <Real T>
Model<T> to_model(TensorTrain<T> train, Index first_mode = 1);

}  // namespace couplet
