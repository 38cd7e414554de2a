#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/tensor/tensor.hpp"
#include "folder_test.hpp"

namespace couplet::testing {

class IoTest : public FolderTest {
  protected:
    /// Runs Debian's Python with `folder` as the current directory; returns what it prints.
    std::string python(const std::string& script) const {
        put("script.py", "import numpy as np\n" + script);
        const std::string command =
            "cd '" + folder_.string() + "' && OPENBLAS_NUM_THREADS=1 /usr/bin/python3 script.py 2>&1";
        std::FILE* pipe = ::popen(command.c_str(), "r");
        std::string output;
        char buffer[4096];
        for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
        const int status = ::pclose(pipe);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
            << "python3 with numpy is needed (scripts/install-deps installs it):\n"
            << output;
        std::filesystem::remove(path("script.py"));
        return output;
    }
};

/// The message of the InputError that `f` throws, without `where` and the colon in front; a note when it
/// throws none.
template <class F>
std::string refusal(const std::string& where, F&& f) {
    try {
        f();
    } catch (const InputError& error) {
        const std::string text = error.what();
        const std::string front = where + ": ";
        return text.starts_with(front) ? text.substr(front.size()) : "wrong place: " + text;
    } catch (const std::exception& error) {
        return std::string("not an InputError: ") + error.what();
    }
    return "nothing thrown";
}

/// 0, 1, 2, ... divided by 4: exact in both types.
template <Real T>
Tensor<T> counting(Shape shape) {
    Tensor<T> tensor(std::move(shape));
    for (Index i = 0; i < tensor.size(); ++i) tensor.data()[i] = static_cast<T>(i) / 4;
    return tensor;
}

template <class A, class B>
bool same_elements(const A& a, const B& b) {
    return a.shape() == b.shape() && std::equal(a.data(), a.data() + a.size(), b.data());
}

/// A .npy file of the given version with this dict literal and data.
inline std::string npy(std::string_view literal, std::string_view data, int version = 1) {
    std::string file("\x93NUMPY", 6);
    file += {static_cast<char>(version), '\0'};
    const std::size_t length = literal.size();
    file += {static_cast<char>(length & 0xFF), static_cast<char>(length >> 8 & 0xFF)};
    if (version > 1) file += {static_cast<char>(length >> 16 & 0xFF), static_cast<char>(length >> 24 & 0xFF)};
    return file.append(literal).append(data);
}

}  // namespace couplet::testing
