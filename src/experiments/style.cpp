#include "couplet/experiments/style.hpp"

#include <algorithm>
#include <array>

#include "couplet/core/error.hpp"

namespace couplet {
namespace {

constexpr std::array styles{
    MethodStyle{"ctt-star", "Couplet, star", "#0072B2", "#4aa8e0", Marker::circle},
    MethodStyle{"ctt-dec", "Couplet, peers", "#2f9ed1", "#8fd0f5", Marker::diamond},
    MethodStyle{"printed-star", "Zhang et al., star", "#D55E00", "#f08a4b", Marker::square},
    MethodStyle{"printed-refit", "Zhang et al., refitted", "#e8843c", "#f5b183", Marker::diamond},
    MethodStyle{"printed-dec", "Zhang et al., peers", "#b8860b", "#f0b429", Marker::triangle},
    MethodStyle{"printed-paper", "Zhang et al., as its tables", "#8c510a", "#d8a15d", Marker::triangle_down},
    MethodStyle{"centralized", "centralized TT-SVD", "#222222", "#e6e6e6", Marker::bar},
    MethodStyle{"local", "every client alone", "#777777", "#a6a6a6", Marker::bar},
    MethodStyle{"fedsvd", "FedSVD", "#4d4d4d", "#c4c4c4", Marker::plus},
    MethodStyle{"trip", "TRIP", "#7a6a00", "#d9c94a", Marker::plus},
    MethodStyle{"fedgtf-ef", "FedGTF-EF", "#009E73", "#3fd1a5", Marker::triangle_down},
    MethodStyle{"fedgtf-ef-pc", "FedGTF-EF, periodic", "#00664a", "#7fe0c2", Marker::triangle},
    MethodStyle{"dpfact", "DPFact", "#CC79A7", "#e8a5c9", Marker::cross},
    MethodStyle{"dpsgd", "D-PSGD", "#6f3d99", "#b890dd", Marker::cross},
    MethodStyle{"cidertf", "CiderTF", "#8b2252", "#d26a96", Marker::diamond},
    MethodStyle{"majority", "most frequent class", "#777777", "#a6a6a6", Marker::bar},
    MethodStyle{"predicted", "the paper's formula", "#222222", "#e6e6e6", Marker::plus},
};

}  // namespace

std::span<const MethodStyle> method_styles() noexcept { return styles; }

const MethodStyle& method_style(std::string_view id) {
    const auto at =
        std::find_if(styles.begin(), styles.end(), [&](const MethodStyle& style) { return style.id == id; });
    if (at == styles.end()) throw InputError({"method", std::string(id), "a method with a style", ""});
    return *at;
}

std::string series_label(std::string_view method, std::string_view variant) {
    const std::string label(method_style(method).label);
    return variant.empty() ? label : label + ", " + std::string(variant);
}

}  // namespace couplet
