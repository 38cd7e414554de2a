#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace couplet::testing {

/// A folder of its own for each test, removed afterwards.
class FolderTest : public ::testing::Test {
  protected:
    FolderTest() {
        std::string pattern = ::testing::TempDir() + "couplet-test-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~FolderTest() override {
        std::error_code ignored;
        std::filesystem::permissions(folder_, std::filesystem::perms::owner_all, ignored);
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
    /// Names of the files in a folder below, sorted; of the folder itself for "". None where there is no folder.
    std::vector<std::string> files(const std::string& name = "") const {
        std::vector<std::string> names;
        if (!std::filesystem::exists(path(name))) return names;
        for (const auto& entry : std::filesystem::directory_iterator(path(name))) {
            names.push_back(entry.path().filename());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    std::filesystem::path folder_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace couplet::testing
