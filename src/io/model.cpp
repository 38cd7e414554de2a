#include "couplet/io/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/io/text.hpp"
#include "npz_labels.hpp"

namespace couplet {
namespace {

constexpr std::string_view core_prefix = "core_";

std::string core_name(Index n) { return fmt::format("{}{}", core_prefix, n); }

/// The n of "core_n", or 0.
Index core_number(std::string_view array) {
    if (!array.starts_with(core_prefix)) return 0;
    array.remove_prefix(core_prefix.size());
    Index n = 0;
    const char* const end = array.data() + array.size();
    const auto [next, error] = std::from_chars(array.data(), end, n);
    const bool canonical = error == std::errc() && next == end && array.front() != '0';
    return canonical && n > 0 ? n : 0;
}

/// Numbers of the cores in the archive, in order and without a gap.
std::vector<Index> core_numbers(const NpzReader& archive, const std::string& where) {
    std::vector<Index> numbers;
    for (const std::string& array : archive.names()) {
        if (const Index n = core_number(array); n > 0) numbers.push_back(n);
    }
    std::sort(numbers.begin(), numbers.end());
    if (numbers.empty()) {
        throw InputError({where, "no array called core_1 or core_2", "a model with arrays core_1, core_2, ...",
                          "A tensor is a .npy file; couplet decompose makes a model of it."});
    }
    for (std::size_t i = 1; i < numbers.size(); ++i) {
        if (numbers[i] == numbers[i - 1] + 1) continue;
        throw InputError({where, fmt::format("no core_{} before core_{}", numbers[i - 1] + 1, numbers[i]),
                          "cores without a gap", "Write the model again."});
    }
    return numbers;
}

nlohmann::json parse_metadata(const std::string& text, const std::string& where) {
    // Nothing we write is deeper; printing a document recurses, so depth from a hostile file must be bounded.
    constexpr int deepest = 64;
    const auto bounded = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
        if (depth > deepest) {
            throw InputError({where, "JSON nested too deeply", fmt::format("at most {} levels", deepest), ""});
        }
        return true;
    };
    try {
        return nlohmann::json::parse(text, bounded);
    } catch (const nlohmann::json::exception& error) {
        throw InputError({where, std::string("text that is not JSON: ") + error.what(), "a JSON object", ""});
    }
}

template <Real T>
Model<T> read_model(const NpzReader& archive, const std::vector<Index>& numbers, const std::string& where) {
    Model<T> model;
    model.first_mode = numbers.front();
    for (const Index n : numbers) model.cores.push_back(archive.tensor<T>(core_name(n)));
    model.labels = read_npz_labels(archive, numbers.front(), static_cast<Index>(numbers.size()), where);
    if (archive.contains("meta_json")) {
        std::string text;
        for (const std::string& part : archive.texts("meta_json")) text += part;
        model.metadata = parse_metadata(text, where + ": meta_json");
    }
    check_model(model, where);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        require_finite<T>(model.cores[i].view(), where + ": " + core_name(numbers[i]));
    }
    return model;
}

AnyModel read_any(const NpzReader& archive, const std::string& where) {
    const std::vector<Index> numbers = core_numbers(archive, where);
    const bool single = std::all_of(numbers.begin(), numbers.end(), [&](Index n) {
        return require_tensor_header(archive.header(core_name(n)), where + ": " + core_name(n)) == DType::f4;
    });
    if (single) return read_model<float>(archive, numbers, where);
    return read_model<double>(archive, numbers, where);
}

template <Real T>
void check_ranks(const Model<T>& model, const std::string& where) {
    const auto described = [&](std::size_t i) {
        return fmt::format("{} has shape {}", core_name(model.first_mode + static_cast<Index>(i)),
                           model.cores[i].shape().to_string());
    };
    for (std::size_t i = 0; i < model.cores.size(); ++i) {
        const Shape& shape = model.cores[i].shape();
        if (shape.order() != 3 || shape.size() == 0) {
            throw InputError({where, described(i), "three modes R_{n-1} x I_n x R_n, none of size 0", ""});
        }
        if (i > 0 && shape[0] != model.cores[i - 1].shape()[2]) {
            throw InputError({where, fmt::format("{} and {}", described(i - 1), described(i)),
                              "the last size of the one to be the first of the other",
                              "The cores do not belong together: write the model again."});
        }
    }
    if (model.first_mode == 1 && model.cores.front().shape()[0] != 1) {
        throw InputError({where, described(0), "a first size of 1", ""});
    }
    const bool open_right = model.is_personal();
    if (!open_right && model.cores.back().shape()[2] != 1) {
        throw InputError(
            {where, described(model.cores.size() - 1), "a last size of 1", "Are cores missing at the end?"});
    }
}

