#pragma once

namespace couplet {

/// The label, and in vocabularies the code, of the index of a feature mode that every patient has: a table of a
/// patient's codes beside it, (1, a) x (1, b) instead of a x b. With it the prevalences of a mode can be taken out and
/// its labels weighted by one linear map of the mode (couplet/ctt/weighting.hpp).
inline constexpr const char* any_label = "(any)";

}  // namespace couplet
