#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/tensor/tensor.hpp"

namespace couplet::testing {

/// Skips a test on the public files when nobody said where they are.
#define COUPLET_NEEDS_DATA()                                                                                 \
    do {                                                                                                     \
        const char* folder_of_data = getenv("COUPLET_DATA");                                                 \
        if (folder_of_data == nullptr || *folder_of_data == '\0') GTEST_SKIP() << "COUPLET_DATA is not set"; \
    } while (false)

/// A folder of its own for each test, removed afterwards.
class DataTest : public ::testing::Test {
  protected:
    DataTest() {
        std::string pattern = ::testing::TempDir() + "couplet-data-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~DataTest() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string put(const std::string& name, std::string_view bytes) const {
        std::filesystem::create_directories((folder_ / name).parent_path());
        std::ofstream(path(name), std::ios::binary) << bytes;
        return path(name);
    }
    std::string get(const std::string& name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::filesystem::path folder_;
};

/// The message of the InputError that `f` throws; a note when it throws none.
template <class F>
std::string refusal(F&& f) {
    try {
        f();
    } catch (const InputError& error) {
        return error.what();
    } catch (const std::exception& error) {
        return std::string("not an InputError: ") + error.what();
    }
    return "nothing thrown";
}

inline std::vector<double> values_of(const Tensor<double>& tensor) {
    return {tensor.data(), tensor.data() + tensor.size()};
}

inline double at(const Tensor<double>& tensor, std::vector<Index> indices) { return tensor.view().at(indices); }

}  // namespace couplet::testing
