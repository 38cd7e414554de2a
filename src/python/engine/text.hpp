#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

#include "couplet/core/spelling.hpp"

namespace couplet::python {

namespace nb = nanobind;

/// Text of the engine for Python. Bytes that are no UTF-8, which names of files may hold, become what os.fsdecode()
/// makes of them, and os.fsencode() turns back.
inline nb::str to_text(std::string_view text) {
    PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
    if (made == nullptr) throw nb::python_error();
    return nb::steal<nb::str>(made);
}

/// A text of the library as Python has it: parameters by their names alone, and what is switched off as it is here.
inline std::string in_python_words(std::string_view text) {
    return spelled(text, [](std::string_view name) {
        const bool off = name == "no_refit" || name == "no_compression";
        return off ? std::string(name.substr(3)) + "=False" : std::string(name);
    });
}

/// Names of files and other arguments come as os.fsencode() gives them.
inline std::string from_bytes(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

}  // namespace couplet::python
