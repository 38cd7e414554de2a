#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "couplet/tensor/tensor.hpp"
#include "text.hpp"

namespace couplet::python {

namespace nb = nanobind;

/// Labels as Python passes them: (name, entries, units) for each mode.
using LabelTuples = std::vector<nb::tuple>;

inline Labels to_labels(const LabelTuples& tuples) {
    Labels labels;
    for (const nb::tuple& mode : tuples) {
        labels.push_back({.name = nb::cast<std::string>(mode[0]),
                          .entries = nb::cast<std::vector<std::string>>(mode[1]),
                          .units = nb::cast<std::vector<std::string>>(mode[2])});
    }
    return labels;
}

inline nb::list to_texts(const std::vector<std::string>& texts) {
    nb::list list;
    for (const std::string& text : texts) list.append(to_text(text));
    return list;
}

inline nb::list to_tuples(const Labels& labels) {
    nb::list tuples;
    for (const ModeLabels& mode : labels) {
        tuples.append(nb::make_tuple(to_text(mode.name), to_texts(mode.entries), to_texts(mode.units)));
    }
    return tuples;
}

}  // namespace couplet::python
