#pragma once

#include <string>

#include "couplet/models/choice.hpp"

namespace couplet {

/// The curves behind a number of components as an SVG file of its own, light or dark as its reader is: agreement of the
/// halves, error on held-out patients (or on the merge), core consistency; a line at what counts as stable and a mark
/// at the choice.
std::string draw_choice(const Choice& choice);

/// Why this many, in a sentence.
std::string choice_reason(const Choice& choice);

}  // namespace couplet