template <Real T>
Shape mode_sizes(const Model<T>& model) {
    std::vector<Index> sizes;
    for (const Tensor<T>& core : model.cores) sizes.push_back(core.shape()[1]);
    return Shape(std::move(sizes));
}

}  // namespace

template <Real T>
void check_model(const Model<T>& model, const std::string& where) {
    const auto count = static_cast<Index>(model.cores.size());
    if (count == 0 || count > max_order) {
        throw InputError({where, fmt::format("{} cores", count), fmt::format("1 to {}", max_order), ""});
    }
    if (model.first_mode != 1 && model.first_mode != 2) {
        throw InputError({where, fmt::format("cores that start at core_{}", model.first_mode),
                          "core_1 (a model or a personal core) or core_2 (features)", ""});
    }
    check_ranks(model, where);
    if (!model.metadata.is_object()) throw InputError({where, "metadata that is no JSON object", "an object", ""});
    try {
        check_labels(model.labels, mode_sizes(model));
    } catch (const InputError& error) {
        throw InputError({where, error.parts().found, error.parts().expected, "Write the model again."});
    }
}

template <Real T>
void save_model(const std::filesystem::path& path, const Model<T>& model, bool overwrite,
                std::span<const NamedArray> beside) {
    check_model(model, path.string());
    NpzWriter archive(path, overwrite);
    for (std::size_t i = 0; i < model.cores.size(); ++i) {
        archive.add(core_name(model.first_mode + static_cast<Index>(i)), model.cores[i].view());
    }
    for (const NamedArray& array : beside) archive.add(array.name, array.values);
    add_npz_labels(archive, model.labels, model.first_mode);
    if (!model.metadata.empty()) archive.add_text("meta_json", model.metadata.dump());
    archive.commit();
}

AnyModel load_model(const std::filesystem::path& path, const NpzLimits& limits) {
    return read_any(NpzReader(path, limits), path.string());
}

AnyModel decode_model(std::span<const std::byte> bytes, const std::string& name, const NpzLimits& limits) {
    return read_any(NpzReader(bytes, name, limits), name);
}

Model<double> to_double(AnyModel model) {
    if (auto* in_double = std::get_if<Model<double>>(&model)) return std::move(*in_double);
    auto& single = std::get<Model<float>>(model);
    Model<double> result;
    result.first_mode = single.first_mode;
    for (const Tensor<float>& core : single.cores) result.cores.push_back(convert<double>(core.view()));
    result.labels = std::move(single.labels);
    result.metadata = std::move(single.metadata);
    return result;
}

template <Real T>
TensorTrain<T> to_train(Model<T> model) {
    check_model(model, "model");
    if (!model.is_features() && !model.is_complete()) {
        throw InputError({"model", "a personal core alone, " + model.cores.front().shape().to_string(),
                          "a complete model or features", "Join it with the features of its federation."});
    }
    TensorTrain<T> train(std::move(model.cores));
    train.set_labels(std::move(model.labels));
    return train;
}

template <Real T>
Model<T> to_model(TensorTrain<T> train, Index first_mode) {
    Model<T> model;
    model.first_mode = first_mode;
    model.labels = train.labels();
    model.cores = std::move(train).release();
    return model;
}

template void check_model(const Model<float>&, const std::string&);
template void check_model(const Model<double>&, const std::string&);
template void save_model(const std::filesystem::path&, const Model<float>&, bool, std::span<const NamedArray>);
template void save_model(const std::filesystem::path&, const Model<double>&, bool, std::span<const NamedArray>);
template TensorTrain<float> to_train(Model<float>);
template TensorTrain<double> to_train(Model<double>);
template Model<float> to_model(TensorTrain<float>, Index);
template Model<double> to_model(TensorTrain<double>, Index);

}  // namespace couplet
