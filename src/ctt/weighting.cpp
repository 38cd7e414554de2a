#include "couplet/ctt/weighting.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "couplet/core/error.hpp"
#include "couplet/tensor/any_label.hpp"

namespace couplet {
namespace {

constexpr std::array<std::pair<const char*, Weight>, 3> names{
    {{"none", Weight::none}, {"sqrt", Weight::sqrt}, {"pearson", Weight::pearson}}};

/// What a single label weighs beside a pair of labels: half, so that the patients who merely have a frequent code do
/// not take the features that pairs need.
constexpr double any_scale = 0.5;

/// Offset of the cell with any_label in every mode.
Index corner(const Shape& features, std::span<const Index> any) {
    Index offset = 0;
    for (Index n = 0; n < features.order(); ++n) {
        offset += any[static_cast<std::size_t>(n)] * features.product(n + 1, features.order());
    }
    return offset;
}

double scale_of(double prevalence, Weight weight, Index patients) {
    if (!(prevalence > 0) || weight == Weight::none) return 1;
    const double least = 1 / static_cast<double>(std::max<Index>(1, patients));
    return std::pow(std::max(prevalence, least), weight == Weight::pearson ? -0.5 : -0.25);
}

/// Calls f(row of `any`, row of label i, i, width) for every other label of a mode; rows are of `width` numbers.
template <class Visit>
void for_each_label(double* data, Index left, const ModeMap& map, Index right, Visit visit) {
    const auto size = static_cast<Index>(map.mean.size());
    for (Index l = 0; l < left; ++l) {
        double* block = data + l * size * right;
        for (Index i = 0; i < size; ++i) {
            if (i != map.any) visit(block + map.any * right, block + i * right, static_cast<std::size_t>(i), right);
        }
        visit(block + map.any * right, block + map.any * right, static_cast<std::size_t>(map.any), right);
    }
}

std::vector<Index> any_of(std::span<const ModeMap> maps) {
    std::vector<Index> any;
    for (const ModeMap& map : maps) any.push_back(map.any);
    return any;
}

Shape features_of(const Shape& shape) {
    const auto sizes = shape.sizes();
    return Shape(std::vector<Index>(sizes.begin() + 1, sizes.end()));
}

void set_corner(Tensor<double>& x, std::span<const ModeMap> maps, double value) {
    const Shape features = features_of(x.shape());
    const Index at = corner(features, any_of(maps));
    for (Index p = 0; p < x.shape()[0]; ++p) x.data()[p * features.size() + at] = value;
}

}  // namespace

Weight parse_weight(std::string_view name) {
    for (const auto& [known, weight] : names) {
        if (name == known) return weight;
    }
    throw InputError({"`weight`", std::string(name), "none, sqrt or pearson", ""});
}

std::string_view to_string(Weight weight) noexcept {
    for (const auto& [name, known] : names) {
        if (known == weight) return name;
    }
    return "none";
}

std::vector<Index> find_any(const Schema& schema) {
    std::vector<Index> any;
    for (const ModeLabels& mode : schema.modes) {
        const auto at = std::find(mode.entries.begin(), mode.entries.end(), any_label);
        if (at == mode.entries.end()) return {};
        any.push_back(at - mode.entries.begin());
    }
    return any;
}

std::vector<double> prevalences(std::span<const double> mean, const Shape& features, std::span<const Index> any,
                                Index mode) {
    const Index stride = features.product(mode + 1, features.order());
    const Index base = corner(features, any) - any[static_cast<std::size_t>(mode)] * stride;
    std::vector<double> result;
    for (Index i = 0; i < features[mode]; ++i) result.push_back(mean[static_cast<std::size_t>(base + i * stride)]);
    return result;
}

std::vector<double> without_small_cells(std::vector<double> mean, const Shape& features, std::span<const Index> any,
                                        Index patients) {
    for (Index at = 0; at < features.size(); ++at) {
        double& cell = mean[static_cast<std::size_t>(at)];
        Index labels = 0;
        for (Index n = 0; n < features.order(); ++n) {
            const Index i = at / features.product(n + 1, features.order()) % features[n];
            if (i != any[static_cast<std::size_t>(n)]) ++labels;
        }
        // Means of counts are counts again only up to rounding.
        const bool few = cell * static_cast<double>(patients) < static_cast<double>(least_cell) - 0.5;
        if (labels > 1 && few) cell = 0;
    }
    return mean;
}

std::vector<ModeMap> mode_maps(std::span<const double> mean, const Shape& features, std::span<const Index> any,
                               Weight weight, Index patients, const std::string& where) {
    bool fits =
        static_cast<Index>(any.size()) == features.order() && static_cast<Index>(mean.size()) == features.size();
    for (std::size_t n = 0; fits && n < any.size(); ++n) {
        fits = any[n] >= 0 && any[n] < features[static_cast<Index>(n)];
    }
    if (!fits) {
        throw InputError({where, "features of shape " + features.to_string(), "those that were weighted",
                          "Build the table with the schema of the federation."});
    }
    constexpr double rounding = 1e-9;
    if (std::abs(mean[static_cast<std::size_t>(corner(features, any))] - 1) > rounding) {
        throw InputError({where, std::string("a label ") + any_label + " that is not 1 in every record",
                          "presences, as a table with `any` on has", "Use `weight` none."});
    }
    std::vector<ModeMap> maps;
    for (Index n = 0; n < features.order(); ++n) {
        ModeMap map{.any = any[static_cast<std::size_t>(n)], .mean = prevalences(mean, features, any, n)};
        for (const double one : map.mean) map.scale.push_back(scale_of(one, weight, patients));
        map.mean[static_cast<std::size_t>(map.any)] = 0;
        map.scale[static_cast<std::size_t>(map.any)] = any_scale;
        maps.push_back(std::move(map));
    }
    return maps;
}

Tensor<double> weighted(const TensorView<const double>& x, std::span<const ModeMap> maps) {
    Tensor<double> result = Tensor<double>::copy(x);
    for (std::size_t n = 0; n < maps.size(); ++n) {
        const auto mode = static_cast<Index>(n) + 1;
        const ModeMap& map = maps[n];
        for_each_label(result.data(), x.shape().product(0, mode), map, x.shape().product(mode + 1, x.shape().order()),
                       [&](const double* all, double* mine, std::size_t i, Index width) {
                           for (Index k = 0; k < width; ++k) {
                               mine[k] = (mine[k] - map.mean[i] * all[k]) * map.scale[i];
                           }
                       });
    }
    set_corner(result, maps, 0);
    return result;
}

Tensor<double> unweighted(const TensorView<const double>& x, std::span<const ModeMap> maps) {
    Tensor<double> result = Tensor<double>::copy(x);
    double one = 1;
    for (const ModeMap& map : maps) one *= map.scale[static_cast<std::size_t>(map.any)];
    set_corner(result, maps, one);
    for (std::size_t n = 0; n < maps.size(); ++n) {
        const auto mode = static_cast<Index>(n) + 1;
        const ModeMap& map = maps[n];
        const double any = map.scale[static_cast<std::size_t>(map.any)];
        for_each_label(result.data(), x.shape().product(0, mode), map, x.shape().product(mode + 1, x.shape().order()),
                       [&](const double* all, double* mine, std::size_t i, Index width) {
                           for (Index k = 0; k < width; ++k) {
                               mine[k] = mine[k] / map.scale[i] + map.mean[i] * all[k] / any;
                           }
                       });
    }
    return result;
}

}  // namespace couplet
