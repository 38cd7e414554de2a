#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "couplet/core/error.hpp"
#include "couplet/io/tensor_file.hpp"
#include "couplet/table/build.hpp"

namespace couplet::testing {

/// A folder of its own for each test, removed afterwards.
class TableTest : public ::testing::Test {
  protected:
    TableTest() {
        std::string pattern = ::testing::TempDir() + "couplet-table-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~TableTest() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }
    std::string put(const std::string& name, std::string_view bytes) const {
        std::ofstream(path(name), std::ios::binary) << bytes;
        return path(name);
    }
    std::string get(const std::string& name) const {
        std::ifstream file(path(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    /// Names of the files in a folder below, sorted; of the folder itself for "".
    std::vector<std::string> files(const std::string& name = "") const {
        std::vector<std::string> names;
        if (!std::filesystem::exists(path(name))) return names;
        for (const auto& entry : std::filesystem::directory_iterator(path(name))) {
            names.push_back(entry.path().filename());
        }
        std::sort(names.begin(), names.end());
        return names;
    }
    TableReport build(const std::vector<std::string>& names, const TableOptions& options, const TextForm& form = {},
                      const std::string& output = "out") const {
        std::vector<TableInput> tables;
        for (const std::string& name : names) tables.push_back(file_input(path(name), form));
        return build_table(tables, options, path(output), false);
    }
    /// The tensor of a folder, dense.
    Tensor<double> tensor(const std::string& output = "out") const {
        const bool sparse = std::filesystem::exists(path(output + "/tensor.tns"));
        return open_tensor(path(output + (sparse ? "/tensor.tns" : "/tensor.npy"))).take<double>();
    }
    /// What build() says when it refuses; and that nothing is left behind.
    std::string refusal(const std::vector<std::string>& names, const TableOptions& options,
                        const TextForm& form = {}) const {
        std::string said;
        try {
            build(names, options, form);
        } catch (const InputError& error) {
            said = error.what();
        }
        EXPECT_TRUE(files("out").empty()) << files("out").front();
        const std::string here = folder_.string() + "/";
        for (std::size_t at; (at = said.find(here)) != std::string::npos;) said.erase(at, here.size());
        return said;
    }

    std::filesystem::path folder_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace couplet::testing
