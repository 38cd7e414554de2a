#include "inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/core/threads.hpp"
#include "couplet/io/text.hpp"
#include "couplet/tensor/partition.hpp"
#include "couplet/tensor/schema.hpp"
#include "format.hpp"

namespace couplet::cli {
namespace {

/// require_finite(); of NaN it says what can be done.
template <Real T>
void require_finite_or(TensorView<const T> x, const std::string& path, const std::string& missing_remedy) {
    try {
        require_finite(x, path);
    } catch (const InputError& error) {
        ErrorParts parts = error.parts();
        if (!missing_remedy.empty() && parts.found.starts_with("NaN")) parts.remedy = missing_remedy;
        throw InputError(std::move(parts));
    }
}

/// On all threads; the exact place is looked for only when there is one.
template <Real T>
void require_finite_in_parallel(TensorView<const T> x, const std::string& path, const std::string& missing_remedy) {
    constexpr Index block = Index{1} << 18;
    std::atomic<bool> bad{false};
    const auto blocks = Partition::blocks(x.size(), block);
    parallel_for(blocks.count(), [&](Index i) {
        const auto count = static_cast<std::size_t>(blocks.length(i));
        if (find_non_finite(std::span<const T>(x.data() + blocks.begin(i), count))) bad = true;
    });
    if (bad) require_finite_or(x, path, missing_remedy);
}

bool is_called_like_an_identifier(std::string_view label) {
    std::string plain;
    for (const char c : label) {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    for (const char* whole : {"id", "pid", "uid", "mrn", "patient", "subject", "person"}) {
        if (plain == whole) return true;
    }
    for (const std::string whose : {"patient", "subject", "person", "record", "case", "study"}) {
        for (const char* what : {"id", "number", "no", "nr"}) {
            if (plain == whose + what) return true;
        }
    }
    return false;
}

/// Whether no two rows have the same number in this column, all of them whole.
template <Real T>
bool is_numbered(TensorView<const T> x, Index column) {
    std::vector<T> values;
    for (Index i = column; i < x.size(); i += x.shape()[1]) values.push_back(x.data()[i]);
    // NaN is not whole, and could not be sorted.
    if (!std::ranges::all_of(values, [](T value) { return value == std::floor(value); })) return false;
    std::ranges::sort(values);
    return values.size() > 1 && std::ranges::adjacent_find(values) == values.end();
}

/// The label of the first column of a matrix that is called and filled like an identifier.
std::optional<std::string> identifier_column(const TensorFile& file) {
    if (file.shape().order() != 2 || file.labels().size() != 2) return std::nullopt;
    const std::vector<std::string>& labels = file.labels()[1].entries;
    for (std::size_t column = 0; column < labels.size(); ++column) {
        if (!is_called_like_an_identifier(labels[column])) continue;
        const bool numbered = file.visit([&](auto x) { return is_numbered(x, static_cast<Index>(column)); });
        if (numbered) return labels[column];
    }
    return std::nullopt;
}

template <Real T>
std::string modes_text(const Model<T>& model) {
    std::vector<Index> sizes;
    for (const Tensor<T>& core : model.cores) sizes.push_back(core.shape()[1]);
    const std::string shape = shape_text(Shape(sizes));
    const Index left = model.cores.front().shape()[0];
    return model.is_features() ? fmt::format("features {} with first rank {}", shape, left)
                               : fmt::format("modes {}", shape);
}

/// What the modes of a model are, the patients' left out where it has them.
template <Real T>
Schema schema_of(const Model<T>& model, const std::string& path) {
    const std::size_t skip = model.is_features() ? 0 : 1;
    std::vector<Index> sizes;
    for (std::size_t n = skip; n < model.cores.size(); ++n) sizes.push_back(model.cores[n].shape()[1]);
    Labels labels = model.labels;
    if (!labels.empty()) labels.erase(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(skip));
    return make_schema(Shape(std::move(sizes)), std::move(labels), path);
}

/// Numbers under other names, or in another order, are not added up.
template <Real T>
void require_same_names(const Model<T>& a, const Model<T>& b, const std::string& path_a, const std::string& path_b) {
    for (const SchemaDifference& d : compare(schema_of(a, path_a), schema_of(b, path_b))) {
        if (d.unnamed) continue;
        throw InputError({path_b, d.found, fmt::format("{} as in {}", d.expected, path_a),
                          "Only models with the same names in the same order go together."});
    }
}

template <Real T>
AnyModelPair matched(Model<T> a, Model<T> b, const std::string& path_a, const std::string& path_b) {
    const std::string modes_a = modes_text(a);
    const std::string modes_b = modes_text(b);
    if (modes_a != modes_b) {
        throw InputError({path_b, modes_b, fmt::format("{} as in {}", modes_a, path_a),
                          "Only models of tensors of one shape go together."});
    }
    require_same_names(a, b, path_a, path_b);
    return ModelPair<T>{std::move(a), std::move(b)};
}

}  // namespace

TensorFile read_tensor(const std::string& path, const std::string& missing_remedy) {
    TensorFile file = open_tensor(path);
    file.visit([&](auto x) { require_finite_in_parallel(x, path, missing_remedy); });
    return file;
}

TensorFile read_incomplete_tensor(const std::string& path) {
    TensorFile file = open_tensor(path);
    file.visit([&](auto x) { require_no_infinity(x, path); });
    return file;
}

void tell_oddities(const TensorFile& file, const Session& session) {
    if (!file.converted_from().empty()) {
        session.note(fmt::format("note: {}: {} elements are taken as float64", file.name(), file.converted_from()));
    }
    if (const auto column = identifier_column(file)) {
        const bool is_text = file.name().ends_with(".csv") || file.name().ends_with(".csv.gz");
        session.note(fmt::format(
            "warning: {}: column {} has another whole number in every row, as identifiers do, and counts "
            "as a feature. Take it out{}",
            file.name(), shown(*column),
            is_text ? fmt::format(", or: couplet table {} --wide --patient {} -o FOLDER", file.name(), shown(*column))
                    : " of the table that the file was made of"));
    }
}

void require_complete(TensorView<const double> x, const std::string& path, const std::string& missing_remedy) {
    require_finite_in_parallel(x, path, missing_remedy);
}

std::string unmarked_note(const std::string& personal, const std::string& features) {
    return fmt::format("note: {}: it does not say of which features it is; nobody can tell whether it belongs to {}",
                       personal, features);
}

bool is_tensor_name(const std::string& path) {
    constexpr std::array extensions{".npy", ".csv", ".csv.gz", ".tns", ".tns.gz"};
    return std::ranges::any_of(extensions, [&](const char* extension) { return path.ends_with(extension); });
}

AnyModel read_model(const std::string& path) {
    if (is_tensor_name(path)) {
        throw InputError({path, "a tensor, by its name", "a model (.npz)",
                          fmt::format("Make one with: couplet decompose {} -o M.npz", path)});
    }
    return load_model(path);
}

template <Real T>
TensorTrain<T> train_of(Model<T> model, const std::string& path) {
    try {
        return to_train(std::move(model));
    } catch (const InputError& error) {
        ErrorParts parts = error.parts();
        parts.where = path;
        throw InputError(std::move(parts));
    }
}

AnyModelPair read_model_pair(const std::string& path_a, const std::string& path_b) {
    AnyModel a = read_model(path_a);
    AnyModel b = read_model(path_b);
    if (std::holds_alternative<Model<float>>(a) && std::holds_alternative<Model<float>>(b)) {
        return matched(std::get<Model<float>>(std::move(a)), std::get<Model<float>>(std::move(b)), path_a, path_b);
    }
    return matched(to_double(std::move(a)), to_double(std::move(b)), path_a, path_b);
}

template TensorTrain<float> train_of(Model<float>, const std::string&);
template TensorTrain<double> train_of(Model<double>, const std::string&);

}  // namespace couplet::cli
