#pragma once

#include <span>
#include <string>
#include <string_view>

namespace couplet {

enum class Marker { circle, square, diamond, triangle, triangle_down, cross, plus, bar };

/// How a method looks in every figure: one colour and one mark throughout. "Zhang et al." is their CTT as printed,
/// 2024.
struct MethodStyle {
    std::string_view id;
    std::string_view label;
    std::string_view light;  ///< colour on a light page
    std::string_view dark;   ///< colour on a dark page
    Marker marker;
};

/// All methods, in the order of tables and legends. The colours are those of Okabe and Ito (2008), which people with
/// any colour vision tell apart, and darker shades of them.
std::span<const MethodStyle> method_styles() noexcept;

/// Throws InputError for an unknown id.
const MethodStyle& method_style(std::string_view id);

/// "Couplet, star" or "Zhang et al., peers, L = 2".
std::string series_label(std::string_view method, std::string_view variant);

}  // namespace couplet
