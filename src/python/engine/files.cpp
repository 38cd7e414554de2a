#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "attend.hpp"
#include "couplet/core/error.hpp"
#include "couplet/io/data_print.hpp"
#include "couplet/io/model.hpp"
#include "couplet/io/tensor_file.hpp"
#include "free_gil.hpp"
#include "labels.hpp"
#include "module.hpp"
#include "text.hpp"

namespace couplet::python {
namespace {

template <Real T>
void save(const nb::bytes& path, const std::vector<ArrayIn<T>>& cores, Index first_mode, const LabelTuples& labels,
          const std::string& metadata, bool force) {
    Model<T> model;
    model.first_mode = first_mode;
    for (const auto& core : cores) model.cores.push_back(Tensor<T>::copy(view_of<T>(core)));
    model.labels = to_labels(labels);
    model.metadata = nlohmann::json::parse(metadata);
    const std::string target = from_bytes(path);
    const FreeGil free;
    save_model(target, model, force);
}

/// First mode, cores, labels and the metadata as JSON.
nb::tuple load(const nb::bytes& path, const nb::object& watcher) {
    AnyModel model = attended(watcher, {}, [path = from_bytes(path)](const Voice&) { return load_model(path); });
    return std::visit(
        [](auto& one) {
            nb::list cores;
            for (auto& core : one.cores) cores.append(to_array(std::move(core)));
            return nb::make_tuple(one.first_mode, cores, to_tuples(one.labels), to_text(one.metadata.dump()));
        },
        model);
}

/// The tensor of a file as an array of its own, and its labels.
nb::tuple read_tensor(const nb::bytes& path, const nb::object& watcher) {
    using AnyTensor = std::variant<Tensor<float>, Tensor<double>>;
    auto [tensor, labels] = attended(watcher, {}, [path = from_bytes(path)](const Voice&) {
        TensorFile file = open_tensor(path);
        Labels names = file.labels();
        if (file.dtype() == DType::f4) return std::pair(AnyTensor(std::move(file).take<float>()), std::move(names));
        return std::pair(AnyTensor(std::move(file).take<double>()), std::move(names));
    });
    nb::object array = std::visit([](auto& one) { return nb::cast(to_array(std::move(one))); }, tensor);
    return nb::make_tuple(array, to_tuples(labels));
}

/// What a personal core says it is of.
std::string print_of(const std::vector<ArrayIn<double>>& cores) {
    std::vector<Tensor<double>> copies;
    for (const auto& core : cores) copies.push_back(Tensor<double>::copy(view_of<double>(core)));
    return features_print(copies);
}

template <Real T>
void add_save(nb::module_& module) {
    module.def("save", &save<T>, nb::arg("path"), nb::arg("cores").noconvert(), nb::arg("first_mode"),
               nb::arg("labels"), nb::arg("metadata"), nb::arg("force"));
}

}  // namespace

void add_files(nb::module_& module) {
    add_save<double>(module);
    add_save<float>(module);
    module.def("features_print", &print_of, nb::arg("cores"));
    module.def("load", &load, nb::arg("path"), nb::arg("watcher"));
    module.def("read_tensor", &read_tensor, nb::arg("path"), nb::arg("watcher"));
}

}  // namespace couplet::python
